"""Operations whose derivative is written in Python.

``forward`` runs untracked and once; what it returns becomes the output of one node whose backward step is the
class's ``backward``. Written with tensor operations, ``backward`` is itself differentiable.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .._rgrad import (
    Tensor,
    _is_grad_enabled,
    _record_function,
    _SavedTensor,
    _set_grad_enabled,
)
from . import forward_ad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

# With `on` set (by gradgradcheck) a saved intermediate that hides a dependence is an error, not repaired.
_strict = threading.local()


class FunctionCtx:
    """What ``forward`` hands to ``backward``. Attributes may be set freely.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument of ``forward``, whether it is a tensor that requires grad.
    saved_tensors : tuple of Tensor or None
        What was given to :meth:`save_for_backward`.
    """

    needs_input_grad: tuple
    _to_save: tuple = ()
    _to_save_forward: tuple | None = None
    _saved: tuple | None = None
    _repair: Callable | None = None
    _non_differentiable: tuple = ()
    _dirty: tuple = ()
    _materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``backward``, where ``saved_tensors`` gives them back; call it once.

        They are checked against being written to in between, and freed with the graph. A saved tensor that is
        neither an argument nor an output of ``forward`` is a constant in the first derivative; for second
        derivatives ``forward`` is run once more to recover how it depends on the arguments.

        Raises
        ------
        TypeError
            For anything but tensors and None; set those as attributes.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward takes tensors and None, but argument {i} is of type {type(t).__name__}; "
                    "set other values as attributes of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``jvp`` alone; without it ``jvp`` sees those saved for ``backward``."""
        self._to_save_forward = tensors

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Declares outputs that carry no gradient. Integer and bool outputs carry none by themselves."""
        self._non_differentiable = outputs

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declares arguments that ``forward`` changes in place; each must be returned as an output."""
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for outputs that received no gradient."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        saved = self._saved
        if saved is None:
            return self._to_save
        out = tuple([None if s is None else s.unpack(None) for s in saved])
        if self._repair is not None and _is_grad_enabled():
            return self._repair(out)
        return out


class _Step:
    """The backward step of one application: called by the engine with one cotangent a tensor output.

    ``positions`` are the places of tensors among the arguments, None when all are; ``spread`` is the number
    of outputs and the places of tensors among them, None when all are."""

    __slots__ = ("cls", "ctx", "n_args", "positions", "spread")

    def __init__(self, cls, ctx, n_args, positions, spread):
        self.cls = cls
        self.ctx = ctx
        self.n_args = n_args
        self.positions = positions
        self.spread = spread

    def __call__(self, *cotangents):
        cls = self.cls
        if self.spread is not None:
            all_outputs = [None] * self.spread[0]
            for i, g in zip(self.spread[1], cotangents):
                all_outputs[i] = g
            cotangents = all_outputs
        grads = cls.backward(self.ctx, *cotangents)
        if type(grads) is not tuple:
            grads = tuple(grads) if isinstance(grads, list) else (grads,)
        n = self.n_args
        if len(grads) != n:
            if len(grads) < n or any(g is not None for g in grads[n:]):
                raise RuntimeError(
                    f"{cls.__name__}.backward returned {len(grads)} gradients, expected {n}: "
                    "one for each argument of forward, None where there is none"
                )
            grads = grads[:n]
        if self.positions is None:
            return grads
        for i, g in enumerate(grads):
            if g is not None and i not in self.positions:
                raise RuntimeError(
                    f"{cls.__name__}.backward returned a gradient at position {i}, where forward's argument is not a "
                    "tensor; return None there"
                )
        return tuple([grads[i] for i in self.positions])

    def release(self):
        """Frees the saved tensors; the engine calls it when the graph is freed."""
        saved = self.ctx._saved
        self.ctx._repair = None
        if saved is not None:
            for s in saved:
                if s is not None:
                    s.release()


_VARARGS = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS


def _bind(cls, args, kwargs) -> tuple:
    """All arguments of ``forward`` in order, default values filled in."""
    import inspect

    if not cls._has_setup:
        raise TypeError(f"{cls.__name__}.apply takes no keyword arguments, got {', '.join(kwargs)}")
    bound = inspect.signature(cls.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class Function:
    """Base of operations with a derivative of their own.

    Subclass it with static methods ``forward(ctx, *args)`` and ``backward(ctx, *cotangents)``, or with
    ``forward(*args)`` and ``setup_context(ctx, inputs, output)``, and call it through ``apply``.

    Notes
    -----
    ``backward`` gets one cotangent an output and returns one gradient an argument of ``forward``, None for
    arguments that are not tensors or need none; ``vjp`` is another name for it. A static
    ``jvp(ctx, *tangents)`` gives forward mode; without one, forward mode transposes ``backward``.

    Examples
    --------
    >>> import rgrad
    >>> class Square(rgrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = rgrad.tensor([1.0, 3.0], requires_grad=True)
    >>> Square.apply(x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 6.0]
    """

    _node_name = "FunctionBackward"
    _has_setup = False
    _has_jvp = False
    _arity: int | None = None  # of forward in the setup_context style, where it is known

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        cls._node_name = cls.__name__ + "Backward"
        cls._has_setup = cls.setup_context is not Function.setup_context
        cls._has_jvp = cls.jvp is not Function.jvp
        code = getattr(cls.forward, "__code__", None) if cls._has_setup else None
        cls._arity = None if code is None or code.co_flags & _VARARGS else code.co_argcount
        if "vjp" in cls.__dict__:
            if "backward" in cls.__dict__:
                raise RuntimeError(
                    f"{cls.__name__} defines both backward and vjp, which are one method; keep one of them"
                )
            cls.backward = cls.__dict__["vjp"]  # type: ignore[method-assign]

    def __init__(self, *args, **kwargs) -> None:
        raise TypeError(f"{type(self).__name__} is not instantiated; call {type(self).__name__}.apply(...)")

    @staticmethod
    def forward(*args, **kwargs) -> Any:
        """Computes the outputs: a tensor, or a tuple of tensors and other values."""
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Any) -> None:
        """Fills ``ctx`` after a ``forward`` that takes no ``ctx``."""
        raise NotImplementedError("setup_context is for subclasses to define")

    @staticmethod
    def backward(ctx: FunctionCtx, *cotangents) -> Any:
        """Gradients of the arguments of ``forward``, from the cotangents of its outputs."""
        raise NotImplementedError(
            "this Function has no backward; add a static method backward(ctx, *cotangents)"
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents) -> Any:
        """Tangents of the outputs, from the tangents of the arguments (None where there is none)."""
        raise NotImplementedError("this Function has no jvp")

    @classmethod
    def apply(cls, *args, **kwargs) -> Any:
        """Runs ``forward``; records one node when recording is on and an argument requires grad.

        Keyword arguments and default values are for the ``setup_context`` style alone, which sees all as ``inputs``.
        """
        if kwargs or cls._arity not in (None, len(args)):
            args = _bind(cls, args, kwargs)
        if forward_ad.open_levels:
            level = forward_ad.innermost(args)
            if level is not None:
                from ._dual_function import apply_dual

                return apply_dual(cls, args, level)
        ctx, out, tracked = _forward(cls, args)
        if tracked and _is_grad_enabled():
            return _record(cls, ctx, args, out)
        return _untracked(ctx, args, out)


# The functions below run on every application, so they are written for speed: plain loops, no generators.


def _forward(cls, args, record=False):
    """Runs ``forward``: gives ctx, what it returned, and whether an argument is tracked."""
    ctx = FunctionCtx()
    needs = [isinstance(a, Tensor) and a.requires_grad for a in args]
    ctx.needs_input_grad = tuple(needs)
    recording = _set_grad_enabled(record)
    try:
        if cls._has_setup:
            out = cls.forward(*args)
            cls.setup_context(ctx, args, out)
        else:
            out = cls.forward(ctx, *args)
    finally:
        _set_grad_enabled(recording)
    return ctx, out, True in needs


def _is_in(t, tensors) -> bool:
    """Whether ``t`` is one of ``tensors``, by identity."""
    for x in tensors:
        if x is t:
            return True
    return False


def _untracked(ctx, args, out):
    if ctx._dirty:
        _check_dirty(ctx, args, out if isinstance(out, tuple) else (out,))
    if isinstance(out, tuple):
        return tuple([_apart(ctx, args, y) for y in out])
    return _apart(ctx, args, out)


def _apart(ctx, args, y):
    """An argument that is returned unchanged comes back as another tensor."""
    return y.detach() if isinstance(y, Tensor) and _is_in(y, args) and not _is_in(y, ctx._dirty) else y


def _check_dirty(ctx, args, outputs) -> None:
    for d in ctx._dirty:
        if not _is_in(d, outputs):
            raise RuntimeError("a tensor given to mark_dirty must be returned by forward")
        if not _is_in(d, args):
            raise RuntimeError("a tensor given to mark_dirty must be an argument of forward")
        if d.requires_grad and d.is_leaf and _is_grad_enabled():
            raise RuntimeError(
                "a leaf tensor that requires grad cannot be changed in place by a recorded Function; "
                "give it a clone, or run under no_grad"
            )


def _record(cls, ctx, args, out, finish=None):
    """Makes the outputs anew, with one node behind them; ``finish(i, y)`` may complete each of them."""
    single = not isinstance(out, tuple)
    outputs = (out,) if single else out
    inputs, positions = args, None
    for a in args:
        if not isinstance(a, Tensor):
            positions = tuple([i for i, a in enumerate(args) if isinstance(a, Tensor)])
            inputs = tuple([args[i] for i in positions])
            break
    values, spread = outputs, None
    for y in outputs:
        if not isinstance(y, Tensor):
            if single:
                raise TypeError(
                    f"{cls.__name__}.forward must return a tensor or a tuple with tensors, got {type(y).__name__}"
                )
            where = [i for i, y in enumerate(outputs) if isinstance(y, Tensor)]
            values, spread = tuple([outputs[i] for i in where]), (len(outputs), where)
            break
    constant = ctx._non_differentiable
    carries = tuple([not _is_in(y, constant) for y in values]) if constant else (True,) * len(values)
    step = _Step(cls, ctx, len(args), positions, spread)
    if ctx._dirty:
        _check_dirty(ctx, args, outputs)
        dirty = tuple([_is_in(y, ctx._dirty) for y in values])
        made = _record_function(cls._node_name, inputs, values, carries, step, ctx._materialize, dirty)
    else:
        made = _record_function(cls._node_name, inputs, values, carries, step, ctx._materialize)
    if finish is not None:
        where = range(len(values)) if spread is None else spread[1]
        made = tuple([finish(i, y) for i, y in zip(where, made)])
    if ctx._to_save:
        _pack(cls, ctx, args, values, made)
    if single:
        return made[0]
    if spread is None:
        return made
    result = list(outputs)
    for i, y in zip(spread[1], made):
        result[i] = y
    return tuple(result)


def _pack(cls, ctx, args, values, made) -> None:
    """Saves what ``save_for_backward`` was given, without making the node own itself."""
    saved: list[Any] = []
    inner: list[int] = []
    dirty = ctx._dirty
    for at, t in enumerate(ctx._to_save):
        if t is None:
            saved.append(None)
        elif _is_in(t, args) and not (dirty and _is_in(t, dirty)):
            saved.append(_save(t, False))
        else:
            for y, m in zip(values, made):
                if y is t:
                    saved.append(_save(m, True))
                    break
            else:
                saved.append(_save(t, False))
                if t.is_floating_point():
                    inner.append(at)
    ctx._to_save = ()
    ctx._saved = tuple(saved)
    if inner and not dirty:
        packed = [_save(a, False) if isinstance(a, Tensor) else a for a in args]
        ctx._repair = functools.partial(_repair, cls, packed, inner)


def _repair(cls, packed, inner, saved):
    """Gives saved intermediates the history that an untracked ``forward`` could not record.

    ``forward`` runs again, recorded, on the same arguments. An intermediate that comes out tracked depends
    on them, and replaces the saved one if it has the same value; one that comes out untracked is a constant
    and stays."""
    args = [a.unpack(None) if isinstance(a, (_SavedTensor, _SavedDual)) else a for a in packed]
    again = FunctionCtx()
    again.needs_input_grad = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
    try:
        if cls._has_setup:
            cls.setup_context(again, tuple(args), cls.forward(*args))
        else:
            cls.forward(again, *args)
    except Exception as error:
        raise RuntimeError(
            f"{cls.__name__} saved an intermediate for backward, and forward could not be run again to differentiate "
            "it; save arguments or outputs of forward instead, or decorate backward with once_differentiable"
        ) from error
    result = list(saved)
    for at in inner:
        t = again._to_save[at] if at < len(again._to_save) else None
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        if (
            getattr(_strict, "on", False)
            or tuple(t.shape) != tuple(saved[at].shape)
            or not _same_values(t, saved[at])
        ):
            raise RuntimeError(
                f"saved_tensors[{at}] of {cls.__name__} is an intermediate of forward that depends on its arguments: "
                "backward would treat it as a constant in second derivatives; save arguments or outputs of forward "
                "instead, or return the intermediate as a further output"
            )
        result[at] = t
    return tuple(result)


def _same_values(a: Tensor, b: Tensor) -> bool:
    a, b = a.detach(), b.detach()
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


class _SavedDual:
    """A saved dual number, whose parts are saved apart."""

    __slots__ = ("level", "primal", "tangent")

    def __init__(self, primal, tangent, level):
        self.primal, self.tangent, self.level = primal, tangent, level

    def unpack(self, node):
        primal = self.primal.unpack(node)
        if self.level not in forward_ad.levels():
            return primal
        return forward_ad.make_dual(primal, self.tangent.unpack(node), level=self.level)

    def release(self):
        self.primal.release()
        self.tangent.release()


def _save(t: Tensor, is_output: bool):
    if forward_ad.open_levels:
        level = forward_ad.innermost((t,))
        if level is not None:
            primal, tangent = forward_ad.unpack_dual(t, level=level)
            assert tangent is not None
            return _SavedDual(_save(primal, is_output), _save(tangent, False), level)
    return _SavedTensor(t, is_output)


def once_differentiable(backward: Callable) -> Callable:
    """Decorates a ``backward`` that is not itself differentiable.

    It runs untracked; its results can be used, and differentiating them raises RuntimeError.

    Examples
    --------
    >>> import rgrad
    >>> class Cube(rgrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     @rgrad.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x * x * g
    >>> x = rgrad.tensor(2.0, requires_grad=True)
    >>> rgrad.autograd.grad(Cube.apply(x), x)[0].item()
    12.0
    """

    @functools.wraps(backward)
    def once(ctx, *cotangents):
        if forward_ad.open_levels and forward_ad.innermost(cotangents + ctx.saved_tensors) is not None:
            _refuse()
        recording = _set_grad_enabled(False)
        try:
            grads = backward(ctx, *cotangents)
        finally:
            _set_grad_enabled(recording)
        if not recording:
            return grads
        sources = [g for g in cotangents if isinstance(g, Tensor) and g.requires_grad]
        saved = ctx._saved or ()
        sources += [t for t in [s.unpack(None) for s in saved if s is not None] if t.requires_grad]
        single = not isinstance(grads, (tuple, list))
        results = [grads] if single else list(grads)
        where = [i for i, g in enumerate(results) if isinstance(g, Tensor)]
        if sources and where:
            values = tuple([results[i] for i in where])
            made = _record_function(
                "OnceDifferentiableBackward", tuple(sources), values, (True,) * len(values), _refuse, False
            )
            for i, g in zip(where, made):
                results[i] = g
        return results[0] if single else tuple(results)

    return once


def _refuse(*cotangents):
    raise RuntimeError(
        "trying to differentiate twice a Function whose backward is marked with once_differentiable"
    )
