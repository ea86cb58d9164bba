"""What the tests share: the module under test, conversions between NumPy and tensors, comparison."""

import os

import numpy as np
import rgrad as T

REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "reference")

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTS = ("int64", "int32", "uint8")
DTYPES = (*FLOATS, *INTS, "bool")
STRIDED = ("transposed", "stepped", "reversed", "offset")  # layouts that leave the values alone
LAYOUTS = ("contiguous", *STRIDED, "expanded")

# Relative tolerance of one elementary operation, a few units in the last place of each dtype.
RTOL = {"float64": 2e-14, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


def dtype(name):
    """The module's dtype of that name."""
    return getattr(T, name)


def dtype_name(t):
    """Name of a tensor's dtype."""
    return str(t.dtype).rsplit(".", 1)[-1]


def is_float(t):
    """Whether gradients can flow through the tensor."""
    return isinstance(t, T.Tensor) and dtype_name(t) in FLOATS


def host(t):
    """The tensor's values as a NumPy array of their own; bfloat16 comes as float32, exactly."""
    t = t.detach()
    if dtype_name(t) == "bfloat16":
        t = t.to(T.float32)
    return np.array(t.numpy())


def tensor(a, dt=None, layout="contiguous", grad=False):
    """A tensor of the values of `a`, laid out as asked; `expanded` repeats the first slice along axis 0."""
    a = np.asarray(a)
    make = (lambda v: T.tensor(v)) if dt is None else (lambda v: T.tensor(v).to(dtype(dt)))
    if layout == "transposed" and a.ndim >= 2:
        t = make(np.ascontiguousarray(a.T)).permute(*reversed(range(a.ndim)))
    elif layout == "stepped" and a.ndim:
        wide = np.full([2 * n + 1 for n in a.shape], 3, a.dtype)
        wide[tuple(slice(1, 1 + 2 * n, 2) for n in a.shape)] = a
        t = make(wide)[tuple(slice(1, 1 + 2 * n, 2) for n in a.shape)]
    elif layout == "reversed" and a.ndim:
        t = make(np.ascontiguousarray(np.flip(a)))[(slice(None, None, -1),) * a.ndim]
    elif layout == "offset":
        t = make(np.concatenate([np.full(3, 5, a.dtype), a.ravel()]))[3:].reshape(a.shape)
    elif layout == "expanded" and a.ndim and a.shape[0] > 1:
        t = make(np.ascontiguousarray(a[:1])).expand(*a.shape)
    else:
        t = make(a)
    return t.requires_grad_() if grad else t


def flatten(out):
    """All tensors (and plain values) of a nested result, in order."""
    if isinstance(out, (list, tuple)):
        return [v for o in out for v in flatten(o)]
    return [out]


def assert_close(got, want, rtol, what="", atol=0.0):
    """Equal within `rtol` of each value, or of a quarter of the largest plus `atol`; NaN equals NaN."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "biu" and got.dtype.kind in "biu":
        assert np.array_equal(got, want), f"{what}: {got!r}, expected {want!r}"
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    scale = finite.max() if finite.size else 0.0
    with np.errstate(all="ignore"):
        bad = ~np.isclose(got, want, rtol=rtol, atol=0.25 * rtol * scale + atol, equal_nan=True)
    if bad.any():
        i = tuple(int(k[0]) for k in np.nonzero(bad))
        raise AssertionError(
            f"{what}: {bad.sum()} of {bad.size} differ, at {i}: {got[i]!r}, expected {want[i]!r}"
        )


def assert_same_bits(got, want, what=""):
    """Equal dtype, shape and bit patterns (NaNs included)."""
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (
        f"{what}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    )
    if got.tobytes() != want.tobytes():
        bad = got.ravel().view(f"u{got.itemsize}") != want.ravel().view(f"u{got.itemsize}")
        i = int(np.nonzero(bad)[0][0])
        a, b = got.ravel()[i], want.ravel()[i]
        raise AssertionError(f"{what}: {bad.sum()} of {bad.size} bits differ, at {i}: {a!r}, expected {b!r}")
