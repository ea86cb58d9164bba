"""Switches of the thread: whether operations are recorded.

Every class here is a context manager and a decorator, with brackets or without. A decorated generator or
coroutine gets the mode each time it resumes and gives it back each time it pauses, so the mode never leaks
to the caller."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from threading import get_ident
from typing import Any

from .._rgrad import (
    _is_grad_enabled,
    _is_inference_enabled,
    _set_grad_enabled,
    _set_inference_enabled,
)

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]

_GENERATOR = 0x20  # CO_GENERATOR
_COROUTINE = 0x80 | 0x100  # CO_COROUTINE | CO_ITERABLE_COROUTINE
_ASYNC_GENERATOR = 0x200  # CO_ASYNC_GENERATOR


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded."""
    return _is_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether this thread makes inference tensors."""
    return _is_inference_enabled()


def _resumed_in(make: Callable[[], Any], inner):
    """Drives a generator or coroutine, with a fresh ``make()`` entered around each of its resumptions."""
    send, arg = inner.send, None
    while True:
        try:
            with make():
                out = send(arg)
        except StopIteration as stop:
            return stop.value
        try:
            arg = yield out
            send = inner.send
        except GeneratorExit:
            with make():
                inner.close()
            raise
        except BaseException as error:
            send, arg = inner.throw, error


class _Decorated:
    """Turns a context manager class into a decorator: each call enters a mode of its own."""

    __slots__ = ()

    def _again(self):
        return type(self)()

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(
                f"{type(self).__name__} decorates a function, not an object of type {type(func).__name__}"
            )
        flags = getattr(getattr(func, "__code__", None), "co_flags", 0)
        again = self._again
        if flags & _ASYNC_GENERATOR:
            raise TypeError(
                f"{type(self).__name__} cannot decorate the asynchronous generator {func.__name__}; "
                "open the mode around the computations inside it"
            )
        if flags & _GENERATOR:

            @functools.wraps(func)
            def decorated(*args, **kwargs):
                return (yield from _resumed_in(again, func(*args, **kwargs)))

        elif flags & _COROUTINE:

            @functools.wraps(func)
            @types.coroutine
            def decorated(*args, **kwargs):
                return (yield from _resumed_in(again, func(*args, **kwargs)))

        else:

            @functools.wraps(func)
            def decorated(*args, **kwargs):
                with again():
                    return func(*args, **kwargs)

        return decorated


class _Fixed(_Decorated):
    """A mode without parameters; one instance may be entered again while it is entered, from any thread."""

    __slots__ = ("_outer",)
    _mode: bool
    _outer: list

    def __new__(cls, func: Callable | None = None):
        self = super().__new__(cls)
        self._outer = []
        return self if func is None else self(func)

    def __enter__(self) -> None:
        self._outer.append((get_ident(), _set_grad_enabled(self._mode)))

    def __exit__(self, *exc) -> None:
        _set_grad_enabled(_pop(self._outer))


def _pop(outer: list) -> Any:
    """Takes off the newest entry of this thread."""
    me = get_ident()
    if outer[-1][0] == me:
        return outer.pop()[1]
    at = max(i for i, (thread, _) in enumerate(outer) if thread == me)
    return outer.pop(at)[1]


class no_grad(_Fixed):
    """Context manager and decorator: operations inside are not recorded.

    Factories called with ``requires_grad=True`` still make tracked leaves. The mode belongs to the thread.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([1.0], requires_grad=True)
    >>> with rgrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @rgrad.no_grad
    ... def double(t):
    ...     return t * 2
    >>> double(x).requires_grad
    False
    """

    __slots__ = ()
    _mode = False


class enable_grad(_Fixed):
    """Context manager and decorator: operations inside are recorded, also within :class:`no_grad`.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([1.0], requires_grad=True)
    >>> with rgrad.no_grad():
    ...     with rgrad.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    __slots__ = ()
    _mode = True


class set_grad_enabled(_Decorated):
    """Switches recording on or off: from the call on, in a ``with`` block, or in a decorated function.

    Parameters
    ----------
    mode : bool
        Whether operations are recorded.

    Notes
    -----
    The switch acts when the object is made. Used in a ``with`` block the old mode comes back at its end;
    used as a decorator it acts only while the function runs.

    Examples
    --------
    >>> import rgrad
    >>> with rgrad.set_grad_enabled(False):
    ...     rgrad.is_grad_enabled()
    False
    >>> rgrad.is_grad_enabled()
    True
    """

    __slots__ = ("_before", "_outer", "mode")

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._outer: list = []
        self._before: tuple | None = (get_ident(), _set_grad_enabled(self.mode))

    def _again(self):
        return set_grad_enabled(self.mode)

    def __call__(self, func: Callable) -> Callable:
        if self._before is not None:
            _set_grad_enabled(self._before[1])
            self._before = None
        return super().__call__(func)

    def __enter__(self) -> None:
        now = (get_ident(), _set_grad_enabled(self.mode))
        # The first block gives back what was before the construction; further ones what was before them.
        before, self._before = self._before, None
        self._outer.append(now if before is None or before[0] != now[0] else before)

    def __exit__(self, *exc) -> None:
        _set_grad_enabled(_pop(self._outer))

    def __repr__(self) -> str:
        return f"set_grad_enabled({self.mode})"


class inference_mode(_Decorated):
    """Context manager and decorator: like :class:`no_grad`, and what is made inside can never be recorded.

    Parameters
    ----------
    mode : bool, default True
        ``False`` gives normal mode, recording included, inside an outer inference block.

    Notes
    -----
    A tensor made inside cannot be saved for a backward pass nor, outside, be changed in place; ``clone()``
    makes a normal tensor of it.

    Examples
    --------
    >>> import rgrad
    >>> with rgrad.inference_mode():
    ...     y = rgrad.ones(2) * 3
    >>> y.is_inference()
    True
    """

    __slots__ = ("_outer", "mode")
    mode: bool
    _outer: list

    def __new__(cls, mode: bool | Callable = True):
        self = super().__new__(cls)
        self.mode = mode if isinstance(mode, bool) else True
        self._outer = []
        return self if isinstance(mode, bool) else self(mode)

    def _again(self):
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        before = (_set_grad_enabled(not self.mode), _set_inference_enabled(self.mode))
        self._outer.append((get_ident(), before))

    def __exit__(self, *exc) -> None:
        grad, inference = _pop(self._outer)
        _set_inference_enabled(inference)
        _set_grad_enabled(grad)

    def __repr__(self) -> str:
        return f"inference_mode({self.mode})"
