"""Rows of the database: reading and writing by index, selection by mask."""

import numpy as np
from opbase import ALL, NUMBERS, Op, Sample, rows, uniform

SIDES = ((-2.0, -0.3), (0.3, 2.0))
x345 = lambda rng: uniform(rng, (3, 4, 5), *SIDES)
I = lambda *v: np.array(v)

ROW_MASK = np.array([True, False, True])
MASK = (np.arange(12).reshape(3, 4) * 7) % 5 < 2
FULL_MASK = (np.arange(60).reshape(3, 4, 5) * 7) % 5 < 2

# What stands between the brackets, of a tensor of shape (3, 4, 5).
INDICES = {
    "int": 1,
    "negative int": -1,
    "ints": (1, 2, 3),
    "slice": slice(1, 3),
    "steps": (slice(None, None, 2), slice(1, None, 3)),
    "open": slice(None),
    "backwards": slice(None, None, -1),
    "backward steps": (slice(None), slice(3, 0, -2), slice(None, None, -3)),
    "clipped": slice(-2, 100),
    "empty slice": slice(2, 1),
    "none": None,
    "none inside": (0, None, slice(None), None),
    "ellipsis": (..., 1),
    "ellipsis between": (0, ..., slice(0, 2)),
    "only ellipsis": ...,
    "int tensor": I(2, 0, 0),
    "int list": [2, 0, 0],
    "matrix of ints": I([0, 1], [2, 0]),
    "pair of tensors": (I(0, 2), I(1, -1)),
    "broadcast tensors": (I([0], [2]), I(1, 3, 3)),
    "tensor and slice": (I(0, 2), slice(1, 3)),
    "slice and tensor": (slice(None), I(3, 0)),
    "split tensors": (I(0, 1), slice(None), I(4, 2)),
    "tensor then int": (I(0, 2), slice(None), 1),
    "int then tensor": (1, slice(None), I(4, 2, 2)),
    "0-d tensor": np.array(1),
    "row mask": ROW_MASK,
    "mask": MASK,
    "full mask": FULL_MASK,
    "mask then int": (MASK, 2),
    "slice and mask": (slice(1, None), np.array([True, False, False, True])),
    "no ints": np.zeros(0, np.int64),
    "none and tensor": (None, I(1, 2)),
    "bool list": [True, False, True],
}
# Places that a write touches once.
ONCE = [
    k
    for k in INDICES
    if k not in ("int tensor", "int list", "matrix of ints", "broadcast tensors", "int then tensor")
]


def read_ref(x, index):
    """NumPy's indexing, but with a leading integer taken first, as PyTorch does."""
    return x[index[0]][index[1:]] if isinstance(index, tuple) and type(index[0]) is int else x[index]


def write(x, index, value):
    y = x.clone()
    y[index] = value
    return y


def write_ref(x, index, value):
    y = x.copy()
    y[index] = value
    return y


def put(x, index, value, accumulate=False):
    y = x.copy()
    np.add.at(y, index, value) if accumulate else y.__setitem__(index, value)
    return y


def write_samples(rng):
    x = x345(rng)
    for name in ONCE:
        shape = x[INDICES[name]].shape
        yield Sample(x, INDICES[name], uniform(rng, shape))
        if shape and shape[-1] > 1:
            yield Sample(x, INDICES[name], uniform(rng, shape[-1:]))  # broadcast into its place
    yield Sample(x, (slice(None), 1), 2.5)
    yield Sample(x, MASK, uniform(rng, ()))
    yield Sample(uniform(rng, ()), ..., uniform(rng, ()))


BAD_INDEX = (
    ((np.ones((2, 3)), 2), {}, IndexError),
    ((np.ones((2, 3)), (0, 0, 0)), {}, IndexError),
    ((np.ones((2, 3)), I(0, 2)), {}, IndexError),
    ((np.ones((2, 3)), "a"), {}, (IndexError, TypeError)),
    ((np.ones((2, 3)), 1.5), {}, (IndexError, TypeError)),
    ((np.ones((2, 3)), np.array([True])), {}, IndexError),
    ((np.ones((2, 3)), (I(0, 1), I(0, 1, 2))), {}, IndexError),
    ((np.ones((2, 3)), slice(None, None, 0)), {}, ValueError),
    ((np.ones(()), 0), {}, IndexError),
)
BAD_WRITE = tuple((((a[0], a[1], 1.0)), k, e) for a, k, e in BAD_INDEX) + (
    ((np.ones((2, 3)), 0, np.ones(2)), {}, RuntimeError),
)


def scatter(x, dim, index, src, reduce=None):
    y = x.copy()
    for at in np.ndindex(index.shape):
        to = list(at)
        to[dim] = index[at]
        y[tuple(to)] = src[at] if isinstance(src, np.ndarray) else src
    return y


def scatter_add(x, dim, index, src):
    y = x.copy()
    for at in np.ndindex(index.shape):
        to = list(at)
        to[dim] = index[at]
        y[tuple(to)] += src[at]
    return y


def gather(x, dim, index):
    y = np.empty(index.shape, x.dtype)
    for at in np.ndindex(index.shape):
        of = list(at)
        of[dim] = index[at]
        y[at] = x[tuple(of)]
    return y


def index_add(x, dim, index, source, alpha=1):
    y = np.moveaxis(x.copy(), dim, 0)
    np.add.at(y, index, alpha * np.moveaxis(source, dim, 0))
    return np.moveaxis(y, 0, dim)


UNIQUE = np.array([[3, 0, 2], [1, 2, 0]])  # no place twice along either row
ANY = np.array([[3, 3, 2], [0, 3, 0], [1, 1, 1]])
m = lambda rng, *shape: uniform(rng, shape, *SIDES)
masks = lambda rng: [
    (m(rng, 3, 4), MASK),
    (m(rng, 3, 4), np.array([True, False, True, True])),
    (m(rng, 4), MASK),
]
NOT_INT = np.array([0.0])

INDEX = [
    Op(
        name="operator[]",
        call=lambda x, i: x[i],
        ref=read_ref,
        function=False,
        method=False,
        dtypes=ALL,
        errors=BAD_INDEX,
        samples=rows(lambda rng: [Sample(x345(rng), i) for i in INDICES.values()]),
    ),
    Op(
        name="operator[]=",
        call=write,
        ref=write_ref,
        function=False,
        method=False,
        dtypes=ALL,
        errors=BAD_WRITE,
        samples=rows(write_samples),
    ),
    Op(
        name="index_put",
        ref=lambda x, i, v, accumulate=False: put(x, i, v, accumulate),
        inplace=True,
        dtypes=("float64", "float32", "int64"),
        samples=rows(
            lambda rng: [
                Sample(m(rng, 3, 4), (I(0, 2), I(1, 1)), m(rng, 2)),
                Sample(m(rng, 3, 4), (I(0, 0, 2),), m(rng, 3, 4), accumulate=True),
                Sample(m(rng, 3, 4), (I(1, 1), I(2, 2)), m(rng), accumulate=True),
            ]
        ),
        errors=(((np.ones(3), (I(3),), np.ones(1)), {}, IndexError),),
    ),
    Op(
        name="gather",
        ref=gather,
        dtypes=ALL,
        samples=rows(
            lambda rng: [
                Sample(m(rng, 4, 3), 0, ANY),
                Sample(m(rng, 3, 4), 1, ANY[:2]),
                Sample(m(rng, 3, 4), -1, ANY),
                Sample(m(rng, 4, 3), 0, np.zeros((0, 3), np.int64)),
            ]
        ),
        errors=(
            ((np.ones((2, 3)), 0, I([2])), {}, (RuntimeError, IndexError)),
            ((np.ones((2, 3)), 0, I(0)), {}, RuntimeError),
            ((np.ones((2, 3)), 2, I([0])), {}, IndexError),
            ((np.ones(3), 0, np.array([0.0])), {}, RuntimeError),
        ),
    ),
    Op(
        name="take_along_dim",
        called=("gather",),
        ref=lambda x, index, dim=None: np.take_along_axis(x, index, axis=dim),
        dtypes=ALL,
        samples=rows(
            lambda rng: [
                Sample(m(rng, 4, 3), ANY, dim=0),
                Sample(m(rng, 3, 4), ANY[:, :1], dim=1),
                Sample(m(rng, 3, 4), I(2, 11, 11)),
            ]
        ),
        errors=(((np.ones((2, 3)), I([2]), 0), {}, (RuntimeError, IndexError)),),
    ),
    Op(
        name="scatter",
        ref=scatter,
        inplace=True,
        dtypes=NUMBERS,
        expanded=False,
        samples=rows(
            lambda rng: [
                Sample(m(rng, 2, 4), 1, UNIQUE, m(rng, 2, 3)),
                Sample(m(rng, 4, 3), 0, UNIQUE, m(rng, 3, 3)),
                Sample(m(rng, 2, 4), -1, UNIQUE, 1.5),
            ]
        ),
        errors=(
            ((np.ones((2, 3)), 1, I([3], [0]), np.ones((2, 1))), {}, (RuntimeError, IndexError)),
            ((np.ones(3), 0, I(0, 1), np.ones(1)), {}, RuntimeError),
            ((np.ones((2, 3)), 2, I([0]), np.ones((1, 1))), {}, IndexError),
        ),
    ),
    Op(
        name="scatter_add",
        ref=scatter_add,
        inplace=True,
        dtypes=NUMBERS,
        rtol=4,
        bitwise=False,
        samples=rows(
            lambda rng: [
                Sample(m(rng, 4, 3), 0, ANY, m(rng, 3, 3)),
                Sample(m(rng, 3, 4), 1, ANY, m(rng, 3, 4)),
                Sample(m(rng, 3, 4), -1, ANY[:2, :2], m(rng, 3, 4)),
            ]
        ),
        errors=(
            ((np.ones(3), 0, I(3), np.ones(1)), {}, (RuntimeError, IndexError)),
            ((np.ones(3), 0, I(0, 1), np.ones(1)), {}, RuntimeError),
        ),
    ),
    Op(
        name="index_select",
        ref=lambda x, dim, index: np.take(x, np.atleast_1d(index), axis=dim),
        dtypes=ALL,
        samples=rows(
            lambda rng: [
                Sample(x345(rng), 0, I(2, 0, 2)),
                Sample(x345(rng), -1, I(4)),
                Sample(x345(rng), 1, np.zeros(0, np.int64)),
                Sample(x345(rng), 1, np.array(3)),
            ]
        ),
        errors=(
            ((np.ones(3), 0, I(3)), {}, (RuntimeError, IndexError)),
            ((np.ones(3), 1, I(0)), {}, IndexError),
            ((np.ones((3, 3)), 0, I([0])), {}, (IndexError, RuntimeError)),
        ),
    ),
    Op(
        name="index_add",
        ref=index_add,
        inplace=True,
        dtypes=("float64", "float32", "int64"),
        rtol=4,
        bitwise=False,
        samples=rows(
            lambda rng: [
                Sample(m(rng, 3, 4), 0, I(2, 0, 2), m(rng, 3, 4)),
                Sample(m(rng, 3, 4), -1, I(3, 3), m(rng, 3, 2), alpha=2),
            ]
        ),
        errors=(
            ((np.ones(3), 0, I(3), np.ones(1)), {}, (RuntimeError, IndexError)),
            ((np.ones(3), 0, I(0, 1), np.ones(3)), {}, (RuntimeError, IndexError)),
        ),
    ),
    Op(
        name="masked_fill",
        ref=lambda x, mask, v: np.where(mask, np.asarray(v).astype(x.dtype), x),
        inplace=True,
        dtypes=("float64", "float32", "bfloat16", "int64"),
        samples=rows(lambda rng: [Sample(x, k, v) for x, k in masks(rng)[:2] for v in (2, uniform(rng, ()))]),
        errors=(
            ((np.ones(3), np.array([1, 0, 1]), 1.0), {}, RuntimeError),
            ((np.ones(3), np.array([True, False]), 1.0), {}, RuntimeError),
            ((np.ones(3), np.array([True, False, True]), np.ones(2)), {}, RuntimeError),
        ),
    ),
    Op(
        name="masked_select",
        ref=lambda x, mask: np.broadcast_arrays(x, mask)[0][np.broadcast_arrays(x, mask)[1]],
        dtypes=ALL,
        samples=rows(
            lambda rng: [Sample(x, k) for x, k in masks(rng)] + [Sample(m(rng, 3, 4), MASK & False)]
        ),
        errors=(
            ((np.ones(3), np.array([1, 0, 1])), {}, RuntimeError),
            ((np.ones(3), np.array([True, False])), {}, RuntimeError),
        ),
    ),
    Op(
        name="where",
        ref=lambda c, x, y: np.where(c, x, y),
        method=False,
        dtypes=ALL,
        samples=rows(
            lambda rng: [
                Sample(MASK, m(rng, 3, 4), m(rng, 3, 4)),
                Sample(MASK, m(rng, 4), m(rng, 3, 1)),
                Sample(MASK, m(rng), m(rng)),
                Sample(np.array(True), m(rng, 2), m(rng, 2)),
                Sample(MASK[:0], m(rng, 4), m(rng)),
            ]
        ),
        errors=(
            ((np.array([True, False]), np.ones(3), np.ones(3)), {}, RuntimeError),
            ((np.ones(3), np.ones(3), np.ones(3)), {}, RuntimeError),
        ),
    ),
    Op(
        name="nonzero",
        ref=np.argwhere,
        grad=False,
        out="int64",
        dtypes=ALL,
        samples=rows(
            lambda rng: [
                Sample(np.maximum(m(rng, 3, 4), 0)),
                Sample(np.maximum(m(rng, 7), 0)),
                Sample(np.zeros((2, 2))),
            ]
        ),
    ),
]
