"""Custom functions: what ctx offers, what backward may return, and how they behave in the graph."""

import gc
import weakref

import numpy as np
import pytest
from common import T


def leaf(*values):
    return T.tensor(values if len(values) != 1 else values[0], dtype=T.float64, requires_grad=True)


class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Product(T.autograd.Function):
    """In the style that keeps ctx out of forward."""

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


def simple(forward, backward):
    """A custom function from two plain ones that take ctx."""
    return type(
        "Simple",
        (T.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


def test_value_gradient_and_name():
    x = leaf(2.0)
    y = Cube.apply(x)
    assert y.item() == 8 and y.requires_grad and not y.is_leaf and y.grad_fn.name() == "CubeBackward"
    y.backward()
    assert x.grad.item() == 12


def test_any_order_of_derivative():
    x = leaf(2.0)
    (g,) = T.autograd.grad(Cube.apply(x), x, create_graph=True)
    (h,) = T.autograd.grad(g, x, create_graph=True)
    (k,) = T.autograd.grad(h, x)
    assert (g.item(), h.item(), k.item()) == (12, 12, 6)
    assert T.autograd.gradcheck(Cube.apply, (x,)) and T.autograd.gradgradcheck(Cube.apply, (x,))


def test_setup_context_style():
    x, y = leaf(2.0), leaf(5.0)
    Product.apply(x, y).backward()
    assert (x.grad.item(), y.grad.item()) == (5, 2)
    assert T.autograd.gradgradcheck(Product.apply, (x, y))


def test_same_tensor_twice():
    x = leaf(3.0)
    Product.apply(x, x).backward()
    assert x.grad.item() == 6


def test_needs_input_grad_is_known_in_forward_and_backward():
    seen = []
    f = simple(
        lambda ctx, a, b, k: (seen.append(ctx.needs_input_grad), a * b)[1],
        lambda ctx, g: (seen.append(ctx.needs_input_grad), (g, None, None))[1],
    )
    f.apply(leaf(1.0), T.tensor(2.0, dtype=T.float64), 3).backward()
    assert seen == [(True, False, False)] * 2


def test_grad_mode_is_off_in_forward_and_follows_create_graph_in_backward():
    seen = []
    f = simple(
        lambda ctx, a: (seen.append(T.is_grad_enabled()), a * 2)[1],
        lambda ctx, g: (seen.append(T.is_grad_enabled()), g * 2)[1],
    )
    x = leaf(1.0)
    T.autograd.grad(f.apply(x), x)
    T.autograd.grad(f.apply(x), x, create_graph=True)
    assert seen == [False, False, False, True]


def test_untracked_inputs_make_no_node():
    y = Cube.apply(T.tensor(2.0))
    assert not y.requires_grad and y.grad_fn is None
    with T.no_grad():
        assert not Cube.apply(leaf(2.0)).requires_grad


def test_several_outputs_and_zeros_for_unused_ones():
    seen = []
    f = simple(
        lambda ctx, a: (a * 2, a * 3),
        lambda ctx, g, h: (seen.append((g.tolist(), h.tolist())), g * 2 + h * 3)[1],
    )
    x = leaf(1.0, 1.0)
    _, second = f.apply(x)
    second.sum().backward()
    assert seen == [([0, 0], [1, 1])] and x.grad.tolist() == [3, 3]


def test_none_for_unused_outputs_on_request():
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3

    seen = []
    f = simple(forward, lambda ctx, g, h: (seen.append(g is None), h * 3)[1])
    x = leaf(1.0)
    f.apply(x)[1].backward()
    assert seen == [True] and x.grad.item() == 3


def test_arguments_that_are_no_tensors():
    f = simple(
        lambda ctx, a, k, name, none: (setattr(ctx, "k", k), a * k)[1],
        lambda ctx, g: (g * ctx.k, None, None, None),
    )
    x = leaf(2.0)
    f.apply(x, 5, "name", None).backward()
    assert x.grad.item() == 5


@pytest.mark.parametrize(
    "grads, error",
    [
        (lambda g: (g, g), RuntimeError),
        (lambda g: (), RuntimeError),
        (lambda g: "text", (RuntimeError, TypeError)),
        (lambda g: T.ones(7, dtype=T.float64), RuntimeError),
    ],
)
def test_backward_that_returns_the_wrong_thing(grads, error):
    f = simple(lambda ctx, a: a * 1, lambda ctx, g: grads(g))
    x = leaf(1.0, 2.0)
    with pytest.raises(error):
        f.apply(x).sum().backward()
    assert x.grad is None


def test_extra_nones_are_allowed():
    f = simple(lambda ctx, a: a * 1, lambda ctx, g: (g, None, None))
    x = leaf(1.0)
    f.apply(x).backward()
    assert x.grad.item() == 1


def test_gradient_is_reduced_to_the_shape_of_its_input():
    f = simple(lambda ctx, a, b: a + b, lambda ctx, g: (g, g))
    a, b = leaf(1.0, 2.0), T.ones(3, 2, dtype=T.float64, requires_grad=True)
    f.apply(a, b).sum().backward()
    assert a.grad.tolist() == [3, 3] and b.grad.shape == (3, 2)


def test_none_gradient_is_no_gradient():
    f = simple(lambda ctx, a, b: a * b, lambda ctx, g: (None, g))
    a, b = leaf(2.0), leaf(3.0)
    f.apply(a, b).backward()
    assert a.grad is None and b.grad.item() == 1


def test_only_tensors_can_be_saved():
    f = simple(lambda ctx, a: (ctx.save_for_backward(a, 3), a)[1], lambda ctx, g: g)
    with pytest.raises(TypeError):
        f.apply(leaf(1.0)).backward()
    g = simple(
        lambda ctx, a: (ctx.save_for_backward(a, None), a * 1)[1], lambda ctx, g: g * ctx.saved_tensors[0]
    )
    x = leaf(4.0)
    g.apply(x).backward()
    assert x.grad.item() == 4


def test_saved_tensors_are_checked_and_freed():
    x = leaf(2.0)
    a = x * 1
    y = Cube.apply(a)
    with T.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="(?i)modified|in-place|inplace|version"):
        y.backward()
    y = Cube.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="(?i)second time|freed|retain_graph"):
        y.backward()


def saved_exp(ctx, a):
    y = a.exp()
    ctx.save_for_backward(y)
    return y


def test_saving_the_output_makes_no_cycle():
    f = simple(saved_exp, lambda ctx, g: g * ctx.saved_tensors[0])
    gc.collect()
    gc.disable()
    try:
        x = leaf(0.0)
        y = f.apply(x)
        died = weakref.ref(y)
        y.backward()
        assert x.grad.item() == 1
        del y
        assert died() is None
    finally:
        gc.enable()


def test_saved_output_has_its_history_back():
    f = simple(saved_exp, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(0.5)
    (g,) = T.autograd.grad(f.apply(x), x, create_graph=True)
    (h,) = T.autograd.grad(g, x)
    assert h.item() == pytest.approx(np.exp(0.5))


def test_mark_dirty_returns_the_same_object():
    def forward(ctx, a):
        ctx.mark_dirty(a)
        a.mul_(2)
        return a

    f = simple(forward, lambda ctx, g: g * 2)
    x = leaf(1.0)
    a = x * 1
    assert f.apply(a) is a and a.item() == 2
    a.backward()
    assert x.grad.item() == 2
    with pytest.raises(RuntimeError):
        f.apply(x)


def test_mark_non_differentiable_and_integer_outputs():
    def forward(ctx, a):
        k = a * 3
        ctx.mark_non_differentiable(k)
        return a * 2, a.argmax(), k

    f = simple(forward, lambda ctx, g, *_: g * 2)
    y, i, k = f.apply(leaf(1.0, 2.0))
    assert y.requires_grad and not i.requires_grad and not k.requires_grad


def test_input_returned_unchanged_is_a_new_tensor():
    f = simple(lambda ctx, a: a, lambda ctx, g: g * 7)
    x = leaf(1.0)
    y = f.apply(x)
    assert y is not x and not y.is_leaf
    y.backward()
    assert x.grad.item() == 7


def test_once_differentiable():
    class Once(T.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        @T.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    (g,) = T.autograd.grad(Once.apply(x), x, create_graph=True)
    assert g.item() == 6
    with pytest.raises(RuntimeError):
        T.autograd.grad(g, x)


class Refusal(Exception):
    pass


def test_exceptions_arrive_unchanged():
    thrown = Refusal(1, 2)

    def raising(*_):
        raise thrown

    x = leaf(1.0)
    with pytest.raises(Refusal) as caught:
        simple(raising, lambda ctx, g: g).apply(x)
    assert caught.value is thrown
    y = simple(lambda ctx, a: a * 1, raising).apply(x * 2) * 3
    with pytest.raises(Refusal) as caught:
        y.backward()
    assert caught.value is thrown and "raising" in [f.name for f in caught.traceback]
    (x * 2).backward()
    assert x.grad.item() == 2


def test_missing_backward_is_an_error_on_use_only():
    f = type("OneWay", (T.autograd.Function,), {"forward": staticmethod(lambda ctx, a: a * 1)})
    y = f.apply(leaf(1.0))
    with pytest.raises(NotImplementedError):
        y.backward()


def test_function_inside_a_function():
    f = simple(
        lambda ctx, a: (ctx.save_for_backward(a), Cube.apply(a))[1],
        lambda ctx, g: g * Cube.apply(ctx.saved_tensors[0]),
    )
    x = leaf(2.0)
    f.apply(x).backward()
    assert x.grad.item() == 8


def test_backward_inside_backward():
    def backward(ctx, g):
        with T.enable_grad():
            a = ctx.saved_tensors[0].detach().requires_grad_()
            inner = (a * a).sum()
            inner.backward()
        return g * a.grad

    f = simple(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], backward)
    x = leaf(3.0)
    f.apply(x).backward()
    assert x.grad.item() == 6


def test_deep_chain_of_custom_functions():
    f = simple(lambda ctx, a: a + 1, lambda ctx, g: g)
    x = leaf(0.0)
    y = x
    for _ in range(20_000):
        y = f.apply(y)
    y.backward()
    assert x.grad.item() == 1
    del y


def test_forward_mode_of_a_custom_function():
    class Sine(T.autograd.Function):
        forward = staticmethod(lambda x: x.sin())

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        backward = staticmethod(lambda ctx, g: g * ctx.saved_tensors[0].cos())
        jvp = staticmethod(lambda ctx, t: t * ctx.saved_tensors[0].cos())

    _, tangent = T.func.jvp(Sine.apply, (T.tensor(0.5, dtype=T.float64),), (T.tensor(2.0, dtype=T.float64),))
    assert tangent.item() == pytest.approx(2 * np.cos(0.5))
