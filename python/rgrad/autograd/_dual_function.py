"""Custom functions on dual numbers: tangents by ``jvp``, or by transposing ``backward``."""

from __future__ import annotations

from .._rgrad import Tensor, _is_grad_enabled, _set_grad_enabled, zeros_like
from . import forward_ad
from ._engine import grad
from .function import _forward, _record, _untracked


def apply_dual(cls, args, level):
    """``apply`` where arguments carry tangents at ``level``, and perhaps at outer ones."""
    parts = [forward_ad.unpack_dual(a, level=level) if isinstance(a, Tensor) else (a, None) for a in args]
    primals = tuple([p for p, _ in parts])
    tangents = tuple([t for _, t in parts])
    out, result = (_by_jvp if cls._has_jvp else _by_transposition)(cls, primals, tangents)
    outputs = out if isinstance(out, tuple) else (out,)
    for y, t in zip(outputs, result):
        if t is not None and isinstance(y, Tensor) and tuple(t.shape) != tuple(y.shape):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent of shape {tuple(t.shape)} for an output of shape {tuple(y.shape)}"
            )

    def dual(y, t):
        carries = t is not None and isinstance(y, Tensor) and y.is_floating_point()
        return forward_ad.make_dual(y, t, level=level) if carries else y

    if _is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in args):
        # A backward pass inside the level needs a node that saved dual numbers, not their values alone.
        return _record_dual(cls, args, lambda i, y: dual(_like(y, outputs[i]), result[i]))
    duals = tuple([dual(y, t) for y, t in zip(outputs, result)])
    return duals if isinstance(out, tuple) else duals[0]


def _like(y, model):
    """Gives ``y`` the tangents that ``model`` has at outer levels."""
    level = forward_ad.innermost((model,)) if isinstance(model, Tensor) else None
    if level is None:
        return y
    primal, tangent = forward_ad.unpack_dual(model, level=level)
    return forward_ad.make_dual(_like(y, primal), tangent, level=level)


def _plain(y):
    level = forward_ad.innermost((y,)) if isinstance(y, Tensor) else None
    return y if level is None else _plain(forward_ad.unpack_dual(y, level=level).primal)


def _without_tangents(ctx, outputs):
    """The outputs as plain values; what ctx says of them is kept."""
    plain = [(y, _plain(y)) for y in outputs]
    for name in ("_to_save", "_non_differentiable"):
        given = getattr(ctx, name)
        setattr(ctx, name, tuple([next((p for y, p in plain if t is y), t) for t in given]))
    return tuple([p for _, p in plain])


def _record_dual(cls, args, finish):
    """Records a node that saves dual numbers; its outputs get the tangents that ``finish`` gives them."""
    ctx, out, _ = _forward(cls, args)
    _refuse_dirty(cls, ctx)
    if isinstance(out, tuple):
        return _record(cls, ctx, args, _without_tangents(ctx, out), finish)
    return _record(cls, ctx, args, _without_tangents(ctx, (out,))[0], finish)


def _refuse_dirty(cls, ctx):
    if ctx._dirty:
        raise RuntimeError(
            f"{cls.__name__} changes an argument in place, which forward mode does not support"
        )


def _by_jvp(cls, primals, tangents):
    tracked = _is_grad_enabled() and any(isinstance(p, Tensor) and p.requires_grad for p in primals)
    # Recorded, so that saved intermediates have their history in jvp.
    ctx, raw, _ = _forward(cls, primals, record=tracked)
    _refuse_dirty(cls, ctx)
    if tracked or forward_ad.innermost(primals) is not None:
        out = cls.apply(*primals)
    else:
        out = _untracked(ctx, primals, raw)
    outputs = out if isinstance(out, tuple) else (out,)
    pairs = list(zip(raw if isinstance(raw, tuple) else (raw,), outputs, strict=True))
    save = ctx._to_save if ctx._to_save_forward is None else ctx._to_save_forward
    ctx._to_save = tuple([next((y for r, y in pairs if r is t), t) for t in save])
    result = cls.jvp(ctx, *tangents)
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(outputs):
        raise RuntimeError(
            f"{cls.__name__}.jvp returned {len(result)} tangents, expected {len(outputs)}: one for each output"
        )
    return out, result


def _by_transposition(cls, primals, tangents):
    """Tangents from ``backward`` alone: it is linear in the cotangent, and its transpose is the jvp."""
    before = _set_grad_enabled(True)
    try:
        # What was untracked becomes tracked here alone; tangents of outer levels stay.
        pairs = [
            (p, p) if t is None else forward_ad.alias(p, before)
            for p, t in zip(primals, tangents, strict=True)
        ]
        tracked = [whole for _, whole in pairs]
        aux = cls.apply(*tracked)
        tests = [
            isinstance(y, Tensor) and y.requires_grad for y in (aux if isinstance(aux, tuple) else (aux,))
        ]
        ys = [y for y, test in zip(aux if isinstance(aux, tuple) else (aux,), tests) if test]
        xs = [own for (own, _), t in zip(pairs, tangents, strict=True) if t is not None]
        vs = [zeros_like(y, requires_grad=True) for y in ys]
        found = [None] * len(ys)
        back = grad(ys, xs, vs, create_graph=True, allow_unused=True) if ys else ()
        used = [
            (g, t)
            for g, t in zip(back, [t for t in tangents if t is not None])
            if g is not None and g.requires_grad
        ]
        if used:
            keep = before and any(isinstance(a, Tensor) and a.requires_grad for a in primals + tangents)
            found = grad([g for g, _ in used], vs, [t for _, t in used], create_graph=keep, allow_unused=True)
    finally:
        _set_grad_enabled(before)
    it = iter(found)
    # The value is computed apart, so that no trace of the auxiliary variables is left in its history.
    return cls.apply(*primals), tuple([next(it) if test else None for test in tests])
