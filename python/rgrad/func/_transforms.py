"""Gradients, pullbacks, pushforwards, Jacobians and batching of whole functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._rgrad import Tensor, ones_like, stack, zeros_like
from .._tree import flatten, map_leaves, unflatten
from ..autograd import forward_ad
from ..autograd._engine import grad as _grad
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ._level import Level

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]

ArgNums = int | tuple[int, ...]


class _Arguments:
    """The arguments at ``argnums`` as flat lists of tensors, and the way back."""

    def __init__(self, args: tuple, argnums: ArgNums, what: str) -> None:
        self.args = args
        self.single = isinstance(argnums, int)
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if not numbers:
            raise ValueError(f"{what}: argnums is empty; name at least one argument")
        n = len(args)
        for k in numbers:
            if not -n <= k < n:
                raise ValueError(f"{what}: argnums names argument {k}, but the function was called with {n}")
        self.numbers = [k % n for k in numbers]
        if len(set(self.numbers)) != len(self.numbers):
            raise ValueError(f"{what}: argnums names an argument twice: {argnums}")
        self.leaves: list[Tensor] = []
        self.structures = []
        for k in self.numbers:
            leaves, structure = flatten(args[k])
            for leaf in leaves:
                if not isinstance(leaf, Tensor):
                    raise TypeError(
                        f"{what}: argument {k} holds a {type(leaf).__name__}, expected tensors; leave it out of argnums"
                    )
            self.structures.append((structure, len(leaves)))
            self.leaves += leaves

    def split(self, flat) -> list:
        """One tree an argument."""
        out, at = [], 0
        for structure, n in self.structures:
            out.append(unflatten(structure, flat[at : at + n]))
            at += n
        return out

    def call_with(self, flat) -> list:
        """All arguments, with these leaves in the place of the own ones."""
        args = list(self.args)
        for k, tree in zip(self.numbers, self.split(flat)):
            args[k] = tree
        return args

    def result(self, flat):
        trees = self.split(flat)
        return trees[0] if self.single else tuple(trees)


def _aux(out, has_aux: bool, what: str):
    if not has_aux:
        return out, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise RuntimeError(f"{what} with has_aux=True: the function must return (output, aux)")
    return out


def _materialized(grads, xs) -> list:
    return [zeros_like(x, requires_grad=False) if g is None else g for g, x in zip(grads, xs)]


def grad_and_value(func: Callable, argnums: ArgNums = 0, has_aux: bool = False) -> Callable:
    """Transforms a scalar function into one that returns its gradient and its value.

    Parameters
    ----------
    func : callable
        Returns a tensor with one element; with ``has_aux``, a pair of it and anything else.
    argnums : int or tuple of int
        Arguments to differentiate by; each is a tensor or a nested tuple, list or dict of tensors, in which
        every place is a variable of its own.
    has_aux : bool
        Whether ``func`` returns further results.

    Returns
    -------
    callable
        Gives ``(gradient, value)``, or ``(gradient, (value, aux))``. The gradient has the structure of the
        argument.

    Raises
    ------
    RuntimeError
        When the output has more than one element.

    Examples
    --------
    >>> import rgrad
    >>> g, v = rgrad.func.grad_and_value(lambda t: (t ** 2).sum())(rgrad.tensor([1.0, 2.0]))
    >>> g.tolist(), v.item()
    ([2.0, 4.0], 5.0)
    """

    @functools.wraps(func)
    def transformed(*args, **kwargs):
        a = _Arguments(args, argnums, "grad")
        outside = is_grad_enabled()
        with enable_grad():
            level = Level(a.leaves, outside)
            y, aux = _aux(func(*a.call_with(level.given), **kwargs), has_aux, "grad")
            if not isinstance(y, Tensor):
                raise RuntimeError(
                    f"grad: the function must return a tensor with one element, got {type(y).__name__}"
                )
            if y.numel() != 1:
                raise RuntimeError(
                    f"grad: the function must return a tensor with one element, got shape {tuple(y.shape)}; "
                    "use jacrev for functions with many outputs"
                )
            if not y.requires_grad:
                grads = [None] * len(level.own)
                further = False
            else:
                further = level.outer or level.reaches_out((y,))
                grads = _grad(y, level.own, create_graph=further, allow_unused=True)
            grads = _materialized(grads, level.own)
            close = level.close
            gradient = a.result([close(g) for g in grads] if further else grads)
            value = close(y) if further else forward_ad.untracked(y)
        if has_aux:
            return gradient, (value, map_leaves(close, aux))
        return gradient, value

    return transformed


def grad(func: Callable, argnums: ArgNums = 0, has_aux: bool = False) -> Callable:
    """Transforms a scalar function into its gradient.

    Parameters and errors are those of :func:`grad_and_value`; the result is the gradient, or ``(gradient,
    aux)``. Transforms nest, and tracked tensors that ``func`` captures stay differentiable in the result.

    Examples
    --------
    >>> import rgrad
    >>> f = lambda t: t ** 4
    >>> rgrad.func.grad(f)(rgrad.tensor(2.0)).item()
    32.0
    >>> rgrad.func.grad(rgrad.func.grad(f))(rgrad.tensor(2.0)).item()
    48.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def transformed(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return transformed


def value_and_grad(func: Callable, argnums: ArgNums = 0, has_aux: bool = False) -> Callable:
    """As :func:`grad_and_value`, with the value first.

    Examples
    --------
    >>> import rgrad
    >>> v, g = rgrad.func.value_and_grad(lambda t: t ** 2)(rgrad.tensor(3.0))
    >>> v.item(), g.item()
    (9.0, 6.0)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def transformed(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return transformed


def _outputs(out, what: str) -> tuple[list, Any]:
    leaves, structure = flatten(out)
    for i, y in enumerate(leaves):
        if not isinstance(y, Tensor):
            raise RuntimeError(
                f"{what}: the function must return tensors; output {i} is of type {type(y).__name__} (use has_aux)"
            )
    return leaves, structure


def vjp(func: Callable, *primals, has_aux: bool = False) -> tuple:
    """Value of ``func`` and its pullback, which may be called again and again.

    Parameters
    ----------
    func : callable
        Takes ``primals``, returns a tensor or a nested container of tensors; with ``has_aux`` a pair with
        more.
    *primals
        Tensors, or nested containers of them.

    Returns
    -------
    tuple
        ``(output, pullback)`` or ``(output, pullback, aux)``. The pullback takes one cotangent shaped as
        the output and returns one gradient a primal, as a tuple.

    Examples
    --------
    >>> import rgrad
    >>> y, pull = rgrad.func.vjp(lambda t: t ** 2, rgrad.tensor([1.0, 2.0]))
    >>> pull(rgrad.tensor([10.0, 100.0]))[0].tolist()
    [20.0, 400.0]
    """
    if not primals:
        raise ValueError("vjp needs at least one primal after the function")
    a = _Arguments(primals, tuple(range(len(primals))), "vjp")
    outside = is_grad_enabled()
    with enable_grad():
        level = Level(a.leaves, outside)
        out, aux = _aux(func(*a.call_with(level.given)), has_aux, "vjp")
    ys, structure = _outputs(out, "vjp")
    tracked = [i for i, y in enumerate(ys) if y.requires_grad]
    further = level.outer or level.reaches_out(ys)

    def pullback(cotangents):
        vs, _ = flatten(cotangents)
        if len(vs) != len(ys):
            raise RuntimeError(
                f"pullback: got {len(vs)} cotangents, expected {len(ys)}: the structure of the output"
            )
        if not tracked:
            return a.result(_materialized([None] * len(level.own), level.own))
        differentiable = is_grad_enabled() and (further or any(v.requires_grad for v in vs))
        grads = _grad(
            [ys[i] for i in tracked],
            level.own,
            [vs[i] for i in tracked],
            retain_graph=True,
            create_graph=differentiable,
            allow_unused=True,
        )
        grads = _materialized(grads, level.own)
        if differentiable:
            here = Level((), True)
            here.own = level.own
            grads = [here.close(g) for g in grads]
        return a.result(grads)

    value = unflatten(structure, [level.close(y) for y in ys])
    return (value, pullback, map_leaves(level.close, aux)) if has_aux else (value, pullback)


def jvp(
    func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """Value of ``func`` and its derivative along ``tangents``, by forward mode.

    Parameters
    ----------
    func : callable
        Takes ``primals``, returns a tensor or a nested container of tensors; with ``has_aux`` a pair with
        more.
    primals, tangents : tuple
        Arguments and their directions, of the same structure, shapes and dtypes.
    strict : bool
        Whether an output that does not depend on the primals is an error rather than a zero.

    Returns
    -------
    tuple
        ``(output, tangent)`` or ``(output, tangent, aux)``.

    Examples
    --------
    >>> import rgrad
    >>> y, d = rgrad.func.jvp(rgrad.sin, (rgrad.tensor(0.0),), (rgrad.tensor(2.0),))
    >>> d.item()
    2.0
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: primals and tangents must be tuples, one entry an argument")
    if not primals:
        raise RuntimeError("jvp needs at least one primal")
    a = _Arguments(primals, tuple(range(len(primals))), "jvp")
    ts, _ = flatten(tangents)
    if len(ts) != len(a.leaves):
        raise RuntimeError(
            f"jvp: got {len(ts)} tangents for {len(a.leaves)} primals; give one of the same shape for each"
        )
    for i, (p, t) in enumerate(zip(a.leaves, ts)):
        if tuple(p.shape) != tuple(t.shape):
            raise RuntimeError(
                f"jvp: tangent {i} has shape {tuple(t.shape)}, expected {tuple(p.shape)}, the primal's"
            )
    with forward_ad.dual_level() as at:
        duals = [forward_ad.make_dual(p, t, level=at) for p, t in zip(a.leaves, ts)]
        out, aux = _aux(func(*a.call_with(duals)), has_aux, "jvp")
        ys, structure = _outputs(out, "jvp")
        parts = [forward_ad.unpack_dual(y, level=at) for y in ys]

        def close(t):
            return forward_ad.unpack_dual(t, level=at).primal if isinstance(t, Tensor) else t

        aux = map_leaves(close, aux) if has_aux else None
    for i, (_, t) in enumerate(parts):
        if t is None and strict:
            raise RuntimeError(f"jvp with strict=True: output {i} does not depend on the primals")
    value = unflatten(structure, [p for p, _ in parts])
    moved = [zeros_like(p, requires_grad=False) if t is None else t for p, t in parts]
    tangent = unflatten(structure, moved)
    return (value, tangent, aux) if has_aux else (value, tangent)


def linearize(func: Callable, *primals) -> tuple:
    """Value of ``func`` and its derivative at ``primals`` as a linear function of tangents.

    The function runs once; each call of the derivative walks the recorded graph.

    Examples
    --------
    >>> import rgrad
    >>> y, push = rgrad.func.linearize(lambda t: t ** 3, rgrad.tensor(2.0))
    >>> push(rgrad.tensor(1.0)).item(), push(rgrad.tensor(10.0)).item()
    (12.0, 120.0)
    """
    out, pull = vjp(func, *primals)
    ys, structure = flatten(out)
    shapes = [tuple(p.shape) for p in flatten(primals)[0]]

    def push(*tangents):
        ts, _ = flatten(tangents)
        if [tuple(t.shape) for t in ts] != shapes:
            raise RuntimeError(
                f"linearize: tangents have shapes {[tuple(t.shape) for t in ts]}, expected {shapes}"
            )
        with enable_grad():
            # A pullback is linear in its cotangents: the transpose of it is the pushforward.
            vs = [zeros_like(y, requires_grad=True) for y in ys]
            grads, _ = flatten(pull(unflatten(structure, vs)))
            used = [(g, t) for g, t in zip(grads, ts) if g.requires_grad]
            if not used:
                found = [None] * len(vs)
            else:
                found = _grad(
                    [g for g, _ in used], vs, [t for _, t in used], retain_graph=True, allow_unused=True
                )
        return unflatten(structure, _materialized(found, vs))

    return out, push


def _basis(like: Tensor, i: int) -> Tensor:
    v = like.new_zeros((like.numel(),))
    v[i] = 1
    return v.reshape(tuple(like.shape))


def jacrev(
    func: Callable, argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable:
    """Transforms a function into its Jacobian, by one backward pass an output element.

    Parameters
    ----------
    func, argnums, has_aux
        As for :func:`grad_and_value`, with any number of outputs of any shape.
    chunk_size : int, optional
        Accepted for programs that pass it; passes run one at a time.

    Returns
    -------
    callable
        Gives the Jacobian, of shape output shape + input shape, nested as outputs, then arguments.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.func.jacrev(lambda t: t ** 2)(rgrad.tensor([1.0, 3.0])).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """

    @functools.wraps(func)
    def transformed(*args, **kwargs):
        a = _Arguments(args, argnums, "jacrev")

        def inner(*leaves):
            return func(*a.call_with(list(leaves)), **kwargs)

        got = vjp(inner, *a.leaves, has_aux=has_aux)
        out, pull = got[0], got[1]
        ys, structure = flatten(out)
        zeros = [zeros_like(y, requires_grad=False) for y in ys]
        blocks = []
        for k, y in enumerate(ys):
            rows = []
            for i in range(y.numel()):
                vs = list(zeros)
                vs[k] = ones_like(y, requires_grad=False) if y.numel() == 1 else _basis(y, i)
                rows.append(pull(unflatten(structure, vs)))
            shape = tuple(y.shape)
            if rows:
                flat = [
                    stack(list(column)).reshape(shape + tuple(x.shape))
                    for column, x in zip(zip(*rows), a.leaves)
                ]
            else:
                flat = [x.new_zeros(shape + tuple(x.shape)) for x in a.leaves]
            blocks.append(a.result(flat))
        jacobian = unflatten(structure, blocks)
        return (jacobian, got[2]) if has_aux else jacobian

    return transformed


def jacfwd(
    func: Callable,
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable:
    """Transforms a function into its Jacobian, by one forward-mode pass an input element.

    Parameters and result are those of :func:`jacrev`; ``randomness`` is accepted for programs that pass it.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.func.jacfwd(lambda t: t ** 2)(rgrad.tensor([1.0, 3.0])).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """

    @functools.wraps(func)
    def transformed(*args, **kwargs):
        a = _Arguments(args, argnums, "jacfwd")

        def inner(*leaves):
            return func(*a.call_with(list(leaves)), **kwargs)

        structure, ys, aux = None, None, None
        columns = []
        for k, x in enumerate(a.leaves):
            parts = []
            for j in range(x.numel()):
                ts = tuple(
                    [
                        _basis(x, j) if i == k else zeros_like(t, requires_grad=False)
                        for i, t in enumerate(a.leaves)
                    ]
                )
                got = jvp(inner, tuple(a.leaves), ts, has_aux=has_aux)
                ys, structure = flatten(got[0])
                aux = got[2] if has_aux else None
                parts.append(flatten(got[1])[0])
            columns.append(parts)
        if structure is None:
            out, aux = _aux(inner(*a.leaves), has_aux, "jacfwd")
            ys, structure = _outputs(out, "jacfwd")
        blocks = []
        for o, y in enumerate(ys):
            shape = tuple(y.shape)
            flat = [
                stack([p[o] for p in parts], -1).reshape(shape + tuple(x.shape))
                if parts
                else x.new_zeros(shape + tuple(x.shape))
                for parts, x in zip(columns, a.leaves)
            ]
            blocks.append(a.result(flat))
        jacobian = unflatten(structure, blocks)
        return (jacobian, aux) if has_aux else jacobian

    return transformed


def hessian(func: Callable, argnums: ArgNums = 0) -> Callable:
    """Transforms a function into its Hessian: forward mode over reverse mode.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.func.hessian(lambda t: (t ** 3).sum())(rgrad.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)


def vmap(
    func: Callable,
    in_dims: int | tuple | list | None = 0,
    out_dims: int | tuple = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """Transforms a function of single samples into one of batches, by a loop over the batch.

    Parameters
    ----------
    func : callable
        Takes and returns tensors or nested containers of them.
    in_dims : int, None, or tuple of them
        The batch axis of each argument; None for arguments that all samples share.
    out_dims : int or tuple of int
        Where the batch axis of each output goes.
    randomness, chunk_size
        Accepted for programs that pass them; every sample draws its own random numbers.

    Raises
    ------
    ValueError
        When no argument has a batch axis, or their sizes differ.

    Examples
    --------
    >>> import rgrad
    >>> f = rgrad.func.vmap(lambda a, b: (a * b).sum(), in_dims=(0, None))
    >>> f(rgrad.tensor([[1.0, 2.0], [3.0, 4.0]]), rgrad.tensor([10.0, 1.0])).tolist()
    [12.0, 34.0]
    """

    @functools.wraps(func)
    def transformed(*args, **kwargs):
        dims = tuple(in_dims) if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise ValueError(f"vmap: in_dims has {len(dims)} entries for {len(args)} arguments")
        flat, structure = flatten(list(args))
        axes: list = []
        for arg, dim in zip(args, dims):
            leaves, _ = flatten(arg)
            if isinstance(dim, (tuple, list, dict)):
                axes += flatten(dim)[0]
            else:
                axes += [dim if isinstance(leaf, Tensor) else None for leaf in leaves]
        if len(axes) != len(flat):
            raise ValueError("vmap: in_dims does not have the structure of the arguments")
        sizes = {t.shape[d] for t, d in zip(flat, axes) if d is not None}
        if len(sizes) != 1:
            raise ValueError(
                "vmap: no argument has a batch axis"
                if not sizes
                else f"vmap: the batch axes of the arguments have different sizes: {sorted(sizes)}"
            )
        n = sizes.pop()
        if n == 0:
            raise ValueError("vmap: the batch is empty, so the outputs' shapes are unknown")
        results = []
        for i in range(n):
            sample = [t if d is None else t.select(d, i) for t, d in zip(flat, axes)]
            results.append(flatten(func(*unflatten(structure, sample), **kwargs)))
        out_structure = results[0][1]
        count = len(results[0][0])
        places = flatten(out_dims)[0] if isinstance(out_dims, (tuple, list)) else [out_dims] * count
        if len(places) != count:
            raise ValueError(f"vmap: out_dims has {len(places)} entries for {count} outputs")
        return unflatten(out_structure, [stack([r[0][k] for r in results], places[k]) for k in range(count)])

    return transformed
