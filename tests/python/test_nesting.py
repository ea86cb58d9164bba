"""Reverse and forward mode nested in any order, over built-in operations and custom functions."""

import itertools

import pytest
from common import T

X = 0.7


def t(a):
    return T.tensor(a, dtype=T.float64)


def reverse(f):
    return T.func.grad(f)


def forward(f):
    return lambda x: T.func.jvp(f, (x,), (T.ones_like(x),))[1]


class Sine(T.autograd.Function):
    """Saves its argument; forward mode transposes backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class SineWithJvp(Sine):
    @staticmethod
    def jvp(ctx, v):
        (x,) = ctx.saved_tensors
        return v * x.cos()


class Exp(T.autograd.Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class ExpWithJvp(Exp):
    @staticmethod
    def jvp(ctx, v):
        (y,) = ctx.saved_tensors
        return v * y


class Cube(T.autograd.Function):
    """Saves an intermediate, whose dependence on the argument only a second run of forward shows."""

    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, g):
        (square,) = ctx.saved_tensors
        return 3 * square * g


class ProductAndDifference(T.autograd.Function):
    """Two arguments and two outputs, in the style that keeps ctx out of forward."""

    @staticmethod
    def forward(x, y):
        return x * y, x - y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x - h


def two_outputs(x):
    a, b = ProductAndDifference.apply(x.sin(), x)
    return a * b


CUSTOM = {
    "argument saved": (Sine.apply, lambda x: x.sin()),
    "argument saved, jvp": (SineWithJvp.apply, lambda x: x.sin()),
    "output saved": (Exp.apply, lambda x: x.exp()),
    "output saved, jvp": (ExpWithJvp.apply, lambda x: x.exp()),
    "intermediate saved": (Cube.apply, lambda x: x**3),
    "two outputs": (two_outputs, lambda x: x.sin() * x * (x.sin() - x)),
    "composition": (lambda x: Exp.apply(Sine.apply(x)) * x, lambda x: x.sin().exp() * x),
    "composition, jvp": (
        lambda x: ExpWithJvp.apply(Sine.apply(x)) * SineWithJvp.apply(x * x),
        lambda x: x.sin().exp() * (x * x).sin(),
    ),
}

A = t([[1.0, 0.3], [0.2, 2.0]])


def three(x):
    return T.stack([x, x * x, x.sin()])


BUILT_IN = {
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid() * x,
    "quotient": lambda x: x / (1 + x * x),
    "power": lambda x: x**2.5,
    "root": lambda x: (x * x + 1).sqrt(),
    "softmax": lambda x: (three(x).softmax(0) ** 2).sum(),
    "logsumexp": lambda x: T.logsumexp(three(x), 0),
    "matmul": lambda x: ((A * x) @ (A * x.sin())).sum(),
    "prod": lambda x: three(x).prod(),
    "variance": lambda x: three(x).var(),
    "cumsum": lambda x: (three(x).cumsum(0) ** 2).sum(),
    "where": lambda x: T.where(x > 0, x**3, x),
    "index": lambda x: (three(x)[1:] ** 2).sum(),
    "cross_entropy": lambda x: T.nn.functional.cross_entropy(three(x).reshape(1, 3), T.tensor([1])),
    "cat": lambda x: (T.cat([x.reshape(1), x.exp().reshape(1)]) ** 3).sum(),
    "expand": lambda x: (x.expand(3) * T.arange(3, dtype=T.float64)).pow(2).sum(),
}


def label(modes):
    return "".join("r" if m is reverse else "f" for m in modes)


@pytest.mark.parametrize("name", CUSTOM)
@pytest.mark.parametrize("order", (1, 2, 3))
def test_custom_function_behaves_as_the_operations_it_stands_for(name, order):
    for modes in itertools.product((reverse, forward), repeat=order):
        f, like = CUSTOM[name]
        for m in modes:
            f, like = m(f), m(like)
        assert f(t(X)).item() == pytest.approx(like(t(X)).item(), rel=1e-10, abs=1e-12), label(modes)


@pytest.mark.parametrize("name", BUILT_IN)
def test_order_of_modes_does_not_matter(name):
    want = reverse(reverse(reverse(BUILT_IN[name])))(t(X)).item()
    for modes in itertools.product((reverse, forward), repeat=3):
        f = BUILT_IN[name]
        for m in modes:
            f = m(f)
        assert f(t(X)).item() == pytest.approx(want, rel=1e-8, abs=1e-10), label(modes)


def test_tangent_of_a_transformed_function_stays_differentiable():
    """The product of a Hessian with v, differentiated by v, is the Hessian."""
    x = t([1.0, 2.0])
    along = lambda v: T.func.jvp(T.func.grad(lambda x: (x**3).sum()), (x,), (v,))[1]
    assert T.func.jacrev(along)(t([1.0, 1.0])).tolist() == [[6, 0], [0, 12]]
    assert T.func.grad(lambda v: (along(v) ** 2).sum())(t([1.0, 1.0])).tolist() == [72, 288]


def test_results_are_untracked_unless_something_outside_is_tracked():
    x, w = t(2.0), t(3.0).requires_grad_()
    assert not T.func.grad(lambda x: x**3)(x).requires_grad
    assert not T.func.grad(lambda x: w + x**3)(x).requires_grad
    assert T.func.grad(lambda x: w * x**3)(x).requires_grad
    h = T.func.hessian(lambda x: w * x**3)(x)
    h.backward()
    assert h.item() == 36 and w.grad.item() == 12


def test_saved_intermediates_are_repaired_or_found():
    x = t(2.0).requires_grad_()
    (g,) = T.autograd.grad(Cube.apply(x) ** 2, x, create_graph=True)
    (h,) = T.autograd.grad(g, x)
    assert (g.item(), h.item()) == (192, 480)
    assert not T.autograd.gradgradcheck(Cube.apply, (x,), raise_exception=False)


def test_no_level_stays_open():
    with pytest.raises(ZeroDivisionError):
        T.func.jvp(lambda x: x * (1 / 0), (t(1.0),), (t(1.0),))
    assert T.autograd.forward_ad.open_levels == 0 and T.autograd.forward_ad.levels() == []
