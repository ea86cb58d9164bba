"""The tensor itself: shape and strides, Python's protocols, printing, copying, subclassing."""

import copy
import gc
import math
import pickle
import weakref

import numpy as np
import pytest
from common import DTYPES, LAYOUTS, T, tensor


def test_shape_size_stride():
    x = T.zeros(2, 3, 4)
    assert tuple(x.shape) == tuple(x.size()) == (2, 3, 4) and x.size(1) == x.size(-2) == 3
    assert x.stride() == (12, 4, 1) and x.stride(0) == 12 and x.storage_offset() == 0
    assert x.ndim == x.dim() == 3 and x.numel() == x.nelement() == 24 and x.nbytes == 96
    assert T.zeros(()).stride() == () and T.zeros(()).numel() == 1
    assert x.device == T.device("cpu") and x.is_cpu


@pytest.mark.parametrize("bad", [3, -4])
def test_size_of_a_dimension_that_is_not_there(bad):
    with pytest.raises(IndexError):
        T.zeros(2, 3, 4).size(bad)


def test_shape_is_a_tuple():
    shape = T.zeros(2, 3).shape
    assert (
        shape == (2, 3)
        and isinstance(shape, tuple)
        and shape[0] == 2
        and len(shape) == 2
        and hash(shape) == hash((2, 3))
    )
    assert T.Size([2, 3]) == shape and shape.numel() == 6


def test_contiguity():
    x = T.zeros(2, 3)
    assert x.is_contiguous() and not x.t().is_contiguous() and x.t().t().is_contiguous()
    assert x.contiguous() is x
    assert x.t().contiguous().stride() == (2, 1)
    assert T.zeros(1, 3).t().is_contiguous(), "a dimension of size 1 has no stride that matters"
    assert T.zeros(0, 3).t().is_contiguous()


@pytest.mark.parametrize("dt", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tolist_and_item(dt, layout):
    a = np.array([[1, 0, 1], [1, 1, 0]])
    x = tensor(a, dt, layout)
    want = (a if layout != "expanded" else np.broadcast_to(a[:1], a.shape)).astype(
        "bool" if dt == "bool" else "int64" if "int" in dt else "float64"
    )
    assert x.tolist() == want.tolist()
    assert type(x[0, 0].item()) is type(want[0, 0].item()) and x[0, 0].item() == want[0, 0].item()
    assert type(x[0, 0].tolist()) is type(want[0, 0].item())


def test_item_needs_one_element():
    assert T.tensor([[2.5]]).item() == 2.5
    for x in (T.zeros(2), T.zeros(0)):
        with pytest.raises(RuntimeError, match="(?i)one element|1 element|single|elements"):
            x.item()


def test_conversion_to_python_numbers():
    assert (
        float(T.tensor(2.5)) == 2.5
        and int(T.tensor([3])) == 3
        and int(T.tensor(2.7)) == 2
        and complex(T.tensor(1.0)) == 1
    )
    assert math.sqrt(T.tensor(4.0)) == 2.0 and round(T.tensor(2.6).item()) == 3
    assert float(T.tensor(True)) == 1.0
    for f in (float, int):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            f(T.zeros(2))


def test_conversion_of_a_tracked_scalar_gives_its_value():
    x = T.tensor(2.0, requires_grad=True)
    assert float(x) == 2.0 and x.item() == 2.0 and x.tolist() == 2.0


@pytest.mark.parametrize(
    "value, truth",
    [
        (0.0, False),
        (1.0, True),
        (-1, True),
        (0, False),
        (True, True),
        ([0.0], False),
        ([[2]], True),
        (float("nan"), True),
    ],
)
def test_truth_of_one_element(value, truth):
    assert bool(T.tensor(value)) is truth


@pytest.mark.parametrize("shape", [(2,), (0,)])
def test_truth_of_many_or_none_is_an_error(shape):
    with pytest.raises(RuntimeError):
        bool(T.zeros(*shape))


def test_index_protocol():
    items = ["a", "b", "c"]
    assert (
        items[T.tensor(1)] == "b"
        and list(range(T.tensor(3))) == [0, 1, 2]
        and items[T.tensor(0) : T.tensor(2)] == ["a", "b"]
    )
    assert hex(T.tensor(255)) == "0xff"
    for x in (T.tensor(1.0), T.tensor([1, 2])):
        with pytest.raises(TypeError):
            items[x]


def test_len_and_iteration():
    x = T.arange(6).reshape(3, 2)
    assert len(x) == 3 and [r.tolist() for r in x] == [[0, 1], [2, 3], [4, 5]]
    _, b, _ = x
    assert b.tolist() == [2, 3] and len(T.zeros(0, 2)) == 0 and list(T.zeros(0, 2)) == []
    assert [r.tolist() for r in reversed(x)] == [[4, 5], [2, 3], [0, 1]]
    for f in (len, iter):
        with pytest.raises(TypeError):
            f(T.tensor(1.0))


def test_iteration_is_differentiable():
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    sum(v * k for k, v in enumerate(x)).backward()
    assert x.grad.tolist() == [0, 1, 2]


def test_membership():
    x = T.tensor([1.0, 2.0])
    assert 2 in x and 3 not in x and T.tensor(1.0) in x


def test_hash_is_identity_and_equality_is_elementwise():
    x, y = T.ones(2), T.ones(2)
    assert hash(x) == hash(x) and len({x, y}) == 2 and {x: 1}[x] == 1
    assert (x == y).tolist() == [True, True] and (x != y).tolist() == [False, False]
    assert (x == None) is False and (x != None) is True
    assert T.equal(x, y) and not T.equal(x, T.ones(3))


def test_comparison_with_numbers_and_arrays():
    x = T.tensor([1.0, 2.0, 3.0])
    assert (x > 1.5).tolist() == [False, True, True] and (2 >= x).tolist() == [True, True, False]
    assert (x < T.tensor([2.0, 2.0, 2.0])).tolist() == [True, False, False]


def test_weak_references():
    x = T.ones(2)
    r, died = weakref.ref(x), []
    weakref.finalize(x, died.append, 1)
    assert r() is x
    del x
    assert r() is None and died == [1], "reference counting alone frees a tensor"


def test_same_tensor_object_comes_back():
    """Python attributes and identity survive what the core keeps."""
    x = T.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert x.grad is x.grad and y.grad is y.grad
    assert y.grad_fn.next_functions[0][0].variable is x


@pytest.mark.parametrize(
    "value, parts",
    [
        (lambda: T.tensor(1.5), ["tensor(1.5"]),
        (lambda: T.tensor([1, 2]), ["tensor([1, 2])"]),
        (lambda: T.tensor([True]), ["True"]),
        (lambda: T.tensor([]), ["tensor([])"]),
        (lambda: T.tensor([1.0], dtype=T.float64), ["float64"]),
        (lambda: T.tensor([1.0], requires_grad=True), ["requires_grad=True"]),
        (lambda: T.tensor([1.0], requires_grad=True) * 2, ["grad_fn=<MulBackward0>"]),
        (lambda: T.tensor([1], dtype=T.int32), ["int32"]),
        (lambda: T.tensor([float("nan")]), ["nan"]),
        (lambda: T.tensor([[1.0, 2.0], [3.0, 4.0]]), ["[1., 2.]", "[3., 4.]"]),
        (lambda: T.zeros(0, 3), ["size=(0, 3)"]),
    ],
)
def test_printing(value, parts):
    text = repr(value())
    for part in parts:
        assert part in text, text
    assert str(value()) == text


def test_printing_of_large_tensors_is_short():
    text = repr(T.arange(100000).reshape(100, 1000))
    assert "..." in text and len(text) < 1500


def test_formatting():
    assert (
        f"{T.tensor(1.25):.1f}" == "1.2"
        and f"{T.tensor(3):d}" == "3"
        and f"{T.tensor(12345.0):.2e}" == "1.23e+04"
    )
    assert f"{T.tensor([1, 2])}" == "tensor([1, 2])"
    with pytest.raises(TypeError):
        f"{T.tensor([1.0, 2.0]):.1f}"


@pytest.mark.parametrize("dt", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pickling(dt, layout):
    x = tensor(np.array([[1, 0], [1, 1]]), dt, layout)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert y.dtype == x.dtype and y.tolist() == x.tolist() and y.shape == x.shape


def test_pickling_keeps_requires_grad_and_drops_grad():
    x = T.ones(2, requires_grad=True)
    x.sum().backward()
    y = pickle.loads(pickle.dumps(x))
    assert y.requires_grad and y.is_leaf and y.grad is None


def test_copy_shares_memory():
    x = T.ones(2)
    y = copy.copy(x)
    y[0] = 5
    assert x.tolist() == [5, 1] and y is not x


def test_deepcopy_of_leaves():
    x = T.ones(2, requires_grad=True)
    x.sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad and y.is_leaf and y.grad.tolist() == [1, 1] and y.grad is not x.grad
    with T.no_grad():
        y[0] = 5
    assert x.tolist() == [1, 1]
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1]
    with pytest.raises(RuntimeError):
        copy.deepcopy(x * 2)


def test_subclass():
    class Parameter(T.Tensor):
        pass

    p = T.Tensor._make_subclass(Parameter, T.ones(2), False)
    p.label = "weight"
    p.requires_grad_()
    assert isinstance(p, Parameter) and isinstance(p, T.Tensor) and p.label == "weight"
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2, 2] and p.is_leaf


def test_parameter_is_a_tensor_that_requires_grad():
    p = T.nn.Parameter(T.ones(2))
    assert isinstance(p, T.Tensor) and p.requires_grad and p.is_leaf
    assert not T.nn.Parameter(T.ones(2), requires_grad=False).requires_grad
    q = pickle.loads(pickle.dumps(p))
    assert isinstance(q, T.nn.Parameter) and q.requires_grad
    assert isinstance(copy.deepcopy(p), T.nn.Parameter)
    assert type(p * 2) is T.Tensor


def test_attributes_cannot_be_invented_by_mistake():
    x = T.ones(2)
    assert not hasattr(x, "no_such_attribute")
    with pytest.raises((AttributeError, RuntimeError)):
        x.shape = (1,)


def test_is_tensor():
    assert T.is_tensor(T.ones(1)) and not T.is_tensor(np.ones(1))


def test_garbage_collector_finds_no_tensors_in_plain_use():
    """Values, graphs and gradients are freed by reference counting alone."""
    gc.collect()
    gc.disable()
    try:
        x = T.ones(3, requires_grad=True)
        refs = []
        for _ in range(3):
            y = (x * x).exp()
            loss = y.sum()
            loss.backward()
            refs += [weakref.ref(y), weakref.ref(loss)]
        del y, loss
        assert all(r() is None for r in refs)
    finally:
        gc.enable()
