"""Rows of the database: operations that only move numbers."""

import numpy as np
from opbase import ALL, Op, Sample, rows, uniform

SIDES = ((-2.0, -0.3), (0.3, 2.0))
x234 = lambda rng: uniform(rng, (2, 3, 4), *SIDES)


def move(name, ref, arguments, shape=(2, 3, 4), **flags):
    """An operation that only moves numbers; `arguments` are the rest of each call."""

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
    return x.reshape(*x.shape[:a], -1, *x.shape[b + 1 :])


def split(x, size, dim=0):
    cuts = np.cumsum(size)[:-1] if isinstance(size, (list, tuple)) else range(size, x.shape[dim], size)
    return np.split(x, cuts, axis=dim)


def chunk(x, chunks, dim=0):
    return split(x, -(-x.shape[dim] // chunks), dim)


def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return np.squeeze(x, tuple(d for d in dims if x.ndim and x.shape[d] == 1))


def as_strided(x, size, stride, offset=0):
    places = offset + sum(
        (
            np.arange(n).reshape(-1, *[1] * (len(size) - 1 - i)) * s
            for i, (n, s) in enumerate(zip(size, stride))
        ),
        0,
    )
    return x.ravel()[np.broadcast_to(places, size)]


def narrow(x, dim, start, length):
    return np.take(
        x,
        range(start, start + length)
        if start >= 0
        else range(x.shape[dim] + start, x.shape[dim] + start + length),
        axis=dim,
    )


def roll(x, shifts, dims=None):
    return np.roll(x, shifts, axis=dims)


WRONG_SIZE = ((np.ones((2, 3)), (4, 2)), {}, RuntimeError)
FAR = ((np.ones((2, 3)), 2), {}, IndexError)
FAR2 = ((np.ones((2, 3)), 0, 2), {}, IndexError)
reshape = lambda x, *s: x.reshape(sizes(x, s))

MOVEMENT = [
    move(
        "reshape",
        lambda x, s: x.reshape(s),
        [
            ((6, 4),),
            ((-1,),),
            ((2, -1, 2),),
            ((1, 24, 1),),
            (Shape(()), ((1, 1),)),
            (Shape((0, 3)), ((3, 0),)),
        ],
        errors=(
            WRONG_SIZE,
            ((np.ones(6), (-1, -1)), {}, RuntimeError),
            ((np.ones(6), (-1, 4)), {}, RuntimeError),
        ),
    ),
    move(
        "view",
        reshape,
        [(6, 4), ((-1,),), (2, 3, 2, 2)],
        call=lambda x, *s: x.contiguous().view(*s),
        function=False,
        errors=(WRONG_SIZE,),
    ),
    move(
        "transpose",
        lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x,
        [(0, 2), (1, -1), (1, 1), (Shape(()), (0, -1))],
        errors=(FAR2,),
    ),
    move("swapaxes", np.swapaxes, [(0, 2), (-1, 1)], errors=(FAR2,), called=("transpose",)),
    move(
        "permute",
        lambda x, p: np.transpose(x, p),
        [((2, 0, 1),), ((-1, 1, 0),), ((0, 1, 2),)],
        errors=(
            ((np.ones((2, 3)), (0,)), {}, RuntimeError),
            ((np.ones((2, 3)), (0, 0)), {}, RuntimeError),
            ((np.ones((2, 3)), (0, 2)), {}, IndexError),
        ),
    ),
    move(
        "t",
        lambda x: x.T,
        [(Shape((2, 3)), ()), (Shape((3,)), ()), (Shape(()), ())],
        errors=(((np.ones((2, 2, 2)),), {}, RuntimeError),),
    ),
    move(
        "movedim",
        np.moveaxis,
        [(0, 2), (-1, 0), ((0, 1), (2, 0))],
        errors=(FAR2, ((np.ones((2, 3)), (0, 1), (0,)), {}, RuntimeError)),
    ),
    move("squeeze", squeeze, [(), (0,), (-1,), ((0, 3),), (1,)], shape=(1, 3, 2, 1), errors=(FAR,)),
    move(
        "unsqueeze",
        np.expand_dims,
        [(0,), (-1,), (2,), (Shape(()), (0,))],
        errors=(((np.ones(2), 3), {}, IndexError),),
    ),
    move(
        "expand",
        expand,
        [(2, 3), (4, -1, 3), ((5, 2, 3),)],
        shape=(2, 1),
        call=lambda x, *s: x.expand(*s),
        function=False,
        errors=(
            ((np.ones((2, 3)), 2, 4), {}, RuntimeError),
            ((np.ones((2, 3)), 3), {}, RuntimeError),
            ((np.ones(3), -1, 3), {}, RuntimeError),
        ),
    ),
    move(
        "broadcast_to",
        expand,
        [((2, 3),), ((4, 2, 3),), (Shape(()), ((2, 2),))],
        shape=(2, 1),
        errors=(((np.ones((2, 3)), (2, 4)), {}, RuntimeError),),
        called=("expand",),
    ),
    move(
        "flatten",
        unflatten_range,
        [(), (1,), (0, 1), (Shape(()), ())],
        errors=(FAR, ((np.ones((2, 3)), 1, 0), {}, RuntimeError)),
    ),
    move(
        "split",
        split,
        [(2,), (2, 1), ([1, 2], 1), (3, -1), (5,)],
        errors=(((np.ones((2, 3)), [1, 1], 1), {}, RuntimeError), ((np.ones(3), -1), {}, RuntimeError)),
    ),
    move("chunk", chunk, [(2,), (2, 1), (3, 2), (7, 2)], errors=(((np.ones(3), 0), {}, RuntimeError),)),
    move(
        "unbind",
        lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
        [(), (1,), (-1,)],
        errors=(FAR, ((np.ones(()),), {}, (IndexError, RuntimeError))),
    ),
    move(
        "flip",
        lambda x, dims: np.flip(x, dims),
        [((0,),), ((0, -1),), ((1,),), ((),)],
        errors=(((np.ones(3), (0, 0)), {}, RuntimeError), ((np.ones(3), (1,)), {}, IndexError)),
    ),
    move(
        "roll",
        roll,
        [(1,), (-2, 1), ((1, 2), (0, -1)), (7, 2)],
        errors=(
            ((np.ones((2, 3)), (1, 2), (0,)), {}, RuntimeError),
            ((np.ones((2, 3)), 1, 2), {}, IndexError),
        ),
    ),
    move(
        "narrow",
        narrow,
        [(1, 0, 2), (-1, 1, 3), (0, -1, 1), (2, 1, 0)],
        errors=(
            ((np.ones(3), 0, 2, 2), {}, (RuntimeError, IndexError)),
            ((np.ones(3), 1, 0, 1), {}, IndexError),
            ((np.ones(3), 0, 0, -1), {}, RuntimeError),
        ),
    ),
    move(
        "select",
        lambda x, dim, index: np.take(x, index, axis=dim),
        [(0, 1), (-1, -2), (1, 0)],
        errors=(((np.ones(3), 0, 3), {}, IndexError), ((np.ones(3), 1, 0), {}, IndexError)),
    ),
    move(
        "tril",
        lambda x, k=0: np.tril(x, k),
        [(), (1,), (-1,), (9,)],
        inplace=True,
        errors=(((np.ones(3),), {}, RuntimeError),),
    ),
    move(
        "triu",
        lambda x, k=0: np.triu(x, k),
        [(), (1,), (-1,), (-9,)],
        inplace=True,
        errors=(((np.ones(3),), {}, RuntimeError),),
    ),
    move(
        "diagonal",
        lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
        [(), (1,), (-1, 0, 2), (0, 2, 1), (9,)],
        errors=(((np.ones((2, 3)), 0, 1, 1), {}, RuntimeError), ((np.ones((2, 3)), 0, 0, 2), {}, IndexError)),
    ),
    move(
        "repeat",
        lambda x, *r: np.tile(x, r[0] if isinstance(r[0], tuple) else r),
        [(2, 1, 3), ((2, 2, 1, 1),), (1, 0, 1)],
        call=lambda x, *r: x.repeat(*r),
        function=False,
        errors=(((np.ones((2, 3)), 2), {}, RuntimeError), ((np.ones(3), -1), {}, RuntimeError)),
    ),
    move(
        "as_strided",
        lambda x, *a: as_strided(x, *a),
        [((3, 2), (2, 1)), ((4, 3), (5, 1), 2), ((2, 2, 2), (1, 1, 1)), ((), (), 7), ((3, 4), (0, 2))],
        call=lambda x, *a: x.contiguous().clone().as_strided(*a),
        errors=(((np.ones(6), (3, 3), (3, 1)), {}, RuntimeError),),
    ),
    move("clone", np.copy, [(), (Shape(()), ()), (Shape((0, 3)), ())]),
    move("ravel", np.ravel, [(), (Shape(()), ())]),
    move(
        "split_with_sizes",
        split,
        [([2, 0],), ([1, 2], 1), ([1, 3], -1)],
        called=("split",),
        errors=(((np.ones((2, 3)), [1, 1], 1), {}, RuntimeError), ((np.ones(3), [3], 1), {}, IndexError)),
    ),
    Op(
        name="reshape_as view_as expand_as",
        call=lambda x, y, z: [x.reshape_as(y), x.contiguous().view_as(y), x[:1].expand_as(z)],
        ref=lambda x, y, z: [x.reshape(y.shape), x.reshape(y.shape), np.broadcast_to(x[:1], z.shape)],
        samples=rows(
            lambda rng: [
                Sample(uniform(rng, (2, 6), *SIDES), np.zeros((3, 4), np.int64), np.zeros((5, 6), np.int64))
            ]
        ),
        dtypes=ALL,
        function=False,
        method=False,
    ),
    move(
        "sum_to_size",
        lambda x, *s: x.sum(axis=tuple(range(x.ndim - len(s))), keepdims=False).sum(
            axis=tuple(i for i, n in enumerate(s) if n == 1), keepdims=True
        ),
        [(3, 1), (1, 4), (2, 3, 4), (1, 1, 1)],
        call=lambda x, *s: x.sum_to_size(*s),
        function=False,
        dtypes=("float64", "float32", "int64"),
        bitwise=False,
        rtol=4,
        errors=(((np.ones((2, 3)), 2), {}, RuntimeError),),
    ),
    Op(
        name="broadcast_tensors",
        ref=np.broadcast_arrays,
        samples=rows(lambda rng: [Sample(uniform(rng, (2, 1), *SIDES), uniform(rng, (3,), *SIDES))]),
        dtypes=ALL,
        method=False,
        errors=(((np.ones(2), np.ones(3)), {}, RuntimeError),),
    ),
    Op(
        name="cat",
        ref=lambda xs, dim=0: np.concatenate(xs, axis=dim),
        method=False,
        dtypes=ALL,
        samples=rows(
            lambda rng: [
                Sample([x234(rng), x234(rng)]),
                Sample((x234(rng), x234(rng)[:, :1], x234(rng)), dim=1),
                Sample([x234(rng)[..., :2], x234(rng)], dim=-1),
                Sample([x234(rng)]),
                Sample([np.ones((0, 3)), np.ones((2, 3))]),
            ]
        ),
        errors=(
            (([],), {}, (RuntimeError, ValueError)),
            (([np.ones((2, 3)), np.ones((2, 4))],), {}, RuntimeError),
            (([np.ones(2), np.ones(2)], 1), {}, IndexError),
            (([np.ones(()), np.ones(())],), {}, RuntimeError),
            (([np.ones(2), 3.0],), {}, TypeError),
        ),
    ),
    Op(
        name="stack",
        ref=lambda xs, dim=0: np.stack(xs, axis=dim),
        method=False,
        dtypes=ALL,
        samples=rows(
            lambda rng: (
                [Sample([x234(rng), x234(rng)], **k) for k in ({}, {"dim": 1}, {"dim": -1}, {"dim": 3})]
                + [Sample((x234(rng)[0, 0, 0], x234(rng)[0, 0, 0]))]
            )
        ),
        errors=(
            (([],), {}, RuntimeError),
            (([np.ones(2), np.ones(3)],), {}, RuntimeError),
            (([np.ones(2), np.ones(2)], 2), {}, IndexError),
        ),
    ),
]
