"""Elementwise functions are within two units in the last place of the true value, over their whole domain."""

import os

import numpy as np
import pytest
from common import REFERENCE, T, host

TABLE = dict(np.load(os.path.join(REFERENCE, "accuracy.npz")))
NAMES = list(dict.fromkeys(key.split("/")[0] for key in TABLE))
# Units in the last place allowed: 0.5 is a correctly rounded result, 2 the rule, 4 for the hardest.
BOUNDS = {
    "sqrt": 0.5,
    "div": 0.5,
    "reciprocal": 0.5,
    "erfc": 4,
    "pow": 4,
    # The tail multiplies the rounding of x/√2 by x², as in every form through erfc.
    "nn.functional.gelu": 800,
    "nn.functional.silu": 4,
    "nn.functional.logsigmoid": 4,
    "nn.functional.softplus": 4,
}


def function(name):
    target = T
    for part in name.split("."):
        target = getattr(target, part)
    return target


def check(name, bits, ulps):
    worst = int(np.argmax(ulps))
    bound = BOUNDS.get(name, 2) + 0.001
    at = [float(TABLE[k][worst]) for k in (f"{name}/x{bits}", f"{name}/y{bits}") if k in TABLE]
    assert ulps[worst] <= bound, (
        f"{ulps[worst]:.2f} units at {at}, {(ulps > bound).sum()} of {len(ulps)} beyond {bound}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_within_units_in_the_last_place(name):
    xs = [T.tensor(TABLE[k]) for k in (f"{name}/x64", f"{name}/y64") if k in TABLE]
    got, near, rest = host(function(name)(*xs)), TABLE[f"{name}/near64"], TABLE[f"{name}/rest64"]
    check(name, 64, np.abs((got - near) / np.spacing(np.abs(near)) - rest))


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_within_units_in_the_last_place(name):
    xs = [T.tensor(TABLE[k]) for k in (f"{name}/x32", f"{name}/y32") if k in TABLE]
    got, value = host(function(name)(*xs)).astype(np.float64), TABLE[f"{name}/value32"]
    check(name, 32, np.abs(got - value) / np.spacing(np.abs(value).astype(np.float32)).astype(np.float64))


@pytest.mark.parametrize("name", NAMES)
def test_one_element_is_computed_as_many_are(name):
    """Tails and single elements take the same arithmetic as full registers."""
    xs = [TABLE[k] for k in (f"{name}/x32", f"{name}/y32") if k in TABLE]
    whole = host(function(name)(*map(T.tensor, xs)))
    for i in range(0, len(whole), 23):
        assert (
            host(function(name)(*(T.tensor(x[i : i + 1]) for x in xs))).tobytes()
            == whole[i : i + 1].tobytes()
        )
