"""The registry of operations: those of the core and those that programs add.

>>> import rgrad
>>> rgrad.ops.tanh(rgrad.tensor(0.0)).item()
0.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _rgrad
from .autograd.function import Function
from .autograd.gradcheck import gradcheck, gradgradcheck

__all__ = ["OpInfo", "get", "list", "register_function", "unregister"]


class OpInfo(NamedTuple):
    """What the registry knows of an operation."""

    name: str
    kind: str
    doc: str
    formula: str
    source: str

    @property
    def function(self) -> Callable:
        """The operation itself."""
        return get(self.name)


_registered: dict[str, tuple[OpInfo, Callable]] = {}
_builtin: dict[str, OpInfo] = {}


def _core() -> dict[str, OpInfo]:
    if not _builtin:
        for row in _rgrad._ops_registry():
            _builtin[row["name"]] = OpInfo(row["name"], row["kind"], row["doc"], row["formula"], "core")
    return _builtin


def list() -> dict[str, OpInfo]:
    """All operations by name: those of the core, then the registered ones.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.ops.list()["tanh"].doc
    'Hyperbolic tangent.'
    """
    return {**_core(), **{name: info for name, (info, _) in _registered.items()}}


def get(name: str) -> Callable:
    """The operation of a name.

    Raises
    ------
    AttributeError
        When there is none.
    """
    if name in _registered:
        return _registered[name][1]
    found = getattr(_rgrad, name, None)
    if found is None or name.startswith("_") or (name not in _core() and not callable(found)):
        raise AttributeError(
            f"there is no operation named {name!r}; rgrad.ops.list() shows all, rgrad.register_function adds one"
        )
    return found


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return get(name)


def __dir__():
    return sorted({*__all__, *_core(), *_registered})


def register_function(
    name: str | type[Function] | None = None,
    function: type[Function] | None = None,
    *,
    check: bool = False,
    sample_inputs: tuple | Callable[[], tuple] | None = None,
) -> Any:
    """Adds an operation to the registry; afterwards it is ``rgrad.ops.<name>``.

    Parameters
    ----------
    name : str
        A valid identifier that no operation has. As a decorator without brackets, or without a name, the
        class's own name is used.
    function : type
        A subclass of :class:`rgrad.autograd.Function`. When left out, the result is a decorator for one.
    check : bool, default False
        Whether to compare first and second derivatives with finite differences, in float64, before
        registering.
    sample_inputs : tuple, or callable that returns one, optional
        Arguments for the check. By default each argument of ``forward`` without a default value gets a random
        tensor of shape (2, 3), with values between 0.5 and 1.5 in magnitude and of both signs.

    Returns
    -------
    callable
        What ``rgrad.ops.<name>`` is; as a decorator, the class itself.

    Raises
    ------
    ValueError
        When the name is taken or no identifier.
    TypeError
        When ``function`` is not a Function with ``forward`` and ``backward``.
    rgrad.autograd.GradcheckError
        When a derivative is wrong; nothing is registered then.

    Examples
    --------
    >>> import rgrad
    >>> @rgrad.register_function("cube", check=True)
    ... class Cube(rgrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x ** 2 * g
    >>> rgrad.ops.cube(rgrad.tensor(2.0)).item()
    8.0
    >>> rgrad.ops.unregister("cube")
    """
    if isinstance(name, type):
        if function is not None:
            raise TypeError("register_function takes the name first, then the Function")
        _register(name.__name__, name, check, sample_inputs)
        return name
    if function is None:

        def decorator(cls):
            _register(cls.__name__ if name is None else name, cls, check, sample_inputs)
            return cls

        return decorator
    return _register(
        getattr(function, "__name__", "") if name is None else name, function, check, sample_inputs
    )


def _register(name: str, cls: type[Function], check: bool, sample_inputs) -> Callable:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise ValueError(
            f"the name of an operation must be an identifier without a leading underscore, got {name!r}"
        )
    if not (isinstance(cls, type) and issubclass(cls, Function)):
        raise TypeError(
            f"register_function({name!r}) needs a subclass of rgrad.autograd.Function, got {cls!r}"
        )
    for method in ("forward", "backward"):
        if getattr(cls, method) is getattr(Function, method):
            raise TypeError(f"{cls.__name__} has no {method}; add it as a static method before registering")
    taken = _taken(name)
    if taken:
        raise ValueError(f"the name {name!r} is taken by {taken}; choose another")
    if check:
        _check(name, cls, sample_inputs)

    def call(*args):
        return cls.apply(*args)

    doc = (cls.__doc__ or "").strip()
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc or f"{cls.__name__}.apply"
    call.__module__ = cls.__module__
    summary = doc.split("\n\n")[0].replace("\n", " ")
    where = f"{cls.__module__}.{cls.__qualname__}"
    _registered[name] = (OpInfo(name, "function", summary, f"{where}.backward", where), call)
    return call


def _taken(name: str) -> str | None:
    if name in _registered:
        return f"the registered {_registered[name][0].source}"
    if name in __all__:
        return "a function of this module"
    if name in _core() or callable(getattr(_rgrad, name, None)):
        return "an operation of the core"
    return None


def unregister(name: str) -> None:
    """Removes a registered operation.

    Raises
    ------
    KeyError
        When no operation of this name was registered; those of the core stay.
    """
    if name not in _registered:
        raise KeyError(f"no operation named {name!r} was registered")
    del _registered[name]


def _default_samples(cls: type[Function]) -> tuple:
    import inspect

    import numpy as np

    parameters = [*inspect.signature(cls.forward).parameters.values()]
    if not cls._has_setup:
        parameters = parameters[1:]
    if any(p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY) for p in parameters):
        raise TypeError(
            f"{cls.__name__}.forward takes a variable number of arguments: pass sample_inputs for the check"
        )
    rng = np.random.default_rng(0)
    out = []
    for p in parameters:
        if p.default is not p.empty:
            break
        if p.annotation not in (p.empty, _rgrad.Tensor, "Tensor", "rgrad.Tensor", object, "object"):
            raise TypeError(
                f"argument {p.name!r} of {cls.__name__}.forward is no tensor: pass sample_inputs for the check"
            )
        values = rng.uniform(0.5, 1.5, (2, 3)) * np.where(np.arange(6).reshape(2, 3) % 2, -1.0, 1.0)
        out.append(_rgrad.from_numpy(values))
    return tuple(out)


def _check(name: str, cls: type[Function], sample_inputs) -> None:
    if sample_inputs is None:
        sample_inputs = _default_samples(cls)
    elif callable(sample_inputs):
        sample_inputs = sample_inputs()
    if not isinstance(sample_inputs, tuple):
        sample_inputs = (sample_inputs,)
    inputs = tuple(
        [
            a.detach().to(_rgrad.float64).clone().requires_grad_()
            if isinstance(a, _rgrad.Tensor) and a.is_floating_point()
            else a
            for a in sample_inputs
        ]
    )
    gradcheck(cls.apply, inputs)
    gradgradcheck(cls.apply, inputs)
