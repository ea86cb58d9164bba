"""Forward mode: dual numbers that carry a tangent through operations."""

from __future__ import annotations

import threading
from typing import NamedTuple

from .._rgrad import Tensor, _enter_dual_level, _exit_dual_level, _make_dual, _unpack_dual

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

# Levels open in any thread: a custom function looks here first, before it asks for this thread's levels.
open_levels = 0
_lock = threading.Lock()
_thread = threading.local()


def levels() -> list[int]:
    """The open levels of this thread, outermost first."""
    try:
        return _thread.levels
    except AttributeError:
        _thread.levels = []
        return _thread.levels


def enter_dual_level() -> int:
    """Opens a level and returns its number. Levels nest."""
    global open_levels
    level = _enter_dual_level()
    with _lock:
        open_levels += 1
    levels().append(level)
    return level


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends a level, the innermost by default; tangents of that level are gone.

    Raises
    ------
    RuntimeError
        When no level, or not this one, is open in the thread.
    """
    global open_levels
    stack = levels()
    if level is None and stack:
        level = stack[-1]
    if level not in stack:
        raise RuntimeError(
            "no forward-mode level is open in this thread"
            if level is None
            else f"forward-mode level {level} is not open in this thread; open are {stack}"
        )
    _exit_dual_level(level)
    with _lock:
        open_levels -= 1
    stack.remove(level)


class dual_level:
    """Context manager that opens a level of forward mode.

    Examples
    --------
    >>> import rgrad
    >>> fw = rgrad.autograd.forward_ad
    >>> with fw.dual_level():
    ...     x = fw.make_dual(rgrad.tensor(3.0), rgrad.tensor(1.0))
    ...     y = fw.unpack_dual(x * x)
    >>> y.primal.item(), y.tangent.item()
    (9.0, 6.0)
    """

    __slots__ = ("_levels",)

    def __init__(self) -> None:
        self._levels: list[int] = []

    def __enter__(self) -> int:
        self._levels.append(enter_dual_level())
        return self._levels[-1]

    def __exit__(self, *exc) -> None:
        exit_dual_level(level=self._levels.pop())


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; the tangent is None for a tensor without one."""

    primal: Tensor
    tangent: Tensor | None


def _level(level: int | None, what: str) -> int:
    if level is not None:
        return level
    stack = levels()
    if not stack:
        raise RuntimeError(
            f"{what} needs an open level; use it inside `with rgrad.autograd.forward_ad.dual_level():`"
        )
    return stack[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A dual number with ``tangent`` (same shape and dtype) at a level, the innermost by default."""
    return _make_dual(tensor, tangent, _level(level, "make_dual"))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Value and tangent at a level, the innermost by default."""
    if level is None and not levels():
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_unpack_dual(tensor, _level(level, "unpack_dual")))


def innermost(tensors) -> int | None:
    """The innermost open level of the thread at which one of ``tensors`` has a tangent."""
    for level in reversed(levels()):
        for t in tensors:
            if isinstance(t, Tensor) and _unpack_dual(t, level)[1] is not None:
                return level
    return None


def parts(t: Tensor) -> list[Tensor]:
    """Value and tangents of all open levels."""
    if not open_levels:
        return [t]
    out = []
    for level in reversed(levels()):
        t, tangent = _unpack_dual(t, level)
        if tangent is not None:
            out += parts(tangent)
    return out + [t]


def untracked(t: Tensor) -> Tensor:
    """The tensor without history, tangents included; ``detach()`` would lose the tangents."""
    level = innermost((t,)) if open_levels else None
    if level is None:
        return t.detach()
    primal, tangent = _unpack_dual(t, level)
    assert tangent is not None
    return _make_dual(untracked(primal), untracked(tangent), level)


def alias(t: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
    """A tracked tensor to differentiate by, with the history of ``t`` if ``keep``, and the same with all tangents.

    Only the value is tracked anew: tangents are what they were.
    """
    level = innermost((t,)) if open_levels else None
    if level is None:
        own = t.view_as(t) if keep and t.requires_grad else t.detach().requires_grad_()
        return own, own
    primal, tangent = _unpack_dual(t, level)
    assert tangent is not None
    own, whole = alias(primal, keep)
    return own, _make_dual(whole, tangent, level)
