"""NumPy, DLPack and the buffer protocol: shared memory, lifetimes, dtypes, refusals."""

import gc
import weakref

import numpy as np
import pytest
from common import LAYOUTS, T, dtype, dtype_name, tensor

NUMPY = ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")


@pytest.mark.parametrize("name", NUMPY)
def test_from_numpy_shares_memory(name):
    a = np.array([1, 0, 1], name)
    t = T.from_numpy(a)
    assert dtype_name(t) == name
    a[1] = 1
    assert t.tolist() == a.tolist()
    t[0] = 0
    assert a[0] == 0
    assert t.data_ptr() == a.ctypes.data


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_shares_memory_and_strides(name, layout):
    t = tensor(np.array([[1, 0, 1], [0, 1, 1]]), name, layout)
    a = t.numpy()
    assert a.dtype == name and a.shape == (2, 3) and a.ctypes.data == t.data_ptr()
    assert tuple(s // a.itemsize for s in a.strides) == t.stride()
    assert a.tolist() == t.tolist()
    if layout != "expanded":
        a[0, 0] = 0
        assert t[0, 0].item() == 0


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2],
        lambda a: a.T,
        lambda a: a[:, 1:],
        lambda a: a[1],
        lambda a: np.broadcast_to(a[0], (3, 4)).copy()[:, ::3],
        lambda a: a[2:2],
        lambda a: a[::-1, ::-2],
    ],
)
def test_views_of_arrays_keep_their_strides(view):
    a = view(np.arange(24.0).reshape(6, 4))
    t = T.from_numpy(a)
    assert t.tolist() == a.tolist() and t.shape == a.shape
    if a.size:
        a[...] = 7
        assert (t == 7).all()


@pytest.mark.parametrize(
    "bad, error",
    [
        (np.array(["a"]), TypeError),
        (np.array([object()]), TypeError),
        ([1.0], TypeError),
        (np.arange(4, dtype=">f8"), (ValueError, TypeError)),
        (np.zeros(3, [("a", "f4")]), TypeError),
        (np.float64(1.0), TypeError),
    ],
)
def test_arrays_that_cannot_be_shared_are_refused(bad, error):
    with pytest.raises(error):
        T.from_numpy(bad)


def test_read_only_arrays_are_not_written_behind_numpys_back():
    a = np.zeros(2)
    a.setflags(write=False)
    with pytest.warns(UserWarning):
        t = T.from_numpy(a)
    assert t.tolist() == [0, 0]


def test_array_keeps_its_tensor_alive():
    t = T.arange(1000, dtype=T.float64)
    a = t.numpy()
    view = a[10:20]
    del t, a
    gc.collect()
    T.zeros(1000, dtype=T.float64).fill_(-1)
    assert view.tolist() == list(range(10, 20))


def test_tensor_keeps_its_array_alive_and_lets_it_go():
    class Array(np.ndarray):
        pass

    a = np.arange(1000.0).view(Array)
    died = weakref.ref(a)
    t = T.from_numpy(a)
    part = t[10:12]
    del a, t
    gc.collect()
    assert part.tolist() == [10, 11]
    del part
    gc.collect()
    assert died() is None


def test_tracked_tensors_have_no_array():
    x = T.ones(2, requires_grad=True)
    for f in (lambda: x.numpy(), lambda: np.asarray(x), lambda: (x * 2).numpy()):
        with pytest.raises(RuntimeError, match="detach"):
            f()
    assert x.detach().numpy().tolist() == [1, 1] and x.numpy(force=True).tolist() == [1, 1]


def test_bfloat16_has_no_numpy_dtype():
    with pytest.raises(TypeError):
        T.ones(2, dtype=T.bfloat16).numpy()


def test_asarray_and_array_protocol():
    t = T.arange(6, dtype=T.float32).reshape(2, 3)
    a = np.asarray(t)
    assert a.dtype == np.float32 and a.ctypes.data == t.data_ptr()
    assert np.array(t).ctypes.data != t.data_ptr()
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert np.stack([t, t]).shape == (2, 2, 3) and np.sum(np.asarray(t)) == 15
    assert np.asarray(T.tensor(3.5)).shape == ()


def test_numpy_scalars_are_numbers():
    x = T.tensor([1.0, 2.0], requires_grad=True)
    for scalar in (np.float32(2), np.float64(2), np.int64(2), np.int32(2)):
        assert (x * scalar).tolist() == [2, 4] and (x * scalar).dtype == T.float32
        assert (x**scalar).tolist() == [1, 4]
    assert x[np.int64(1)].item() == 2 and T.zeros(np.int64(2), np.int32(3)).shape == (2, 3)
    assert x.sum(dim=np.int64(0)).item() == 3


def test_indexing_by_arrays():
    x = T.arange(6).reshape(3, 2)
    assert x[np.array([2, 0])].tolist() == [[4, 5], [0, 1]]
    assert x[np.array([True, False, True])].tolist() == [[0, 1], [4, 5]]
    a = np.arange(6).reshape(3, 2)
    assert a[T.tensor([2, 0])].tolist() == [[4, 5], [0, 1]]


def test_array_on_either_side_of_an_operator():
    a, x = np.array([1.0, 2.0]), T.tensor([3.0, 4.0], dtype=T.float64, requires_grad=True)
    for out, want in (
        (x * a, [3, 8]),
        (a * x, [3, 8]),
        (a + x, [4, 6]),
        (a - x, [-2, -2]),
        (x - a, [2, 2]),
        (a / x, [1 / 3, 0.5]),
        (x @ a, 11.0),
        (a @ x, 11.0),
        (a**x, [1, 16]),
    ):
        assert isinstance(out, T.Tensor) and out.requires_grad
        assert np.allclose(out.detach().numpy(), want)
    (a * x).sum().backward()
    assert x.grad.tolist() == [1, 2]
    assert ((a < x).tolist(), (x == a).tolist()) == ([True, True], [False, False])


# ---- DLPack --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NUMPY)
def test_dlpack_to_numpy_and_back(name):
    t = T.tensor([[1, 0, 1], [0, 1, 1]]).to(dtype(name))
    a = np.from_dlpack(t.t())
    assert (
        a.dtype == name
        and a.shape == (3, 2)
        and a.tolist() == t.t().tolist()
        and a.ctypes.data == t.data_ptr()
    )
    b = np.array([[1, 0], [1, 1]], name)
    back = T.from_dlpack(b)
    assert dtype_name(back) == name and back.tolist() == b.tolist() and back.data_ptr() == b.ctypes.data
    b[0, 0] = 0
    assert back[0, 0].item() == 0


def test_dlpack_between_tensors():
    x = T.arange(6.0).reshape(2, 3)[:, 1:]
    y = T.from_dlpack(x)
    y[0, 0] = 9
    assert x[0, 0].item() == 9 and y.stride() == x.stride() and tuple(x.__dlpack_device__()) == (1, 0)
    z = T.from_dlpack(T.ones(2, dtype=T.bfloat16))
    assert z.dtype == T.bfloat16


def test_dlpack_memory_outlives_its_tensor():
    t = T.arange(1000, dtype=T.float64)
    a = np.from_dlpack(t)
    del t
    gc.collect()
    T.zeros(1000, dtype=T.float64).fill_(-1)
    assert a[999] == 999


def test_dlpack_frees_its_source():
    class Array(np.ndarray):
        pass

    a = np.arange(10.0).view(Array)
    died = weakref.ref(a)
    t = T.from_dlpack(a)
    del a
    gc.collect()
    assert t[3].item() == 3
    del t
    gc.collect()
    assert died() is None


def test_dlpack_capsule_is_used_once_or_never():
    capsule = T.ones(3).__dlpack__()
    del capsule  # never used: its memory must go without harm
    x = T.ones(3)
    capsule = x.__dlpack__()
    assert T.from_dlpack(capsule).tolist() == [1, 1, 1]
    with pytest.raises(Exception):
        T.from_dlpack(capsule)


def test_dlpack_of_tracked_tensors_is_refused():
    with pytest.raises((RuntimeError, BufferError)):
        np.from_dlpack(T.ones(2, requires_grad=True))


# ---- buffer protocol -----------------------------------------------------------------------------


def test_buffer_protocol():
    t = T.arange(6, dtype=T.int32).reshape(2, 3)
    view = memoryview(t)
    assert (view.shape, view.format, view.itemsize, view.readonly) == ((2, 3), "i", 4, False)
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert memoryview(t.t()).strides == (4, 12)
    view[0, 0] = 7
    assert t[0, 0].item() == 7
    del t
    gc.collect()
    assert view[1, 2] == 5
    assert bytes(T.tensor([1, 2], dtype=T.uint8)) == b"\x01\x02"


def test_frombuffer():
    raw = bytearray(np.arange(4.0).tobytes())
    t = T.frombuffer(raw, dtype=T.float64)
    assert t.tolist() == [0, 1, 2, 3]
    t[0] = 5
    assert np.frombuffer(raw)[0] == 5
    assert T.frombuffer(raw, dtype=T.float64, count=2, offset=8).tolist() == [1, 2]


def test_tensor_of_memoryview_copies():
    raw = np.arange(3.0)
    t = T.tensor(memoryview(raw))
    raw[0] = 9
    assert t.tolist() == [0, 1, 2]
