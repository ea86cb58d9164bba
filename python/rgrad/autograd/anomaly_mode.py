"""Finds the step of a backward pass that makes a NaN."""

from __future__ import annotations

import warnings

from .._rgrad import _is_anomaly_enabled, _set_detect_anomaly

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """Whether backward passes look for NaN."""
    return _is_anomaly_enabled()


class set_detect_anomaly:
    """Switches the search for NaN on or off: from the call on, or in a ``with`` block.

    Parameters
    ----------
    mode : bool
        Whether a NaN in a gradient raises RuntimeError, which names the step.
    check_nan : bool, default True
        With False nothing is searched.
    """

    __slots__ = ("_before", "mode")

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _is_anomaly_enabled()
        self.mode = bool(mode) and check_nan
        _set_detect_anomaly(self.mode)

    def __enter__(self) -> None:
        _set_detect_anomaly(self.mode)

    def __exit__(self, *exc) -> None:
        _set_detect_anomaly(self._before)


class detect_anomaly:
    """Context manager: a NaN in a backward pass inside raises, naming the step. It slows passes down, and warns so.

    Parameters
    ----------
    check_nan : bool, default True
        With False nothing is searched.

    Raises
    ------
    RuntimeError
        From the backward pass; infinities pass.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor(0.0, requires_grad=True)
    >>> with rgrad.autograd.set_detect_anomaly(True):
    ...     (x * x).sqrt().backward()
    Traceback (most recent call last):
    ...
    RuntimeError: ...
    """

    __slots__ = ("_before", "check_nan")

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before: list[bool] = []
        warnings.warn(
            "anomaly detection is on: it slows backward passes down, use it only to look for a fault",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before.append(_is_anomaly_enabled())
        _set_detect_anomaly(self.check_nan)

    def __exit__(self, *exc) -> None:
        _set_detect_anomaly(self._before.pop())
