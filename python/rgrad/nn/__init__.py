"""Modules, parameters, losses and what trains them."""

from . import functional, init, utils
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import *  # noqa: F403
from .layers import __all__ as _layers
from .module import Module
from .parameter import Parameter

__all__ = [
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterList",
    "Sequential",
    "functional",
    "init",
    "utils",
    *_layers,
]
