"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._rgrad import Tensor, _own_like
from .optimizer import Optimizer, check, check_common

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent with momentum.

    With gradient g (plus ``weight_decay``·p): the buffer b becomes ``momentum``·b + (1 - ``dampening``)·g,
    at the first step g itself; p moves by -``lr``·b, or by -``lr``·(g + ``momentum``·b) with ``nesterov``.

    Parameters
    ----------
    params : iterable
        As for :class:`Optimizer`.
    lr : float, default 1e-3
        Learning rate.
    momentum, dampening, weight_decay : float, default 0
        As above.
    nesterov : bool, default False
        Needs momentum and no dampening.
    maximize : bool, default False
        Whether to go up the gradient.

    Raises
    ------
    ValueError
        For negative options, or ``nesterov`` without momentum.

    Examples
    --------
    >>> import rgrad
    >>> w = rgrad.tensor([1.0], requires_grad=True)
    >>> opt = rgrad.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.tolist()
    [0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_common(lr, None, weight_decay)
        check("momentum", momentum, momentum >= 0, "at least 0")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov needs a momentum above 0 and a dampening of 0")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["maximize"]:
            grad = -grad
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
                _own_like(buffer, p)
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        p.add_(grad, alpha=-group["lr"])
