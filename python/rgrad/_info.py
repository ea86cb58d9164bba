"""Limits of dtypes, under PyTorch's names."""

from __future__ import annotations

import numpy as np

from ._rgrad import bfloat16, dtype, get_default_dtype

__all__ = ["finfo", "iinfo"]


class finfo:
    """Limits of a floating point dtype: ``bits``, ``eps``, ``max``, ``min``, ``tiny``, ``smallest_normal``,
    ``resolution``.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.finfo(rgrad.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dtype | None = None) -> None:
        kind = get_default_dtype() if type is None else type
        if not kind.is_floating_point:
            raise TypeError(f"finfo takes a floating point dtype, got {kind}; use iinfo")
        self.dtype = str(kind).rpartition(".")[2]
        if kind == bfloat16:
            self.bits, self.eps, self.tiny = 16, 2.0**-7, 2.0**-126
            self.max, self.resolution = (2 - 2.0**-7) * 2.0**127, 0.01
        else:
            info = np.finfo(self.dtype)
            self.bits, self.eps, self.tiny = int(info.bits), float(info.eps), float(info.tiny)
            self.max, self.resolution = float(info.max), float(info.resolution)
        self.min, self.smallest_normal = -self.max, self.tiny

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype: ``bits``, ``max``, ``min``.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.iinfo(rgrad.uint8).max
    255
    """

    def __init__(self, type: dtype) -> None:
        name = str(type).rpartition(".")[2]
        if type.is_floating_point or name == "bool":
            raise TypeError(f"iinfo takes an integer dtype, got {type}")
        info = np.iinfo(name)
        self.dtype, self.bits = name, int(info.bits)
        self.max, self.min = int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
