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
