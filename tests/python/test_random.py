"""Random numbers: the generator's known answers, reproducible streams, distributions."""

import json
import math
import os

import numpy as np
import pytest
from common import REFERENCE, T, dtype, host

with open(os.path.join(REFERENCE, "random123.json")) as f:
    VECTORS = json.load(f)["vectors"]

N = 200_000
MAKERS = {
    "rand": lambda *s, **k: T.rand(*s, **k),
    "randn": lambda *s, **k: T.randn(*s, **k),
    "randint": lambda *s, **k: T.randint(0, 10, s, **k),
    "randperm": lambda n, **k: T.randperm(n, **k),
    "bernoulli": lambda *s, **k: T.bernoulli(T.full(s, 0.3), **k),
    "uniform_": lambda *s, **k: T.empty(*s).uniform_(-1, 2, **k),
    "normal_": lambda *s, **k: T.empty(*s).normal_(1, 2, **k),
    "bernoulli_": lambda *s, **k: T.empty(*s).bernoulli_(0.5, **k),
}
each_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def philox(counter, key):
    """Philox 4x32 with 10 rounds, as published (Salmon et al., 2011)."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k0, b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k1, a & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c


@pytest.mark.parametrize("vector", VECTORS, ids=["zeros", "ones", "pi"])
def test_generator_gives_the_known_answers(vector):
    counter, key, want = ([int(v, 16) for v in vector[k]] for k in ("counter", "key", "out"))
    assert philox(counter, key) == want
    assert list(T._rgrad._philox4x32(tuple(counter), tuple(key))) == want


def test_generator_agrees_with_the_published_algorithm():
    rng = np.random.default_rng(0)
    for _ in range(200):
        counter, key = (
            [int(v) for v in rng.integers(0, 2**32, 4)],
            [int(v) for v in rng.integers(0, 2**32, 2)],
        )
        assert list(T._rgrad._philox4x32(tuple(counter), tuple(key))) == philox(counter, key)


@each_maker
def test_same_seed_same_numbers(make):
    T.manual_seed(5)
    first = make(1000)
    second = make(1000)
    T.manual_seed(5)
    assert T.equal(make(1000), first) and T.equal(make(1000), second) and not T.equal(first, second)
    T.manual_seed(6)
    assert not T.equal(make(1000), first)


@each_maker
def test_generator_object_has_a_stream_of_its_own(make):
    g = T.Generator().manual_seed(5)
    first = make(100, generator=g)
    make(100)
    assert T.equal(make(100, generator=T.Generator().manual_seed(5)), first)
    assert g.initial_seed() == 5


@each_maker
def test_state_can_be_saved_and_restored(make):
    make(7)
    state = T.get_rng_state()
    first = make(100)
    T.set_rng_state(state)
    assert T.equal(make(100), first)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 93), (64, 3, 33), (100,)])
def test_streams_do_not_repeat_across_calls(sizes):
    T.manual_seed(1)
    x = np.concatenate([host(T.rand(n, dtype=T.float64)) for n in sizes])
    assert len(np.unique(x)) == len(x)


def moments(x):
    x = np.asarray(x, np.float64)
    z = (x - x.mean()) / x.std()
    return x.mean(), x.var(), (z**3).mean(), (z**4).mean()


def test_uniform():
    x = host(T.rand(N, dtype=T.float64))
    mean, var, skew, kurtosis = moments(x)
    assert 0 <= x.min() and x.max() < 1 and x.min() < 1e-3 and x.max() > 1 - 1e-3
    assert (
        abs(mean - 0.5) < 5 * math.sqrt(1 / 12 / N)
        and abs(var - 1 / 12) < 1e-3
        and abs(skew) < 0.02
        and abs(kurtosis - 1.8) < 0.02
    )
    counts = np.histogram(x, 100, (0, 1))[0]
    assert ((counts - N / 100) ** 2 / (N / 100)).sum() < 170  # chi-square with 99 degrees of freedom: 1e-5
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 5 / math.sqrt(N)


def test_uniform_of_float32_is_below_one():
    x = host(T.rand(2_000_000))
    assert x.dtype == np.float32 and x.max() < 1 and x.min() >= 0
    y = host(T.rand(100_000, dtype=T.float16)).astype(np.float64)
    assert y.max() < 1 and abs(y.mean() - 0.5) < 0.01


def test_normal():
    x = host(T.randn(N, dtype=T.float64))
    mean, var, skew, kurtosis = moments(x)
    assert (
        abs(mean) < 5 / math.sqrt(N) and abs(var - 1) < 0.02 and abs(skew) < 0.03 and abs(kurtosis - 3) < 0.06
    )
    edges = np.linspace(-3, 3, 61)
    cdf = np.array([0.5 * math.erfc(-e / math.sqrt(2)) for e in edges])
    want = np.diff(cdf) * N
    assert ((np.histogram(x, edges)[0] - want) ** 2 / want).sum() < 120
    assert np.abs(x).max() > 3.8 and np.isfinite(x).all()
    pairs = x.reshape(-1, 2)
    assert abs(np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1]) < 5 / math.sqrt(N / 2)


@pytest.mark.parametrize("low, high", [(0, 2), (-3, 7), (0, 10), (5, 6), (-(2**40), 2**40)])
def test_randint(low, high):
    x = host(T.randint(low, high, (20_000,)))
    assert x.dtype == np.int64 and x.min() >= low and x.max() < high
    if high - low < 20:
        counts = np.bincount(x - low, minlength=high - low)
        assert (np.abs(counts - 20_000 / (high - low)) < 5 * math.sqrt(20_000 / (high - low))).all()
    assert abs(x.mean() - (low + high - 1) / 2) < 5 * (high - low) / math.sqrt(12 * 20_000) + 1e-9


def test_randint_forms():
    assert T.randint(5, (2, 3)).shape == (2, 3) and T.randint(5, size=(4,), dtype=T.int32).dtype == T.int32
    for low, high in ((0, 0), (5, 3)):
        with pytest.raises(RuntimeError):
            T.randint(low, high, (2,))


@pytest.mark.parametrize("n", [0, 1, 2, 10, 1000])
def test_randperm_is_a_permutation(n):
    p = T.randperm(n)
    assert p.dtype == T.int64 and sorted(p.tolist()) == list(range(n))


def test_randperm_is_uniform():
    counts = np.zeros((4, 4))
    for _ in range(6000):
        counts[np.arange(4), host(T.randperm(4))] += 1
    assert (np.abs(counts - 1500) < 5 * math.sqrt(6000 * 0.25 * 0.75)).all()


def test_bernoulli():
    p = T.tensor([0.0, 0.25, 0.5, 0.9, 1.0], dtype=T.float64).expand(50_000, 5)
    x = host(T.bernoulli(p))
    assert set(np.unique(x)) <= {0, 1} and x.dtype == np.float64
    assert (np.abs(x.mean(0) - host(p)[0]) < 0.012).all() and x[:, 0].max() == 0 and x[:, 4].min() == 1
    for bad in (-0.1, 1.1):
        with pytest.raises(RuntimeError):
            T.bernoulli(T.tensor([bad]))


def test_in_place_samplers():
    x = T.empty(N, dtype=T.float64)
    assert x.uniform_(-2, 3) is x and x._version == 1
    u = host(x)
    assert u.min() >= -2 and u.max() < 3 and abs(u.mean() - 0.5) < 0.02
    v = host(x.normal_(3, 0.5))
    assert abs(v.mean() - 3) < 0.01 and abs(v.std() - 0.5) < 0.01
    b = host(x.bernoulli_(0.25))
    assert abs(b.mean() - 0.25) < 0.01


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_dtype_and_shape(name):
    for make in (T.rand, T.randn):
        x = make(2, 3, dtype=dtype(name))
        assert (
            x.dtype == dtype(name)
            and x.shape == (2, 3)
            and make((4,), dtype=dtype(name), requires_grad=True).requires_grad
        )
        like = {"rand": T.rand_like, "randn": T.randn_like}[make.__name__](x)
        assert like.dtype == x.dtype and like.shape == x.shape
    assert T.rand(0).shape == (0,) and T.randn(()).shape == ()


def test_numbers_do_not_depend_on_the_number_of_threads():
    before, results = T.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            T.set_num_threads(n)
            T.manual_seed(3)
            results.append((host(T.rand(100_000)), host(T.randn(100_001)), host(T.randint(0, 9, (1000,)))))
    finally:
        T.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other))


def test_dropout_repeats_with_its_seed_and_keeps_the_mean():
    x = T.ones(N)
    T.manual_seed(2)
    y = T.nn.functional.dropout(x, 0.3, training=True)
    T.manual_seed(2)
    assert T.equal(T.nn.functional.dropout(x, 0.3, training=True), y)
    assert abs(y.mean().item() - 1) < 0.01 and set(np.unique(host(y))) == {np.float32(0), np.float32(1 / 0.7)}
    assert T.equal(T.nn.functional.dropout(x, 0.3, training=False), x)
