"""Derivatives of whole functions: products with vectors, Jacobians, Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._rgrad import Tensor, ones_like, stack, zeros_like
from . import forward_ad
from ._engine import grad
from .grad_mode import enable_grad, is_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple


def _as_tuple(x, what: str) -> tuple[bool, tuple]:
    """Whether ``x`` was a tuple, and its tensors."""
    is_tuple = isinstance(x, (tuple, list))
    xs = tuple(x) if is_tuple else (x,)
    for i, t in enumerate(xs):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"{what} must be a tensor or a tuple of tensors; entry {i} is of type {type(t).__name__}"
            )
    return is_tuple, xs


def _aliases(xs: tuple, create_graph: bool) -> tuple:
    """Tensors to differentiate by, apart from the caller's; they keep history with ``create_graph``."""
    return tuple(
        [x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in xs]
    )


def _checked(vs, like: tuple, what: str, of: str) -> tuple:
    _, vs = _as_tuple(vs, what)
    if len(vs) != len(like):
        raise RuntimeError(f"{what} has {len(vs)} entries, expected {len(like)}: one for each {of}")
    for i, (v, t) in enumerate(zip(vs, like)):
        if tuple(v.shape) != tuple(t.shape):
            raise RuntimeError(
                f"{what}[{i}] has shape {tuple(v.shape)}, expected {tuple(t.shape)}, that of {of} {i}"
            )
    return vs


def _finish(result, is_tuple: bool, create_graph: bool):
    out = tuple(result) if create_graph else tuple([r.detach() for r in result])
    return out if is_tuple else out[0]


def _strict_outputs(ys: tuple, strict: bool, what: str) -> None:
    if strict:
        for i, y in enumerate(ys):
            if not y.requires_grad:
                raise RuntimeError(f"{what} with strict=True: output {i} does not depend on the inputs")


def _filled(grads, xs, strict: bool, what: str) -> list:
    """Gradients with zeros for inputs that are not used; an error for them when strict."""
    out = []
    for i, (g, x) in enumerate(zip(grads, xs)):
        if g is None:
            if strict:
                raise RuntimeError(f"{what} with strict=True: the output does not depend on input {i}")
            g = zeros_like(x, requires_grad=False)
        out.append(g)
    return out


def _pull(ys, xs, vs, create_graph, retain=None):
    """Gradients of those ``ys`` that are recorded; None for all inputs when none is."""
    pairs = [(y, v) for y, v in zip(ys, vs) if y.requires_grad]
    if not pairs:
        return (None,) * len(xs)
    return grad(
        [y for y, _ in pairs],
        xs,
        [v for _, v in pairs],
        retain_graph=retain,
        create_graph=create_graph,
        allow_unused=True,
    )


def vjp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Value of ``func`` and the product of the vector ``v`` with its Jacobian.

    Parameters
    ----------
    func : callable
        Takes tensors, returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple of Tensor
        Where to evaluate.
    v : Tensor or tuple of Tensor, optional
        One for each output, of its shape; may be left out for a single output with one element.
    create_graph : bool, default False
        Whether the results are differentiable.
    strict : bool, default False
        Whether an output that does not depend on an input is an error rather than a zero.

    Returns
    -------
    tuple
        Value, and product shaped as ``inputs``.

    Raises
    ------
    RuntimeError
        When ``v`` does not fit the outputs, or by ``strict``.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([1.0, 2.0])
    >>> y, g = rgrad.autograd.functional.vjp(lambda t: t ** 2, x, rgrad.tensor([10.0, 100.0]))
    >>> g.tolist()
    [20.0, 400.0]
    """
    is_tuple, given = _as_tuple(inputs, "inputs")
    with enable_grad():
        xs = _aliases(given, create_graph)
        out_tuple, ys = _as_tuple(func(*xs), "outputs of func")
        _strict_outputs(ys, strict, "vjp")
        vs = _default_v(v, ys)
        grads = _filled(_pull(ys, xs, vs, create_graph), xs, strict, "vjp")
    return _finish(ys, out_tuple, create_graph), _finish(grads, is_tuple, create_graph)


def _default_v(v, ys) -> tuple:
    if v is not None:
        return _checked(v, ys, "v", "output")
    if len(ys) != 1 or ys[0].numel() != 1:
        raise RuntimeError("v may be left out only when func has a single output with one element")
    return (ones_like(ys[0], requires_grad=False),)


def jvp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Value of ``func`` and the product of its Jacobian with the vector ``v``, by forward mode.

    Parameters
    ----------
    func, inputs, create_graph
        As for :func:`vjp`.
    v : Tensor or tuple of Tensor, optional
        One for each input, of its shape; may be left out for a single input with one element.
    strict : bool, default False
        Whether an output that does not depend on the inputs is an error rather than a zero.

    Returns
    -------
    tuple
        Value, and product shaped as the outputs.

    Examples
    --------
    >>> import rgrad
    >>> y, d = rgrad.autograd.functional.jvp(lambda t: t ** 2, rgrad.tensor(3.0), rgrad.tensor(2.0))
    >>> y.item(), d.item()
    (9.0, 12.0)
    """
    _, given = _as_tuple(inputs, "inputs")
    if v is None:
        if len(given) != 1 or given[0].numel() != 1:
            raise RuntimeError("v may be left out only when func has a single input with one element")
        v = ones_like(given[0], requires_grad=False)
    vs = _checked(v, given, "v", "input")
    record = create_graph and is_grad_enabled()
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x if record else x.detach(), t) for x, t in zip(given, vs)]
        out_tuple, ys = _as_tuple(func(*duals), "outputs of func")
        parts = [forward_ad.unpack_dual(y) for y in ys]
    values, tangents = [], []
    for i, (y, t) in enumerate(parts):
        if t is None and strict:
            raise RuntimeError(f"jvp with strict=True: output {i} does not depend on the inputs")
        values.append(y)
        tangents.append(zeros_like(y, requires_grad=False) if t is None else t)
    return _finish(values, out_tuple, create_graph), _finish(tangents, out_tuple, create_graph)


def vhp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Any]:
    """Value of a scalar ``func`` and the product of the vector ``v`` with its Hessian.

    Parameters
    ----------
    func : callable
        Takes tensors, returns a tensor with one element.
    inputs, create_graph, strict
        As for :func:`vjp`.
    v : Tensor or tuple of Tensor, optional
        One for each input, of its shape; may be left out for a single input with one element.

    Returns
    -------
    tuple
        Value, and product shaped as ``inputs``.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([1.0, 2.0])
    >>> y, h = rgrad.autograd.functional.vhp(lambda t: (t ** 3).sum(), x, rgrad.tensor([1.0, 10.0]))
    >>> h.tolist()
    [6.0, 120.0]
    """
    is_tuple, given = _as_tuple(inputs, "inputs")
    if v is None:
        if len(given) != 1 or given[0].numel() != 1:
            raise RuntimeError("v may be left out only when func has a single input with one element")
        v = ones_like(given[0], requires_grad=False)
    vs = _checked(v, given, "v", "input")
    with enable_grad():
        xs = _aliases(given, create_graph)
        y = _scalar(func(*xs), "vhp")
        _strict_outputs((y,), strict, "vhp")
        first = _pull((y,), xs, (None,), True)
        kept = [(g, t) for g, t in zip(first, vs) if g is not None]
        _strict_outputs(tuple([g for g, _ in kept]), strict, "the gradient in vhp")
        grads = _pull([g for g, _ in kept], xs, [t for _, t in kept], create_graph)
        grads = _filled(grads, xs, strict, "vhp")
    return _finish((y,), False, create_graph), _finish(grads, is_tuple, create_graph)


def hvp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Any]:
    """Value of a scalar ``func`` and the product of its Hessian with the vector ``v``.

    The Hessian is symmetric, so this is :func:`vhp`: two backward passes.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([1.0, 2.0])
    >>> rgrad.autograd.functional.hvp(lambda t: (t ** 3).sum(), x, rgrad.tensor([1.0, 10.0]))[1].tolist()
    [6.0, 120.0]
    """
    return vhp(func, inputs, v, create_graph, strict)


def _scalar(y, what: str) -> Tensor:
    if isinstance(y, (tuple, list)) and len(y) == 1:
        y = y[0]
    if not isinstance(y, Tensor):
        raise TypeError(f"the function given to {what} must return one tensor, got {type(y).__name__}")
    if y.numel() != 1:
        raise RuntimeError(
            f"the function given to {what} must return a tensor with one element, got shape {tuple(y.shape)}"
        )
    return y


def jacobian(
    func: Callable[..., Tensors],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``, of shape output shape + input shape.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for :func:`vjp`.
    vectorize : bool, default False
        Accepted for programs that pass it; it does not change the result.
    strategy : {'reverse-mode', 'forward-mode'}
        One backward pass an output element, or one forward pass an input element.

    Returns
    -------
    Tensor, or nested tuple of Tensor
        Nested as outputs, then inputs, where these are tuples.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.autograd.functional.jacobian(lambda t: t ** 2, rgrad.tensor([1.0, 3.0])).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}")
    is_tuple, given = _as_tuple(inputs, "inputs")
    if strategy == "forward-mode":
        return _forward_jacobian(func, given, is_tuple, create_graph, strict)
    with enable_grad():
        xs = _aliases(given, create_graph)
        out_tuple, ys = _as_tuple(func(*xs), "outputs of func")
        _strict_outputs(ys, strict, "jacobian")
        rows = [_rows(y, xs, create_graph, strict, last=k + 1 == len(ys)) for k, y in enumerate(ys)]
    result = tuple([_finish(row, is_tuple, create_graph) for row in rows])
    return result if out_tuple else result[0]


def _rows(y: Tensor, xs: tuple, create_graph: bool, strict: bool, last: bool) -> list:
    """The Jacobians of one output by each input."""
    n = y.numel()
    shape = tuple(y.shape)
    if not y.requires_grad or n == 0:
        return [x.new_zeros(shape + tuple(x.shape)) for x in xs]
    parts = []
    if n == 1:
        seeds = iter([ones_like(y, requires_grad=False)])
    else:
        seeds = (_basis(y, i) for i in range(n))
    for i, v in enumerate(seeds):
        keep = create_graph or not last or i + 1 < n
        grads = grad(y, xs, v, retain_graph=keep, create_graph=create_graph, allow_unused=True)
        grads = _filled(grads, xs, strict, "jacobian")
        if create_graph and strict:
            for k, g in enumerate(grads):
                if not g.requires_grad:
                    raise RuntimeError(f"jacobian with strict=True: the Jacobian by input {k} is a constant")
        parts.append(grads)
    return [stack(list(column)).reshape(shape + tuple(x.shape)) for column, x in zip(zip(*parts), xs)]


def _basis(like: Tensor, i: int) -> Tensor:
    """One in place ``i`` of the flattened tensor, zero elsewhere."""
    v = like.new_zeros((like.numel(),))
    v[i] = 1
    return v.reshape(tuple(like.shape))


def _forward_jacobian(func, given, is_tuple, create_graph, strict):
    columns: list[list] = []
    out_tuple, outputs = False, ()
    for k, x in enumerate(given):
        parts = []
        for j in range(x.numel()):
            vs = tuple(
                [_basis(t, j) if i == k else zeros_like(t, requires_grad=False) for i, t in enumerate(given)]
            )
            y, d = jvp(func, given, vs, create_graph, strict)
            out_tuple, outputs = _as_tuple(y, "outputs of func")
            parts.append(_as_tuple(d, "tangents")[1])
        if not parts:
            out_tuple, outputs = _as_tuple(func(*given), "outputs of func")
        columns.append(
            [
                stack([p[o] for p in parts], -1).reshape(tuple(y.shape) + tuple(x.shape))
                if parts
                else y.new_zeros(tuple(y.shape) + tuple(x.shape))
                for o, y in enumerate(outputs)
            ]
        )
    result = tuple([_finish(row, is_tuple, create_graph) for row in zip(*columns)])
    return result if out_tuple else result[0]


def hessian(
    func: Callable[..., Tensor],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function, of shape input shape + input shape.

    Parameters
    ----------
    func : callable
        Takes tensors, returns a tensor with one element.
    inputs, create_graph, strict, vectorize
        As for :func:`jacobian`.
    outer_jacobian_strategy : {'reverse-mode', 'forward-mode'}
        How the gradient is differentiated.

    Returns
    -------
    Tensor, or tuple of tuples of Tensor
        Block ``[i][j]`` has the shape of input ``i`` followed by that of input ``j``.

    Examples
    --------
    >>> import rgrad
    >>> rgrad.autograd.functional.hessian(lambda t: (t ** 3).sum(), rgrad.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    is_tuple, given = _as_tuple(inputs, "inputs")

    def gradient(*xs):
        y = _scalar(func(*xs), "hessian")
        _strict_outputs((y,), strict, "hessian")
        return tuple(_filled(_pull((y,), xs, (None,), True), xs, strict, "hessian"))

    if outer_jacobian_strategy == "forward-mode":
        inner = gradient

        def gradient(*xs):
            with enable_grad():
                return inner(
                    *[x.view_as(x).requires_grad_() if not x.requires_grad else x.view_as(x) for x in xs]
                )

    blocks = jacobian(
        gradient, given, create_graph=create_graph, strict=strict, strategy=outer_jacobian_strategy
    )
    return blocks if is_tuple else blocks[0][0]
