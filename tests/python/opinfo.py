"""The database of operations, one row each.

`test_ops.py` checks every row, `test_completeness.py` that no operation lacks one. Elementwise rows are here;
the others stand, by class, in the `opinfo_*.py` beside this file.
"""

import math

import numpy as np
from common import FLOATS
from opbase import (
    ALL,
    MISMATCHED,
    NUMBERS,
    PLAIN,
    SIDES,
    SPECIAL,
    Op,
    Sample,
    binary_samples,
    off_whole,
    rows,
    unary_samples,
    uniform,
)
from opinfo_index import INDEX
from opinfo_movement import MOVEMENT
from opinfo_networks import NETWORKS, PRODUCTS
from opinfo_operators import OPERATORS
from opinfo_reduce import REDUCTIONS

F = "nn.functional."
each = lambda f: np.vectorize(f, otypes=[np.float64])
erf, erfc = each(math.erf), each(math.erfc)
sigmoid = lambda x: np.where(
    x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
)
softplus = lambda x, beta=1, threshold=20: np.where(
    x * beta > threshold, x, (np.maximum(x * beta, 0) + np.log1p(np.exp(-np.abs(x * beta)))) / beta
)
elu = lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))
inf, nan = math.inf, math.nan


def unary(name, ref, *intervals, out="float", dtypes=ALL, special=True, inplace=True, **flags):
    special = ((np.array(SPECIAL),),) if special is True else special
    errors = (
        ((), {}, TypeError),
        (("text",), {}, TypeError),
        ((np.ones(2), np.ones(2), np.ones(2), 5), {}, TypeError),
    )
    return Op(
        name=name,
        kind="unary",
        ref=ref,
        samples=unary_samples(*intervals),
        out=out,
        dtypes=dtypes,
        special=special,
        inplace=inplace,
        errors=errors,
        **flags,
    )


POSITIVE, INNER, WIDE = (0.2, 3.0), (-0.9, 0.9), (-3.0, 3.0)
BETWEEN = tuple((k + 0.1, k + 0.4) for k in range(-3, 3)) + tuple(
    (k + 0.6, k + 0.9) for k in range(-3, 3)
)  # neither k nor k + 1/2

UNARY = [
    unary("neg", np.negative, WIDE, out="same", dtypes=NUMBERS),
    unary("exp", np.exp, (-2, 2)),
    unary("exp2", np.exp2, (-2, 2)),
    unary("expm1", np.expm1, (-2, 2)),
    unary("log", np.log, POSITIVE, slopes=((0.0, inf),)),
    unary("log2", np.log2, POSITIVE, slopes=((0.0, inf),)),
    unary("log10", np.log10, POSITIVE, slopes=((0.0, inf),)),
    unary("log1p", np.log1p, (-0.8, 3)),
    unary("sqrt", np.sqrt, POSITIVE, slopes=((0.0, inf),)),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    unary("square", np.square, *SIDES, out="same", dtypes=NUMBERS),
    unary("reciprocal", lambda x: 1 / x, *SIDES),
    unary("abs", np.abs, *SIDES, out="same", dtypes=NUMBERS, slopes=((0.0, 0.0), (-0.0, 0.0))),
    unary(
        "sign",
        np.sign,
        *SIDES,
        out="same",
        dtypes=NUMBERS,
        flat=True,
        special=((np.array(SPECIAL[1:]),),),
        slopes=((0.0, 0.0),),
    ),
    unary("sin", np.sin, (-1.2, 1.2), (2, 4)),
    unary("cos", np.cos, (0.3, 2.8), (-2.8, -0.3)),
    unary("tan", np.tan, (-1.2, 1.2)),
    unary("asin", np.arcsin, INNER),
    unary("acos", np.arccos, INNER),
    unary("atan", np.arctan, WIDE),
    unary("sinh", np.sinh, (-2, 2)),
    unary("cosh", np.cosh, (-2, -0.1), (0.1, 2)),
    unary("tanh", np.tanh, (-1.5, 1.5)),
    unary("asinh", np.arcsinh, WIDE, special=((np.array([v for v in SPECIAL if abs(v) != 1e-30]),),)),
    unary("acosh", np.arccosh, (1.2, 4)),
    unary("atanh", np.arctanh, INNER),
    unary("erf", erf, (-1.5, 1.5)),
    unary("erfc", erfc, (-1.5, 1.5)),
    unary("sigmoid", sigmoid, WIDE),
    unary("floor", np.floor, *BETWEEN, out="same", dtypes=NUMBERS, flat=True, slopes=((1.0, 0.0),)),
    unary("ceil", np.ceil, *BETWEEN, out="same", dtypes=NUMBERS, flat=True, slopes=((1.0, 0.0),)),
    unary("round", np.round, *BETWEEN, out="same", dtypes=NUMBERS, flat=True, slopes=((0.5, 0.0),)),
    unary("trunc", np.trunc, *BETWEEN, out="same", dtypes=NUMBERS, flat=True, slopes=((1.0, 0.0),)),
    unary(
        "frac",
        lambda x: x - np.trunc(x),
        *BETWEEN,
        out="same",
        dtypes=FLOATS,
        special=((np.array([nan, 0.5, -1.5, 40.25]),),),
    ),
    unary(
        "relu",
        lambda x: np.where(x <= 0, 0 * np.nan_to_num(x), x),
        *SIDES,
        out="same",
        dtypes=NUMBERS,
        special=((np.array([nan, inf, -inf, 0.0, 1e-30, -1e-30]),),),
        slopes=((0.0, 0.0), (nan, 1.0)),
    ),
    unary(
        F + "silu",
        lambda x: x * sigmoid(x),
        WIDE,
        out="same",
        dtypes=FLOATS,
        method=False,
        inplace=False,
        special=((np.array(SPECIAL[3:]),),),
    ),
    unary(
        F + "logsigmoid",
        lambda x: -softplus(-x),
        WIDE,
        out="same",
        dtypes=FLOATS,
        method=False,
        inplace=False,
        rtol=2,
        special=((np.array(SPECIAL[3:]),),),
    ),
    unary(
        F + "softsign",
        lambda x: x / (1 + np.abs(x)),
        *SIDES,
        out="same",
        dtypes=FLOATS,
        method=False,
        inplace=False,
    ),
]


def parametric(name, ref, samples, **flags):
    return Op(
        name=name,
        kind="parametric",
        ref=ref,
        samples=rows(samples),
        method=flags.pop("method", False),
        **flags,
    )


def with_params(*kwargs, intervals=SIDES, shape=(3, 4)):
    return lambda rng: [
        *unary_samples(*intervals)(rng),
        *(Sample(uniform(rng, shape, *intervals), **k) for k in kwargs),
    ]


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * erfc(-x / math.sqrt(2))


def clamp(x, min=None, max=None):
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def clamp_samples(rng):
    x = uniform(rng, (3, 4), (-3, -1.1), (-0.9, 0.9), (1.1, 3))
    yield from (
        Sample(x, **k) for k in ({"min": -1, "max": 1}, {"min": -1.0}, {"max": 1.0}, {"min": 2, "max": -2})
    )
    low, high = uniform(rng, (4,), (-2, -1)), uniform(rng, (3, 1), (1, 2))
    far = np.where(np.abs(x - low) < 0.1, x + 0.2, x)
    far = np.where(np.abs(far - high) < 0.1, far + 0.2, far)
    yield Sample(far, min=low, max=high)
    yield Sample(far, max=high)


def limit_samples(rng):
    x = uniform(rng, (3, 4), (-3, 0.4), (0.6, 3))
    yield from (Sample(x, 0.5), Sample(x[:0], 0.5), Sample(x[0, 0], 0.5))
    y = uniform(rng, (4,))
    yield Sample(np.where(np.abs(x - y) < 0.1, x + 0.3, x), y)


AT_LIMIT = {
    "called": ("clamp",),
    "errors": (((np.ones(2), np.ones(3)), {}, RuntimeError), ((np.ones(2), "a"), {}, TypeError)),
}

PARAMETRIC = [
    parametric(
        F + "leaky_relu",
        lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope),
        with_params({"negative_slope": 0.2}, {"negative_slope": -0.5}),
        special=((np.array(SPECIAL),),),
        slopes=((0.0, 0.01),),
    ),
    parametric(
        F + "elu",
        elu,
        with_params({"alpha": 0.7}),
        special=((np.array(SPECIAL),),),
        errors=((("a",), {}, TypeError),),
    ),
    parametric(
        F + "softplus",
        softplus,
        with_params({"beta": 2}, {"beta": 3.0, "threshold": 2.0}),
        rtol=2,
        special=((np.array([nan, inf, -inf, 0.0, 40.0, -40.0]),),),
    ),
    parametric(
        F + "gelu",
        gelu,
        with_params({"approximate": "tanh"}, {"approximate": "none"}, intervals=((-2.5, -1), (-0.5, 2.5))),
        rtol=4,
        errors=(((np.ones(2),), {"approximate": "other"}, RuntimeError),),
    ),
    parametric(
        F + "threshold",
        lambda x, t, v: np.where(x <= t, v, x),
        lambda rng: [
            Sample(uniform(rng, (3, 4), *SIDES), 0, -2.0),
            Sample(uniform(rng, (5,), (-3, 0.4), (0.6, 3)), 0.5, 4),
            Sample(uniform(rng, (5,), *SIDES), 0, 2),
        ],
        dtypes=NUMBERS,
    ),
    parametric(
        "clamp",
        clamp,
        clamp_samples,
        method=True,
        inplace=True,
        dtypes=NUMBERS,
        special=((np.array(SPECIAL), -0.5, 2.0), (np.array([0.0, 1.0]), nan, 1.0)),
        errors=(
            ((np.ones(2),), {}, (RuntimeError, ValueError)),
            ((np.ones(2), "a"), {}, TypeError),
            ((np.ones(2), np.ones(3)), {}, RuntimeError),
        ),
    ),
    parametric(
        "clamp_min",
        np.maximum,
        limit_samples,
        method=True,
        inplace=True,
        dtypes=("float64", "float32"),
        slopes=(((2.0, 2.0), (1.0,)),),
        **AT_LIMIT,
    ),
    parametric(
        "clamp_max",
        np.minimum,
        limit_samples,
        method=True,
        inplace=True,
        dtypes=("float64", "float32"),
        slopes=(((2.0, 2.0), (1.0,)),),
        **AT_LIMIT,
    ),
]

A, B = np.meshgrid([nan, inf, -inf, 0.0, -0.0, 1.5, -1.5], [nan, inf, -inf, 0.0, -0.0, 2.0, -2.0])
CORNERS = (A.ravel(), B.ravel())


def binary(
    name,
    ref,
    x=PLAIN,
    y=None,
    numbers=(3, -0.75),
    dtypes=NUMBERS,
    errors=MISMATCHED,
    keep=None,
    special=(CORNERS,),
    **flags,
):
    samples = binary_samples(x, y, numbers, keep=keep)
    return Op(
        name=name,
        kind=flags.pop("kind", "binary"),
        ref=ref,
        samples=samples,
        dtypes=dtypes,
        errors=errors,
        special=special,
        **flags,
    )


def apart(x, y):
    """The second operands, moved so that none is near its partner."""
    for _ in range(100):
        near = np.abs(x - y) < 0.1
        if not near.any():
            break
        y = y + 0.173
    return np.asarray(y)


def div(x, y, rounding_mode=None):
    q = np.true_divide(x, y)
    return {None: lambda v: v, "floor": np.floor, "trunc": np.trunc}[rounding_mode](q)


def int_power(x, y):
    if np.asarray(x).dtype.kind in "iu":
        return np.power(x, np.abs(y).astype(x.dtype))
    return np.power(x, y)


def ternary(name, ref, *last, numbers=(), rtol=1, **options):
    """Three operands that broadcast; the last from its own intervals, or one of `numbers`."""

    def samples(rng):
        x, y = uniform(rng, (2, 3)), uniform(rng, (3,))
        yield Sample(x, y, uniform(rng, (2, 1), *last))
        yield Sample(uniform(rng, (37,)), uniform(rng, (37,)), uniform(rng, (37,), *last))
        yield from (Sample(x, y, n) for n in numbers)
        if options:
            yield Sample(x, y, uniform(rng, (2, 1), *last), **options)

    errors = (((np.ones(2), np.ones(3), np.ones(2)), {}, RuntimeError),)
    return Op(
        name=name, kind="binary", ref=ref, samples=rows(samples), inplace=True, errors=errors, rtol=rtol
    )


HALVES = {"slopes": (((2.0, 2.0), (0.5, 0.5)),)}

BINARY = [
    binary("add", lambda x, y: np.add(x, y), inplace=True, dtypes=ALL, errors=MISMATCHED),
    binary("sub", lambda x, y: np.subtract(x, y), inplace=True),
    binary("mul", lambda x, y: np.multiply(x, y), inplace=True, dtypes=ALL),
    binary(
        "div",
        div,
        inplace=True,
        out="float",
        slopes=(((1.0, 0.0), (inf, -inf)),),
        errors=(*MISMATCHED, ((np.ones(2), 2.0), {"rounding_mode": "up"}, RuntimeError)),
    ),
    binary(
        "pow",
        int_power,
        x=([0.3, 2.0],),
        y=PLAIN,
        numbers=(2, 3, 0.5, -1, -1.5),
        dtypes=FLOATS,
        inplace=True,
        rtol=4,
        slopes=(
            ((0.0, 0.0), (0.0, 0.0)),
            ((0.0, 2.0), (0.0, 0.0)),
            ((0.0, 1.0), (1.0, 0.0)),
            ((2.0, 0.0), (0.0, math.log(2))),
        ),
    ),
    binary("maximum", np.maximum, keep=apart, numbers=(), dtypes=ALL, **HALVES),
    binary("minimum", np.minimum, keep=apart, numbers=(), dtypes=ALL, **HALVES),
    binary("rsub", lambda x, y: np.subtract(y, x), kind="structural", numbers=(3,), called=("sub",)),
    binary("atan2", np.arctan2, numbers=(), out="float", inplace=True),
    binary("hypot", np.hypot, numbers=(), dtypes=FLOATS, inplace=True),
    binary(
        "remainder", np.remainder, keep=off_whole, numbers=(0.77, -0.77), dtypes=FLOATS, inplace=True, rtol=8
    ),
    binary("fmod", np.fmod, keep=off_whole, numbers=(0.77, -0.77), dtypes=FLOATS, inplace=True, rtol=8),
    binary(
        "floor_divide",
        np.floor_divide,
        keep=off_whole,
        numbers=(0.77, -0.77),
        dtypes=("float64", "float32"),
        inplace=True,
        flat=True,
    ),
    ternary("lerp", lambda x, y, w: x + w * (y - x), (0, 0.45), (0.55, 1), numbers=(0.25, 0.75), rtol=4),
    ternary("addcmul", lambda x, y, w, value=1: x + value * y * w, *PLAIN, value=0.5, rtol=4),
    ternary("addcdiv", lambda x, y, w, value=1: x + value * y / w, *PLAIN, value=0.5, rtol=4),
]


def comparison(name, ref, **flags):
    return binary(
        name,
        ref,
        x=([-1.0, -1.0], [0.5, 0.5], [0.0, 2.0]),
        numbers=(1, -0.5),
        kind="comparison",
        grad=False,
        out="bool",
        dtypes=ALL,
        method=True,
        **flags,
    )


def predicate(name, ref):
    return Op(
        name=name,
        kind="comparison",
        ref=ref,
        samples=unary_samples(WIDE),
        grad=False,
        out="bool",
        dtypes=ALL,
        special=((np.array(SPECIAL),),),
        errors=((("text",), {}, TypeError),),
    )


COMPARISON = [
    *(
        comparison(n, f)
        for n, f in {
            "eq": np.equal,
            "ne": np.not_equal,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
        }.items()
    ),
    *(
        binary(n, f, numbers=(), kind="comparison", grad=False, out="bool", dtypes=ALL)
        for n, f in {
            "logical_and": np.logical_and,
            "logical_or": np.logical_or,
            "logical_xor": np.logical_xor,
        }.items()
    ),
    *(
        predicate(n, f)
        for n, f in {
            "logical_not": np.logical_not,
            "isnan": np.isnan,
            "isinf": np.isinf,
            "isfinite": np.isfinite,
            "signbit": np.signbit,
        }.items()
    ),
]


ELEMENTWISE = [*UNARY, *PARAMETRIC, *BINARY, *COMPARISON]
OPS = [*ELEMENTWISE, *OPERATORS, *REDUCTIONS, *MOVEMENT, *PRODUCTS, *NETWORKS, *INDEX]
BY_NAME = {op.name: op for op in OPS}
assert len(BY_NAME) == len(OPS), "two rows of one name"

# Operations without inputs to differentiate, tested in test_create.py and test_random.py.
CREATION = (
    "tensor",
    "as_tensor",
    "from_numpy",
    "from_dlpack",
    "frombuffer",
    "zeros",
    "ones",
    "full",
    "empty",
    "arange",
    "linspace",
    "eye",
    "zeros_like",
    "ones_like",
    "full_like",
    "empty_like",
)
RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "rand_like", "randn_like", "dropout")

# Names of the registry whose row stands under another name.
ALIASES = {
    "gelu_erf": F + "gelu",
    "gelu_tanh": F + "gelu",
    "elu_scaled": F + "elu",
    "add_scaled": "add",
    "logsigmoid": F + "logsigmoid",
    "silu": F + "silu",
    "softsign": F + "softsign",
    "leaky_relu": F + "leaky_relu",
    "softplus": F + "softplus",
    "threshold": F + "threshold",
}

# Second names, of NumPy and of older programs.
SYNONYMS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "asarray": "as_tensor",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "swapdims": "swapaxes",
    "true_divide": "div",
}

# Public functions that are no operations: state, queries, in-place forms as functions.
UTILITIES = (
    "as_strided",
    "can_cast",
    "clamp_",
    "detach",
    "empty_cache",
    "equal",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "initial_seed",
    "is_complex",
    "is_floating_point",
    "is_tensor",
    "manual_seed",
    "memory_stats",
    "numel",
    "promote_types",
    "relu_",
    "reset_peak_memory",
    "result_type",
    "set_default_dtype",
    "set_num_threads",
    "set_rng_state",
)
