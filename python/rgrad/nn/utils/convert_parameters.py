"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ..._rgrad import Tensor, cat
from ...autograd.grad_mode import no_grad

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and joined in order; differentiable.

    Raises
    ------
    ValueError
        When there are none.
    """
    flat = [p.flatten() for p in parameters]
    if not flat:
        raise ValueError("parameters_to_vector got no parameters")
    return cat(flat)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies a vector into parameters, in order.

    Raises
    ------
    TypeError
        When ``vec`` is no tensor.
    ValueError
        When its length is not the number of elements of all parameters.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters takes a tensor, got {type(vec).__name__}")
    targets = list(parameters)
    total = sum(p.numel() for p in targets)
    if vec.ndim != 1 or vec.numel() != total:
        raise ValueError(f"the vector has shape {tuple(vec.shape)}, the parameters have {total} elements")
    at = 0
    with no_grad():
        for p in targets:
            p.copy_(vec[at : at + p.numel()].reshape(tuple(p.shape)))
            at += p.numel()
