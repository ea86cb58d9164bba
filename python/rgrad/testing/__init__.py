"""Comparisons for tests."""

from __future__ import annotations

from typing import Any

from .._rgrad import Tensor

__all__ = ["assert_close"]

# Relative and absolute tolerances by dtype, as in PyTorch.
_TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Raises unless ``|actual - expected| <= atol + rtol·|expected|`` everywhere.

    Parameters
    ----------
    actual, expected : Tensor, array, number, or nested list, tuple or dict of them
        Of the same structure and shapes.
    rtol, atol : float, optional
        Given together; by default those of the dtype, the larger where two meet.
    equal_nan : bool, default False
        Whether NaN equals NaN.
    check_dtype : bool, default True
        Whether dtypes of tensors must agree.
    msg : str, optional
        Replaces the message.

    Raises
    ------
    AssertionError
        Naming how many entries differ, and where most.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.testing.assert_close(rgrad.tensor([1.0, 2.0]), rgrad.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must be given together, or neither")
    _compare(actual, expected, "", (rtol, atol, equal_nan, check_dtype, msg))


def _compare(a: Any, b: Any, where: str, options: tuple) -> None:
    if isinstance(b, dict) and isinstance(a, dict):
        if a.keys() != b.keys():
            raise AssertionError(f"keys{where} differ: {list(a)} and {list(b)}")
        for key in b:
            _compare(a[key], b[key], f"{where}[{key!r}]", options)
    elif isinstance(b, (list, tuple)) and isinstance(a, (list, tuple)):
        if len(a) != len(b):
            raise AssertionError(f"lengths{where} differ: {len(a)} and {len(b)}")
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            _compare(x, y, f"{where}[{i}]", options)
    else:
        _compare_values(a, b, where, options)


def _compare_values(a: Any, b: Any, where: str, options: tuple) -> None:
    import numpy as np

    rtol, atol, equal_nan, check_dtype, msg = options
    names = [str(t.dtype).rpartition(".")[2] for t in (a, b) if isinstance(t, Tensor)]
    at = f" at {where}" if where else ""
    if check_dtype and len(names) == 2 and names[0] != names[1]:
        raise AssertionError(msg or f"dtypes{at} differ: {names[0]} and {names[1]}")
    x, y = (_array(t) for t in (a, b))
    if x.shape != y.shape:
        raise AssertionError(msg or f"shapes{at} differ: {x.shape} and {y.shape}")
    if rtol is None:
        pairs = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names] or [_TOLERANCES["float64"]]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    bad = ~np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if not bad.any():
        return
    with np.errstate(invalid="ignore"):
        gap = np.where(bad, np.abs(x.astype(np.float64) - y.astype(np.float64)), -1.0)
    gap = np.where(np.isnan(gap), np.inf, gap)
    worst = np.unravel_index(np.argmax(gap), gap.shape)
    raise AssertionError(
        msg
        or f"{bad.sum()} of {bad.size} entries{at} differ, most at {tuple(int(i) for i in worst)}: "
        f"{x[worst]!r} and {y[worst]!r} (rtol {rtol:g}, atol {atol:g})"
    )


def _array(t: Any):
    import numpy as np

    if not isinstance(t, Tensor):
        return np.asarray(t)
    t = t.detach()
    return np.asarray((t.float() if t.element_size() < 4 and t.is_floating_point() else t).numpy())
