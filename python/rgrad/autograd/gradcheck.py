"""Derivatives against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._rgrad import Tensor, from_numpy, zeros_like
from . import forward_ad
from ._engine import grad
from .function import Function, _strict
from .grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative differs from the finite differences, or another promise of a derivative is broken."""


def _tuple(x) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _tracked(values) -> list[tuple[int, Tensor]]:
    return [(i, t) for i, t in enumerate(values) if isinstance(t, Tensor) and t.requires_grad]


def _array(t: Tensor):
    import numpy as np

    return np.array(t.detach().numpy(), dtype=np.float64)


def _tensor(array, like: Tensor) -> Tensor:
    import numpy as np

    return from_numpy(np.ascontiguousarray(array).reshape(np.shape(array))).to(like.dtype)


def _check_inputs(inputs: tuple) -> list[tuple[int, Tensor]]:
    tracked = _tracked(inputs)
    if not tracked:
        raise ValueError("gradcheck needs at least one input with requires_grad=True")
    for i, t in tracked:
        if t.element_size() < 8:
            warnings.warn(
                f"input {i} of gradcheck has dtype {t.dtype}; finite differences need float64 to be meaningful",
                stacklevel=3,
            )
        if t.numel() > 1 and any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape)):
            raise GradcheckError(
                f"input {i} of gradcheck is expanded (shape {tuple(t.shape)}, strides {tuple(t.stride())}): changing "
                "one element would change several; pass a clone"
            )
    return tracked


class _Perturbed:
    """Changes elements of a tensor in place, so that closures see it too, and puts the exact values back."""

    def __init__(self, t: Tensor) -> None:
        self.t, self.before = t, t.detach().clone()

    def __enter__(self):
        return self

    def set(self, array) -> None:
        with no_grad():
            self.t.copy_(_tensor(array, self.t))

    def __exit__(self, *exc) -> None:
        with no_grad():
            self.t.copy_(self.before)


def _evaluate(func, inputs) -> list:
    with enable_grad():
        outs = _tuple(func(*inputs))
    return [_array(y) if isinstance(y, Tensor) and y.is_floating_point() else None for y in outs]


def _difference(func, inputs, t: Tensor, step, eps: float) -> list:
    """Central difference quotients of all outputs when ``t`` moves along ``step``."""
    with _Perturbed(t) as moved:
        base = _array(moved.before)
        moved.set(base + eps * step)
        plus = _evaluate(func, inputs)
        moved.set(base - eps * step)
        minus = _evaluate(func, inputs)
    return [None if p is None else (p - m) / (2 * eps) for p, m in zip(plus, minus)]


def _numerical(func, inputs, t: Tensor, eps: float) -> list:
    """One Jacobian an output, of shape (elements of the output, elements of ``t``)."""
    import numpy as np

    columns = []
    for j in range(t.numel()):
        step = np.zeros(t.numel())
        step[j] = 1.0
        columns.append(_difference(func, inputs, t, step.reshape(tuple(t.shape)), eps))
    if not columns:
        return [None if y is None else np.zeros((y.size, 0)) for y in _evaluate(func, inputs)]
    return [None if c[0] is None else np.stack([q.ravel() for q in c], 1) for c in zip(*columns)]


def _backward(outputs, xs, cotangents) -> tuple:
    try:
        return grad(outputs, xs, cotangents, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        raise GradcheckError(f"gradcheck: the backward pass failed: {error}") from error


def _analytical(y: Tensor, xs: list, check_dtypes: bool) -> list:
    """One Jacobian an input, by one backward pass an element of ``y``."""
    import numpy as np

    out = [np.zeros((y.numel(), x.numel())) for x in xs]
    if not y.requires_grad:
        return out
    for i in range(y.numel()):
        v = np.zeros(y.numel())
        v[i] = 1.0
        grads = _backward(y, xs, _tensor(v.reshape(tuple(y.shape)), y))
        for k, (g, x) in enumerate(zip(grads, xs)):
            if g is None:
                continue
            if check_dtypes and g.dtype != x.dtype:
                raise GradcheckError(f"gradcheck: a gradient has dtype {g.dtype}, its input {x.dtype}")
            out[k][i] = _array(g).ravel()
    return out


def _forward(func, inputs, t: Tensor) -> list:
    """One Jacobian an output, by one forward-mode pass an element of ``t``."""
    import numpy as np

    columns = []
    for j in range(t.numel()):
        step = np.zeros(t.numel())
        step[j] = 1.0
        with forward_ad.dual_level(), enable_grad():
            dual = forward_ad.make_dual(t, _tensor(step.reshape(tuple(t.shape)), t))
            outs = _tuple(func(*[dual if x is t else x for x in inputs]))
            column: list[Any] = []
            for y in outs:
                if not (isinstance(y, Tensor) and y.is_floating_point()):
                    column.append(None)
                    continue
                primal, tangent = forward_ad.unpack_dual(y)
                column.append(np.zeros(primal.numel()) if tangent is None else _array(tangent).ravel())
        columns.append(column)
    return [None if c[0] is None else np.stack(c, 1) for c in zip(*columns)]


def _compare(mode: str, k: int, i: int, y_shape, x_shape, numerical, analytical, atol, rtol) -> None:
    import numpy as np

    if np.allclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=True):
        return
    with np.errstate(invalid="ignore"):
        gap = np.abs(analytical - numerical) - rtol * np.abs(numerical)
    gap[np.isnan(gap) & ~(np.isnan(analytical) & np.isnan(numerical))] = np.inf
    row, column = np.unravel_index(np.nanargmax(gap), gap.shape)
    at_y = tuple(int(v) for v in np.unravel_index(row, y_shape)) if y_shape else ()
    at_x = tuple(int(v) for v in np.unravel_index(column, x_shape)) if x_shape else ()
    raise GradcheckError(
        f"gradcheck: the {mode} derivative of output {k} by input {i} is wrong, most of all that of output[{at_y}] by "
        f"input[{at_x}]: numerical {numerical[row, column]:.9g}, analytical {analytical[row, column]:.9g} "
        f"(atol {atol:g}, rtol {rtol:g})\nnumerical:\n{numerical}\nanalytical:\n{analytical}"
    )


class _NoGradient(Function):
    """Identity whose backward gives None, as an output that nothing uses does."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.set_materialize_grads(False)
        return tuple([t.view_as(t) for t in tensors])

    @staticmethod
    def backward(ctx, *cotangents):
        return (None,) * len(cotangents)


def _check_undefined(func, inputs, xs) -> None:
    def outputs():
        return [y for y in _tuple(func(*inputs)) if isinstance(y, Tensor) and y.requires_grad]

    n = len(outputs())
    for which in [range(n)] + [[k] for k in range(n) if n > 1]:
        ys = outputs()
        cut = _NoGradient.apply(*[ys[k] for k in which])
        for k, y in zip(which, cut):
            ys[k] = y
        try:
            grads = grad(ys, xs, [zeros_like(y, requires_grad=False) for y in ys], allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                f"gradcheck: backward fails when outputs {list(which)} receive no gradient (None); expected None or "
                f"zeros: {type(error).__name__}: {error}"
            ) from error
        for g in grads:
            if g is not None and bool((g != 0).any()):
                raise GradcheckError(
                    f"gradcheck: backward gives a nonzero gradient although outputs {list(which)} receive none and "
                    "all others zero"
                )


def _slow(func, inputs, tracked, outs, *, eps, atol, rtol, nondet_tol, dtypes, forward, backward) -> None:
    import numpy as np

    numerical = [_numerical(func, inputs, t, eps) for _, t in tracked]
    if forward:
        for (i, t), expected in zip(tracked, numerical):
            for k, (got, want) in enumerate(zip(_forward(func, inputs, t), expected)):
                if want is not None:
                    _compare("forward-mode", k, i, outs[k].shape, t.shape, want, got, atol, rtol)
    if not backward:
        return
    outs = _tuple(func(*inputs))
    xs = [t for _, t in tracked]
    for k, y in enumerate(outs):
        if not (isinstance(y, Tensor) and y.is_floating_point()):
            continue
        first = _analytical(y, xs, dtypes)
        again = _analytical(y, xs, dtypes)
        for (i, t), got, other, want in zip(tracked, first, again, numerical):
            _compare("backward", k, i, tuple(y.shape), tuple(t.shape), want[k], got, atol, rtol)
            if got.size and not np.allclose(got, other, rtol=0, atol=nondet_tol, equal_nan=True):
                raise GradcheckError(
                    f"gradcheck: backward is not deterministic: two passes for output {k} and input {i} differ by "
                    f"{np.max(np.abs(got - other)):g} (nondet_tol {nondet_tol:g})"
                )


def _fast(func, inputs, tracked, outs, *, eps, atol, rtol, nondet_tol, dtypes, forward, backward) -> None:
    """Compares a random projection of each Jacobian; positive directions, so that errors do not cancel."""
    import numpy as np

    rng = np.random.default_rng(20)

    def direction(shape):
        v = rng.uniform(0.2, 1.0, tuple(shape))
        return v / max(np.linalg.norm(v), 1e-300)

    us = [direction(t.shape) for _, t in tracked]
    vs = [direction(y.shape) if isinstance(y, Tensor) and y.is_floating_point() else None for y in outs]
    quotients = [_difference(func, inputs, t, u, eps) for (_, t), u in zip(tracked, us)]
    outs = _tuple(func(*inputs))
    xs = [t for _, t in tracked]
    for k, (y, v) in enumerate(zip(outs, vs)):
        if v is None:
            continue
        if backward:
            passes = []
            for _ in range(2):
                grads = _backward(y, xs, _tensor(v, y)) if y.requires_grad else [None] * len(xs)
                passes.append([0.0 if g is None else float((_array(g) * u).sum()) for g, u in zip(grads, us)])
            if not np.allclose(passes[0], passes[1], rtol=0, atol=nondet_tol, equal_nan=True):
                raise GradcheckError(
                    f"gradcheck: backward is not deterministic: two passes for output {k} differ"
                )
        for j, ((i, t), u) in enumerate(zip(tracked, us)):
            want = np.array([[float((quotients[j][k] * v).sum())]])
            scaled = atol * np.abs(u).sum() * np.abs(v).sum()
            if backward:
                _compare("backward", k, i, (), (), want, np.array([[passes[0][j]]]), scaled, rtol)
            if forward:
                with forward_ad.dual_level():
                    dual = forward_ad.make_dual(t, _tensor(u, t))
                    out = _tuple(func(*[dual if x is t else x for x in inputs]))[k]
                    tangent = forward_ad.unpack_dual(out).tangent
                    got = 0.0 if tangent is None else float((_array(tangent) * v).sum())
                _compare("forward-mode", k, i, (), (), want, np.array([[got]]), scaled, rtol)


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compares the derivatives of ``func`` with central differences.

    Parameters
    ----------
    func : callable
        Takes ``inputs``, returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence
        Those that require grad are checked; they are changed in place while this runs, and put back
        exactly, so ``func`` may also reach them by closure.
    eps : float
        Step of the differences.
    atol, rtol : float
        ``|analytical - numerical| <= atol + rtol * |numerical|`` must hold for each entry.
    raise_exception : bool
        Whether a failure raises; otherwise the result is False.
    nondet_tol : float
        How far two backward passes may differ.
    check_undefined_grad : bool
        Whether to check that outputs without a gradient lead to no gradient or to zeros.
    check_grad_dtypes : bool
        Whether gradients must have the dtype of their inputs.
    check_forward_ad, check_backward_ad : bool
        Which modes to check.
    fast_mode : bool
        Checks one random projection of each Jacobian rather than every entry.

    Returns
    -------
    bool
        True when all is right.

    Raises
    ------
    GradcheckError
        A RuntimeError that names the output, the input and the entry that is most wrong.
    ValueError
        When no input requires grad.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([0.3, -0.7], dtype=rgrad.float64, requires_grad=True)
    >>> rgrad.autograd.gradcheck(lambda t: t.sin() * t, (x,))
    True
    """
    inputs = _tuple(inputs)
    try:
        tracked = _check_inputs(inputs)
        with enable_grad():
            outs = _tuple(func(*inputs))
            (_fast if fast_mode else _slow)(
                func,
                inputs,
                tracked,
                outs,
                eps=eps,
                atol=atol,
                rtol=rtol,
                nondet_tol=nondet_tol,
                dtypes=check_grad_dtypes,
                forward=check_forward_ad,
                backward=check_backward_ad,
            )
            if check_undefined_grad and check_backward_ad and _tracked(outs):
                _check_undefined(func, inputs, [t for _, t in tracked])
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compares second derivatives: :func:`gradcheck` of the map from inputs and cotangents to gradients.

    Parameters
    ----------
    func, inputs, eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes,
    fast_mode
        As for :func:`gradcheck`.
    grad_outputs : Tensor or sequence of Tensor, optional
        Cotangents of the differentiable outputs; random by default.
    check_fwd_over_rev, check_rev_over_rev : bool
        Which modes differentiate the gradient.

    Returns
    -------
    bool
        True when all is right.

    Raises
    ------
    GradcheckError
        When a second derivative is wrong, cannot be computed, or a custom function hides one in a saved
        intermediate.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([0.3, -0.7], dtype=rgrad.float64, requires_grad=True)
    >>> rgrad.autograd.gradgradcheck(lambda t: (t ** 3).sum(), (x,))
    True
    """
    import numpy as np

    inputs = _tuple(inputs)
    before = getattr(_strict, "on", False)
    _strict.on = True
    try:
        _check_inputs(inputs)
        outs = [y for _, y in _tracked(_tuple(func(*inputs)))]
        if grad_outputs is None:
            rng = np.random.default_rng(7)
            cotangents = [_tensor(rng.standard_normal(tuple(y.shape)), y).requires_grad_() for y in outs]
        else:
            cotangents = [
                v if v.requires_grad else v.detach().clone().requires_grad_() for v in _tuple(grad_outputs)
            ]
        n = len(inputs)

        def gradients(*args):
            xs = [t for _, t in _tracked(args[:n])]
            ys = [y for _, y in _tracked(_tuple(func(*args[:n])))]
            try:
                grads = grad(ys, xs, args[n:], create_graph=True, allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError(f"gradgradcheck: the first derivative failed: {error}") from error
            return tuple([g for g in grads if g is not None])

        return gradcheck(
            gradients,
            inputs + tuple(cotangents),
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad,
            check_grad_dtypes=check_grad_dtypes,
            check_forward_ad=check_fwd_over_rev,
            check_backward_ad=check_rev_over_rev,
            fast_mode=fast_mode,
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    finally:
        _strict.on = before
