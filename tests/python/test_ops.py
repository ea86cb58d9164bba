"""Every row of the operation database: values, derivatives, layouts, dtypes, special values, refusals."""

import itertools

import harness
import numpy as np
import pytest
from common import (
    LAYOUTS,
    RTOL,
    STRIDED,
    T,
    assert_close,
    assert_same_bits,
    dtype_name,
    flatten,
    host,
    tensor,
)
from opbase import Call, Sample, as_argument, walk
from opinfo import ELEMENTWISE, OPS

DIFFERENTIABLE = [op for op in OPS if op.grad]
ids = lambda ops: pytest.mark.parametrize("op", [pytest.param(o, id=o.name) for o in ops])
each_op, each_derivative = ids(OPS), ids(DIFFERENTIABLE)
each_curved = ids([op for op in DIFFERENTIABLE if op.second])
CALLS = {op.name: op.calls() for op in OPS}


def about(call, check, *args):
    """Runs a check and names the sample when it fails."""
    try:
        check(*args)
    except Exception as e:
        e.add_note(f"in {call!r}")
        raise


def derivative_calls(op):
    return [c for c in CALLS[op.name] if c.xs]


# ---- values --------------------------------------------------------------------------------------

FORWARD = [
    pytest.param(op, dt, layout, id=f"{op.name}-{dt}-{layout}")
    for op in OPS
    for dt in op.dtypes
    for layout in LAYOUTS
    if op.expanded or layout != "expanded"
]


@pytest.mark.parametrize("op, dt, layout", FORWARD)
def test_value_is_that_of_numpy(op, dt, layout):
    def check(call):
        inputs, arrays = call.numbers(dt, layout)
        outs, want = (
            flatten(call.full(*inputs, layout="contiguous" if layout == "expanded" else layout)),
            call.reference(arrays),
        )
        assert [dtype_name(o) for o in outs] == op.result_dtypes(dt, len(outs))
        for i, (got, w) in enumerate(zip(outs, want, strict=True)):
            assert_close(host(got), w, op.rtol * RTOL.get(dtype_name(got), 0), f"output {i}")

    calls = [c for c in CALLS[op.name] if c.suits(dt)]
    assert calls
    for call in calls:
        about(call, check, call)


@ids([op for op in OPS if op.bitwise])
def test_value_has_the_same_bits_in_every_layout(op):
    for call in CALLS[op.name]:
        for dt in ("float64", "float32"):
            plain = [host(o) for o in flatten(call.full(*call.numbers(dt)[0]))]
            for layout in STRIDED:
                other = [host(o) for o in flatten(call.full(*call.numbers(dt, layout)[0], layout=layout))]
                for a, b in zip(plain, other, strict=True):
                    assert_same_bits(b, a, f"{call!r} {dt} {layout}")


@ids(ELEMENTWISE)
@pytest.mark.parametrize("dt", ["float64", "float32"])
def test_value_has_the_same_bits_at_any_length_and_alignment(op, dt):
    """An element's value does not depend on where in a vector register it was computed."""
    call = max(CALLS[op.name], key=lambda c: (len({x.shape for x in c.xs}) == 1, max(x.size for x in c.xs)))
    if len({x.shape for x in call.xs}) != 1:
        pytest.fail(f"{op.name} has no sample with inputs of one shape")
    flat = [np.resize(x.ravel(), 71) for x in call.xs]
    run = lambda lo, hi: [host(o) for o in flatten(call.full(*(tensor(x, dt)[lo:hi] for x in flat)))]
    whole = run(0, 71)
    for lo, hi in ((0, 1), (1, 4), (4, 12), (5, 22), (3, 70), (70, 71)):
        for a, b in zip(run(lo, hi), whole, strict=True):
            assert_same_bits(a, b[lo:hi], f"elements {lo} to {hi}")


@ids([op for op in OPS if op.special])
@pytest.mark.parametrize("dt", ["float64", "float32"])
def test_special_values_are_those_of_numpy(op, dt):
    for args in op.special:
        inputs = [tensor(a, dt) if isinstance(a, np.ndarray) else a for a in args]
        arrays = [a.astype(dt).astype(np.float64) if isinstance(a, np.ndarray) else a for a in args]
        with np.errstate(all="ignore"):
            want = [np.asarray(w) for w in flatten(op.ref(*arrays))]
        for got, w in zip(flatten(op.fn()(*inputs)), want, strict=True):
            got, w = host(got), w.astype(host(got).dtype) if host(got).dtype.kind == "f" else w
            assert_special(got, w, op.rtol * 4 * RTOL[dt])


def assert_special(got, want, rtol):
    """The same NaNs, infinities and zeros, and each finite value within `rtol` of its own size."""
    assert got.shape == want.shape
    if want.dtype.kind != "f":
        assert np.array_equal(got, want), f"{got!r}, expected {want!r}"
        return
    tiny = np.finfo(want.dtype).tiny
    np.testing.assert_allclose(got, want, rtol=rtol, atol=tiny, equal_nan=True)


# ---- first derivatives ---------------------------------------------------------------------------


@each_derivative
def test_tangent_is_the_finite_difference(op):
    for call in derivative_calls(op):
        about(call, harness.check_jvp, call, call.xs, op.rng())


@each_derivative
def test_gradient_is_the_finite_difference(op):
    for call in derivative_calls(op):
        about(call, harness.check_vjp, call, call.xs, op.rng())


@each_derivative
def test_forward_and_reverse_mode_are_adjoint(op):
    for call in derivative_calls(op):
        about(call, harness.check_adjoint, call, call.xs, op.rng())


@ids([op for op in DIFFERENTIABLE if not op.flat])
def test_samples_have_derivatives_that_are_not_tiny(op):
    """Finite differences prove nothing where the function is flat."""
    for i in range(max(len(c.xs) for c in derivative_calls(op))):
        sizes = []
        for call in derivative_calls(op):
            if i < len(call.xs) and call.xs[i].size:
                outs = call(*harness.tensors(call.xs))
                grads = harness.gradients(
                    call, call.xs, harness.directions(op.rng(), [np.zeros(o.shape) for o in outs])
                )
                sizes += [np.abs(host(grads[i])).max()]
        assert sizes and max(sizes) > 0.05, f"input {i}: {sizes}"


@each_derivative
@pytest.mark.parametrize("dt", ["float64", "float32"])
def test_fused_gradient_has_the_bits_of_the_recorded_one(op, dt):
    for call in derivative_calls(op):
        about(call, harness.check_recorded, call, call.xs, op.rng(), dt)


@each_derivative
def test_cotangent_may_have_any_layout(op):
    def check(call, rng):
        us = harness.directions(rng, harness.values(call, call.xs))
        want = [host(g) for g in harness.gradients(call, call.xs, us)]
        for layout in STRIDED:
            got = harness.gradients(call, call.xs, [tensor(u, layout=layout) for u in us])
            for g, w in zip(got, want):
                assert_close(host(g), w, 1e-13, layout)
        spread = [T.tensor(0.75, dtype=T.float64).expand(u.shape) for u in us]
        want = harness.gradients(call, call.xs, [np.full(u.shape, 0.75) for u in us])
        for g, w in zip(harness.gradients(call, call.xs, spread), want):
            assert_close(host(g), host(w), 1e-13, "expanded")

    for call in derivative_calls(op):
        about(call, check, call, op.rng())


@each_derivative
def test_inputs_may_have_any_layout(op):
    def check(call, rng):
        us = [T.tensor(u) for u in harness.directions(rng, harness.values(call, call.xs))]
        want = [host(g) for g in harness.gradients(call, call.xs, us)]
        for layout in STRIDED:
            leaves = [tensor(x, layout=layout).detach().requires_grad_() for x in call.xs]
            outs = call(*leaves)
            pairs = [(o, u) for o, u in zip(outs, us) if o.requires_grad]
            got = (
                T.autograd.grad([o for o, _ in pairs], leaves, [u for _, u in pairs], allow_unused=True)
                if pairs
                else want
            )
            for g, w in zip(got, want):
                assert_close(
                    np.zeros_like(w) if g is None else host(g) if isinstance(g, T.Tensor) else g,
                    w,
                    1e-13,
                    layout,
                )

    for call in derivative_calls(op):
        about(call, check, call, op.rng())


@each_derivative
def test_gradient_does_not_depend_on_which_other_inputs_want_one(op):
    def check(call, rng):
        us = harness.directions(rng, harness.values(call, call.xs))
        every = [host(g) for g in harness.gradients(call, call.xs, us)]
        for wanted in itertools.product((False, True), repeat=len(call.xs)):
            inputs = [T.tensor(x, requires_grad=w) for x, w in zip(call.xs, wanted)]
            outs = call(*inputs)
            if not any(wanted):
                assert not any(o.requires_grad for o in outs)
                continue
            pairs = [(o, T.tensor(u)) for o, u in zip(outs, us) if o.requires_grad]
            if not pairs:
                continue
            leaves = [x for x, w in zip(inputs, wanted) if w]
            grads = T.autograd.grad([o for o, _ in pairs], leaves, [u for _, u in pairs], allow_unused=True)
            for g, w in zip(grads, [e for e, w in zip(every, wanted) if w]):
                assert_same_bits(np.zeros_like(w) if g is None else host(g), w, f"inputs {wanted}")

    for call in derivative_calls(op):
        about(call, check, call, op.rng())


TWICE = [
    (op, c)
    for op in DIFFERENTIABLE
    for c in derivative_calls(op)
    if len(c.xs) == 2 and c.xs[0].shape == c.xs[1].shape and c.xs[0].size
]


@ids(list({op.name: op for op, _ in TWICE}.values()))
def test_same_tensor_twice_gets_the_sum_of_both_gradients(op):
    for call in [c for o, c in TWICE if o is op]:
        x = call.xs[0]
        us = harness.directions(op.rng(), harness.values(call, [x, x]))
        once = harness.gradients(lambda a: call(a, a), [x], us)[0]
        apart = harness.gradients(call, [x, x], us)
        assert_close(host(once), host(apart[0]) + host(apart[1]), 1e-14, repr(call))


@each_derivative
def test_float32_is_near_float64(op):
    def check(call, rng):
        us = harness.directions(rng, harness.values(call, call.xs))
        for a, b in zip(
            call(*(tensor(x, "float32") for x in call.xs)), harness.values(call, call.xs), strict=True
        ):
            assert_close(host(a), b, 2e-5 * op.rtol, "value")
        low = harness.gradients(
            call, [x.astype(np.float32) for x in call.xs], [u.astype(np.float32) for u in us]
        )
        for a, b in zip(low, harness.gradients(call, call.xs, us), strict=True):
            assert dtype_name(a) == "float32"
            assert_close(host(a), host(b), 2e-5 * op.rtol, "gradient")

    for call in derivative_calls(op):
        about(call, check, call, op.rng())


@ids([op for op in DIFFERENTIABLE if op.slopes])
def test_slope_at_a_kink_is_the_documented_one(op):
    for args, slopes in op.slopes:
        several = isinstance(args, tuple)
        xs = [np.asarray(a) for a in args] if several else [np.asarray(args)]
        leaves = [
            T.tensor(x, dtype=T.float64, requires_grad=i < len(slopes) if several else True)
            for i, x in enumerate(xs)
        ]
        op.fn()(*leaves).sum().backward()
        for leaf, want in zip(leaves, slopes if several else (slopes,)):
            np.testing.assert_allclose(host(leaf.grad), want, err_msg=f"at {args}")


# ---- second derivatives --------------------------------------------------------------------------


@each_curved
def test_second_derivative_is_the_finite_difference_of_the_first(op):
    for call in derivative_calls(op):
        about(call, harness.check_second_order, call, call.xs, op.rng())


@each_curved
def test_forward_mode_over_reverse_mode(op):
    for call in derivative_calls(op):
        about(call, harness.check_forward_over_reverse, call, call.xs, op.rng())


# ---- what is not differentiable ------------------------------------------------------------------


@ids([op for op in OPS if not op.grad])
def test_result_without_derivative_does_not_require_grad(op):
    for call in derivative_calls(op):
        for out in flatten(call.full(*harness.tensors(call.xs, grad=True))):
            assert not out.requires_grad and out.grad_fn is None


# ---- forms ---------------------------------------------------------------------------------------


@ids([op for op in OPS if op.method])
def test_method_is_the_function(op):
    for call in CALLS[op.name]:
        inputs = harness.tensors(call.xs)
        via = lambda x, *args, **kwargs: getattr(x, op.short)(*args, **kwargs)
        for a, b in zip(flatten(call.full(*inputs, fn=via)), flatten(call.full(*inputs)), strict=True):
            assert_same_bits(host(a), host(b), repr(call))


@ids([op for op in OPS if op.inplace])
def test_in_place_form_gives_value_and_gradient_of_the_function(op):
    def in_place(x, *args, **kwargs):
        y = x.clone()
        version = y._version
        out = getattr(y, op.short + "_")(*args, **kwargs)
        assert out is y, "the in-place form must return its tensor"
        assert y._version == version + 1
        return y

    tried = 0
    for call in derivative_calls(op):
        outs = flatten(call.full(*harness.tensors(call.xs)))
        if outs[0].shape != call.xs[0].shape or not isinstance(call.sample.args[0], np.ndarray):
            continue  # an in-place form cannot change the shape
        tried += 1
        program = lambda *a, fn=None: [call.full(*a, fn=fn)]
        assert_same_bits(host(program(*harness.tensors(call.xs), fn=in_place)[0]), host(outs[0]), repr(call))
        if op.grad:
            us = harness.directions(op.rng(), harness.values(program, call.xs))
            got = harness.gradients(lambda *a: program(*a, fn=in_place), call.xs, us)
            for a, b in zip(got, harness.gradients(program, call.xs, us), strict=True):
                assert_close(host(a), host(b), 1e-13, repr(call))
    assert tried


NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}


@ids(
    [
        op
        for op in OPS
        if op.function
        and "." not in op.name
        and any(NUMPY_NAMES.keys() & c.sample.kwargs.keys() for c in CALLS[op.name])
    ]
)
def test_argument_names_of_numpy_are_understood(op):
    for call in CALLS[op.name]:
        renamed = Sample(
            *call.sample.args, **{NUMPY_NAMES.get(k, k): v for k, v in call.sample.kwargs.items()}
        )
        inputs = harness.tensors(call.xs)
        for a, b in zip(flatten(Call(op, renamed).full(*inputs)), flatten(call.full(*inputs)), strict=True):
            assert_same_bits(host(a), host(b), repr(call))


# ---- refusals ------------------------------------------------------------------------------------

BAD = [pytest.param(op, *bad, id=f"{op.name}-{i}") for op in OPS for i, bad in enumerate(op.errors)]


def refuse(op, args, kwargs, classes):
    with pytest.raises(classes) as caught:
        op.fn()(*walk(args, as_argument), **{k: walk(v, as_argument) for k, v in kwargs.items()})
    return str(caught.value)


@pytest.mark.parametrize("op, args, kwargs, classes", BAD)
def test_bad_input_raises_the_class(op, args, kwargs, classes):
    assert refuse(op, args, kwargs, classes)


SYMBOLS = {"operator[]": "ind", "operator[]=": "ind"}


@pytest.mark.parametrize("op, args, kwargs, classes", BAD)
def test_bad_input_names_the_operation(op, args, kwargs, classes):
    if op.name.startswith("operator") and op.name not in SYMBOLS:
        return  # a number protocol may leave the text to Python
    text = refuse(op, args, kwargs, classes)
    names = [SYMBOLS.get(op.name, op.short), *op.called]
    assert any(n in text for n in names), text


def test_failed_call_leaves_its_inputs_alone():
    x = T.ones(2, dtype=T.float64, requires_grad=True).clone()
    with pytest.raises(RuntimeError):
        x.add_(T.ones(3))
    assert x._version == 0 and x.tolist() == [1.0, 1.0]
