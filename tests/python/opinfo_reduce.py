"""Rows of the database: reductions and running sums."""

import math

import numpy as np
from common import FLOATS
from opbase import ALL, NUMBERS, Op, Sample, distinct, rows, uniform

SIDES = ((-2.0, -0.3), (0.3, 2.0))
x234 = lambda rng: uniform(rng, (2, 3, 4), *SIDES)
NO_DIM = ((np.ones((2, 3)),), {"dim": 2}, IndexError)
TWICE = ((np.ones((2, 3)),), {"dim": (0, 0)}, RuntimeError)


def axes(dim):
    return dim if dim is None or isinstance(dim, int) else tuple(dim) or None


def over(f):
    """A NumPy reduction with PyTorch's argument names."""
    return lambda x, dim=None, keepdim=False, **k: f(
        x, axis=axes(dim) if np.ndim(x) else None, keepdims=keepdim, **k
    )


ALL_DIMS = (
    {},
    {"dim": 0},
    {"dim": -1},
    {"dim": (0, 2)},
    {"dim": 1, "keepdim": True},
    {"dim": (-1, 0), "keepdim": True},
    {"dim": (0, 1, 2)},
)
ONE_DIM = ({}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True})


def reduction(name, ref, kwargs=ALL_DIMS, make=x234, extra=(), errors=(NO_DIM, TWICE), **flags):
    def samples(rng):
        yield from (Sample(make(rng), **k) for k in kwargs)
        yield from (Sample(uniform(rng, (), *SIDES), **k) for k in ({}, {"dim": 0}))
        yield from extra

    return Op(
        name=name,
        ref=over(ref),
        samples=samples,
        errors=errors,
        bitwise=False,
        rtol=flags.pop("rtol", 4),
        **flags,
    )


EMPTY = (Sample(np.ones((0, 3)), dim=0), Sample(np.ones((0,))), Sample(np.ones((2, 0)), dim=0))
EMPTY_ERROR = ((np.ones((0, 3)),), {"dim": 0}, (IndexError, RuntimeError))
far_apart = lambda rng: distinct(rng, (2, 3, 4))
NON_FLOAT = ((np.ones(3, np.int64),), {}, RuntimeError)


def spread(f):
    def ref(x, dim=None, keepdim=False, correction=1, unbiased=True):
        with np.errstate(all="ignore"):
            return f(x, axis=axes(dim), keepdims=keepdim, ddof=correction if unbiased else 0)

    return ref


def extreme(f, arg):
    """max, min: of all, along one dimension with indices, or of two tensors."""

    def ref(x, dim=None, keepdim=False):
        if isinstance(dim, np.ndarray):
            return np.maximum(x, dim) if f is np.max else np.minimum(x, dim)
        if dim is None:
            return f(x)
        if x.ndim == 0:
            return [x, np.asarray(0)]
        return [f(x, axis=dim, keepdims=keepdim), arg(x, axis=dim, keepdims=keepdim)]

    return ref


def arg(f):
    return lambda x, axis=None, keepdims=False: f(
        x, axis=None if np.ndim(x) == 0 else axis, keepdims=keepdims
    )


def logsumexp(x, axis=None, keepdims=False):
    m = np.max(x, axis=axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    out = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return out if keepdims else np.squeeze(out, axis) if axis is not None else out.reshape(())


def prod_samples():
    a = np.array([[1.5, -2.0, 0.7], [0.5, 0.0, 3.0], [0.0, -1.0, 0.0]])
    return (Sample(a, dim=1), Sample(a[:2]), Sample(a), Sample(a[1], dim=0, keepdim=True), *EMPTY)


def running(f):
    return lambda x, dim, dtype=None: (
        np.array(x) if np.ndim(x) == 0 else f(x, axis=dim, dtype=dtype and str(dtype))
    )


REDUCTIONS = [
    reduction(
        "sum",
        np.sum,
        extra=EMPTY,
        dtypes=ALL,
        out="accumulate",
        special=((np.array([1, math.inf]),), (np.array([math.inf, -math.inf]),)),
    ),
    reduction(
        "mean",
        np.mean,
        dtypes=FLOATS,
        errors=(NO_DIM, TWICE, NON_FLOAT),
        special=((np.array([1, math.nan]),),),
    ),
    Op(
        name="var",
        ref=spread(np.var),
        bitwise=False,
        rtol=16,
        samples=rows(
            lambda rng: [
                Sample(x234(rng), **k)
                for k in (
                    *ALL_DIMS,
                    {"dim": 1, "correction": 0},
                    {"dim": 2, "correction": 2},
                    {"dim": (0, 1), "unbiased": False},
                    {"unbiased": False},
                )
            ]
        ),
        errors=(NO_DIM, NON_FLOAT),
    ),
    Op(
        name="std",
        ref=spread(np.std),
        bitwise=False,
        rtol=16,
        samples=rows(
            lambda rng: [
                Sample(x234(rng), **k)
                for k in (
                    *ALL_DIMS,
                    {"dim": 1, "correction": 0},
                    {"dim": 2, "correction": 2},
                    {"dim": (0, 1), "unbiased": False},
                )
            ]
        ),
        errors=(NO_DIM, NON_FLOAT),
        slopes=((np.ones(3), np.zeros(3)),),
    ),
    reduction(
        "amax",
        np.max,
        make=far_apart,
        dtypes=ALL,
        errors=(NO_DIM, TWICE, EMPTY_ERROR),
        expanded=False,
        special=((np.array([1, math.nan]),),),
        slopes=((np.array([2.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.5])),),
    ),
    reduction(
        "amin",
        np.min,
        make=far_apart,
        dtypes=ALL,
        errors=(NO_DIM, TWICE, EMPTY_ERROR),
        expanded=False,
        special=((np.array([1, math.nan]),),),
        slopes=((np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5])),),
    ),
    Op(
        name="max",
        ref=extreme(np.max, np.argmax),
        dtypes=("float64", "float32", "int64", "int32"),
        out=("same", "int64"),
        expanded=False,
        bitwise=False,
        samples=rows(
            lambda rng: (
                [Sample(far_apart(rng), **k) for k in ONE_DIM]
                + [
                    Sample(uniform(rng, (3, 4), (-2, -1), (1, 2)), uniform(rng, (3, 4), (-0.8, 0.8))),
                    Sample(far_apart(rng)[0, 0, 0], dim=0),
                ]
            )
        ),
        errors=(NO_DIM, ((np.ones((0,)),), {}, RuntimeError), EMPTY_ERROR),
        special=((np.array([1, math.nan]),),),
        slopes=((np.array([2.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.5])),),
    ),
    Op(
        name="min",
        ref=extreme(np.min, np.argmin),
        dtypes=("float64", "float32", "int64", "int32"),
        out=("same", "int64"),
        expanded=False,
        bitwise=False,
        samples=rows(
            lambda rng: (
                [Sample(far_apart(rng), **k) for k in ONE_DIM]
                + [
                    Sample(uniform(rng, (3, 4), (-2, -1), (1, 2)), uniform(rng, (3, 4), (-0.8, 0.8))),
                    Sample(far_apart(rng)[0, 0, 0], dim=0),
                ]
            )
        ),
        errors=(NO_DIM, ((np.ones((0,)),), {}, RuntimeError), EMPTY_ERROR),
        special=((np.array([1, math.nan]),),),
        slopes=((np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5])),),
    ),
    reduction(
        "argmax",
        arg(np.argmax),
        kwargs=ONE_DIM,
        make=far_apart,
        grad=False,
        out="int64",
        dtypes=NUMBERS[:-1],
        expanded=False,
        errors=(NO_DIM, ((np.ones((0,)),), {}, (IndexError, RuntimeError))),
    ),
    reduction(
        "argmin",
        arg(np.argmin),
        kwargs=ONE_DIM,
        make=far_apart,
        grad=False,
        out="int64",
        dtypes=NUMBERS[:-1],
        expanded=False,
        errors=(NO_DIM, ((np.ones((0,)),), {}, (IndexError, RuntimeError))),
    ),
    Op(
        name="logsumexp",
        ref=over(logsumexp),
        bitwise=False,
        rtol=4,
        errors=(NO_DIM, ((np.ones((2, 3)),), {}, TypeError)),
        samples=rows(
            lambda rng: (
                [Sample(x234(rng), k) for k in (0, -1, (0, 2), (0, 1, 2))]
                + [Sample(x234(rng), 1, keepdim=True)]
            )
        ),
        special=(
            (np.array([700.0, 800.0]), 0),
            (np.array([-math.inf, 1.0]), 0),
            (np.array([-math.inf, -math.inf]), 0),
            (np.array([math.inf, 1.0]), 0),
            (np.array([math.nan, 1.0]), 0),
        ),
    ),
    reduction(
        "prod",
        np.prod,
        kwargs=ONE_DIM,
        extra=prod_samples(),
        dtypes=("float64", "float32", "int64", "int32", "bool"),
        out="accumulate",
        errors=(NO_DIM,),
        rtol=16,
    ),
    Op(
        name="cumsum",
        ref=running(np.cumsum),
        dtypes=("float64", "float32", "int64", "int32", "bool"),
        out="accumulate",
        bitwise=False,
        rtol=8,
        inplace=True,
        samples=rows(
            lambda rng: (
                [Sample(x234(rng), dim=d) for d in (0, 1, -1)]
                + [Sample(np.array(1.5), dim=0), Sample(np.ones((2, 0)), dim=1)]
            )
        ),
        errors=(NO_DIM, ((np.ones(3),), {}, TypeError)),
    ),
    Op(
        name="cumprod",
        ref=running(np.cumprod),
        dtypes=("float64", "float32"),
        bitwise=False,
        rtol=8,
        samples=rows(
            lambda rng: (
                [Sample(x234(rng), dim=d) for d in (0, 1, -1)]
                + [Sample(np.array([[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]), dim=1)]
            )
        ),
        errors=(NO_DIM,),
    ),
    reduction(
        "any",
        np.any,
        grad=False,
        out="bool",
        dtypes=("float64", "float32", "int64", "bool"),
        make=lambda rng: np.maximum(x234(rng), 0),
        extra=EMPTY,
    ),
    reduction(
        "all",
        np.all,
        grad=False,
        out="bool",
        dtypes=("float64", "float32", "int64", "bool"),
        make=lambda rng: np.maximum(x234(rng), 0),
        extra=EMPTY,
    ),
    reduction(
        "count_nonzero",
        np.count_nonzero,
        kwargs=({}, {"dim": 0}, {"dim": (0, 2)}),
        grad=False,
        out="int64",
        dtypes=ALL,
        errors=(NO_DIM,),
        make=lambda rng: np.maximum(x234(rng), 0),
    ),
]
