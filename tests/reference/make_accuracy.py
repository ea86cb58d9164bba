"""Writes accuracy.npz: true values of elementwise functions at points over their whole domain, by mpmath.

    python make_accuracy.py

For each function `f`: the points `f/x64` (and `f/y64` for two operands) with the nearest float64 `f/near64` of the value
and the rest `f/rest64` in units of its last place; and the points `f/x32` (`f/y32`), float32, with the value `f/value32`
in float64.
"""

import os

import mpmath as m
import numpy as np

m.mp.prec = 1200  # reduces the greatest arguments of sine exactly
N = 300


def log_points(rng, low, high, n, signs=(1,)):
    return rng.choice(signs, n) * 10.0 ** rng.uniform(low, high, n)


def spread(near, far, wide=4.0, signs=(-1, 1)):
    """Points close to zero, moderate, and far: exponents from `near` to `far`."""

    def make(rng, tiny, huge):
        a = log_points(rng, max(near, tiny), 0.5, N // 3, signs)
        b = rng.uniform(-wide if -1 in signs else 0.0, wide, N // 3)
        c = log_points(rng, 0.0, min(far, huge), N // 3, signs)
        return np.concatenate([a, b, c])

    return make


def between(low, high, double=None):
    """Uniform; `double` are other limits for float64, whose exponents reach further."""

    def make(rng, tiny, huge):
        lo, hi = double if double and huge > 100 else (low, high)
        edges = [np.array([lo, hi]) * (1 - 10.0**-k) for k in range(1, 8)]
        return np.concatenate(
            [rng.uniform(lo, hi, 2 * N // 3), rng.uniform(max(lo, -2), min(hi, 2), N // 3), *edges]
        )

    return make


def unit(rng, tiny, huge):
    """Inside (-1, 1), crowded at the ends and at zero."""
    ends = (1 - log_points(rng, -7, -0.5, N // 3)) * rng.choice((-1, 1), N // 3)
    return np.concatenate([ends, rng.uniform(-1, 1, N // 3), log_points(rng, -15, 0, N // 3, (-1, 1)) * 0.99])


def above_one(rng, tiny, huge):
    return np.concatenate([1 + log_points(rng, -6, 0, N // 2), log_points(rng, 0.1, huge - 0.5, N // 2)])


def gelu(x):
    return x * m.erfc(-x / m.sqrt(2)) / 2


def logistic(x):
    return 1 / (1 + m.exp(-x))


def log1pexp(x):
    return m.log1p(m.exp(x)) if x < 300 else x + m.exp(-x)


POSITIVE = spread(-300, 300, signs=(1,))
FUNCTIONS = {
    "exp": (m.exp, between(-87, 88, (-708, 709))),
    "exp2": (lambda x: m.mpf(2) ** x, between(-125, 127, (-1021, 1023))),
    "expm1": (m.expm1, spread(-18, 1.9)),
    "log": (m.log, POSITIVE),
    "log2": (lambda x: m.log(x, 2), POSITIVE),
    "log10": (m.log10, POSITIVE),
    "log1p": (m.log1p, lambda r, t, h: np.concatenate([POSITIVE(r, -18, h), unit(r, t, h)])),
    "sqrt": (m.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / m.sqrt(x), POSITIVE),
    "reciprocal": (lambda x: 1 / x, spread(-30, 30)),
    "sin": (m.sin, spread(-15, 18)),
    "cos": (m.cos, spread(-15, 18)),
    "tan": (m.tan, spread(-15, 18)),
    "asin": (m.asin, unit),
    "acos": (m.acos, unit),
    "atan": (m.atan, spread(-15, 18)),
    "sinh": (m.sinh, spread(-15, 1.9)),
    "cosh": (m.cosh, spread(-15, 1.9)),
    "tanh": (m.tanh, spread(-15, 2)),
    "asinh": (m.asinh, spread(-15, 30)),
    "acosh": (m.acosh, above_one),
    "atanh": (m.atanh, unit),
    "erf": (m.erf, spread(-15, 0.9)),
    "erfc": (m.erfc, between(-4, 8.5, (-6, 26))),
    "sigmoid": (logistic, between(-80, 80, (-700, 700))),
    "nn.functional.logsigmoid": (lambda x: -log1pexp(-x), between(-80, 80, (-700, 700))),
    "nn.functional.softplus": (lambda x: log1pexp(x) if x <= 20 else x, between(-80, 80, (-700, 700))),
    "nn.functional.silu": (lambda x: x * logistic(x), between(-80, 80, (-700, 700))),
    "nn.functional.gelu": (gelu, between(-8, 8, (-25, 25))),
}
PAIRS = {
    "div": (lambda x, y: x / y, spread(-10, 10), spread(-10, 10)),
    "pow": (lambda x, y: x**y, between(0.05, 20), between(-20, 20)),
    "atan2": (lambda x, y: m.atan2(x, y), spread(-10, 10), spread(-10, 10)),
    "hypot": (lambda x, y: m.sqrt(x * x + y * y), spread(-10, 10), spread(-10, 10)),
}


def nearest(value):
    """The nearest float64 and the rest in units of its last place."""
    near = float(value)
    return near, float((value - m.mpf(near)) / m.mpf(float(np.spacing(abs(near)))))


def main():
    out = {}
    for name, (f, *points) in {**FUNCTIONS, **PAIRS}.items():
        rng = np.random.default_rng(0)
        for dtype, tiny, huge in (("float64", -307, 307), ("float32", -37, 38)):
            bits = dtype[-2:]
            xs = [p(rng, tiny, huge).astype(dtype) for p in points]
            size = min(len(x) for x in xs)
            xs = [rng.permutation(x)[:size] for x in xs]
            ys = [f(*(m.mpf(float(v)) for v in row)) for row in zip(*xs)]
            for letter, x in zip("xy", xs):
                out[f"{name}/{letter}{bits}"] = x
            if bits == "64":
                near, rest = zip(*(nearest(y) for y in ys))
                out[f"{name}/near64"], out[f"{name}/rest64"] = np.array(near), np.array(rest, np.float32)
            else:
                out[f"{name}/value32"] = np.array([float(y) for y in ys])
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "accuracy.npz"), **out)


if __name__ == "__main__":
    main()
