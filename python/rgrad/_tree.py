"""Nested containers as lists of leaves: tuples (named ones too), lists and dicts; anything else is a leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

LEAF = object()


def flatten(tree: Any) -> tuple[list, Any]:
    """The leaves in order and the structure that :func:`unflatten` needs. Dicts go in their own order."""
    leaves: list = []

    def walk(x):
        if isinstance(x, dict):
            return (type(x), list(x), [walk(v) for v in x.values()])
        if isinstance(x, (tuple, list)):
            return (type(x), None, [walk(v) for v in x])
        leaves.append(x)
        return LEAF

    return leaves, walk(tree)


def unflatten(structure: Any, leaves) -> Any:
    """A tree of the structure with these leaves."""
    it: Iterator = iter(leaves)

    def build(s):
        if s is LEAF:
            return next(it)
        kind, keys, parts = s
        values = [build(p) for p in parts]
        if keys is not None:
            return kind(zip(keys, values))
        return kind(*values) if hasattr(kind, "_fields") else kind(values)

    return build(structure)


def map_leaves(f: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with ``f`` applied to each leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [f(x) for x in leaves])
