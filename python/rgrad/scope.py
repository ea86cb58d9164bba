"""Scopes: what is made inside one is released at its end, except what it hands up."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ._rgrad import Tensor, _current_scope, _Scope
from ._tree import flatten

__all__ = ["Scope", "current_scope", "scope", "scoped"]


class Scope:
    """A scope of tensors; made by :func:`scope`."""

    __slots__ = ("__weakref__", "_core")

    def __init__(self, core: _Scope) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The name given at opening."""
        return self._core.name

    @property
    def path(self) -> str:
        """Names from the outermost scope to this one, joined by ``/``."""
        return self._core.path

    @property
    def is_open(self) -> bool:
        """Whether the scope has not ended."""
        return self._core.is_open

    @property
    def parent(self) -> Scope | None:
        """The scope around this one."""
        parent = self._core.parent
        return None if parent is None else Scope(parent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __repr__(self) -> str:
        return f"Scope({self.path!r}, {'open' if self.is_open else 'closed'})"

    def ret(self, value: Any, *, to: Scope | None = None) -> Any:
        """Hands tensors up to the scope around this one, so that they outlive it.

        Parameters
        ----------
        value : Tensor, or nested tuple, list or dict
            Other things in it are left alone. All tensors move or, on an error, none.
        to : Scope, optional
            An open ancestor to hand to. Default: the parent; without one the tensors become free-standing.

        Returns
        -------
        any
            ``value`` itself.

        Raises
        ------
        ScopeError
            When a tensor belongs neither to this scope nor to one inside it, or ``to`` is no ancestor.
        """
        tensors = tuple([t for t in flatten(value)[0] if isinstance(t, Tensor)])
        self._core.ret(tensors, None if to is None else to._core)
        return value

    def close(self) -> None:
        """Ends the scope: everything it still owns is released. A second call does nothing."""
        self._core.close()

    def stats(self) -> dict[str, int]:
        """Counts of tensors and bytes: live, peak, total, returned, released."""
        return self._core.stats()


class scope:
    """Context manager that opens a scope around its block.

    Tensors made in the block belong to the scope. At the end it releases those that are left: using one
    later raises ``TensorClosedError``. What the block hands up with ``ret`` lives on, and a graph keeps the
    memory that its backward pass needs.

    Parameters
    ----------
    name : str, optional
        Appears in errors and reports; by default the place of the ``with`` statement.

    Examples
    --------
    >>> import rgrad
    >>> with rgrad.scope("step") as s:
    ...     a = rgrad.ones(3)
    ...     b = s.ret(a * 2)
    >>> b.tolist()
    [2.0, 2.0, 2.0]
    >>> a.sum()
    Traceback (most recent call last):
    ...
    rgrad.TensorClosedError: ...
    """

    __slots__ = ("_open", "name")

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a scope must be a string, got {type(name).__name__}")
        self.name = name
        self._open: list[_Scope] = []

    def __enter__(self) -> Scope:
        name = self.name
        if name is None:
            frame = sys._getframe(1)
            name = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        core = _Scope(name, _current_scope())
        core.enter()
        self._open.append(core)
        return Scope(core)

    def __exit__(self, *exc) -> None:
        core = self._open.pop()
        core.leave()
        core.close()


def current_scope() -> Scope | None:
    """The innermost open scope of this thread."""
    core = _current_scope()
    return None if core is None else Scope(core)


def scoped(func: Callable | str | None = None) -> Callable:
    """Decorator that runs each call of a function in a scope and hands its result up.

    Examples
    --------
    >>> import rgrad
    >>> @rgrad.scoped
    ... def norm(t):
    ...     return (t * t).sum().sqrt()
    >>> norm(rgrad.tensor([3.0, 4.0])).item()
    5.0
    """
    if func is None or isinstance(func, str):
        return lambda f: _scoped(f, func or f.__qualname__)
    return _scoped(func, func.__qualname__)


def _scoped(func: Callable, name: str) -> Callable:
    @functools.wraps(func)
    def inside(*args, **kwargs):
        with scope(name) as s:
            result = func(*args, **kwargs)
            # Arguments that the function returns unchanged belong to somebody else already.
            s._core.ret_own(tuple([t for t in flatten(result)[0] if isinstance(t, Tensor)]))
        return result

    return inside
