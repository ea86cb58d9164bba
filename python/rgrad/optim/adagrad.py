"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._rgrad import Tensor
from .optimizer import Optimizer, advance, check, check_common, step_owned, zeros_owned

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011).

    With gradient g (plus ``weight_decay``·p): s grows by g², and at step t, p moves by
    -``lr`` / (1 + (t - 1)·``lr_decay``) · g / (√s + ``eps``).

    Parameters
    ----------
    params : iterable
        As for :class:`Optimizer`.
    lr : float, default 1e-2
        Learning rate.
    lr_decay, weight_decay : float, default 0
        As above.
    initial_accumulator_value : float, default 0
        What s starts with.
    eps : float, default 1e-10
        Added outside the root.
    maximize : bool, default False
        Whether to go up the gradient.

    Raises
    ------
    ValueError
        For negative options.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        check_common(lr, eps, weight_decay)
        check("lr_decay", lr_decay, lr_decay >= 0, "at least 0")
        check(
            "initial_accumulator_value",
            initial_accumulator_value,
            initial_accumulator_value >= 0,
            "at least 0",
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "maximize": maximize,
            },
        )

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = step_owned(p)
            state["sum"] = zeros_owned(p).fill_(group["initial_accumulator_value"])
        t = advance(state)
        if group["maximize"]:
            grad = -grad
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        lr = group["lr"] / (1 + (t - 1) * group["lr_decay"])
        s = state["sum"].addcmul_(grad, grad, value=1.0)
        p.addcdiv_(grad, s.sqrt().add_(group["eps"]), value=-lr)
