"""Rows of the database: products, softmax and losses."""

import math

import numpy as np
from common import FLOATS
from opbase import NUMBERS, Fixed, Op, Sample, rows, uniform

F = "nn.functional."
SIDES = ((-2.0, -0.3), (0.3, 2.0))
x234 = lambda rng: uniform(rng, (2, 3, 4), *SIDES)
NO_DIM = ((np.ones((2, 3)),), {"dim": 2}, IndexError)
m = lambda rng, *shape: uniform(rng, shape, *SIDES)


def product(name, ref, samples, errors, **flags):
    return Op(name=name, ref=ref, samples=rows(samples), errors=errors, bitwise=False, rtol=8, **flags)


def addmm(x, a, b, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


def linear(x, w, bias=None):
    y = x @ w.T
    return y if bias is None else y + bias


PRODUCTS = [
    product(
        "matmul",
        np.matmul,
        lambda rng: [
            Sample(m(rng, *a), m(rng, *b))
            for a, b in (
                ((3, 4), (4, 5)),
                ((4,), (4,)),
                ((3, 4), (4,)),
                ((4,), (4, 5)),
                ((2, 3, 4), (2, 4, 5)),
                ((2, 3, 4), (4, 5)),
                ((2, 3, 4), (4,)),
                ((4,), (2, 4, 3)),
                ((3, 4), (2, 4, 5)),
                ((2, 1, 3, 4), (5, 4, 2)),
                ((0, 3), (3, 2)),
                ((2, 0), (0, 3)),
                ((17, 33), (33, 9)),
                ((1, 1), (1, 1)),
            )
        ],
        (
            ((np.ones((2, 3)), np.ones((2, 3))), {}, RuntimeError),
            ((np.ones(()), np.ones(3)), {}, RuntimeError),
            ((np.ones((2, 2, 3)), np.ones((3, 3, 2))), {}, RuntimeError),
            ((np.ones(3), np.ones(3, np.int64)), {}, RuntimeError),
        ),
        dtypes=("float64", "float32", "int64", "int32"),
    ),
    product(
        "mm",
        np.matmul,
        lambda rng: [
            Sample(m(rng, 3, 4), m(rng, 4, 5)),
            Sample(m(rng, 1, 4), m(rng, 4, 1)),
            Sample(m(rng, 20, 30), m(rng, 30, 10)),
        ],
        (
            ((np.ones((2, 3)), np.ones((2, 3))), {}, RuntimeError),
            ((np.ones(3), np.ones((3, 2))), {}, RuntimeError),
        ),
        dtypes=FLOATS,
    ),
    product(
        "bmm",
        np.matmul,
        lambda rng: [Sample(m(rng, 2, 3, 4), m(rng, 2, 4, 5)), Sample(m(rng, 0, 3, 4), m(rng, 0, 4, 5))],
        (
            ((np.ones((2, 3, 4)), np.ones((3, 4, 5))), {}, RuntimeError),
            ((np.ones((3, 4)), np.ones((4, 5))), {}, RuntimeError),
        ),
    ),
    product(
        "mv",
        np.matmul,
        lambda rng: [Sample(m(rng, 3, 4), m(rng, 4))],
        (((np.ones((2, 3)), np.ones(2)), {}, RuntimeError), ((np.ones(3), np.ones(3)), {}, RuntimeError)),
    ),
    product(
        "dot",
        np.dot,
        lambda rng: [Sample(m(rng, 4), m(rng, 4)), Sample(np.ones(0), np.ones(0))],
        (
            ((np.ones(3), np.ones(4)), {}, RuntimeError),
            ((np.ones((2, 2)), np.ones((2, 2))), {}, RuntimeError),
        ),
        dtypes=("float64", "float32", "int64"),
    ),
    product(
        "outer",
        np.outer,
        lambda rng: [Sample(m(rng, 4), m(rng, 3)), Sample(m(rng, 1), m(rng, 2))],
        (((np.ones((2, 2)), np.ones(3)), {}, RuntimeError),),
        dtypes=NUMBERS,
    ),
    product(
        "addmm",
        addmm,
        lambda rng: [
            Sample(m(rng, 3, 5), m(rng, 3, 4), m(rng, 4, 5)),
            Sample(m(rng, 5), m(rng, 3, 4), m(rng, 4, 5), beta=0.5, alpha=-2.0),
        ],
        (
            ((np.ones((2, 2)), np.ones((2, 3)), np.ones((2, 3))), {}, RuntimeError),
            ((np.ones((3, 3)), np.ones((2, 3)), np.ones((3, 2))), {}, RuntimeError),
        ),
    ),
    product(
        F + "linear",
        linear,
        lambda rng: [
            Sample(m(rng, 2, 4), m(rng, 3, 4), m(rng, 3)),
            Sample(m(rng, 2, 3, 4), m(rng, 5, 4)),
            Sample(m(rng, 4), m(rng, 5, 4), bias=None),
        ],
        (((np.ones((2, 3)), np.ones((4, 2))), {}, RuntimeError),),
        method=False,
    ),
]


def log_softmax(x, dim, dtype=None):
    x = x - np.max(x, axis=dim, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=dim, keepdims=True))


def reduce(v, reduction, weight=None):
    return (
        v
        if reduction == "none"
        else v.sum()
        if reduction == "sum"
        else v.sum() / (v.size if weight is None else weight)
    )


def nll_loss(x, target, weight=None, ignore_index=-100, reduction="mean"):
    x = x[None] if x.ndim == 1 else x
    n, c = x.shape[:2]
    target = np.asarray(target).reshape(n, *x.shape[2:])
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    w = (np.ones(c) if weight is None else weight)[safe] * kept
    v = -np.take_along_axis(x, safe[:, None], axis=1)[:, 0] * w
    return reduce(v, reduction, w.sum())


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = 0 if x.ndim == 1 else 1
    logp = log_softmax(x, axis)
    w = np.ones(x.shape[axis]) if weight is None else weight
    if np.asarray(target).dtype.kind == "f":
        smooth = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        v = -(logp * smooth * w.reshape(shape)).sum(axis=axis)
        return reduce(v, reduction)
    hard = nll_loss(logp, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return hard
    kept = target != ignore_index
    flat = -(logp * w.reshape([-1 if i == axis else 1 for i in range(x.ndim)])).sum(axis=axis) * kept
    flat = reduce(flat, reduction, (w[np.where(kept, target, 0)] * kept).sum())
    return (1 - label_smoothing) * hard + label_smoothing / x.shape[axis] * flat


CLASSES = np.array([1, 0, 4, 2, 1, 3])
W = np.array([0.5, 1.0, 2.0, 0.25, 1.5])
IGNORING = np.array([1, -100, 4, 2, -100, 3])
BAD_TARGETS = (
    ((np.ones((2, 3)), np.array([0, 3])), {}, IndexError),
    ((np.ones((2, 3)), np.array([0])), {}, ValueError),
    ((np.ones((2, 3)), np.array([0, 1])), {"reduction": "other"}, ValueError),
)


def class_samples(rng):
    x = lambda *s: m(rng, *s)
    for r in ("mean", "sum", "none"):
        yield Sample(x(6, 5), CLASSES, reduction=r)
    yield Sample(x(6, 5), CLASSES, weight=Fixed(W), reduction="mean")
    yield Sample(x(6, 5), IGNORING)
    yield Sample(x(2, 5, 3), CLASSES.reshape(2, 3), reduction="none")
    yield Sample(x(2, 5, 3), CLASSES.reshape(2, 3), ignore_index=2)


def cross_entropy_samples(rng):
    yield from class_samples(rng)
    yield Sample(m(rng, 5), np.array(3))
    yield Sample(m(rng, 6, 5), CLASSES, label_smoothing=0.2)
    yield Sample(m(rng, 6, 5), IGNORING, label_smoothing=0.2, reduction="sum")
    yield Sample(m(rng, 4, 5), uniform(rng, (4, 5), (0.1, 1)))


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    over = tuple(range(x.ndim - len(shape), x.ndim))
    y = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


PAIR_ERRORS = (
    ((np.ones(2), np.ones(3)), {}, RuntimeError),
    ((np.ones(2), np.ones(2)), {"reduction": "other"}, ValueError),
)
pairs = lambda rng: [
    Sample(uniform(rng, (3, 4), (-2, -0.5)), uniform(rng, (3, 4), (0.0, 2)), **k)
    for k in ({}, {"reduction": "sum"}, {"reduction": "none"})
]
softmax_samples = rows(
    lambda rng: [Sample(x234(rng), dim=d) for d in (0, 1, -1)] + [Sample(x234(rng)[0, 0], dim=0)]
)
LARGE = (
    (np.array([300.0, -300.0, 299.0]), 0),
    (np.array([math.inf, 1.0]), 0),
    (np.array([-math.inf, 1.0]), 0),
    (np.array([math.nan, 1.0]), 0),
)


def nn(name, ref, samples, errors, **flags):
    return Op(
        name=name,
        ref=ref,
        samples=rows(samples),
        errors=errors,
        bitwise=False,
        rtol=flags.pop("rtol", 8),
        **flags,
    )


NETWORKS = [
    nn(
        "softmax",
        lambda x, dim, dtype=None: np.exp(log_softmax(x, dim)),
        softmax_samples,
        (NO_DIM,),
        special=LARGE,
    ),
    nn("log_softmax", log_softmax, softmax_samples, (NO_DIM,), special=LARGE),
    nn(F + "nll_loss", nll_loss, class_samples, BAD_TARGETS, method=False, dtypes=("float64", "float32")),
    nn(
        F + "cross_entropy",
        cross_entropy,
        cross_entropy_samples,
        BAD_TARGETS,
        method=False,
        dtypes=("float64", "float32"),
        called=("nll_loss",),
    ),
    nn(
        F + "embedding",
        lambda index, table, padding_idx=None: table[index],
        lambda rng: [
            Sample(np.array([[1, 1], [3, 0]]), m(rng, 4, 3)),
            Sample(np.array(2), m(rng, 4, 3)),
            Sample(np.zeros((0, 2), np.int64), m(rng, 4, 3)),
        ],
        (((np.array([4]), np.ones((4, 3))), {}, IndexError),),
        method=False,
    ),
    nn(
        F + "layer_norm",
        layer_norm,
        lambda rng: [
            Sample(m(rng, 2, 3, 4), (4,)),
            Sample(m(rng, 2, 3, 4), (3, 4), m(rng, 3, 4), m(rng, 3, 4)),
            Sample(m(rng, 2, 4), (4,), weight=m(rng, 4), eps=0.1),
        ],
        (((np.ones((2, 3)), (2,)), {}, RuntimeError),),
        method=False,
        rtol=40,
    ),
    nn(
        F + "mse_loss",
        lambda x, y, reduction="mean": reduce((x - y) ** 2, reduction),
        pairs,
        PAIR_ERRORS,
        method=False,
    ),
    nn(
        F + "l1_loss",
        lambda x, y, reduction="mean": reduce(np.abs(x - y), reduction),
        pairs,
        PAIR_ERRORS,
        method=False,
    ),
]
