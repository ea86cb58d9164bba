"""No operation without function, method, docstring, stub and a row of the database, nor the other way."""

import ast
import os

import harness
import pytest
from common import T, assert_same_bits, flatten, host
from opinfo import ALIASES, BY_NAME, CREATION, ELEMENTWISE, OPS, RANDOM, SYNONYMS, UTILITIES

REGISTRY = {row["name"]: row for row in T._rgrad._ops_registry()}
PUBLIC = [name for name in REGISTRY if name not in ALIASES]


def resolve(name):
    target = T
    for part in name.split("."):
        target = getattr(target, part, None)
    return target


def stub():
    """Names declared in the stub of the compiled module, and those of its Tensor class."""
    path = os.path.join(os.path.dirname(T.__file__), "_rgrad.pyi")
    with open(path) as f:
        tree = ast.parse(f.read())

    def declared(body):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if not (isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"):
                    yield node.target.id
            elif isinstance(node, ast.Assign):
                yield from (t.id for t in node.targets if isinstance(t, ast.Name))

    tensor = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    return set(declared(tree.body)), set(declared(tensor.body))


FUNCTIONS, METHODS = stub()


@pytest.mark.parametrize("name", REGISTRY)
def test_registered_operation_has_a_row_in_the_database(name):
    assert ALIASES.get(name, name) in BY_NAME


@pytest.mark.parametrize("name", REGISTRY)
def test_registered_operation_is_documented(name):
    row = REGISTRY[name]
    assert row["doc"].strip().endswith("."), row["doc"]
    assert row["kind"] in ("comparison", *row.keys()) or row["formula"], (
        "an operation with derivatives shows them"
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_registered_operation_is_a_function_and_a_method(name):
    assert callable(resolve(name)) and callable(getattr(T.Tensor, name))


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.name) for op in ELEMENTWISE if op.kind != "structural"]
)
def test_elementwise_row_is_in_the_registry(op):
    names = (
        {op.short}
        | {k for k, v in ALIASES.items() if v == op.name}
        | ({"clamp"} if op.name.startswith("clamp") else set())
        | ({"sub"} if op.name == "rsub" else set())
    )
    assert names & REGISTRY.keys()


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS if op.function])
def test_row_is_a_documented_function(op):
    f = resolve(op.name)
    assert callable(f), f"rgrad.{op.name} is missing"
    assert f.__doc__ and f.__doc__.strip(), f"rgrad.{op.name} has no docstring"


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS if op.method])
def test_row_is_a_documented_method(op):
    f = getattr(T.Tensor, op.short, None)
    assert callable(f), f"Tensor.{op.short} is missing"
    assert f.__doc__ and f.__doc__.strip(), f"Tensor.{op.short} has no docstring"
    assert op.short in METHODS, f"Tensor.{op.short} is not in the stub"


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS if op.inplace])
def test_in_place_form_is_a_documented_method(op):
    f = getattr(T.Tensor, op.short + "_", None)
    assert callable(f) and f.__doc__ and f.__doc__.strip()
    assert op.short + "_" in METHODS


@pytest.mark.parametrize(
    "name", [op.name for op in OPS if op.function and "." not in op.name] + [*CREATION, *RANDOM]
)
def test_function_is_in_the_stub(name):
    assert callable(resolve(name)) and resolve(name).__doc__
    assert name in FUNCTIONS


def test_stub_declares_nothing_that_is_not_there():
    assert [n for n in sorted(FUNCTIONS) if not hasattr(T._rgrad, n)] == []
    assert [n for n in sorted(METHODS) if not hasattr(T.Tensor, n)] == []


def test_module_has_nothing_public_that_the_stub_lacks():
    assert [n for n in T._rgrad.__all__ if n not in FUNCTIONS] == []
    assert [n for n in dir(T.Tensor) if not n.startswith("_") and n not in METHODS] == []


def test_every_public_function_has_a_row():
    functions = [n for n in T._rgrad.__all__ if not n.startswith("_") and callable(getattr(T._rgrad, n))]
    functions = [n for n in functions if not isinstance(getattr(T._rgrad, n), type)]
    known = {op.short for op in OPS} | ALIASES.keys() | SYNONYMS.keys() | {*CREATION, *RANDOM, *UTILITIES}
    assert sorted(set(functions) - known) == []


def test_every_utility_exists():
    assert [n for n in UTILITIES if not hasattr(T._rgrad, n)] == []


@pytest.mark.parametrize("name", SYNONYMS)
def test_synonym_is_its_function(name):
    if SYNONYMS[name] in CREATION:
        assert resolve(name).__doc__
        return
    op = BY_NAME[SYNONYMS[name]]
    call = next(c for c in op.calls() if c.xs)
    inputs = harness.tensors(call.xs)
    for fn in (resolve(name), (lambda x, *a, **k: getattr(x, name)(*a, **k)) if op.method else resolve(name)):
        for a, b in zip(flatten(call.full(*inputs, fn=fn)), flatten(call.full(*inputs)), strict=True):
            assert_same_bits(host(a), host(b))
