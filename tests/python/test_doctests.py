"""Every example in the docstrings of the package gives what it says."""

import doctest
import importlib
import pkgutil

import pytest
import rgrad

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = ["rgrad", *(m.name for m in pkgutil.walk_packages(rgrad.__path__, "rgrad."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not failed


def compiled():
    """Functions and methods of the compiled module, whose docstrings doctest does not find by itself."""
    core = rgrad._rgrad
    for owner, prefix in ((core, "rgrad"), (core.Tensor, "rgrad.Tensor")):
        for name in dir(owner):
            text = getattr(getattr(owner, name), "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                yield pytest.param(f"{prefix}.{name}", text, id=f"{prefix}.{name}")


@pytest.mark.parametrize("name, text", list(compiled()))
def test_examples_of_compiled_functions(name, text):
    example = doctest.DocTestParser().get_doctest(text, {"rgrad": rgrad}, name, None, None)
    assert not doctest.DocTestRunner(optionflags=FLAGS).run(example).failed
