"""Rows of the database: reductions, movement, products, softmax and losses."""
import math

import numpy as np

from common import FLOATS, T
from opbase import ALL, NUMBERS, Fixed, Op, Sample, distinct, rows, uniform

F = "nn.functional."
SIDES = ((-2.0, -0.3), (0.3, 2.0))
x234 = lambda rng: uniform(rng, (2, 3, 4), *SIDES)
NO_DIM = ((np.ones((2, 3)),), {"dim": 2}, IndexError)
TWICE = ((np.ones((2, 3)),), {"dim": (0, 0)}, RuntimeError)


def axes(dim):
    return dim if dim is None or isinstance(dim, int) else tuple(dim) or None


def over(f):
    """A NumPy reduction with PyTorch's argument names."""
    return lambda x, dim=None, keepdim=False, **k: f(x, axis=axes(dim) if np.ndim(x) else None, keepdims=keepdim, **k)


ALL_DIMS = ({}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}, {"dim": (-1, 0), "keepdim": True}, {"dim": (0, 1, 2)})
ONE_DIM = ({}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True})


def reduction(name, ref, kwargs=ALL_DIMS, make=x234, extra=(), errors=(NO_DIM, TWICE), **flags):
    def samples(rng):
        yield from (Sample(make(rng), **k) for k in kwargs)
        yield from (Sample(uniform(rng, (), *SIDES), **k) for k in ({}, {"dim": 0}))
        yield from extra
    return Op(name=name, ref=over(ref), samples=samples, errors=errors, bitwise=False, rtol=flags.pop("rtol", 4), **flags)


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
    return lambda x, axis=None, keepdims=False: f(x, axis=None if np.ndim(x) == 0 else axis, keepdims=keepdims)


def logsumexp(x, axis=None, keepdims=False):
    m = np.max(x, axis=axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    out = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return out if keepdims else np.squeeze(out, axis) if axis is not None else out.reshape(())


def prod_samples():
    a = np.array([[1.5, -2.0, 0.7], [0.5, 0.0, 3.0], [0.0, -1.0, 0.0]])
    return (Sample(a, dim=1), Sample(a[:2]), Sample(a), Sample(a[1], dim=0, keepdim=True), *EMPTY)


def running(f):
    return lambda x, dim, dtype=None: np.array(x) if np.ndim(x) == 0 else f(x, axis=dim, dtype=dtype and str(dtype))


REDUCTIONS = [
    reduction("sum", np.sum, extra=EMPTY, dtypes=ALL, out="accumulate", special=((np.array([1, math.inf]),), (np.array([math.inf, -math.inf]),))),
    reduction("mean", np.mean, dtypes=FLOATS, errors=(NO_DIM, TWICE, NON_FLOAT), special=((np.array([1, math.nan]),),)),
    Op(name="var", ref=spread(np.var), bitwise=False, rtol=16, samples=rows(lambda rng: [Sample(x234(rng), **k) for k in (
        *ALL_DIMS, {"dim": 1, "correction": 0}, {"dim": 2, "correction": 2}, {"dim": (0, 1), "unbiased": False}, {"unbiased": False})]),
       errors=(NO_DIM, NON_FLOAT)),
    Op(name="std", ref=spread(np.std), bitwise=False, rtol=16, samples=rows(lambda rng: [Sample(x234(rng), **k) for k in (
        *ALL_DIMS, {"dim": 1, "correction": 0}, {"dim": 2, "correction": 2}, {"dim": (0, 1), "unbiased": False})]),
       errors=(NO_DIM, NON_FLOAT), slopes=((np.ones(3), np.zeros(3)),)),
    reduction("amax", np.max, make=far_apart, dtypes=ALL, errors=(NO_DIM, TWICE, EMPTY_ERROR), expanded=False, special=((np.array([1, math.nan]),),),
              slopes=((np.array([2.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.5])),)),
    reduction("amin", np.min, make=far_apart, dtypes=ALL, errors=(NO_DIM, TWICE, EMPTY_ERROR), expanded=False, special=((np.array([1, math.nan]),),),
              slopes=((np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5])),)),
    Op(name="max", ref=extreme(np.max, np.argmax), dtypes=("float64", "float32", "int64", "int32"), out=("same", "int64"), expanded=False, bitwise=False,
       samples=rows(lambda rng: [Sample(far_apart(rng), **k) for k in ONE_DIM] + [Sample(uniform(rng, (3, 4), (-2, -1), (1, 2)), uniform(rng, (3, 4), (-0.8, 0.8))), Sample(far_apart(rng)[0, 0, 0], dim=0)]),
       errors=(NO_DIM, ((np.ones((0,)),), {}, RuntimeError), EMPTY_ERROR), special=((np.array([1, math.nan]),),),
       slopes=((np.array([2.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.5])),)),
    Op(name="min", ref=extreme(np.min, np.argmin), dtypes=("float64", "float32", "int64", "int32"), out=("same", "int64"), expanded=False, bitwise=False,
       samples=rows(lambda rng: [Sample(far_apart(rng), **k) for k in ONE_DIM] + [Sample(uniform(rng, (3, 4), (-2, -1), (1, 2)), uniform(rng, (3, 4), (-0.8, 0.8))), Sample(far_apart(rng)[0, 0, 0], dim=0)]),
       errors=(NO_DIM, ((np.ones((0,)),), {}, RuntimeError), EMPTY_ERROR), special=((np.array([1, math.nan]),),),
       slopes=((np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5])),)),
    reduction("argmax", arg(np.argmax), kwargs=ONE_DIM, make=far_apart, grad=False, out="int64", dtypes=NUMBERS[:-1], expanded=False,
              errors=(NO_DIM, ((np.ones((0,)),), {}, (IndexError, RuntimeError)))),
    reduction("argmin", arg(np.argmin), kwargs=ONE_DIM, make=far_apart, grad=False, out="int64", dtypes=NUMBERS[:-1], expanded=False,
              errors=(NO_DIM, ((np.ones((0,)),), {}, (IndexError, RuntimeError)))),
    Op(name="logsumexp", ref=over(logsumexp), bitwise=False, rtol=4, errors=(NO_DIM, ((np.ones((2, 3)),), {}, TypeError)),
       samples=rows(lambda rng: [Sample(x234(rng), k) for k in (0, -1, (0, 2), (0, 1, 2))] + [Sample(x234(rng), 1, keepdim=True)]),
       special=((np.array([700.0, 800.0]), 0), (np.array([-math.inf, 1.0]), 0), (np.array([-math.inf, -math.inf]), 0), (np.array([math.inf, 1.0]), 0), (np.array([math.nan, 1.0]), 0))),
    reduction("prod", np.prod, kwargs=ONE_DIM, extra=prod_samples(), dtypes=("float64", "float32", "int64", "int32", "bool"), out="accumulate",
              errors=(NO_DIM,), rtol=16),
    Op(name="cumsum", ref=running(np.cumsum), dtypes=("float64", "float32", "int64", "int32", "bool"), out="accumulate", bitwise=False, rtol=8, inplace=True,
       samples=rows(lambda rng: [Sample(x234(rng), dim=d) for d in (0, 1, -1)] + [Sample(np.array(1.5), dim=0), Sample(np.ones((2, 0)), dim=1)]),
       errors=(NO_DIM, ((np.ones(3),), {}, TypeError))),
    Op(name="cumprod", ref=running(np.cumprod), dtypes=("float64", "float32"), bitwise=False, rtol=8,
       samples=rows(lambda rng: [Sample(x234(rng), dim=d) for d in (0, 1, -1)] + [Sample(np.array([[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]), dim=1)]),
       errors=(NO_DIM,)),
    reduction("any", np.any, grad=False, out="bool", dtypes=("float64", "float32", "int64", "bool"), make=lambda rng: np.maximum(x234(rng), 0), extra=EMPTY),
    reduction("all", np.all, grad=False, out="bool", dtypes=("float64", "float32", "int64", "bool"), make=lambda rng: np.maximum(x234(rng), 0), extra=EMPTY),
    reduction("count_nonzero", np.count_nonzero, kwargs=({}, {"dim": 0}, {"dim": (0, 2)}), grad=False, out="int64", dtypes=ALL, errors=(NO_DIM,),
              make=lambda rng: np.maximum(x234(rng), 0)),
]


def move(name, ref, arguments, shape=(2, 3, 4), **flags):
    """An operation that only moves numbers; `arguments` are the rest of each call, a tuple or keyword arguments."""
    def samples(rng):
        for a in arguments:
            s = shape
            if isinstance(a, tuple) and len(a) == 2 and a and isinstance(a[0], Shape):
                s, a = a
            x = uniform(rng, s, *SIDES)
            yield Sample(x, **a) if isinstance(a, dict) else Sample(x, *a)
    return Op(name=name, ref=ref, samples=samples, dtypes=flags.pop("dtypes", ALL), **flags)


class Shape(tuple):
    """The shape of one sample."""


def sizes(x, s):
    s = list(s[0]) if len(s) == 1 and isinstance(s[0], (tuple, list)) else list(s)
    return s


def expand(x, *s):
    s = sizes(x, s)
    lead = len(s) - x.ndim
    return np.broadcast_to(x, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(s)])


def unflatten_range(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.reshape(1)
    a, b = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:a], -1, *x.shape[b + 1:])


def split(x, size, dim=0):
    cuts = np.cumsum(size)[:-1] if isinstance(size, (list, tuple)) else range(size, x.shape[dim], size)
    return np.split(x, cuts, axis=dim)


def chunk(x, chunks, dim=0):
    return split(x, -(-x.shape[dim] // chunks), dim)


def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return np.squeeze(x, tuple(d for d in dims if x.ndim and x.shape[d] == 1))


def narrow(x, dim, start, length):
    return np.take(x, range(start, start + length) if start >= 0 else range(x.shape[dim] + start, x.shape[dim] + start + length), axis=dim)


def roll(x, shifts, dims=None):
    return np.roll(x, shifts, axis=dims)


WRONG_SIZE = ((np.ones((2, 3)), (4, 2)), {}, RuntimeError)
FAR = ((np.ones((2, 3)), 2), {}, IndexError)
FAR2 = ((np.ones((2, 3)), 0, 2), {}, IndexError)
reshape = lambda x, *s: x.reshape(sizes(x, s))

MOVEMENT = [
    move("reshape", lambda x, s: x.reshape(s), [((6, 4),), ((-1,),), ((2, -1, 2),), ((1, 24, 1),), (Shape(()), ((1, 1),)), (Shape((0, 3)), ((3, 0),))],
         errors=(WRONG_SIZE, ((np.ones(6), (-1, -1)), {}, RuntimeError), ((np.ones(6), (-1, 4)), {}, RuntimeError))),
    move("view", reshape, [(6, 4), ((-1,),), (2, 3, 2, 2)], call=lambda x, *s: x.contiguous().view(*s), function=False, errors=(WRONG_SIZE,)),
    move("transpose", lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x, [(0, 2), (1, -1), (1, 1), (Shape(()), (0, -1))], errors=(FAR2,)),
    move("swapaxes", np.swapaxes, [(0, 2), (-1, 1)], errors=(FAR2,)),
    move("permute", lambda x, p: np.transpose(x, p), [((2, 0, 1),), ((-1, 1, 0),), ((0, 1, 2),)],
         errors=(((np.ones((2, 3)), (0,)), {}, RuntimeError), ((np.ones((2, 3)), (0, 0)), {}, RuntimeError), ((np.ones((2, 3)), (0, 2)), {}, IndexError))),
    move("t", lambda x: x.T, [(Shape((2, 3)), ()), (Shape((3,)), ()), (Shape(()), ())], errors=(((np.ones((2, 2, 2)),), {}, RuntimeError),)),
    move("movedim", np.moveaxis, [(0, 2), (-1, 0), ((0, 1), (2, 0))], errors=(FAR2, ((np.ones((2, 3)), (0, 1), (0,)), {}, RuntimeError))),
    move("squeeze", squeeze, [(), (0,), (-1,), ((0, 3),), (1,)], shape=(1, 3, 2, 1), errors=(FAR,)),
    move("unsqueeze", np.expand_dims, [(0,), (-1,), (2,), (Shape(()), (0,))], errors=(((np.ones(2), 3), {}, IndexError),)),
    move("expand", expand, [(2, 3), (4, -1, 3), ((5, 2, 3),)], shape=(2, 1), call=lambda x, *s: x.expand(*s), function=False, errors=(
        ((np.ones((2, 3)), 2, 4), {}, RuntimeError), ((np.ones((2, 3)), 3), {}, RuntimeError), ((np.ones(3), -1, 3), {}, RuntimeError))),
    move("broadcast_to", expand, [((2, 3),), ((4, 2, 3),), (Shape(()), ((2, 2),))], shape=(2, 1), errors=(((np.ones((2, 3)), (2, 4)), {}, RuntimeError),)),
    move("flatten", unflatten_range, [(), (1,), (0, 1), (Shape(()), ())], errors=(FAR, ((np.ones((2, 3)), 1, 0), {}, RuntimeError))),
    move("split", split, [(2,), (2, 1), ([1, 2], 1), (3, -1), (5,)], errors=(((np.ones((2, 3)), [1, 1], 1), {}, RuntimeError), ((np.ones(3), -1), {}, RuntimeError))),
    move("chunk", chunk, [(2,), (2, 1), (3, 2), (7, 2)], errors=(((np.ones(3), 0), {}, RuntimeError),)),
    move("unbind", lambda x, dim=0: list(np.moveaxis(x, dim, 0)), [(), (1,), (-1,)], errors=(FAR, ((np.ones(()),), {}, (IndexError, RuntimeError)))),
    move("flip", lambda x, dims: np.flip(x, dims), [((0,),), ((0, -1),), ((1,),), ((),)], errors=(((np.ones(3), (0, 0)), {}, RuntimeError), ((np.ones(3), (1,)), {}, IndexError))),
    move("roll", roll, [(1,), (-2, 1), ((1, 2), (0, -1)), (7, 2)], errors=(((np.ones((2, 3)), (1, 2), (0,)), {}, RuntimeError), ((np.ones((2, 3)), 1, 2), {}, IndexError))),
    move("narrow", narrow, [(1, 0, 2), (-1, 1, 3), (0, -1, 1), (2, 1, 0)], errors=(((np.ones(3), 0, 2, 2), {}, RuntimeError), ((np.ones(3), 1, 0, 1), {}, IndexError),
                                                                                  ((np.ones(3), 0, 0, -1), {}, RuntimeError))),
    move("select", lambda x, dim, index: np.take(x, index, axis=dim), [(0, 1), (-1, -2), (1, 0)], errors=(((np.ones(3), 0, 3), {}, IndexError), ((np.ones(3), 1, 0), {}, IndexError))),
    move("tril", lambda x, k=0: np.tril(x, k), [(), (1,), (-1,), (9,)], inplace=True, errors=(((np.ones(3),), {}, RuntimeError),)),
    move("triu", lambda x, k=0: np.triu(x, k), [(), (1,), (-1,), (-9,)], inplace=True, errors=(((np.ones(3),), {}, RuntimeError),)),
    move("diagonal", lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2), [(), (1,), (-1, 0, 2), (0, 2, 1), (9,)],
         errors=(((np.ones((2, 3)), 0, 1, 1), {}, RuntimeError), ((np.ones((2, 3)), 0, 0, 2), {}, IndexError))),
    move("repeat", lambda x, *r: np.tile(x, r[0] if isinstance(r[0], tuple) else r), [(2, 1, 3), ((2, 2, 1, 1),), (1, 0, 1)], call=lambda x, *r: x.repeat(*r), function=False,
         errors=(((np.ones((2, 3)), 2), {}, RuntimeError), ((np.ones(3), -1), {}, RuntimeError))),
    Op(name="cat", ref=lambda xs, dim=0: np.concatenate(xs, axis=dim), method=False, dtypes=ALL,
       samples=rows(lambda rng: [Sample([x234(rng), x234(rng)]), Sample((x234(rng), x234(rng)[:, :1], x234(rng)), dim=1), Sample([x234(rng)[..., :2], x234(rng)], dim=-1),
                                 Sample([x234(rng)]), Sample([np.ones((0, 3)), np.ones((2, 3))])]),
       errors=((([],), {}, (RuntimeError, ValueError)), (([np.ones((2, 3)), np.ones((2, 4))],), {}, RuntimeError), (([np.ones(2), np.ones(2)], 1), {}, IndexError),
               (([np.ones(()), np.ones(())],), {}, RuntimeError), (([np.ones(2), 3.0],), {}, TypeError))),
    Op(name="stack", ref=lambda xs, dim=0: np.stack(xs, axis=dim), method=False, dtypes=ALL,
       samples=rows(lambda rng: [Sample([x234(rng), x234(rng)], **k) for k in ({}, {"dim": 1}, {"dim": -1}, {"dim": 3})] + [Sample((x234(rng)[0, 0, 0], x234(rng)[0, 0, 0]))]),
       errors=((([],), {}, RuntimeError), (([np.ones(2), np.ones(3)],), {}, RuntimeError), (([np.ones(2), np.ones(2)], 2), {}, IndexError))),
]

m = lambda rng, *shape: uniform(rng, shape, *SIDES)


def product(name, ref, samples, errors, **flags):
    return Op(name=name, ref=ref, samples=rows(samples), errors=errors, bitwise=False, rtol=8, **flags)


def addmm(x, a, b, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


def linear(x, w, bias=None):
    y = x @ w.T
    return y if bias is None else y + bias


PRODUCTS = [
    product("matmul", np.matmul, lambda rng: [Sample(m(rng, *a), m(rng, *b)) for a, b in (
        ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)),
        ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((17, 33), (33, 9)), ((1, 1), (1, 1)))],
        (((np.ones((2, 3)), np.ones((2, 3))), {}, RuntimeError), ((np.ones(()), np.ones(3)), {}, RuntimeError), ((np.ones((2, 2, 3)), np.ones((3, 3, 2))), {}, RuntimeError),
         ((np.ones(3), np.ones(3, np.int64)), {}, RuntimeError)), dtypes=("float64", "float32", "int64", "int32")),
    product("mm", np.matmul, lambda rng: [Sample(m(rng, 3, 4), m(rng, 4, 5)), Sample(m(rng, 1, 4), m(rng, 4, 1)), Sample(m(rng, 20, 30), m(rng, 30, 10))],
            (((np.ones((2, 3)), np.ones((2, 3))), {}, RuntimeError), ((np.ones(3), np.ones((3, 2))), {}, RuntimeError)), dtypes=FLOATS),
    product("bmm", np.matmul, lambda rng: [Sample(m(rng, 2, 3, 4), m(rng, 2, 4, 5)), Sample(m(rng, 0, 3, 4), m(rng, 0, 4, 5))],
            (((np.ones((2, 3, 4)), np.ones((3, 4, 5))), {}, RuntimeError), ((np.ones((3, 4)), np.ones((4, 5))), {}, RuntimeError))),
    product("mv", np.matmul, lambda rng: [Sample(m(rng, 3, 4), m(rng, 4))], (((np.ones((2, 3)), np.ones(2)), {}, RuntimeError), ((np.ones(3), np.ones(3)), {}, RuntimeError))),
    product("dot", np.dot, lambda rng: [Sample(m(rng, 4), m(rng, 4)), Sample(np.ones(0), np.ones(0))],
            (((np.ones(3), np.ones(4)), {}, RuntimeError), ((np.ones((2, 2)), np.ones((2, 2))), {}, RuntimeError)), dtypes=("float64", "float32", "int64")),
    product("outer", np.outer, lambda rng: [Sample(m(rng, 4), m(rng, 3)), Sample(m(rng, 1), m(rng, 2))], (((np.ones((2, 2)), np.ones(3)), {}, RuntimeError),), dtypes=NUMBERS),
    product("addmm", addmm, lambda rng: [Sample(m(rng, 3, 5), m(rng, 3, 4), m(rng, 4, 5)), Sample(m(rng, 5), m(rng, 3, 4), m(rng, 4, 5), beta=0.5, alpha=-2.0)],
            (((np.ones((2, 2)), np.ones((2, 3)), np.ones((2, 3))), {}, RuntimeError), ((np.ones((3, 3)), np.ones((2, 3)), np.ones((3, 2))), {}, RuntimeError))),
    product(F + "linear", linear, lambda rng: [Sample(m(rng, 2, 4), m(rng, 3, 4), m(rng, 3)), Sample(m(rng, 2, 3, 4), m(rng, 5, 4)), Sample(m(rng, 4), m(rng, 5, 4), bias=None)],
            (((np.ones((2, 3)), np.ones((4, 2))), {}, RuntimeError),), method=False),
]


def log_softmax(x, dim, dtype=None):
    x = x - np.max(x, axis=dim, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=dim, keepdims=True))


def reduce(v, reduction, weight=None):
    return v if reduction == "none" else v.sum() if reduction == "sum" else v.sum() / (v.size if weight is None else weight)


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
BAD_TARGETS = (((np.ones((2, 3)), np.array([0, 3])), {}, IndexError), ((np.ones((2, 3)), np.array([0])), {}, ValueError),
               ((np.ones((2, 3)), np.array([0, 1])), {"reduction": "other"}, ValueError))


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


PAIR_ERRORS = (((np.ones(2), np.ones(3)), {}, RuntimeError), ((np.ones(2), np.ones(2)), {"reduction": "other"}, ValueError))
pairs = lambda rng: [Sample(uniform(rng, (3, 4), (-2, -0.5)), uniform(rng, (3, 4), (0.0, 2)), **k) for k in ({}, {"reduction": "sum"}, {"reduction": "none"})]
softmax_samples = rows(lambda rng: [Sample(x234(rng), dim=d) for d in (0, 1, -1)] + [Sample(x234(rng)[0, 0], dim=0)])
LARGE = ((np.array([300.0, -300.0, 299.0]), 0), (np.array([math.inf, 1.0]), 0), (np.array([-math.inf, 1.0]), 0), (np.array([math.nan, 1.0]), 0))


def nn(name, ref, samples, errors, **flags):
    return Op(name=name, ref=ref, samples=rows(samples), errors=errors, bitwise=False, rtol=flags.pop("rtol", 8), **flags)


NETWORKS = [
    nn("softmax", lambda x, dim, dtype=None: np.exp(log_softmax(x, dim)), softmax_samples, (NO_DIM,), special=LARGE),
    nn("log_softmax", log_softmax, softmax_samples, (NO_DIM,), special=LARGE),
    nn(F + "nll_loss", nll_loss, class_samples, BAD_TARGETS, method=False, dtypes=("float64", "float32")),
    nn(F + "cross_entropy", cross_entropy, cross_entropy_samples, BAD_TARGETS, method=False, dtypes=("float64", "float32")),
    nn(F + "mse_loss", lambda x, y, reduction="mean": reduce((x - y) ** 2, reduction), pairs, PAIR_ERRORS, method=False),
    nn(F + "l1_loss", lambda x, y, reduction="mean": reduce(np.abs(x - y), reduction), pairs, PAIR_ERRORS, method=False),
]

TENSORS = [*REDUCTIONS, *MOVEMENT, *PRODUCTS, *NETWORKS]
