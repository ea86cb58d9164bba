"""What a row of the operation database is, and how its samples become calls."""

import dataclasses
import math
import zlib
from collections.abc import Callable, Iterable

import numpy as np
from common import DTYPES, FLOATS, INTS, T, dtype, dtype_name, flatten, host, tensor
from harness import float_outputs

NUMBERS = (*FLOATS, *INTS)
ALL = DTYPES
SPECIAL = (
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1e-30,
    -1e-30,
    40.0,
    -40.0,
    1e5,
    -1e5,
)

SIDES = ((-3.0, -0.1), (0.1, 3.0))  # intervals on both sides of 0
PLAIN = ([-2.0, -0.3], [0.3, 2.0])
MISMATCHED = (
    ((np.ones(2), np.ones(3)), {}, RuntimeError),
    ((np.ones((2, 3)), np.ones((3, 2))), {}, RuntimeError),
    ((np.ones(2), "text"), {}, TypeError),
)


class Dt(str):
    """A dtype by name, in the arguments of a sample."""


class Fixed:
    """A float array that is a tensor of the inputs' dtype, but never differentiated."""

    def __init__(self, array):
        self.array = array

    def __repr__(self):
        return f"Fixed({self.array.tolist()})"


class Sample:
    """Arguments of one call: float arrays are differentiable inputs, other arrays just tensors."""

    def __init__(self, *args, **kwargs):
        whole = lambda v: np.asarray(v) if isinstance(v, np.floating) else v
        self.args, self.kwargs = walk(args, whole), {k: walk(v, whole) for k, v in kwargs.items()}

    def __repr__(self):
        def show(v):
            if isinstance(v, np.ndarray):
                return f"{v.dtype}{list(v.shape)}"
            if isinstance(v, (list, tuple)):
                return type(v)(show(x) for x in v)
            return v

        return f"{show(self.args)} { ({k: show(v) for k, v in self.kwargs.items()}) }"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Op:
    """One operation: how to call it, what it must give, and where to try it."""

    name: str  # dotted, on the module
    ref: Callable  # the same call on NumPy arrays
    samples: Callable[[np.random.Generator], Iterable[Sample]]
    call: Callable | None = None  # instead of the function of that name
    kind: str = "structural"  # unary, binary, comparison, parametric: elementwise rows of the registry
    dtypes: tuple = FLOATS  # of the float arrays
    out: str | tuple = "same"  # result dtype for input dtype, one an output: see result_dtype
    grad: bool = True  # has derivatives
    flat: bool = False  # the derivative is zero everywhere
    second: bool = True  # the second derivative exists and is finite at the samples
    function: bool = True
    method: bool = True
    inplace: bool = False  # has a form `name_` on tensors
    expanded: bool = True  # samples may repeat their first slice
    bitwise: bool = True  # its value is the same bits for the same numbers in any layout
    rtol: float = 1.0  # times the elementary tolerance
    special: tuple = ()  # argument tuples with values that are not ordinary
    slopes: tuple = ()  # (arguments, derivatives) at kinks and poles
    errors: tuple = ()  # (arguments, keyword arguments, class)
    called: tuple = ()  # other names that messages may call it by

    def __repr__(self):
        return f"<{self.name}>"

    def fn(self):
        """The callable of the module under test; None when there is none."""
        if self.call is not None:
            return self.call
        target = T
        for part in self.name.split("."):
            target = getattr(target, part, None)
        return target

    @property
    def short(self):
        """The name without its namespace."""
        return self.name.rsplit(".", 1)[-1]

    def rng(self):
        """A generator that depends on the name only."""
        return np.random.default_rng(zlib.crc32(self.name.encode()))

    def calls(self):
        return [Call(self, s) for s in self.samples(self.rng())]

    def result_dtypes(self, dt, n):
        """The dtypes of `n` outputs for inputs of dtype `dt`."""
        rules = self.out[:n] if isinstance(self.out, tuple) else (self.out,) * n
        return [result_dtype(r, dt) for r in rules]


def result_dtype(rule, dt):
    """`same`, `float` (integers become float32), `accumulate` (integers become int64), or a dtype."""
    match rule:
        case "same":
            return dt
        case "float":
            return dt if dt in FLOATS else "float32"
        case "accumulate":
            return dt if dt in FLOATS else "int64"
    return rule


def walk(v, leaf):
    """The nested arguments with `leaf` applied to all that is not a list or tuple."""
    if isinstance(v, (list, tuple)):
        return type(v)(walk(x, leaf) for x in v)
    return leaf(v)


def as_argument(v, layout="contiguous", fixed="float64"):
    """An argument that is no differentiable input, as the module takes it."""
    if isinstance(v, Dt):
        return dtype(v)
    if isinstance(v, Fixed):
        return tensor(v.array, fixed, layout)
    return tensor(v, layout=layout) if isinstance(v, np.ndarray) else v


class Call:
    """A sample of an operation as a function of its float inputs `xs`."""

    def __init__(self, op, sample):
        self.op, self.sample, self.xs = op, sample, []

        def collect(v):
            if isinstance(v, np.ndarray) and v.dtype.kind == "f":
                self.xs.append(v)
            return v

        walk([sample.args, *sample.kwargs.values()], collect)

    def __repr__(self):
        return f"{self.op.name} {self.sample!r}"

    def arguments(self, inputs, other):
        """Arguments with the float arrays replaced by `inputs` in turn and all else by `other` of it."""
        inputs = iter(inputs)
        leaf = lambda v: next(inputs) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else other(v)
        return walk(self.sample.args, leaf), {k: walk(v, leaf) for k, v in self.sample.kwargs.items()}

    def full(self, *inputs, layout="contiguous", fn=None):
        """What the operation returns for these tensors."""
        fixed = dtype_name(inputs[0]) if inputs else "float64"
        args, kwargs = self.arguments(inputs, lambda v: as_argument(v, layout, fixed))
        return (fn or self.op.fn())(*args, **kwargs)

    def __call__(self, *inputs):
        """The float outputs: a program in the sense of the harness."""
        return float_outputs(self.full(*inputs))

    def reference(self, inputs):
        """The NumPy reference for these arrays, as a flat list of arrays."""
        args, kwargs = self.arguments(inputs, lambda v: v.array if isinstance(v, Fixed) else v)
        with np.errstate(all="ignore"):
            return [np.asarray(r) for r in flatten(self.op.ref(*args, **kwargs))]

    def suits(self, dt):
        """Whether the result dtype for inputs of dtype `dt` is the row's: plain numbers among the arguments
        may promote it.
        """
        plain = []
        walk(
            [self.sample.args, *self.sample.kwargs.values()],
            lambda v: plain.append(v) if isinstance(v, (int, float)) else v,
        )
        if dt in FLOATS or self.op.kind == "structural" and not self.op.name.startswith("operator"):
            return True
        return not any(isinstance(v, float) or dt == "bool" or dt == "uint8" and v < 0 for v in plain)

    def numbers(self, dt, layout="contiguous"):
        """The inputs as tensors of dtype `dt`, and the arrays that hold the same values."""
        ts = [tensor(as_dtype(x, dt), dt, layout) for x in self.xs]
        arrays = [host(t) for t in ts]
        if (
            dt in FLOATS
            or result_dtype(self.op.out if isinstance(self.op.out, str) else self.op.out[0], dt) in FLOATS
        ):
            arrays = [a.astype(np.float64) for a in arrays]
        return ts, arrays


def as_dtype(x, dt):
    """Sample values for an integer or bool dtype: doubled and rounded, without sign where there is none."""
    if dt in FLOATS:
        return x
    if dt == "bool":
        return x > 0
    whole = np.rint(2 * x)
    return (np.abs(whole) if dt == "uint8" else whole).astype(dt)


# ---- samples -------------------------------------------------------------------------------------


def uniform(rng, shape, *intervals):
    """Uniform over a union of intervals, each as likely as the others."""
    intervals = np.asarray(intervals or ((-2.0, 2.0),))
    pick = intervals[rng.integers(len(intervals), size=shape)]
    return np.asarray(pick[..., 0] + (pick[..., 1] - pick[..., 0]) * rng.uniform(size=shape))


def distinct(rng, shape):
    """Values in random order, at least 0.15 from one another."""
    n = math.prod(shape)
    return np.asarray((rng.permutation(n) - n / 2 + rng.uniform(0.1, 0.4, n)).reshape(shape) * 0.25)


def unary_samples(*intervals, shapes=((2, 3, 4), (67,), (), (0, 3)), **kwargs):
    return lambda rng: [Sample(uniform(rng, s, *intervals), **kwargs) for s in shapes]


PAIRS = (
    ((2, 3), (2, 3)),
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((2, 2), ()),
    ((), (3,)),
    ((), ()),
    ((0, 2), (2,)),
    ((37,), (37,)),
)


def binary_samples(x, y=None, numbers=(), apart=None, keep=None):
    """Pairs of broadcastable shapes, then a tensor with each of `numbers`; `keep` moves y off kinks."""

    def make(rng):
        for a, b in PAIRS:
            u, v = uniform(rng, a, *x), uniform(rng, b, *(y or x))
            yield Sample(u, keep(u, v) if keep else v)
        for n in numbers:
            yield Sample(uniform(rng, (2, 3), *x), n)

    return make


def rows(build):
    """Fixed samples from a function of the generator."""
    return lambda rng: list(build(rng))


def off_whole(x, y):
    """The divisors, moved so that no quotient is near a whole number."""
    q = x / y
    away = np.abs(q - np.rint(q)) >= 0.12
    if np.ndim(y) and np.shape(q) == np.shape(y):
        return np.where(away, y, x / (np.rint(q) + 0.3))
    return y if np.all(away) else np.asarray(np.full(np.shape(y), 7.3))
