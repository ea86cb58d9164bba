"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .._rgrad import Tensor, maximum
from .optimizer import Optimizer, advance, check, check_common, step_owned, zeros_owned

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    With gradient g (plus ``weight_decay``·p): m becomes β₁·m + (1 - β₁)·g and v becomes β₂·v + (1 - β₂)·g²;
    at step t, p moves by -``lr`` / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + ``eps``). With ``amsgrad``, v is
    replaced there by the largest v so far (Reddi et al., 2018).

    Parameters
    ----------
    params : iterable
        As for :class:`Optimizer`.
    lr : float, default 1e-3
        Learning rate.
    betas : (float, float), default (0.9, 0.999)
        β₁ and β₂, each in [0, 1).
    eps : float, default 1e-8
        Added outside the root.
    weight_decay : float, default 0
        As above; with ``decoupled_weight_decay`` p is scaled by 1 - ``lr``·``weight_decay`` before the step
        instead.
    amsgrad, maximize, decoupled_weight_decay : bool, default False
        Variants.

    Raises
    ------
    ValueError
        For options outside their ranges.

    Examples
    --------
    >>> import rgrad
    >>> w = rgrad.tensor([1.0], requires_grad=True)
    >>> opt = rgrad.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> round(w.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_common(lr, eps, weight_decay)
        for i, beta in enumerate(betas):
            check(f"betas[{i}]", beta, 0 <= beta < 1, "in [0, 1)")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = step_owned(p)
            state["exp_avg"] = zeros_owned(p)
            state["exp_avg_sq"] = zeros_owned(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_owned(p)
        t = advance(state)
        beta1, beta2 = group["betas"]
        lr, decay = group["lr"], group["weight_decay"]
        if group["maximize"]:
            grad = -grad
        if decay != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * decay)
            else:
                grad = grad.add(p, alpha=decay)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        m.lerp_(grad, 1 - beta1)
        v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], v))
        denominator = v.sqrt().div_(math.sqrt(1 - beta2**t)).add_(group["eps"])
        p.addcdiv_(m, denominator, value=-lr / (1 - beta1**t))


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): ``weight_decay`` is 1e-2 by default.

    Parameters are those of :class:`Adam`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True
        )
