"""Tests of the tests: a wrong derivative, of any of the usual kinds, must make the harness fail."""

import math

import harness
import numpy as np
import pytest
from common import T

X = np.array([0.3, -0.7, 1.1])
XS = [X]
RNG = lambda: np.random.default_rng(1)


def make(slope):
    """A custom sine whose derivative is `slope(x)`."""

    class Sine(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * slope(x)

    return lambda x: [Sine.apply(x)]


cosine = lambda x: x.cos()
right = make(cosine)


def impostor(f, df):
    """A program with the value of `f` and, in both modes, the derivative of `df`."""
    return lambda *xs: [(df(*xs) - df(*xs).detach()) + f(*(x.detach() for x in xs))]


CHECKS = {"vjp": harness.check_vjp, "second": harness.check_second_order, "recorded": harness.check_recorded}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_right_derivative_passes(check):
    check(right, XS, RNG())


WRONG_SLOPES = {
    "factor": lambda x: 2 * x.cos(),
    "factor close to 1": lambda x: (1 + 1e-6) * x.cos(),
    "sign": lambda x: -x.cos(),
    "function": lambda x: x.sin(),
    "missing term": lambda x: x.cos() - 0.1,
    "wrong at one entry": lambda x: T.where(x > 1, x.sin(), x.cos()),
    "zero": lambda x: x.cos() * 0,
    "absolute value": lambda x: (x - 2).cos().abs(),
}


@pytest.mark.parametrize("slope", WRONG_SLOPES.values(), ids=WRONG_SLOPES)
def test_wrong_gradient_is_found(slope):
    with pytest.raises(AssertionError):
        harness.check_vjp(make(slope), XS, RNG())


WRONG_CURVATURES = {
    "dropped": lambda x: x.detach().cos(),
    "doubled": lambda x: x.cos() + (x.cos() - x.cos().detach()),
    "sign": lambda x: 2 * x.detach().cos() - x.cos(),
}


@pytest.mark.parametrize("slope", WRONG_CURVATURES.values(), ids=WRONG_CURVATURES)
def test_wrong_second_derivative_is_found(slope):
    harness.check_vjp(make(slope), XS, RNG())  # the first derivative is right
    with pytest.raises(AssertionError):
        harness.check_second_order(make(slope), XS, RNG())


def test_second_derivative_that_forgets_the_cotangent_is_found():
    def slope_times(ctx, g):
        (x,) = ctx.saved_tensors
        return g.detach() * x.cos()

    class Sine(T.autograd.Function):
        forward = staticmethod(lambda x: x.sin())
        setup_context = staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
        backward = staticmethod(slope_times)

    with pytest.raises(AssertionError):
        harness.check_second_order(lambda x: [Sine.apply(x)], XS, RNG())


@pytest.mark.parametrize("step", [1e-15, 1e-3])
def test_recorded_gradient_of_other_bits_is_found(step):
    slope = lambda x: x.cos() * (1 + step if T.is_grad_enabled() else 1)
    with pytest.raises(AssertionError):
        harness.check_recorded(make(slope), XS, RNG())


product = lambda x, y: x * y.sin()
WRONG_PAIRS = {
    "second input forgotten": lambda x, y: x * y.detach().sin(),
    "inputs exchanged": lambda x, y: y * x.sin(),
    "second input off by a factor": lambda x, y: x * (2 * y.sin() - y.detach().sin()),
}


@pytest.mark.parametrize("wrong", WRONG_PAIRS.values(), ids=WRONG_PAIRS)
@pytest.mark.parametrize("check", [harness.check_jvp, harness.check_vjp], ids=["jvp", "vjp"])
def test_wrong_gradient_of_one_of_two_inputs_is_found(check, wrong):
    xs = [X, X[::-1] + 0.2]
    check(impostor(product, product), xs, RNG())
    with pytest.raises(AssertionError):
        check(impostor(product, wrong), xs, RNG())


def test_transposed_gradient_is_found():
    class Transposed(T.autograd.Function):
        forward = staticmethod(lambda x: x * 3)
        setup_context = staticmethod(lambda ctx, inputs, output: None)
        backward = staticmethod(lambda ctx, g: 3 * g.t())

    with pytest.raises(AssertionError):
        harness.check_vjp(lambda x: [Transposed.apply(x)], [np.outer(X, X)], RNG())


def test_modes_that_are_not_adjoint_are_found(monkeypatch):
    scale = 1 + 1e-9
    honest = harness.tangents
    monkeypatch.setattr(harness, "tangents", lambda *a: [t * scale for t in honest(*a)])
    with pytest.raises(AssertionError):
        harness.check_adjoint(lambda x: [x.sin()], XS, RNG())


def test_saturated_samples_are_why_derivatives_must_not_be_tiny():
    """Where erf is flat a wrong slope cannot be seen; the samples of every row are checked for that."""
    wrong = impostor(lambda x: x.erf(), lambda x: 2 * x.erf())
    harness.check_vjp(wrong, [np.array([6.5])], RNG())
    with pytest.raises(AssertionError):
        harness.check_vjp(wrong, [np.array([0.5])], RNG())


def test_finite_difference_is_exact_to_eight_digits():
    (got,) = harness.finite_difference(lambda xs: [np.exp(xs[0])], [np.array([1.0])], [np.array([1.0])])
    assert abs(got[0] - math.e) < 1e-10
