"""Writes the table of true values that the vector functions are held to, with mpmath.

python tests/tools/math_table.py > src/kernels/simd/testdata.txt
"""

import random
import struct

from mpmath import exp, expm1, log, log1p, mp, mpf, tanh

mp.prec = 300


def bits(v):
    return struct.pack(">d", float(v)).hex()


def sigmoid(x):
    return 1 / (1 + exp(-x))


def points(name, rng):
    if name == "log":
        return [rng.uniform(0.3, 3.0) for _ in range(120)] + [
            10 ** rng.uniform(-307, 308) for _ in range(120)
        ]
    if name == "log1p":
        near = [10 ** rng.uniform(-17, 0) * rng.choice((-0.99, 1)) for _ in range(150)]
        return near + [10 ** rng.uniform(0, 300) for _ in range(60)]
    near = [rng.choice((-1, 1)) * 10 ** rng.uniform(-18, 1) for _ in range(150)]
    wide = 700 if name in ("exp", "expm1", "sigmoid") else 20
    return near + [rng.uniform(-wide, wide) for _ in range(60)] + [rng.uniform(-3, 3) for _ in range(60)]


rng = random.Random(7)
functions = dict(exp=exp, expm1=expm1, log=log, log1p=log1p, tanh=tanh, sigmoid=sigmoid)
for name, f in functions.items():
    for x in points(name, rng):
        y = f(mpf(x))
        # The true value as the nearest float64 and the rest in units of its last place.
        near = float(y)
        ulp = abs(struct.unpack(">d", (int(bits(abs(near)), 16) + 1).to_bytes(8, "big"))[0] - abs(near))
        print(name, bits(x), bits(near), f"{float((y - mpf(near)) / mpf(ulp)):.4f}")
