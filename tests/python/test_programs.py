"""Random programs: compositions of operations, shared values, views and writes, checked as one function."""

import harness
import numpy as np
import pytest
from common import T, assert_same_bits, host

SMOOTH = [
    lambda a, b: a * b,
    lambda a, b: a + 2 * b,
    lambda a, b: a - b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: a.tanh() + b,
    lambda a, b: (a * b).sin(),
    lambda a, b: (0.3 * a).exp() - b.sigmoid(),
    lambda a, b: a @ b / 3,
    lambda a, b: a.t() * b,
    lambda a, b: a.softmax(0) * b,
    lambda a, b: a - b.mean(0, keepdim=True),
    lambda a, b: a.sum(1, keepdim=True) * b / 3,
    lambda a, b: T.cat([a[:1], b[1:]]),
    lambda a, b: T.stack([a, b]).mean(0),
    lambda a, b: a.flip(0) + b.roll(1, 1),
    lambda a, b: T.where(T.tensor([True, False, True]), a, b),
    lambda a, b: a[[2, 0, 1]] + b[:, T.tensor([0, 0, 2])],
    lambda a, b: (a * a + b * b + 1).sqrt(),
    lambda a, b: a.cumsum(0) / 2 + b.tril(),
    lambda a, b: a.logsumexp(1, keepdim=True) - b,
    lambda a, b: a.expand(2, 3, 3).permute(1, 2, 0).sum(2) + b,
    lambda a, b: a.gather(1, T.tensor([[0, 2], [1, 1], [2, 0]])).repeat(1, 2)[:, :3] * b,
]


def write_row(a, b):
    y = a * 1
    y[1] = b[0] * 2
    return y


def write_diagonal(a, b):
    y = a * 1
    y.diagonal().mul_(b[0])
    return y


def write_mask(a, b):
    y = a * 1
    y[T.eye(3, dtype=T.bool)] = b.sum(0)
    return y


def add_in_place(a, b):
    y = a.clone()
    early = y.t()
    y += b
    y[:, 0] *= 3
    return early + y


WRITES = [write_row, write_diagonal, write_mask, add_in_place]


def random_program(seed):
    """Twelve steps over the values so far, two of them writes; the outputs are the last two values."""
    rng = np.random.default_rng(seed)
    kinds = [SMOOTH[i] for i in rng.integers(len(SMOOTH), size=10)] + [
        WRITES[i] for i in rng.integers(len(WRITES), size=2)
    ]
    rng.shuffle(kinds)
    reach = [(int(rng.integers(3 + i)), int(rng.integers(3 + i))) for i in range(len(kinds))]

    def program(*inputs):
        values = list(inputs)
        for step, (i, j) in zip(kinds, reach):
            values.append(step(values[i], values[j]) * 0.7)
        return values[-2:]

    return program, [rng.uniform(-1, 1, (3, 3)) for _ in range(3)], rng


PROGRAMS = pytest.mark.parametrize("seed", range(40))


@PROGRAMS
def test_derivatives_of_a_random_program(seed):
    program, xs, rng = random_program(seed)
    harness.check_vjp(program, xs, rng)
    harness.check_jvp(program, xs, rng)
    harness.check_adjoint(program, xs, rng)


@PROGRAMS
def test_second_derivatives_of_a_random_program(seed):
    program, xs, rng = random_program(seed)
    harness.check_second_order(program, xs, rng)


@PROGRAMS
def test_gradients_of_a_random_program_repeat_bit_for_bit(seed):
    program, xs, rng = random_program(seed)
    harness.check_recorded(program, xs, rng)
    us = harness.directions(rng, harness.values(program, xs))
    first, second = (harness.gradients(program, xs, us) for _ in range(2))
    for a, b in zip(first, second):
        assert_same_bits(host(a), host(b))


@PROGRAMS
def test_gradient_does_not_need_the_outputs_to_be_alive(seed):
    """Values that only the graph still needs may lose their handles."""
    program, xs, rng = random_program(seed)
    leaves = harness.tensors(xs, grad=True)
    loss = sum((o * o).sum() for o in program(*leaves))
    want = T.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
    for _ in range(20):
        T.zeros(3, 3, dtype=T.float64).fill_(float("nan"))
    got = T.autograd.grad(loss, leaves, allow_unused=True)
    for a, b in zip(got, want):
        assert (a is None) == (b is None) and (a is None or T.equal(a, b))
