"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._rgrad import Tensor


def functional_call(
    module: Any, parameters: Mapping[str, Tensor], args: Any = (), kwargs: Mapping | None = None
) -> Any:
    """Calls a module with other tensors in the places of its parameters and buffers.

    Parameters
    ----------
    module : rgrad.nn.Module
        Left unchanged.
    parameters : mapping of str to Tensor
        Names as in ``named_parameters()`` and ``named_buffers()``; places not named keep their own.
    args : tuple or any
        Positional arguments; anything but a tuple is the only one.
    kwargs : mapping, optional
        Keyword arguments.

    Raises
    ------
    KeyError
        When the module has no parameter or buffer of a name.

    Examples
    --------
    >>> import rgrad
    >>> layer = rgrad.nn.Linear(2, 1, bias=False)
    >>> rgrad.func.functional_call(layer, {"weight": rgrad.ones(1, 2)}, rgrad.tensor([3.0, 4.0])).tolist()
    [7.0]
    """
    places = []
    for name, value in parameters.items():
        owner, _, leaf = name.rpartition(".")
        target = module.get_submodule(owner)
        if target._kinds.get(leaf) not in ("parameter", "buffer"):
            raise KeyError(f"{type(module).__name__} has no parameter or buffer named {name!r}")
        places.append((target.__dict__, leaf, value))
    before = [(d, leaf, d[leaf]) for d, leaf, _ in places]
    for d, leaf, value in places:
        d[leaf] = value
    try:
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for d, leaf, value in before:
            d[leaf] = value
