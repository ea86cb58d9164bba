"""RMSprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._rgrad import Tensor
from .optimizer import Optimizer, advance, check, check_common, step_owned, zeros_owned

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012; centred: Graves, 2013).

    With gradient g (plus ``weight_decay``·p): v becomes α·v + (1 - α)·g², the step is g / (√v + ``eps``),
    with v less the square of the mean gradient when ``centered``; with ``momentum`` the steps are gathered
    in a buffer.

    Parameters
    ----------
    params : iterable
        As for :class:`Optimizer`.
    lr : float, default 1e-2
        Learning rate.
    alpha : float, default 0.99
        Smoothing of squares.
    eps : float, default 1e-8
        Added outside the root.
    weight_decay, momentum : float, default 0
        As above.
    centered, maximize : bool, default False
        Variants.

    Raises
    ------
    ValueError
        For negative options.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_common(lr, eps, weight_decay)
        check("momentum", momentum, momentum >= 0, "at least 0")
        check("alpha", alpha, alpha >= 0, "at least 0")
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "maximize": maximize,
            },
        )

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = step_owned(p)
            state["square_avg"] = zeros_owned(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_owned(p)
            if group["centered"]:
                state["grad_avg"] = zeros_owned(p)
        advance(state)
        alpha = group["alpha"]
        if group["maximize"]:
            grad = -grad
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        v = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            denominator = v.addcmul(mean, mean, value=-1).sqrt_().add_(group["eps"])
        else:
            denominator = v.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, denominator)
            p.add_(buffer, alpha=-group["lr"])
        else:
            p.addcdiv_(grad, denominator, value=-group["lr"])
