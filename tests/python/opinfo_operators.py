"""Rows of the database: operators between tensors and numbers."""

import numpy as np
from common import FLOATS
from opbase import (
    ALL,
    MISMATCHED,
    NUMBERS,
    PLAIN,
    SIDES,
    Op,
    Sample,
    binary_samples,
    off_whole,
    unary_samples,
    uniform,
)


def operator(symbol, call, ref, x=PLAIN, y=None, numbers=(3, -0.75), dtypes=NUMBERS, **flags):
    """An operator between tensors and numbers, on either side."""

    def samples(rng):
        yield from binary_samples(x, y, numbers, keep=flags.get("keep"))(rng)
        yield from (Sample(n, uniform(rng, (2, 3), *(y or x))) for n in flags.get("left", numbers))

    extra = {k: v for k, v in flags.items() if k not in ("keep", "left")}
    return Op(
        name=symbol,
        call=call,
        ref=ref,
        samples=samples,
        dtypes=dtypes,
        function=False,
        method=False,
        errors=MISMATCHED,
        **extra,
    )


OPERATORS = [
    operator("operator+", lambda x, y: x + y, lambda x, y: x + y),
    operator("operator-", lambda x, y: x - y, lambda x, y: x - y),
    operator("operator*", lambda x, y: x * y, lambda x, y: x * y),
    operator("operator/", lambda x, y: x / y, lambda x, y: np.true_divide(x, y), out="float"),
    operator(
        "operator**",
        lambda x, y: x**y,
        lambda x, y: np.power(x, y),
        x=([0.3, 2.0],),
        numbers=(2, 0.5),
        dtypes=FLOATS,
        rtol=4,
    ),
    operator(
        "operator%",
        lambda x, y: x % y,
        lambda x, y: np.remainder(x, y),
        numbers=(0.77,),
        left=(),
        keep=off_whole,
        dtypes=FLOATS,
        rtol=8,
    ),
    operator(
        "operator//",
        lambda x, y: x // y,
        lambda x, y: np.floor_divide(x, y),
        numbers=(0.77,),
        left=(),
        keep=off_whole,
        dtypes=("float64", "float32"),
        flat=True,
    ),
    Op(
        name="operator unary",
        call=lambda x: [-x, +x, abs(x)],
        ref=lambda x: [-x, +x, abs(x)],
        samples=unary_samples(*SIDES),
        dtypes=NUMBERS,
        function=False,
        method=False,
    ),
    *(
        Op(
            name=f"operator{s}",
            call=c,
            ref=c,
            samples=binary_samples(([0.5, 0.5], [0.0, 2.0]), numbers=(1, 0.5)),
            grad=False,
            out="bool",
            dtypes=ALL,
            function=False,
            method=False,
        )
        for s, c in {
            "==": lambda x, y: x == y,
            "!=": lambda x, y: x != y,
            "<": lambda x, y: x < y,
            "<=": lambda x, y: x <= y,
            ">": lambda x, y: x > y,
            ">=": lambda x, y: x >= y,
        }.items()
    ),
]
