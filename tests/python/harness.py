"""Checks of derivatives for any function of tensors.

Finite differences, adjoints, fused against recorded gradients, second order.

A *program* here is a function of float tensors that returns a list of float tensors; `xs` are its inputs as
NumPy arrays. Every check raises AssertionError when it does not hold.
"""

import numpy as np
from common import T, assert_close, assert_same_bits, flatten, host, is_float

STEP = 1e-3  # of finite differences; samples keep 5 steps away from kinks
FD_RTOL = 2e-8  # truncation of the fourth-order formula at that step
FD_NOISE = 1e-10  # rounding of values of size 1 divided by the step
ADJOINT_RTOL = 1e-12


def directions(rng, arrays):
    """One random direction an array, of largest entry 1."""
    out = []
    for a in arrays:
        v = rng.uniform(-1, 1, np.shape(a))
        out.append(v / np.abs(v).max() if v.size else v)
    return out


def tensors(xs, grad=False):
    return [T.tensor(np.asarray(x), requires_grad=grad) for x in xs]


def values(program, xs):
    """Outputs of the program at `xs`, as arrays."""
    return [host(y) for y in program(*tensors(xs))]


def finite_difference(values_at, xs, vs):
    """Derivative of an array-valued function along `vs`: the central formula of fourth order."""
    at = [values_at([x + k * STEP * v for x, v in zip(xs, vs)]) for k in (1, -1, 2, -2)]
    return [(8 * (a - b) - (c - d)) / (12 * STEP) for a, b, c, d in zip(*at)]


def gradients(program, xs, us, create_graph=False):
    """Gradients of the inputs, zeros where there is none; `us` may be arrays or tensors."""
    leaves = tensors(xs, grad=True)
    outs = program(*leaves)
    us = [u if isinstance(u, T.Tensor) else T.tensor(u) for u in us]
    pairs = [(y, u) for y, u in zip(outs, us, strict=True) if y.requires_grad]
    if not pairs:
        return [T.zeros_like(x) for x in leaves]
    grads = T.autograd.grad(
        [y for y, _ in pairs], leaves, [u for _, u in pairs], create_graph=create_graph, allow_unused=True
    )
    return [T.zeros_like(x) if g is None else g for x, g in zip(leaves, grads)]


def inner(us, ys):
    """The inner product and the sum of the sizes of its terms, which is what rounding is relative to."""
    pairs = [(np.asarray(u, np.float64) * np.asarray(y, np.float64)) for u, y in zip(us, ys, strict=True)]
    return sum(float(p.sum()) for p in pairs), sum(float(np.abs(p).sum()) for p in pairs)


def noise(values):
    """How far rounding alone may move a finite difference of values of this size."""
    return FD_NOISE * max([1.0, *(float(np.abs(v).max()) for v in values if np.size(v))])


def assert_inner_close(a, b, rtol, what, atol=1e-300):
    (x, size_x), (y, size_y) = a, b
    assert abs(x - y) <= rtol * max(size_x, size_y) + atol, (
        f"{what}: {x!r} and {y!r} differ by {abs(x - y):.3g}"
    )


def tangents(program, xs, vs):
    """Derivative of the outputs along `vs` by forward mode."""
    _, out = T.func.jvp(lambda *a: tuple(program(*a)), tuple(tensors(xs)), tuple(tensors(vs)))
    return [host(t) for t in out]


def check_jvp(program, xs, rng):
    """Forward mode agrees with finite differences, entry by entry."""
    vs = directions(rng, xs)
    want = finite_difference(lambda p: values(program, p), xs, vs)
    atol = noise(values(program, xs))
    for i, (g, w) in enumerate(zip(tangents(program, xs, vs), want, strict=True)):
        assert_close(g, w, FD_RTOL, f"tangent {i}", atol)


def check_vjp(program, xs, rng):
    """Reverse mode agrees with finite differences along one direction for each input in turn."""
    ys = values(program, xs)
    us, atol = directions(rng, ys), noise(ys) * sum(y.size for y in ys)
    grads = [host(g) for g in gradients(program, xs, us)]
    for i, (x, g) in enumerate(zip(xs, grads)):
        assert g.shape == np.shape(x), f"gradient {i}: shape {g.shape}, expected {np.shape(x)}"
        vs = [v if j == i else np.zeros_like(v) for j, v in enumerate(directions(rng, xs))]
        fd = finite_difference(lambda p: values(program, p), xs, vs)
        assert_inner_close(inner(us, fd), inner([g], [vs[i]]), FD_RTOL, f"gradient {i}", atol)


def check_adjoint(program, xs, rng):
    """<u, J v> = <J^T u, v>: forward and reverse mode are transposes of each other."""
    vs, us = directions(rng, xs), directions(rng, values(program, xs))
    left = inner(us, tangents(program, xs, vs))
    right = inner([host(g) for g in gradients(program, xs, us)], vs)
    assert_inner_close(left, right, ADJOINT_RTOL, "<u, Jv> and <J'u, v>")


def check_recorded(program, xs, rng, dt="float64"):
    """The fused gradient has the bits of the one that is recorded as a differentiable program."""
    us = [u.astype(dt) for u in directions(rng, values(program, [np.asarray(x, dt) for x in xs]))]
    xs = [np.asarray(x, dt) for x in xs]
    fused, recorded = (gradients(program, xs, us, create_graph=c) for c in (False, True))
    for i, (a, b) in enumerate(zip(fused, recorded)):
        assert_same_bits(host(a), host(b), f"gradient {i}, fused against recorded")


def gradient_program(program, n):
    """The program (x1, …, xn, u1, …, um) -> gradients of the xs, itself differentiable."""

    def run(*args):
        tracked = [a if a.requires_grad else a.detach().requires_grad_() for a in args[:n]]
        outs = program(*tracked)
        pairs = [(y, u) for y, u in zip(outs, args[n:], strict=True) if y.requires_grad]
        if not pairs:
            return [T.zeros_like(x) for x in tracked]
        grads = T.autograd.grad(
            [y for y, _ in pairs], tracked, [u for _, u in pairs], create_graph=True, allow_unused=True
        )
        return [T.zeros_like(x) if g is None else g for x, g in zip(tracked, grads)]

    return run


def check_second_order(program, xs, rng):
    """The gradient, as a function of inputs and cotangents, has the derivatives of finite differences."""
    us = directions(rng, values(program, xs))
    check_vjp(gradient_program(program, len(xs)), [*xs, *us], rng)


def check_forward_over_reverse(program, xs, rng):
    """The tangent of the pullback equals the finite difference of the pullback."""
    us, vs = directions(rng, values(program, xs)), directions(rng, xs)
    cotangents = tuple(tensors(us))

    def pullback(*primals):
        _, vjp = T.func.vjp(lambda *a: tuple(program(*a)), *primals)
        return vjp(cotangents)

    _, got = T.func.jvp(pullback, tuple(tensors(xs)), tuple(tensors(vs)))
    slopes = lambda p: [host(g) for g in gradients(program, p, us)]
    want, atol = finite_difference(slopes, xs, vs), noise(slopes(xs))
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert_close(host(g), w, FD_RTOL, f"tangent of gradient {i}", atol)


def float_outputs(out):
    """The outputs that have derivatives."""
    return [y for y in flatten(out) if is_float(y)]
