"""Layers, activations and losses as modules."""

from __future__ import annotations

from typing import Literal

from .._rgrad import Tensor, empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "ELU",
    "GELU",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "NLLLoss",
    "ReLU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
]


class Identity(Module):
    """Returns its argument; takes and ignores any options."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """``x`` itself."""
        return x


class Linear(Module):
    """``x @ weight.T + bias``.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the last axis before and after.
    bias : bool, default True
        Whether there is a bias.
    dtype : dtype, optional
        Of the parameters; the default dtype otherwise.

    Notes
    -----
    ``weight`` has shape ``(out_features, in_features)``. Both start uniform in ±1/√in_features.

    Examples
    --------
    >>> import rgrad
    >>> layer = rgrad.nn.Linear(3, 2)
    >>> tuple(layer(rgrad.ones(5, 3)).shape)
    (5, 2)
    """

    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype=None) -> None:
        super().__init__()
        if in_features < 0 or out_features < 0:
            raise ValueError(f"Linear needs sizes of at least 0, got {in_features} and {out_features}")
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new values."""
        bound = self.in_features**-0.5 if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """From ``(..., in_features)`` to ``(..., out_features)``."""
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class Embedding(Module):
    """A table of vectors, looked up by integers.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Shape of ``weight``, which starts standard normal.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype=None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype))
        init.normal_(self.weight)

    def forward(self, index: Tensor) -> Tensor:
        """From ``(...)`` integers to ``(..., embedding_dim)``."""
        return F.embedding(index, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class LayerNorm(Module):
    """Normalizes over the last axes, then scales and shifts.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        Sizes of the axes.
    eps : float
        Added to the variance.
    elementwise_affine, bias : bool
        Whether there are a ``weight`` (ones) and a ``bias`` (zeros).
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, dtype=None) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        shape = self.normalized_shape
        self.register_parameter(
            "weight", Parameter(empty(shape, dtype=dtype)) if elementwise_affine else None
        )
        self.register_parameter(
            "bias", Parameter(empty(shape, dtype=dtype)) if elementwise_affine and bias else None
        )
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class Flatten(Module):
    """Joins the axes from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with these axes as one."""
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Module):
    """In training, zeroes each element with probability ``p`` and scales the others by 1/(1-p)."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"the probability of Dropout must lie in [0, 1], got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.relu(x)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return x.tanh()


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return x.sigmoid()


class SiLU(Module):
    """x · sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.silu(x)


class GELU(Module):
    """x · Φ(x), with the normal distribution's Φ or, for ``approximate='tanh'``, its tanh approximation."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate must be 'none' or 'tanh', got {approximate!r}")
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.gelu(x, approximate=self.approximate)


class ELU(Module):
    """x for x > 0, else alpha · (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.elu(x, self.alpha)


class LeakyReLU(Module):
    """x for x > 0, else ``negative_slope`` · x."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}"


class Softplus(Module):
    """log(1 + exp(beta·x)) / beta, and x itself where beta·x > ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return F.softplus(x, self.beta, self.threshold)


class Softmax(Module):
    """exp(x) over its sum along ``dim``."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return x.softmax(self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """Logarithm of the softmax along ``dim``."""

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of ``x``."""
        return x.log_softmax(self.dim)


Reduction = Literal["none", "mean", "sum"]


class _Loss(Module):
    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
        self.reduction = reduction


class MSELoss(_Loss):
    """(x - target)², reduced."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A scalar, or the shape of ``x`` for reduction 'none'."""
        return F.mse_loss(x, target, reduction=self.reduction)


class L1Loss(_Loss):
    """|x - target|, reduced."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A scalar, or the shape of ``x`` for reduction 'none'."""
        return F.l1_loss(x, target, reduction=self.reduction)


class _ClassLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index


class NLLLoss(_ClassLoss):
    """Negative log-likelihood of log-probabilities ``(N, C, ...)`` for classes ``(N, ...)``."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A scalar, or the shape of ``target`` for reduction 'none'."""
        return F.nll_loss(
            x, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class CrossEntropyLoss(_ClassLoss):
    """Cross-entropy of scores ``(N, C, ...)`` for classes ``(N, ...)`` or probabilities of that shape."""

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        if not 0 <= label_smoothing <= 1:
            raise ValueError(f"label_smoothing must lie in [0, 1], got {label_smoothing}")
        self.label_smoothing = label_smoothing

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A scalar, or the shape of ``target`` for reduction 'none'."""
        return F.cross_entropy(
            x,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
