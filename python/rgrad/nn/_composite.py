"""Functions of neural networks that are compositions of other operations."""

from __future__ import annotations

from .._rgrad import ShapeError, Tensor, where

__all__ = ["embedding", "layer_norm"]


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of ``weight`` by integers.

    Parameters
    ----------
    input : Tensor
        Integers of any shape.
    weight : Tensor
        Shape (number of rows, size of a row).
    padding_idx : int, optional
        The row of this number gets no gradient.

    Returns
    -------
    Tensor
        Shape ``input.shape + (size of a row,)``.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.nn.functional.embedding(rgrad.tensor([1, 0]), rgrad.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    if weight.ndim != 2:
        raise ValueError(f"embedding needs a weight of two axes, got shape {tuple(weight.shape)}")
    try:
        rows = weight[input]
    except IndexError as e:
        raise IndexError(f"[embedding] {e}") from None
    if padding_idx is None:
        return rows
    n = weight.shape[0]
    if not -n <= padding_idx < n:
        raise ValueError(f"padding_idx must lie in [{-n}, {n}), got {padding_idx}")
    return where((input == padding_idx % n).unsqueeze(-1), rows.detach(), rows)


def layer_norm(
    input: Tensor,
    normalized_shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / sqrt(var + eps)`` over the last axes, scaled by ``weight`` and shifted by ``bias``.

    Parameters
    ----------
    input : Tensor
        Its last axes must be ``normalized_shape``.
    normalized_shape : int or sequence of int
        Sizes of the axes.
    weight, bias : Tensor, optional
        Of this shape.
    eps : float
        Added to the (biased) variance.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.nn.functional.layer_norm(rgrad.tensor([[1.0, 3.0]]), 2)
    >>> [round(v, 3) for v in x[0].tolist()]
    [-1.0, 1.0]
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or tuple(input.shape[input.ndim - len(shape) :]) != shape or input.ndim < len(shape):
        raise ShapeError(
            f"[layer_norm] needs an input that ends in the axes {shape}, got {tuple(input.shape)}"
        )
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    centred = input - input.mean(axes, keepdim=True)
    out = centred * ((centred * centred).mean(axes, keepdim=True) + eps).rsqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias
