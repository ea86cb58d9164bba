"""Tensors that are parameters of a module."""

from __future__ import annotations

from typing import Self, SupportsIndex

from .._rgrad import Tensor, empty

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A tensor that a :class:`Module` registers when it is set as an attribute.

    Parameters
    ----------
    data : Tensor
        Shares its memory with the parameter. Default: an empty tensor.
    requires_grad : bool, default True
        Whether operations on it are recorded.

    Examples
    --------
    >>> import rgrad
    >>> p = rgrad.nn.Parameter(rgrad.ones(2))
    >>> p.requires_grad, p.is_leaf
    (True, True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"a Parameter is made of a tensor, got {type(data).__name__}; use rgrad.tensor(...) first"
            )
        return Tensor._make_subclass(cls, data.detach(), requires_grad)  # type: ignore[return-value]

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            copy = type(self)(self.detach().clone(), self.requires_grad)
            if self.grad is not None:
                copy.grad = self.grad.detach().clone()
            memo[id(self)] = copy
        return memo[id(self)]

    def __reduce_ex__(self, protocol: SupportsIndex):
        return _rebuild, (type(self), self.detach(), self.requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)
