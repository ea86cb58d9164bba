"""Trades time for memory: what a function computes is dropped after the forward pass and computed again in backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .._rgrad import Tensor, _record_function, _SavedTensor, get_rng_state, set_rng_state, zeros
from .._tree import flatten, unflatten
from ..autograd import forward_ad
from ..autograd._engine import grad
from ..autograd.grad_mode import enable_grad, is_grad_enabled

__all__ = ["checkpoint", "checkpoint_sequential"]


def _now() -> int:
    """A number that every operation recorded from here on in this thread is above."""
    node = zeros((), requires_grad=True).view(()).grad_fn
    assert node is not None
    return node._sequence_nr


def _captured(ys: list[Tensor], own: list[Tensor], start: int) -> list[Tensor]:
    """The tracked leaves that the graph behind ``ys`` reaches, apart from ``own``."""
    seen = {id(t) for t in own}
    found: list[Tensor] = []
    visited = set()
    todo: list[Any] = [t.grad_fn for t in ys if t.grad_fn is not None]

    def leaf(t: Tensor) -> None:
        if id(t) not in seen:
            seen.add(id(t))
            found.append(t)

    for t in ys:
        if t.grad_fn is None:
            leaf(t)
    while todo:
        node = todo.pop()
        if node in visited:
            continue
        visited.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaf(variable)
        elif node._sequence_nr <= start:
            raise RuntimeError(
                f"checkpoint: the function uses the result of {node.name()}, which was computed outside of it and is "
                "tracked; pass that tensor as an argument"
            )
        else:
            todo += [n for n, _ in node.next_functions if n is not None]
    return found


class _Recompute:
    """The backward step of a checkpoint."""

    __slots__ = ("captured", "function", "metas", "random", "saved", "structure", "tracked")

    def __init__(self, function, structure, saved, tracked, captured, random, metas) -> None:
        self.function, self.structure, self.saved, self.tracked = function, structure, saved, tracked
        self.captured, self.random, self.metas = captured, random, metas

    def __call__(self, *cotangents):
        further = is_grad_enabled()
        leaves = [s.unpack(None) if isinstance(s, _SavedTensor) else s for s in self.saved]
        own = []
        for i in self.tracked:
            t = leaves[i]
            leaves[i] = t.view_as(t) if further else t.detach().requires_grad_()
            own.append(leaves[i])
        outs = _call(self.function, self.structure, leaves, self.random)[0]
        if [_meta(y) for y in outs] != self.metas:
            raise RuntimeError(
                "checkpoint: the function returned other shapes or dtypes when it ran again: "
                f"{[_meta(y) for y in outs]}, the first time {self.metas}; it must do the same each time"
            )
        recorded = [y for y in outs if _is_tracked(y)]
        pairs = [(y, g) for y, g in zip(recorded, cotangents, strict=True) if g is not None]
        if not pairs:
            return (None,) * (len(own) + len(self.captured))
        ys, gs = zip(*pairs, strict=True)
        return grad(ys, own + self.captured, gs, create_graph=further, allow_unused=True)

    def release(self) -> None:
        """Frees the saved arguments."""
        for s in self.saved:
            if isinstance(s, _SavedTensor):
                s.release()


def _is_tracked(t: Any) -> bool:
    return isinstance(t, Tensor) and t.requires_grad


def _meta(y: Any) -> Any:
    return (tuple(y.shape), str(y.dtype), y.requires_grad) if isinstance(y, Tensor) else None


def _call(function, structure, leaves, random):
    """Flat results of the function, recorded, with the random numbers of the first run."""
    args, kwargs = unflatten(structure, leaves)
    before = None
    if random is not None:
        before = get_rng_state()
        set_rng_state(random)
    try:
        with enable_grad():
            return flatten(function(*args, **kwargs))
    finally:
        if before is not None:
            set_rng_state(before)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Calls a function without keeping its graph; the backward pass calls it again.

    Parameters
    ----------
    function : callable
        Must do the same each time it is called with the same arguments, and not change them in place. It may use
        tracked leaves, such as parameters, without taking them as arguments; tracked results of operations outside
        must be arguments.
    *args, **kwargs
        Its arguments; tensors may stand in nested tuples, lists and dicts.
    use_reentrant : bool
        To be given, as in PyTorch; both values do the same here.
    preserve_rng_state : bool, default True
        Whether the second run draws the same random numbers.

    Returns
    -------
    any
        What the function returned, with one step in its history.

    Raises
    ------
    RuntimeError
        When the function uses a tracked result that is no argument, or returns something else the second time.

    Examples
    --------
    >>> import rgrad
    >>> from rgrad.utils.checkpoint import checkpoint
    >>> x = rgrad.tensor([3.0], requires_grad=True)
    >>> checkpoint(lambda t: t ** 3, x, use_reentrant=False).sum().backward()
    >>> x.grad.tolist()
    [27.0]
    """
    if use_reentrant is None:
        warnings.warn("checkpoint: pass use_reentrant explicitly; False is recommended", stacklevel=2)
    leaves, structure = flatten((args, kwargs))
    tensors = [t for t in leaves if isinstance(t, Tensor)]
    if not is_grad_enabled() or (forward_ad.open_levels and forward_ad.innermost(tensors) is not None):
        return function(*args, **kwargs)
    random = get_rng_state() if preserve_rng_state else None
    tracked = [i for i, t in enumerate(leaves) if _is_tracked(t)]
    own = [leaves[i].detach().requires_grad_() for i in tracked]
    mine = list(leaves)
    for i, t in zip(tracked, own, strict=True):
        mine[i] = t
    start = _now()
    call_args, call_kwargs = unflatten(structure, mine)
    outs, out_structure = flatten(function(*call_args, **call_kwargs))
    ys = [y for y in outs if _is_tracked(y)]
    if not ys:
        return unflatten(out_structure, outs)
    captured = _captured(ys, own, start)
    saved = [_SavedTensor(t, False) if isinstance(t, Tensor) else t for t in leaves]
    step = _Recompute(function, structure, saved, tracked, captured, random, [_meta(y) for y in outs])
    inputs = tuple([leaves[i] for i in tracked] + captured)
    values = tuple([y.detach() for y in ys])
    made = iter(_record_function("CheckpointBackward", inputs, values, (True,) * len(values), step, False))
    return unflatten(out_structure, [next(made) if _is_tracked(y) else y for y in outs])


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Calls functions one after the other in ``segments`` parts, each but the last a checkpoint.

    Parameters
    ----------
    functions : iterable of callable
        Such as an ``nn.Sequential``; each takes what the one before returns.
    segments : int
        How many parts.
    input : any
        Given to the first function.
    use_reentrant, preserve_rng_state
        As for :func:`checkpoint`.

    Raises
    ------
    ValueError
        When there are fewer functions than segments.
    """
    parts = list(functions)
    if not 1 <= segments <= len(parts):
        raise ValueError(f"checkpoint_sequential: {segments} segments of {len(parts)} functions")
    size = len(parts) // segments

    def run(some: list) -> Callable[[Any], Any]:
        def inner(x: Any) -> Any:
            for f in some:
                x = f(x)
            return x

        return inner

    for k in range(segments - 1):
        input = checkpoint(
            run(parts[k * size : (k + 1) * size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return run(parts[(segments - 1) * size :])(input)
