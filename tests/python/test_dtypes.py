"""Dtypes: promotion, casts, defaults, and the dtype that gradients come back in."""

import json
import os

import numpy as np
import pytest
from common import DTYPES, FLOATS, INTS, REFERENCE, T, dtype, dtype_name, host

with open(os.path.join(REFERENCE, "promotion.json")) as f:
    TABLE = json.load(f)

NUMBERS = {"bool": True, "int": 2, "float": 2.5}
TWO = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: T.pow(a, b),
    "remainder": lambda a, b: T.remainder(a, b),
    "maximum": lambda a, b: T.maximum(a, b),
    "eq": lambda a, b: T.eq(a, b),
    "where": lambda a, b: T.where(T.tensor(True), a, b),
    "cat": lambda a, b: T.cat([a, b]),
}
# Where the result is bool for every dtype; PyTorch keeps uint8, from the time when it had no bool.
ALWAYS_BOOL = {("any", "uint8"), ("all", "uint8")}
ONE = {
    "cumsum": lambda x: x.cumsum(0),
    "softmax": lambda x: x.softmax(0),
    "clamp": lambda x: x.clamp(0, 1),
    "clamp float": lambda x: x.clamp(0.5, 1.5),
    "matmul": lambda x: x @ x,
    "logsumexp": lambda x: x.logsumexp(0),
    "tril": lambda x: x[None].tril(),
}


def operand(kind, name):
    if kind == "number":
        return NUMBERS[name]
    return T.ones((2,) if kind == "dim" else (), dtype=dtype(name))


@pytest.mark.parametrize("op, kinds", [(op, kinds) for op in TABLE["two"] for kinds in TABLE["two"][op]])
def test_result_dtype_of_two_operands_is_that_of_pytorch(op, kinds):
    left, right = kinds.split(",")
    wrong = []
    for a, row in TABLE["two"][op][kinds].items():
        for b, want in row.items():
            if want is None:
                continue  # refused by PyTorch
            got = dtype_name(TWO[op](operand(left, a), operand(right, b)))
            if got != want:
                wrong.append(f"{a}, {b}: {got}, expected {want}")
    assert not wrong


@pytest.mark.parametrize("op", TABLE["one"])
def test_result_dtype_of_one_operand_is_that_of_pytorch(op):
    fn = ONE.get(op) or (lambda x: getattr(x, op)())
    wrong = []
    for d, want in TABLE["one"][op].items():
        if (
            want is not None
            and (got := dtype_name(fn(operand("dim", d)))) != want
            and (op, d) not in ALWAYS_BOOL
        ):
            wrong.append(f"{d}: {got}, expected {want}")
    assert not wrong


@pytest.mark.parametrize("op", TABLE["in_place"])
def test_in_place_result_keeps_its_dtype_or_is_refused(op):
    for a, row in TABLE["in_place"][op].items():
        for b, want in row.items():
            x = operand("dim", a)
            if want is None:
                with pytest.raises(RuntimeError):
                    getattr(x, op)(operand("dim", b))
                assert x._version == 0 and x.tolist() == T.ones(2, dtype=dtype(a)).tolist(), (
                    "a refused operation changes nothing"
                )
            else:
                assert dtype_name(getattr(x, op)(operand("dim", b))) == want


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_knows_itself(name):
    d = dtype(name)
    assert isinstance(d, T.dtype) and d == dtype(name) and hash(d) == hash(dtype(name))
    assert repr(d).endswith("." + name) and str(d) == repr(d)
    assert d.is_floating_point == (name in FLOATS)
    assert (
        d.itemsize
        == {
            "bool": 1,
            "uint8": 1,
            "int32": 4,
            "int64": 8,
            "float16": 2,
            "bfloat16": 2,
            "float32": 4,
            "float64": 8,
        }[name]
    )
    assert T.zeros(1, dtype=d).element_size() == d.itemsize


def test_dtype_aliases():
    assert (T.float, T.double, T.half, T.long, T.int) == (T.float32, T.float64, T.float16, T.int64, T.int32)


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promote_types_is_the_promotion_of_sums(a, b):
    want = TABLE["two"]["add"]["dim,dim"][a][b]
    assert T.promote_types(dtype(a), dtype(b)) == dtype(want)
    assert T.result_type(operand("dim", a), operand("dim", b)) == dtype(want)


@pytest.mark.parametrize(
    "value, name",
    [
        (1.5, "float32"),
        (3, "int64"),
        (True, "bool"),
        ([1, 2.0], "float32"),
        ([], "float32"),
        ([True, 2], "int64"),
        (np.float64(1.0), "float64"),
        (np.ones(2, np.int32), "int32"),
        (np.ones(2, np.float16), "float16"),
        ([[1], [2]], "int64"),
    ],
)
def test_dtype_of_new_tensor_follows_its_values(value, name):
    assert dtype_name(T.tensor(value)) == name


@pytest.mark.parametrize("default", ["float64", "float16", "float32"])
def test_default_dtype_is_that_of_new_floats(default):
    T.set_default_dtype(dtype(default))
    try:
        assert T.get_default_dtype() is dtype(default)
        for made in (
            T.tensor(1.5),
            T.zeros(2),
            T.ones(2),
            T.rand(2),
            T.tensor([1, 2]) / T.tensor([2, 2]),
            T.tensor([1, 2]).exp(),
            T.tensor([1, 2]) + 0.5,
            T.eye(2),
            T.linspace(0, 1, 3),
            T.arange(0.0, 1.0, 0.5),
        ):
            assert dtype_name(made) == default
        assert dtype_name(T.tensor(np.float64(1))) == "float64"
    finally:
        T.set_default_dtype(T.float32)


def test_default_dtype_must_be_a_float():
    with pytest.raises(TypeError):
        T.set_default_dtype(T.int64)


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_cast_gives_the_values_of_numpy(a, b):
    values = np.array([0, 1, 2, 3]) if a in ("bool", "uint8") else np.array([0.0, 1.0, 2.75, 3.5])
    x = T.tensor(values).to(dtype(a))
    got = x.to(dtype(b))
    assert got.dtype == dtype(b)
    want = host(x)
    if b in INTS:
        want = want.astype(b)
    elif b == "bool":
        want = want != 0
    assert host(got).astype(np.float64).tolist() == want.astype(np.float64).tolist()


@pytest.mark.parametrize(
    "name, method",
    [
        ("float64", "double"),
        ("float32", "float"),
        ("float16", "half"),
        ("bfloat16", "bfloat16"),
        ("int64", "long"),
        ("int32", "int"),
        ("bool", "bool"),
    ],
)
def test_cast_methods(name, method):
    x = T.tensor([0.0, 1.5], dtype=T.float64)
    assert getattr(x, method)().dtype == dtype(name)


def test_cast_to_the_same_dtype_is_the_same_tensor():
    x = T.ones(2)
    assert x.to(T.float32) is x and x.float() is x and x.to("cpu") is x
    assert x.to(T.float32, copy=True) is not x


@pytest.mark.parametrize(
    "low, high", [("float16", "float32"), ("bfloat16", "float32"), ("float32", "float64")]
)
def test_gradient_comes_back_in_the_dtype_of_its_input(low, high):
    x = T.tensor([1.0, 2.0], dtype=dtype(low), requires_grad=True)
    y = T.tensor([3.0, 4.0], dtype=dtype(high), requires_grad=True)
    for f in (
        lambda: x * y,
        lambda: T.cat([x, y]),
        lambda: T.where(T.tensor([True, False]), x, y),
        lambda: x.to(dtype(high)) * y,
        lambda: T.stack([x, y]),
        lambda: T.maximum(x, y),
    ):
        gx, gy = T.autograd.grad(f().sum(), (x, y))
        assert (dtype_name(gx), dtype_name(gy)) == (low, high)


def test_bfloat16_is_float32_cut_to_the_nearest_even():
    x = np.array([1.0, 1.00390625, 1.01171875, 3.0e38, -0.0, 65504.0], np.float32)
    bits = x.view(np.uint32)
    want = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).view(np.float32)
    assert host(T.tensor(x).to(T.bfloat16)).tolist() == want.tolist()


def test_half_rounds_as_numpy_does():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.normal(size=200).astype(np.float32) * 10.0 ** rng.integers(-9, 6, 200),
            [65519.0, 65520.0, 1e-8, np.inf, np.nan],
        ]
    ).astype(np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(host(T.tensor(x).to(T.float16)), x.astype(np.float16))


@pytest.mark.parametrize("name", ["int64", "int32", "uint8", "bool"])
def test_only_floats_can_require_grad(name):
    with pytest.raises(RuntimeError, match="(?i)float"):
        T.zeros(2, dtype=dtype(name)).requires_grad_()
    with pytest.raises(RuntimeError, match="(?i)float"):
        T.tensor([1], dtype=dtype(name), requires_grad=True)


def test_integer_arithmetic_wraps_and_divides_like_python():
    big = T.tensor([2**62], dtype=T.int64)
    assert (big + big + big).item() == 3 * 2**62 - 2**64
    a, b = T.tensor([7, -7, 7, -7]), T.tensor([2, 2, -2, -2])
    assert (a // b).tolist() == [3, -4, -4, 3] and (a % b).tolist() == [1, 1, -1, -1]
    assert T.tensor([200], dtype=T.uint8).add(100).item() == 44


def test_integer_division_by_zero_raises():
    for f in (lambda a, b: a // b, lambda a, b: a % b):
        with pytest.raises(RuntimeError, match="(?i)zero"):
            f(T.tensor([1]), T.tensor([0]))


def test_finfo_and_iinfo():
    for name in ("float64", "float32", "float16"):
        assert (
            T.finfo(dtype(name)).eps == np.finfo(name).eps and T.finfo(dtype(name)).max == np.finfo(name).max
        )
    assert T.finfo(T.bfloat16).eps == 2**-7
    assert T.iinfo(T.int64).max == 2**63 - 1 and T.iinfo(T.uint8).min == 0
