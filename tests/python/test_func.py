"""Transforms of whole functions: they agree with formulas, with one another, and compose."""

import numpy as np
import pytest
from common import T, assert_close, host

A = np.array([[2.0, -1.0, 0.5], [0.3, 1.5, -0.7], [1.0, 0.2, 3.0]])
X = np.array([0.4, -1.2, 0.9])
t = lambda a: T.tensor(a, dtype=T.float64)


def cubic(x):
    return (x**3).sum() + (x @ t(A) @ x) * x[0]


def cubic_gradient(x):
    s = A + A.T
    g = 3 * x**2 + s @ x * x[0]
    g[0] += x @ A @ x
    return g


def cubic_hessian(x):
    s = A + A.T
    h = np.diag(6 * x) + s * x[0]
    h[0] += s @ x
    h[:, 0] += s @ x
    return h


def test_grad_and_value():
    x = t(X)
    assert_close(host(T.func.grad(cubic)(x)), cubic_gradient(X), 1e-13)
    g, value = T.func.grad_and_value(cubic)(x)
    assert_close(host(g), cubic_gradient(X), 1e-13)
    assert value.item() == pytest.approx(cubic(x).item())
    assert not x.requires_grad and x.grad is None


def test_grad_of_chosen_arguments():
    f = lambda a, b, k: (a * b**2).sum() * k
    a, b = t([1.0, 2.0]), t([3.0, 4.0])
    ga, gb = T.func.grad(f, argnums=(0, 1))(a, b, 2.0)
    assert ga.tolist() == [18, 32] and gb.tolist() == [12, 32]
    assert T.func.grad(f, argnums=1)(a, b, 1.0).tolist() == [6, 16]


def test_grad_of_containers():
    f = lambda p: (p["w"] * 2).sum() + (p["rest"][0] ** 2).sum()
    out = T.func.grad(f)({"w": t([1.0]), "rest": (t([3.0]),)})
    assert out["w"].tolist() == [2] and out["rest"][0].tolist() == [6]


def test_auxiliary_output():
    g, aux = T.func.grad(lambda x: ((x * x).sum(), x + 1), has_aux=True)(t([2.0]))
    assert g.tolist() == [4] and aux.tolist() == [3]


def test_grad_needs_a_scalar():
    with pytest.raises(RuntimeError):
        T.func.grad(lambda x: x * 2)(t(X))


def test_vjp_can_be_pulled_back_more_than_once():
    out, pull = T.func.vjp(lambda x, y: (x.sin(), x * y), t(X), t(2.0))
    for scale in (1.0, 3.0):
        gx, gy = pull((t(np.full(3, scale)), t(np.ones(3))))
        assert_close(host(gx), scale * np.cos(X) + 2, 1e-14)
        assert gy.item() == pytest.approx(X.sum())
    assert_close(host(out[0]), np.sin(X), 1e-14)


def test_jvp_of_several_inputs_and_outputs():
    out, tangent = T.func.jvp(lambda x, y: (x * y, x.sum()), (t(X), t(2.0)), (t([1.0, 0.0, 0.0]), t(0.5)))
    assert_close(host(tangent[0]), np.array([2.0, 0, 0]) + 0.5 * X, 1e-14)
    assert tangent[1].item() == 1 and out[1].item() == pytest.approx(X.sum())


@pytest.mark.parametrize("bad", [((1.0,), (1.0,)), ("vector", "matrix"), ("vector", "two")])
def test_jvp_refuses_tangents_that_do_not_fit(bad):
    made = {"vector": t(X), "matrix": t(A), "two": t([1.0, 2.0])}
    primals, tangents = (tuple([made.get(b, b)]) if isinstance(b, str) else b for b in bad)
    with pytest.raises((RuntimeError, TypeError)):
        T.func.jvp(lambda x: x * 2, primals, tangents)


def test_jacobians_of_both_modes_agree():
    f = lambda x: T.stack([x.prod(), (x * x).sum(), x[0] * x[2].sin()])
    want = np.array(
        [
            [X[1] * X[2], X[0] * X[2], X[0] * X[1]],
            2 * X,
            [np.sin(X[2]), 0, X[0] * np.cos(X[2])],
        ]
    )
    for jacobian in (T.func.jacrev, T.func.jacfwd):
        assert_close(host(jacobian(f)(t(X))), want, 1e-13)
    assert_close(host(T.autograd.functional.jacobian(f, t(X))), want, 1e-13)


def test_hessians_agree():
    want = cubic_hessian(X)
    x = t(X)
    for h in (
        T.func.hessian(cubic)(x),
        T.func.jacrev(T.func.jacrev(cubic))(x),
        T.func.jacfwd(T.func.jacfwd(cubic))(x),
        T.func.jacrev(T.func.jacfwd(cubic))(x),
        T.autograd.functional.hessian(cubic, x),
    ):
        assert_close(host(h), want, 1e-13)


def test_hessian_vector_products_agree():
    v = np.array([1.0, -2.0, 0.5])
    want = cubic_hessian(X) @ v
    _, forward_over_reverse = T.func.jvp(T.func.grad(cubic), (t(X),), (t(v),))
    reverse_over_forward = T.func.grad(lambda x: T.func.jvp(cubic, (x,), (t(v),))[1])(t(X))
    _, hvp = T.autograd.functional.hvp(cubic, t(X), t(v))
    _, vhp = T.autograd.functional.vhp(cubic, t(X), t(v))
    for got in (forward_over_reverse, reverse_over_forward, hvp, vhp):
        assert_close(host(got), want, 1e-13)


@pytest.mark.parametrize("order", range(1, 7))
def test_derivatives_nest_to_any_order(order):
    f, push = T.sin, T.sin
    for _ in range(order):
        f = T.func.grad(f)
        push = (lambda g: lambda x: T.func.jvp(g, (x,), (T.ones_like(x),))[1])(push)
    want = np.sin(0.7 + order * np.pi / 2)
    assert f(t(0.7)).item() == pytest.approx(want, rel=1e-12)
    assert push(t(0.7)).item() == pytest.approx(want, rel=1e-12)


def test_nested_derivatives_do_not_mix_their_perturbations():
    """d/dx (x * d/dy (x + y)) is 1: the classic trap of forward mode."""
    inner = lambda x: T.func.jvp(lambda y: x + y, (t(1.0),), (t(1.0),))[1]
    _, tangent = T.func.jvp(lambda x: x * inner(x), (t(1.0),), (t(1.0),))
    assert tangent.item() == 1
    assert T.func.grad(lambda x: x * T.func.grad(lambda y: x + y)(t(1.0)))(t(1.0)).item() == 1


def test_closures_over_tracked_tensors_stay_differentiable():
    w = t(3.0).requires_grad_()
    g = T.func.grad(lambda x: w * x * x)(t(2.0))
    g.backward()
    assert g.item() == 12 and w.grad.item() == 4


def test_vmap_is_a_loop():
    f = lambda x, y: (x * y).sum() + x[0]
    rows = t(np.arange(6.0).reshape(2, 3))
    want = [f(r, t(X)).item() for r in rows]
    assert host(T.func.vmap(f, in_dims=(0, None))(rows, t(X))).tolist() == pytest.approx(want)
    per_sample = T.func.vmap(T.func.grad(lambda x: (x**2).sum()))(rows)
    assert_close(host(per_sample), 2 * host(rows), 1e-14)


def test_functional_call_uses_the_given_parameters():
    model = T.nn.Linear(3, 1)
    weight, x = T.ones(1, 3), T.tensor([1.0, 2.0, 3.0])
    out = T.func.functional_call(model, {"weight": weight, "bias": T.zeros(1)}, (x,))
    assert out.item() == 6 and not T.equal(model.weight, weight)
    g = T.func.grad(lambda p: T.func.functional_call(model, p, (x,)).sum())(
        {"weight": weight, "bias": T.zeros(1)}
    )
    assert g["weight"].tolist() == [[1, 2, 3]] and g["bias"].tolist() == [1]


def test_gradcheck_finds_a_wrong_derivative():
    class Wrong(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = t(X).requires_grad_()
    assert T.autograd.gradcheck(lambda x: x * x, (x,)) and T.autograd.gradgradcheck(lambda x: x * x, (x,))
    with pytest.raises(RuntimeError):
        T.autograd.gradcheck(Wrong.apply, (x,))
    assert not T.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    assert x.grad is None
