"""The backward pass: depth, lifetime, hooks, accumulation, threads, exceptions, memory."""

import gc
import threading
import weakref

import numpy as np
import pytest
from common import T, assert_same_bits, host


def leaf(*values):
    return T.tensor(values if len(values) != 1 else values[0], dtype=T.float64, requires_grad=True)


# ---- depth and width -----------------------------------------------------------------------------


def test_chain_of_a_million_nodes():
    """Nothing recurses over the graph: not the order, not the run, not the release."""
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y


def test_long_chain_is_freed_without_a_backward():
    x = leaf(1.0)
    y = x
    for _ in range(200_000):
        y = y * 1
    y = None
    z = leaf(2.0)
    (z * z).backward()
    assert z.grad.item() == 4


def test_work_is_by_node_not_by_path():
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_wide_fan_in_adds_up():
    x = leaf(1.0)
    T.stack([x * k for k in range(1000)]).sum().backward()
    assert x.grad.item() == 499500


def test_long_chain_of_gradients_of_gradients():
    x = leaf(0.5)
    y = x.sin()
    for _ in range(8):
        (y,) = T.autograd.grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(np.sin(0.5))


# ---- lifetime ------------------------------------------------------------------------------------


def test_second_backward_raises_and_changes_nothing():
    x = leaf(2.0)
    y = x.exp() * x
    y.backward()
    first = x.grad.item()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    assert x.grad.item() == first


def test_retained_graph_runs_again():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 18
    with pytest.raises(RuntimeError):
        y.backward()


def test_sibling_branch_survives():
    x = leaf(2.0)
    trunk = -x  # saves nothing
    left, right = trunk.exp(), trunk.sin()
    left.backward()
    right.backward()
    assert x.grad.item() == pytest.approx(-np.exp(-2) - np.cos(-2))


def test_values_saved_for_backward_are_freed_by_it():
    x = T.ones(1000, requires_grad=True)
    y = x.exp()
    inner = weakref.ref(y)
    loss = y.sum()
    del y
    loss.backward()
    assert inner() is None


def test_backward_twice_over_a_shared_trunk_that_saved_values_fails():
    x = leaf(2.0)
    trunk = x.exp()
    a, b = trunk * 2, trunk * 3
    a.backward()
    with pytest.raises(RuntimeError):
        b.backward()


# ---- arguments -----------------------------------------------------------------------------------


def test_only_scalars_have_an_implicit_cotangent():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="(?i)scalar"):
        (x * 2).backward()
    (x * 2).sum().reshape(1, 1).backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("shape", [(3,), (1, 2), (), (2, 1)])
def test_cotangent_must_have_the_shape_of_the_output(shape):
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError):
        (x * 2).backward(T.ones(shape, dtype=T.float64))


def test_backward_of_an_untracked_tensor():
    with pytest.raises(RuntimeError, match="(?i)grad"):
        T.tensor(1.0).backward()


def test_grad_of_several_roots_adds_up():
    x = leaf(2.0)
    T.autograd.backward([x * 3, x * x], [None, T.tensor(10.0, dtype=T.float64)])
    assert x.grad.item() == 3 + 40
    y = x * 5
    (g,) = T.autograd.grad([y, y], [x], [T.tensor(1.0, dtype=T.float64)] * 2)
    assert g.item() == 10


def test_unused_inputs():
    x, y = leaf(1.0), leaf(2.0)
    with pytest.raises(RuntimeError, match="(?i)allow_unused|not have been used|unused"):
        T.autograd.grad(x * 2, [x, y])
    g, h = T.autograd.grad(x * 2, [x, y], allow_unused=True)
    assert g.item() == 2 and h is None
    _, h = T.autograd.grad(x * 2, [x, y], allow_unused=True, materialize_grads=True)
    assert h.item() == 0
    with pytest.raises(RuntimeError):
        T.autograd.grad(x * 2, [T.tensor(1.0)])


def test_grad_of_an_intermediate_and_a_leaf_together():
    x = leaf(2.0)
    y = x * x
    z = y * 3
    gx, gy = T.autograd.grad(z, [x, y])
    assert (gx.item(), gy.item()) == (12, 3) and x.grad is None


def test_backward_with_inputs_touches_only_those():
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    assert a.grad.item() == 3 and b.grad is None


# ---- accumulation --------------------------------------------------------------------------------


def test_gradients_accumulate_in_place():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    held = x.grad
    (x * 3).sum().backward()
    assert x.grad is held and held.tolist() == [5, 5]
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad is not held and held.tolist() == [5, 5]


def test_gradient_given_to_the_user_aliases_nothing():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    v = T.ones(2, dtype=T.float64)
    (a + b).backward(v)
    a.grad.mul_(10)
    assert b.grad.tolist() == [1, 1] and v.tolist() == [1, 1]
    (a * 1).sum().backward()
    assert a.grad.is_contiguous() and a.grad.tolist() == [11, 11]


def test_results_of_grad_alias_nothing():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    v = T.ones(2, dtype=T.float64)
    ga, gb = T.autograd.grad(a + b, [a, b], v)
    ga.mul_(10)
    assert gb.tolist() == [1, 1] and v.tolist() == [1, 1]
    (g,) = T.autograd.grad(a.sum(), a)
    g[0] = 5.0
    assert g.tolist() == [5, 1]


@pytest.mark.parametrize(
    "bad",
    [lambda: T.ones(3, dtype=T.float64), lambda: T.ones(2, dtype=T.float32), lambda: "text", lambda: 1.0],
)
def test_assigned_gradient_must_fit(bad):
    x = leaf(1.0, 2.0)
    with pytest.raises((RuntimeError, TypeError)):
        x.grad = bad()
    x.grad = T.zeros(2, dtype=T.float64)
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]


# ---- hooks ---------------------------------------------------------------------------------------


def test_tensor_hooks_run_in_order_and_replace_the_gradient():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    handle = y.register_hook(lambda g: g + 1000)
    y.register_hook(lambda g: g + 1)
    handle.remove()
    handle.remove()
    y.backward()
    assert x.grad.item() == 2 * (10 + 1)


def test_leaf_hook_sees_the_total_of_one_pass():
    x = leaf(1.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3).backward()
    (x * 4).backward()
    assert seen == [5, 4] and x.grad.item() == 9


def test_retain_grad_sees_the_gradient_after_the_hooks():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 7)
    assert y.retains_grad
    (y * 3).backward()
    assert y.grad.item() == 21 and x.grad.item() == 42


def test_gradient_of_a_non_leaf_is_not_kept():
    x = leaf(1.0)
    y = x * 2
    y.backward()
    with pytest.warns(UserWarning, match="(?i)leaf"):
        assert y.grad is None


def test_post_accumulate_hook():
    x = leaf(1.0)
    seen = []

    def step(p):
        seen.append(p.grad.item())
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).backward()
    (x * 3).backward()
    assert seen == [2, 3] and x.grad is None
    with pytest.raises(RuntimeError):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_node_hooks():
    x = leaf(2.0)
    y = x * 3
    order = []
    y.register_hook(lambda g: order.append("tensor"))
    y.grad_fn.register_prehook(lambda g: (order.append("before"), (g[0] * 2,))[1])
    y.grad_fn.register_hook(lambda gi, go: (order.append("after"), (gi[0] * 5, *gi[1:]))[1])
    y.backward()
    assert order == ["tensor", "before", "after"] and x.grad.item() == 3 * 2 * 5


@pytest.mark.parametrize(
    "result, error",
    [
        (lambda g: T.ones(3, dtype=T.float64), RuntimeError),
        (lambda g: "text", TypeError),
        (lambda g: 1.0, TypeError),
    ],
)
def test_hook_must_return_a_gradient_or_nothing(result, error):
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(result)
    with pytest.raises(error):
        y.sum().backward()
    assert x.grad is None


def test_hook_is_not_called_with_none():
    x = T.ones(3, requires_grad=True)
    a, b, _ = x.unbind(0)
    seen = []
    a.register_hook(seen.append)
    (b * 2).backward()
    assert seen == [] and x.grad.tolist() == [0, 2, 0]


class Refusal(Exception):
    """An exception that the library cannot know."""


@pytest.mark.parametrize("where", ["tensor", "node", "accumulate"])
def test_exception_of_a_hook_arrives_unchanged(where):
    x = leaf(1.0)
    y = x * 2
    thrown = Refusal("stop", 42)

    def hook(*_):
        raise thrown

    handle = {
        "tensor": lambda: y.register_hook(hook),
        "node": lambda: y.grad_fn.register_hook(hook),
        "accumulate": lambda: x.register_post_accumulate_grad_hook(hook),
    }[where]()
    with pytest.raises(Refusal) as caught:
        y.backward(retain_graph=True)
    assert caught.value is thrown and "hook" in [f.name for f in caught.traceback]
    handle.remove()
    x.grad = None
    z = x * 5  # the engine still works
    z.backward()
    assert x.grad.item() == 5


def test_backward_inside_a_hook():
    x, inner = leaf(2.0), leaf(3.0)
    y = x * 4

    def hook(g):
        assert not T.is_grad_enabled()
        with T.enable_grad():
            (inner * inner).backward()

    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 4 and inner.grad.item() == 6


def test_deeply_nested_backward():
    def nest(depth):
        with T.enable_grad():
            x = leaf(1.0)
            y = x * 2
            if depth:
                y.register_hook(lambda g: g * nest(depth - 1))
            y.backward()
        return x.grad

    assert nest(40).item() == 2.0**41


# ---- threads -------------------------------------------------------------------------------------


def towers(dt):
    """Deep branches of different cost over shared leaves: a parallel engine has something to reorder."""
    T.manual_seed(7)
    ws = [T.randn(64, 64, dtype=dt).requires_grad_() for _ in range(4)]
    x = T.randn(32, 64, dtype=dt).requires_grad_()
    outs = []
    for i in range(8):
        h = x
        for j in range(3 + i % 3):
            h = (h @ ws[(i + j) % 4] / 8).tanh() + h.mean()
        outs.append(h.square().mean())
    sum(outs).backward()
    return [host(t.grad) for t in (x, *ws)]


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_gradients_have_the_same_bits_for_any_number_of_threads(name):
    before = T.get_num_threads()
    try:
        results = []
        for n in (1, 2, 2, 4, 1):
            T.set_num_threads(n)
            assert T.get_num_threads() == n
            results.append(towers(getattr(T, name)))
    finally:
        T.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert_same_bits(b, a)


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x.sum(),
        lambda x: (x.exp() * x).sum(),
        lambda x: x.reshape(1000, -1).softmax(1).square().sum(),
        lambda x: x.reshape(1000, -1).sum(0).square().sum(),
        lambda x: x.cumsum(0).mean(),
        lambda x: (x.reshape(400, -1) @ x.reshape(-1, 400)).sum(),
    ],
    ids=["sum", "exp", "softmax", "columns", "cumsum", "matmul"],
)
def test_large_operations_have_the_same_bits_for_any_number_of_threads(work):
    before = T.get_num_threads()
    x = T.tensor(np.random.default_rng(0).normal(size=400_000) / 100, dtype=T.float32)
    results = []
    try:
        for n in (1, 2, 3):
            T.set_num_threads(n)
            y = x.clone().requires_grad_()
            out = work(y)
            out.backward()
            results.append((host(out), host(y.grad)))
    finally:
        T.set_num_threads(before)
    for out, grad in results[1:]:
        assert_same_bits(out, results[0][0])
        assert_same_bits(grad, results[0][1])


def test_threads_with_graphs_of_their_own():
    results, errors = {}, []

    def work(k):
        try:
            x = leaf(float(k))
            for _ in range(50):
                x.grad = None
                (x.exp() * x).backward()
            results[k] = x.grad.item()
        except BaseException as e:  # noqa: BLE001 - handed to the main thread
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors and results == {k: pytest.approx(np.exp(k) * (k + 1)) for k in range(8)}


def test_threads_that_accumulate_into_one_leaf_lose_nothing():
    x = leaf(0.0)

    def work():
        for _ in range(200):
            (x * 2).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert x.grad.item() == 4 * 200 * 2


def test_threads_that_make_the_first_gradient_together_lose_nothing():
    """Large enough for the interpreter lock to be free during the pass."""
    for _ in range(100):
        x = T.ones(20_000, dtype=T.float64, requires_grad=True)
        y = (x * x).sum()
        ready = threading.Barrier(4)

        def work(y=y, ready=ready):
            ready.wait()
            y.backward(retain_graph=True)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert (x.grad == 8).all()


def test_grad_mode_belongs_to_the_thread():
    seen = []
    with T.no_grad():
        t = threading.Thread(target=lambda: seen.append(T.is_grad_enabled()))
        t.start()
        t.join()
        assert not T.is_grad_enabled()
    assert seen == [True] and T.is_grad_enabled()


def test_grad_mode_forms():
    x = leaf(1.0)

    @T.no_grad()
    def off():
        return (x * 2).requires_grad

    with T.no_grad():
        assert not (x * 2).requires_grad
        with T.enable_grad():
            assert (x * 2).requires_grad
    assert not off() and (x * 2).requires_grad
    with T.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    try:
        with T.no_grad():
            raise Refusal
    except Refusal:
        assert T.is_grad_enabled()


# ---- memory --------------------------------------------------------------------------------------


def test_small_training_loop_does_not_grow():
    """After a hundred thousand steps the tensors alive take as many bytes as after a hundred."""
    w, x = T.tensor([0.5, -0.5], requires_grad=True), T.tensor([1.0, 2.0])

    def steps(n):
        for _ in range(n):
            loss = ((w * x).sum() - 1).square()
            loss.backward()
            with T.no_grad():
                w.sub_(w.grad * 0.01)
            w.grad = None

    gc.disable()
    try:
        steps(100)
        before = T._rgrad._live_bytes()
        steps(100_000)
        assert T._rgrad._live_bytes() == before
    finally:
        gc.enable()


def test_every_byte_comes_back():
    gc.collect()
    before = T._rgrad._live_bytes()
    x = T.ones(1000, dtype=T.float64, requires_grad=True)
    assert T._rgrad._live_bytes() >= before + 8000
    y = (x.exp() * x).sum()
    y.backward()
    del x, y
    assert T._rgrad._live_bytes() == before


def test_failed_operations_leak_nothing():
    x = T.ones(1000, requires_grad=True)
    gc.collect()
    before = T._rgrad._live_bytes()
    for bad in (
        lambda: x + T.ones(3),
        lambda: x @ T.ones(7),
        lambda: x.reshape(7, 7),
        lambda: T.cat([x, T.ones(2, 2)]),
        lambda: x[5000],
        lambda: (x * 2).backward(),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            bad()
    assert T._rgrad._live_bytes() == before
