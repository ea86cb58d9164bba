"""Limits on gradients."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable

from ..._rgrad import Tensor, float32, stack, tensor
from ...autograd.grad_mode import no_grad

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _list(parameters: Tensor | Iterable[Tensor], what: str) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    found = list(parameters)
    if not found and isinstance(parameters, types.GeneratorType):
        warnings.warn(f"{what} got an empty generator: was it used up before?", stacklevel=4)
    return found


def _norm(t: Tensor, p: float) -> Tensor:
    """The p-norm of all elements, scaled by the largest so that no power overflows or vanishes."""
    if t.numel() == 0:
        return t.new_zeros(())
    if p == 0:
        return (t != 0).sum().to(t.dtype)
    size = t.abs()
    top = size.amax()
    if p == math.inf:
        return top
    if p == -math.inf:
        return size.amin()
    scale = top.item()
    if scale == 0 or not math.isfinite(scale):
        return size.pow(p).sum().pow(1.0 / p)
    return (size / top).pow(p).sum().pow(1.0 / p) * top


def _norm2(tensors: list[Tensor]) -> Tensor | None:
    """The 2-norm of all elements by plain squares; None where these overflow or vanish."""
    squares = []
    for t in tensors:
        flat = t.flatten()
        squares.append(flat.dot(flat))
    total = (squares[0] if len(squares) == 1 else stack(squares).sum()).sqrt()
    low, high = (1e-130, 1e150) if total.element_size() == 8 else (1e-13, 1e19)
    return total if low < total.item() < high else None


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as of one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensor
        Usually gradients.
    norm_type : float, default 2
        Any p; ``inf`` for the largest magnitude.
    error_if_nonfinite : bool, default False
        Whether a norm that is infinite or NaN raises.
    foreach : bool, optional
        Accepted for programs that pass it; it does not change the result.

    Returns
    -------
    Tensor
        0-dimensional. Zero for no tensors. Squares that would overflow do not make it infinite.

    Raises
    ------
    RuntimeError
        For a norm that is not finite, when ``error_if_nonfinite``.
    """
    p = float(norm_type)
    if math.isnan(p):
        raise ValueError("norm_type must not be NaN")
    given = [t.detach() for t in _list(tensors, "get_total_norm")]
    if not given:
        return tensor(0.0)
    wide = [t.to(float32) if t.element_size() < 4 else t for t in given]
    total = _norm2(wide) if p == 2 else None
    if total is None:
        norms = [_norm(t, p) for t in wide]
        total = norms[0] if len(norms) == 1 else _norm(stack(norms), p)
    if all(t.element_size() < 4 for t in given):
        total = total.to(given[0].dtype)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"the total norm of order {p:g} of the gradients is {total.item()}, so it cannot be clipped; the "
            "gradients are unchanged (error_if_nonfinite=False scales them anyway)"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scales the gradients, in place, by ``max_norm / (total_norm + 1e-6)`` where that is below 1.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those without a gradient are skipped.
    max_norm : float
        The limit; not negative.
    total_norm : Tensor
        As :func:`get_total_norm` gives.
    """
    max_norm = _limit(max_norm, "max_norm")
    factor = max_norm / (total_norm + 1e-6)
    if factor.item() >= 1:
        return
    for p in _list(parameters, "clip_grads_with_norm_"):
        if p.grad is not None:
            p.grad.mul_(factor.to(p.grad.dtype))


def _limit(value: float, what: str) -> float:
    value = float(value)
    if not value >= 0:
        raise ValueError(f"{what} must be a number that is not negative, got {value}")
    return value


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of all parameters together so that their norm is at most ``max_norm``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those without a gradient are skipped.
    max_norm : float
        The limit; not negative.
    norm_type, error_if_nonfinite, foreach
        As for :func:`get_total_norm`.

    Returns
    -------
    Tensor
        The norm before clipping, 0-dimensional.

    Raises
    ------
    RuntimeError
        For a norm that is not finite, when ``error_if_nonfinite``; the gradients are unchanged then.
    ValueError
        For a negative limit.

    Notes
    -----
    The factor is ``max_norm / (norm + 1e-6)``, at most 1, as in PyTorch. Without ``error_if_nonfinite`` an
    infinite norm turns finite entries into zeros and infinite ones into NaN, and a NaN norm spreads to all.

    Examples
    --------
    >>> import rgrad
    >>> w = rgrad.zeros(2, requires_grad=True)
    >>> w.grad = rgrad.tensor([6.0, 8.0])
    >>> rgrad.nn.utils.clip_grad_norm_([w], 5.0).item()
    10.0
    >>> [round(v, 4) for v in w.grad.tolist()]
    [3.0, 4.0]
    """
    max_norm = _limit(max_norm, "max_norm")
    with_grad = [p for p in _list(parameters, "clip_grad_norm_") if p.grad is not None]
    total = get_total_norm([p.grad for p in with_grad], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(with_grad, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Bounds each entry of the gradients, in place, to [-clip_value, clip_value]; NaN stays.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those without a gradient are skipped.
    clip_value : float
        The bound; not negative.

    Examples
    --------
    >>> import rgrad
    >>> w = rgrad.zeros(2, requires_grad=True)
    >>> w.grad = rgrad.tensor([-100.0, 0.5])
    >>> rgrad.nn.utils.clip_grad_value_(w, 2.0)
    >>> w.grad.tolist()
    [-2.0, 0.5]
    """
    bound = _limit(clip_value, "clip_value")
    for p in _list(parameters, "clip_grad_value_"):
        if p.grad is not None:
            p.grad.clamp_(-bound, bound)
