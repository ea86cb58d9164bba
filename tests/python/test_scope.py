"""Scopes: ownership, hand-up, use after release, statistics, and what survives for the graph."""

import gc
import threading

import numpy as np
import pytest
from common import T


def test_tensors_of_a_scope_end_with_it():
    with T.scope("step") as s:
        a = T.ones(3)
        assert s.is_open and s.name == "step" and a.tolist() == [1, 1, 1]
    assert not s.is_open
    for use in (
        lambda: a + 1,
        lambda: a.sum(),
        lambda: a[0],
        lambda: a.numpy(),
        lambda: a.tolist(),
        lambda: a.item(),
        lambda: a.clone(),
        lambda: a.add_(1),
        lambda: T.cat([a, a]),
        lambda: a @ a,
        lambda: list(a),
        lambda: bool(a),
        lambda: a.to(T.float64),
        lambda: a.reshape(3),
        lambda: np.asarray(a),
        lambda: a.__dlpack__(),
    ):
        with pytest.raises(T.TensorClosedError):
            use()


def test_error_after_release_says_what_and_where():
    with T.scope("train"):
        with T.scope("step"):
            a = T.ones(2, 3)
        with pytest.raises(T.TensorClosedError) as caught:
            a.exp()
    text = str(caught.value)
    for word in ("exp", "float32", "train/step", "ret"):
        assert word in text, text
    assert isinstance(caught.value, RuntimeError) and issubclass(T.TensorClosedError, T.ScopeError)


def test_what_stays_readable_after_release():
    with T.scope():
        a = T.ones(2, 3)
    assert a.shape == (2, 3) and a.dtype == T.float32 and isinstance(repr(a), str)


def test_ret_hands_up_one_level():
    with T.scope("outer") as outer:
        with T.scope("inner") as inner:
            a = T.ones(2)
            assert inner.ret(a) is a
        assert a.tolist() == [1, 1]
        b = outer.ret(a * 2)
    assert b.tolist() == [2, 2]
    with pytest.raises(T.TensorClosedError):
        a.sum()


def test_ret_keeps_the_structure():
    with T.scope() as s:
        value = {"a": T.ones(1), "rest": [T.zeros(1), (T.ones(2), 3, "text")]}
        assert s.ret(value) is value
    assert value["rest"][1][0].tolist() == [1, 1] and value["a"].tolist() == [1]


def test_ret_to_an_ancestor():
    with T.scope("a") as a:
        with T.scope("b"):
            with T.scope("c") as c:
                t = c.ret(T.ones(2), to=a)
        assert t.sum().item() == 2
        with T.scope("d") as d:
            with pytest.raises(T.ScopeError):
                d.ret(T.ones(1), to=c)
    with pytest.raises(T.TensorClosedError):
        t.sum()


def test_ret_of_a_foreign_tensor_is_refused_and_changes_nothing():
    with T.scope("outer"):
        mine = T.ones(2)
        with T.scope("inner") as inner:
            own = T.ones(2)
            with pytest.raises(T.ScopeError):
                inner.ret([own, mine])
        with pytest.raises(T.TensorClosedError):
            own.sum()  # all or nothing: it was not handed up
        assert mine.sum().item() == 2


def test_results_belong_to_the_current_scope():
    p = T.ones(2)
    with T.scope():
        left, right = p * 2, 2 * p
        with T.scope():
            pass
        third = p + 1
    for t in (left, right, third):
        with pytest.raises(T.TensorClosedError):
            t.sum()
    assert p.sum().item() == 2


def test_decorator_hands_its_result_up():
    held = []

    @T.scoped
    def norm(t):
        held.append(t * t)
        return {"norm": held[0].sum().sqrt(), "same": t}

    x = T.tensor([3.0, 4.0])
    out = norm(x)
    assert out["norm"].item() == 5 and out["same"] is x
    with pytest.raises(T.TensorClosedError):
        held[0].sum()


def test_dropped_tensors_are_freed_before_the_end():
    with T.scope() as s:
        a = T.ones(1000, dtype=T.float64)
        assert s.stats()["live_tensors"] == 1 and s.stats()["live_bytes"] == 8000
        del a
        assert s.stats()["live_tensors"] == 0 and s.stats()["live_bytes"] == 0
        a = T.ones(10)
        for _ in range(1000):
            a = a + 1
        stats = s.stats()
    assert stats["live_tensors"] == 1 and stats["peak_tensors"] <= 3 and stats["total_tensors"] >= 1001


def test_statistics_count_what_was_handed_up_and_released():
    with T.scope() as s:
        kept, gone = s.ret(T.ones(4)), T.ones(8)
    stats = s.stats()
    assert stats["returned"] == 1 and stats["released_tensors"] == 1 and stats["released_bytes"] == 32
    assert stats["live_tensors"] == 0 and stats["live_bytes"] == 0
    del kept, gone


def test_temporaries_of_an_operation_are_not_left_behind():
    with T.scope() as s:
        x = T.ones(4, 4)
        n = s.stats()["live_tensors"]
        y = T.nn.functional.cross_entropy(x, T.tensor([0, 1, 2, 3]))
        z = x[x > 0]
        assert s.stats()["live_tensors"] == n + 2
        del y, z


def test_closing_frees_the_memory():
    gc.collect()
    before = T._rgrad._live_bytes()
    with T.scope():
        held = [T.ones(1000) for _ in range(100)]
        assert T._rgrad._live_bytes() >= before + 400_000
    assert T._rgrad._live_bytes() == before
    assert len(held) == 100


def test_close_is_idempotent_and_closes_children_first():
    with T.scope("a") as a:
        with T.scope("b") as b:
            t = T.ones(1)
            a.close()
            assert not a.is_open and not b.is_open
            with pytest.raises(T.TensorClosedError):
                t.sum()
            a.close()
    assert T.current_scope() is None


def test_exception_passes_through_and_the_scope_ends():
    class Refusal(Exception):
        pass

    held = []
    with pytest.raises(Refusal):
        with T.scope():
            held.append(T.ones(1))
            raise Refusal
    with pytest.raises(T.TensorClosedError):
        held[0].sum()
    assert T.current_scope() is None


def test_current_scope_and_paths():
    assert T.current_scope() is None
    with T.scope("train") as a:
        assert T.current_scope() == a
        with T.scope("step") as b:
            assert T.current_scope() == b and b.path == "train/step" and b.parent == a
        assert T.current_scope() == a
    with T.scope() as unnamed:
        assert "test_scope.py" in unnamed.name


def test_threads_start_without_a_scope():
    seen = []
    with T.scope():
        t = threading.Thread(target=lambda: seen.append((T.current_scope(), T.ones(2))))
        t.start()
        t.join()
    assert seen[0][0] is None and seen[0][1].tolist() == [1, 1]


# ---- the graph -----------------------------------------------------------------------------------


def test_gradient_of_an_outer_parameter_outlives_the_scope():
    p = T.ones(3, requires_grad=True)
    for k in (1, 2, 3):
        with T.scope():
            (p * k).sum().backward()
    assert p.grad.tolist() == [6, 6, 6]


def test_graph_keeps_what_its_backward_needs():
    p = T.tensor([0.5, 1.0], requires_grad=True)
    (want,) = T.autograd.grad((p.exp() * p.sin()).sum(), p)
    with T.scope() as s:
        hidden = p.exp()
        loss = s.ret((hidden * p.sin()).sum())
    with pytest.raises(T.TensorClosedError):
        hidden.sum()
    loss.backward()
    assert p.grad.tolist() == want.tolist()


def test_views_keep_the_memory_of_a_released_base():
    with T.scope() as s:
        base = T.arange(6.0)
        view = s.ret(base[2:4])
    assert view.tolist() == [2, 3]
    with pytest.raises(T.TensorClosedError):
        base.sum()


def test_exported_memory_outlives_the_scope():
    with T.scope():
        t = T.arange(1000, dtype=T.float64)
        array = t.numpy()
    T.zeros(1000, dtype=T.float64).fill_(-1)
    assert array.tolist() == list(range(1000))


def test_training_with_a_scope_a_step():
    T.manual_seed(0)
    model = T.nn.Linear(4, 1)
    optimizer = T.optim.Adam(model.parameters(), lr=0.05)
    x = T.randn(32, 4)
    y = x @ T.tensor([[1.0], [-2.0], [0.5], [0.0]])
    losses = []
    for _ in range(60):
        with T.scope():
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


# ---- scale ---------------------------------------------------------------------------------------


def test_ten_thousand_nested_scopes():
    scopes = [T.scope(str(i)) for i in range(10_000)]
    for s in scopes:
        s.__enter__()
    t = T.ones(1)
    for s in reversed(scopes):
        s.__exit__(None, None, None)
    assert T.current_scope() is None
    with pytest.raises(T.TensorClosedError):
        t.sum()


def test_hundred_thousand_tensors_in_one_scope():
    with T.scope() as s:
        held = [T.ones(()) for _ in range(100_000)]
        assert s.stats()["live_tensors"] == 100_000
    assert s.stats()["live_tensors"] == 0 and len(held) == 100_000
