"""Automatic differentiation with PyTorch's programming model.

Tensors, operations and the engine are compiled; this package adds what is best written in Python: custom
functions, functional transforms, modules, optimizers, scopes, checks and graph drawings.

>>> import rgrad
>>> x = rgrad.tensor(2.0, requires_grad=True)
>>> y = x ** 3
>>> y.backward()
>>> x.grad.item()
12.0
"""

from . import _rgrad, autograd, func, nn, ops, optim, testing, utils, viz
from ._info import finfo, iinfo
from ._rgrad import *
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .ops import register_function
from .scope import Scope, current_scope, scope, scoped

__version__ = _rgrad.__version__

__all__ = [
    "Scope",
    "autograd",
    "current_scope",
    "enable_grad",
    "finfo",
    "func",
    "iinfo",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "nn",
    "no_grad",
    "ops",
    "optim",
    "register_function",
    "scope",
    "scoped",
    "set_grad_enabled",
    "testing",
    "utils",
    "viz",
]
__all__ += [name for name in _rgrad.__all__ if not name.startswith("_") and name not in __all__]
