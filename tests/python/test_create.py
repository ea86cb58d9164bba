"""Functions that make tensors from nothing but numbers."""

import numpy as np
import pytest
from common import DTYPES, FLOATS, LAYOUTS, T, dtype, dtype_name, host, tensor


@pytest.mark.parametrize("name, value", [("zeros", 0), ("ones", 1)])
@pytest.mark.parametrize("dt", DTYPES)
def test_zeros_and_ones(name, value, dt):
    make = getattr(T, name)
    for args, shape in (
        ((2, 3), (2, 3)),
        (((2, 3),), (2, 3)),
        (([4],), (4,)),
        (((),), ()),
        ((0, 2), (0, 2)),
        ((1,), (1,)),
    ):
        t = make(*args, dtype=dtype(dt))
        assert (tuple(t.shape), dtype_name(t)) == (shape, dt) and (host(t) == value).all()
        assert t.is_contiguous() and not t.requires_grad
    assert make(2, requires_grad=True).requires_grad and make(2, requires_grad=True).is_leaf
    assert make(2, device="cpu").device == T.device("cpu")


@pytest.mark.parametrize("dt", DTYPES)
def test_full(dt):
    t = T.full((2, 3), 1, dtype=dtype(dt))
    assert tuple(t.shape) == (2, 3) and dtype_name(t) == dt and (host(t) == 1).all()


@pytest.mark.parametrize("value, dt", [(2.5, "float32"), (2, "int64"), (True, "bool")])
def test_full_takes_the_dtype_of_its_value(value, dt):
    assert dtype_name(T.full((2,), value)) == dt and T.full((), value).item() == value


def test_empty_has_the_asked_shape_and_dtype():
    t = T.empty(3, 0, 2, dtype=T.int32)
    assert tuple(t.shape) == (3, 0, 2) and t.dtype == T.int32
    assert tuple(T.empty((2, 2)).shape) == (2, 2) and T.empty(2).dtype == T.float32


@pytest.mark.parametrize(
    "args",
    [
        (5,),
        (2, 7),
        (1, 10, 3),
        (10, 1, -3),
        (0.0, 1.0, 0.1),
        (3, 3),
        (-2, 2, 0.5),
        (0, 1, 0.3),
        (5, 0, -1),
        (0,),
    ],
)
def test_arange_is_that_of_numpy(args):
    t, want = T.arange(*args), np.arange(*args)
    assert dtype_name(t) == ("float32" if want.dtype.kind == "f" else "int64")
    np.testing.assert_allclose(host(T.arange(*args, dtype=T.float64)), want, rtol=1e-15)
    assert t.shape == want.shape


@pytest.mark.parametrize("args", [(0, 1, 0), (1, 0, 1), (0, 1, -1), (0.0, float("inf"))])
def test_arange_refuses(args):
    with pytest.raises(RuntimeError):
        T.arange(*args)


@pytest.mark.parametrize("args", [(0, 1, 5), (-3, 3, 1), (2, -2, 4), (0, 10, 0), (0.5, 0.5, 3)])
def test_linspace_is_that_of_numpy(args):
    np.testing.assert_allclose(
        host(T.linspace(*args, dtype=T.float64)), np.linspace(*args), rtol=1e-14, atol=1e-15
    )
    ends = host(T.linspace(0.1, 0.7, 7, dtype=T.float64))
    assert ends[0] == 0.1 and ends[-1] == 0.7
    assert T.linspace(*args).dtype == T.float32


def test_linspace_refuses_a_negative_count():
    with pytest.raises(RuntimeError):
        T.linspace(0, 1, -1)


@pytest.mark.parametrize("args", [(3,), (2, 4), (4, 2), (0,), (1, 0)])
@pytest.mark.parametrize("dt", ["float64", "int64", "bool"])
def test_eye_is_that_of_numpy(args, dt):
    t = T.eye(*args, dtype=dtype(dt))
    assert np.array_equal(host(t), np.eye(*args, dtype=dt)) and dtype_name(t) == dt


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dt", DTYPES)
def test_like_forms_take_shape_and_dtype(layout, dt):
    x = tensor(np.ones((2, 3)), dt, layout)
    for made, value in (
        (T.zeros_like(x), 0),
        (T.ones_like(x), 1),
        (T.full_like(x, 1), 1),
        (x.new_zeros(2, 3), 0),
        (x.new_ones((2, 3)), 1),
        (x.new_full((2, 3), 1), 1),
    ):
        assert tuple(made.shape) == (2, 3) and dtype_name(made) == dt and (host(made) == value).all()
    assert T.empty_like(x).shape == x.shape and x.new_empty(2, 3).dtype == x.dtype
    assert T.zeros_like(x, dtype=T.float64).dtype == T.float64
    assert tuple(x.new_tensor([1, 0]).shape) == (2,)
    y = T.zeros_like(x)
    y.fill_(1)  # memory of its own, whatever the layout it was made like
    assert (host(y) == 1).all()


def test_like_forms_do_not_track():
    x = T.ones(2, requires_grad=True)
    assert not T.zeros_like(x).requires_grad and T.ones_like(x, requires_grad=True).requires_grad


@pytest.mark.parametrize("shape", [(-1,), (2, -3)])
def test_negative_sizes_are_refused(shape):
    for make in (T.zeros, T.ones, T.empty):
        with pytest.raises(RuntimeError):
            make(*shape)


def test_absurd_sizes_are_an_error_not_a_crash():
    with pytest.raises((RuntimeError, MemoryError, ValueError, OverflowError)):
        T.zeros(2**40, 2**40)
    with pytest.raises((RuntimeError, MemoryError, ValueError, OverflowError)):
        T.empty(2**60)


@pytest.mark.parametrize(
    "data, shape",
    [
        (1.5, ()),
        ([1, 2], (2,)),
        ([[1, 2], [3, 4], [5, 6]], (3, 2)),
        ([], (0,)),
        ([[]], (1, 0)),
        ((1, (2)), (2,)),
        ([[[1.0]]], (1, 1, 1)),
        (range(3), (3,)),
        ([(1, 2), [3, 4]], (2, 2)),
    ],
)
def test_tensor_takes_nested_sequences(data, shape):
    t = T.tensor(data)
    assert tuple(t.shape) == shape
    assert t.tolist() == np.array(data).tolist()


@pytest.mark.parametrize("data", [[[1, 2], [3]], [1, [2]], [[1], 2]])
def test_tensor_refuses_ragged_sequences(data):
    with pytest.raises((ValueError, TypeError)):
        T.tensor(data)


@pytest.mark.parametrize("data", ["text", None, [None], ["a"], {"a": 1}, object()])
def test_tensor_refuses_what_is_no_number(data):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        T.tensor(data)


def test_tensor_copies_its_data():
    a = np.ones(3)
    t = T.tensor(a)
    a[0] = 5
    assert t.tolist() == [1, 1, 1]


def test_tensor_takes_scalars_and_tensors_in_lists():
    t = T.tensor([T.tensor(1.0), np.float32(2.0), 3])
    assert t.tolist() == [1, 2, 3]


def test_as_tensor_shares_what_it_can():
    a = np.ones(3)
    t = T.as_tensor(a)
    a[0] = 5
    assert t.tolist() == [5, 1, 1]
    assert T.as_tensor(t) is t
    assert T.as_tensor([1, 2]).tolist() == [1, 2]
    assert T.as_tensor(a, dtype=T.float32).dtype == T.float32


def test_big_integers_are_kept_or_refused():
    assert T.tensor(2**63 - 1).item() == 2**63 - 1 and T.tensor(-(2**63)).item() == -(2**63)
    with pytest.raises((RuntimeError, OverflowError, ValueError)):
        T.tensor(2**63)


@pytest.mark.parametrize("dt", FLOATS)
def test_values_survive_being_written_and_read(dt):
    values = [0.0, -0.0, 1.0, -2.5, 1024.0, float("inf"), float("-inf")]
    got = T.tensor(values, dtype=dtype(dt)).tolist()
    assert [repr(v) for v in got] == [repr(v) for v in values]
