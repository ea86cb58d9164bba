"""What all optimizers share: parameter groups, state, and the loop of a step."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._rgrad import Tensor, _own_like, float32, zeros, zeros_like
from ..autograd.grad_mode import enable_grad, no_grad

__all__ = ["Optimizer"]


class _Required:
    def __repr__(self) -> str:
        return "<required>"


required = _Required()


class Optimizer:
    """Base of the optimizers.

    A subclass gives its options to ``super().__init__(params, defaults)`` and defines ``_update(self, p,
    grad, state, group)``, which changes one parameter, untracked. It must not change ``grad``.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Leaves that the step changes. A dict is a group: its ``params`` and options that differ from the
        defaults.
    defaults : dict
        Options of groups that do not set their own.

    Attributes
    ----------
    param_groups : list of dict
        Groups; options may be changed between steps.
    state : dict
        State of each parameter, made at its first step. It belongs to the scope of its parameter.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "an optimizer takes an iterable of tensors or dicts, got one tensor; put it into a list"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("the optimizer got an empty list of parameters")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters with options of its own.

        Raises
        ------
        TypeError
            When the group is no dict, or holds something that is no tensor.
        ValueError
            For a non-leaf, a parameter that is in a group already, or a missing option.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"a parameter group must be a dict, got {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else params
        if isinstance(params, (set, frozenset)):
            raise TypeError(
                "parameters need an order that does not change between runs; use a list, not a set"
            )
        params = list(params)
        if params and all(isinstance(p, tuple) and len(p) == 2 for p in params):
            group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        seen = {id(p) for g in self.param_groups for p in g["params"]}
        for i, p in enumerate(params):
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"an optimizer changes tensors, but parameter {i} is of type {type(p).__name__}"
                )
            if not p.is_leaf:
                raise ValueError(
                    f"parameter {i} (shape {tuple(p.shape)}) is the result of a recorded operation; "
                    "only leaves can be optimized, use p.detach().requires_grad_()"
                )
            if id(p) in seen:
                raise ValueError(f"parameter {i} (shape {tuple(p.shape)}) appears twice among the parameters")
            seen.add(id(p))
        group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"the group needs a value for {name!r}")
            group.setdefault(name, default)
        self.param_groups.append(group)

    # ---- the step ------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient; gradients stay as they are.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients anew, with recording on.

        Returns
        -------
        any
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    grad = p.grad
                    if grad is not None:
                        self._update(p, grad, self.state[p], group)
        return loss

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Changes one parameter in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define _update")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of the parameters: to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                elif p.grad.grad_fn is not None or p.grad.requires_grad:
                    p.grad = zeros_like(p.grad, requires_grad=False)
                else:
                    p.grad.zero_()

    # ---- state ---------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State and groups, with parameters numbered in order; tensors are those of the optimizer."""
        number: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        return {"state": {number[id(p)]: dict(s) for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over state and options.

        Tensors are taken in the dtype of their parameter; one that has it already is shared with the dict,
        so that loading another optimizer's live state needs a ``copy.deepcopy`` of it first.

        Raises
        ------
        ValueError
            When the groups do not have the same numbers of parameters.
        """
        groups = state_dict["param_groups"]
        sizes = [len(g["params"]) for g in groups]
        own = [len(g["params"]) for g in self.param_groups]
        if sizes != own:
            raise ValueError(
                f"the state dict has groups of {sizes} parameters, this optimizer of {own}; they must be the same"
            )
        of: dict[int, Tensor] = {}
        for theirs, mine in zip(groups, self.param_groups):
            of.update(zip(theirs["params"], mine["params"]))
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            p = of[number]
            state[p] = {name: _loaded(name, value, p) for name, value in values.items()}
        self.state = state
        self.param_groups = [
            {**{k: copy.deepcopy(v) for k, v in theirs.items() if k != "params"}, "params": mine["params"]}
            for theirs, mine in zip(groups, self.param_groups)
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"  group {i}: {len(group['params'])} parameters")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k not in ("params", "param_names")]
        return "\n".join([*lines, ")"])


def _loaded(name: str, value: Any, p: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if name != "step" and value.is_floating_point() and p.is_floating_point():
        value = value.to(p.dtype)
    _own_like(value, p)
    return value


def zeros_owned(p: Tensor) -> Tensor:
    """Zeros for the state of ``p``, owned by the scope that owns ``p`` rather than the current one."""
    new = zeros_like(p, requires_grad=False)
    _own_like(new, p)
    return new


def step_owned(p: Tensor) -> Tensor:
    """The step count in the state of ``p``."""
    new = zeros((), dtype=float32)
    _own_like(new, p)
    return new


def advance(state: dict[str, Any]) -> float:
    """Counts one step more and returns the count. It is a tensor so that a state dict carries it along."""
    step = state["step"]
    step.add_(1)
    return step.item()


def check(name: str, value: float, ok: bool, must: str) -> None:
    """Raises ValueError unless ``ok``."""
    if not ok:
        raise ValueError(f"{name} must be {must}, got {value!r}")


def check_common(lr: float, eps: float | None = None, weight_decay: float | None = None) -> None:
    """The checks that most optimizers have in common."""
    check("lr", lr, lr >= 0, "at least 0")
    if eps is not None:
        check("eps", eps, eps >= 0, "at least 0")
    if weight_decay is not None:
        check("weight_decay", weight_decay, weight_decay >= 0, "at least 0")
