"""Values, derivatives and refusals recorded from PyTorch (see tests/reference)."""

import collections
import json
import os

import numpy as np
import pytest
from common import REFERENCE, T, flatten, host

TOLERANCE = {"float64": (1e-6, 1e-8), "float32": (2e-4, 2e-5)}
ARRAYS = dict(np.load(os.path.join(REFERENCE, "arrays.npz")))


def read(name):
    with open(os.path.join(REFERENCE, name)) as f:
        return [json.loads(line) for line in f]


CASES, ERRORS = read("cases.jsonl"), read("errors.jsonl")
with open(os.path.join(REFERENCE, "not_yet.txt")) as f:
    NOT_YET = f.read().split()
BY_OP = collections.defaultdict(list)
for case in CASES + ERRORS:
    BY_OP[case["op"]].append(case)


class Arguments:
    """Arguments of one call; `leaves` are the tensors that require grad, in their order."""

    def __init__(self, case, leaves=None):
        self.leaves, self.given = [], leaves
        self.args = [self.value(a) for a in case["args"]]
        self.kwargs = {k: self.value(v) for k, v in case["kwargs"].items()}

    def value(self, x):
        if isinstance(x, list):
            return [self.value(v) for v in x]
        if not isinstance(x, dict):
            return x
        if "t" in x:
            if x["g"] and self.given is not None:
                self.leaves.append(self.given[len(self.leaves)])
                return self.leaves[-1]
            t = T.tensor(ARRAYS[x["t"]], requires_grad=x["g"])
            if x["g"]:
                self.leaves.append(t)
            return t
        ((kind, v),) = x.items()
        match kind:
            case "tuple":
                return tuple(self.value(a) for a in v)
            case "dict":
                return {k: self.value(a) for k, a in v.items()}
            case "f":
                return float(v)
            case "dtype":
                return getattr(T, v)
            case "slice":
                return slice(*(self.value(a) for a in v))
            case "ellipsis":
                return Ellipsis
        raise ValueError(f"unknown value {kind!r} in the reference data")


def lookup(name):
    """The function of that name, else the method; None when there is neither."""
    target = T
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is None and hasattr(T.Tensor, name):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    return target


def call(case, leaves=None):
    a = Arguments(case, leaves)
    return flatten(lookup(case["op"])(*a.args, **a.kwargs)), a.leaves


def assert_matches(got, want, what):
    """`want` as recorded: a tensor, a plain value, or None for no gradient, which a zero gradient equals."""
    if want is None:
        assert got is None or not np.any(host(got)), f"{what}: expected no gradient"
        return
    if not (isinstance(want, dict) and "t" in want):
        want = float(want["f"]) if isinstance(want, dict) else want
        got = got.item() if isinstance(got, T.Tensor) else got
        assert got == want or np.isclose(got, want, equal_nan=True), f"{what}: {got!r}, expected {want!r}"
        return
    want = ARRAYS[want["t"]]
    if got is None:
        assert not np.any(want), f"{what}: missing"
        return
    got = host(got)
    assert (got.shape, got.dtype) == (want.shape, want.dtype), (
        f"{what}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    )
    if want.dtype.kind != "f":
        assert np.array_equal(got, want), what
        return
    rtol, atol = TOLERANCE[str(want.dtype)]
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0.0)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=max(atol, 0.1 * rtol * scale), err_msg=what)


def fixed(spec, grad=False):
    return T.tensor(ARRAYS[spec["t"]], requires_grad=grad)


def check(case):
    out, leaves = call(case)
    assert len(out) == len(case["out"])
    for i, (got, want) in enumerate(zip(out, case["out"])):
        assert_matches(got, want, f"output {i}")
    if "vjp" not in case:
        return
    second = "vjp2" in case
    cotangents = [fixed(c, second) for c in case["cot"]]
    outs = [o for o, differentiated in zip(out, case["outmask"]) if differentiated]
    grads = T.autograd.grad(outs, leaves, cotangents, create_graph=second, allow_unused=True)
    for i, (got, want) in enumerate(zip(grads, case["vjp"], strict=True)):
        assert_matches(got, want, f"gradient {i}")
    if second:
        total = sum((g * fixed(v)).sum() for g, v in zip(grads, case["v"]) if v is not None)
        got = T.autograd.grad(total, leaves + cotangents, allow_unused=True)
        for i, (g, want) in enumerate(zip(got, case["vjp2"], strict=True)):
            assert_matches(g, want, f"second-order gradient {i}")
    if "jvp" in case:

        def f(*primals):
            out, _ = call(case, primals)
            return tuple(o for o, differentiated in zip(out, case["outmask"]) if differentiated)

        _, tangents = T.func.jvp(
            f, tuple(t.detach() for t in leaves), tuple(fixed(t) for t in case["tangent"])
        )
        for i, (got, want) in enumerate(zip(tangents, case["jvp"], strict=True)):
            if want is not None:
                assert_matches(got, want, f"tangent {i}")


def check_refused(case):
    a = Arguments(case)
    try:
        lookup(case["op"])(*a.args, **a.kwargs)
    except Exception as e:
        assert type(e).__name__ not in ("SystemError", "AssertionError", "InternalError", "PanicError"), repr(
            e
        )
        assert str(e), f"{type(e).__name__} without a message"
    else:
        raise AssertionError(f"accepted; PyTorch raises {case['raises']}")


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if c["op"] not in NOT_YET])
def test_operation_gives_the_recorded_numbers(case):
    check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in ERRORS if c["op"] not in NOT_YET])
def test_operation_refuses_what_it_must(case):
    check_refused(case)


@pytest.mark.parametrize("op", NOT_YET)
def test_listed_operation_does_not_pass(op):
    """An operation that works must leave not_yet.txt."""
    assert op in BY_OP, "no such operation in the reference data"
    if lookup(op) is None:
        return
    with pytest.raises(Exception):
        for case in BY_OP[op]:
            (check_refused if "raises" in case else check)(case)


def test_list_of_missing_operations_is_sorted_and_unique():
    assert NOT_YET == sorted(set(NOT_YET))
