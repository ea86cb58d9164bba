"""The base of all modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .._rgrad import Tensor
from ..autograd.grad_mode import no_grad
from .parameter import Parameter

__all__ = ["Module"]


class LoadResult(NamedTuple):
    """Names that :meth:`Module.load_state_dict` did not find, on either side."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module:
    """Something with parameters that computes; subclass it and define ``forward``.

    Parameters and modules set as attributes are registered under the attribute's name.

    Examples
    --------
    >>> import rgrad
    >>> class Affine(rgrad.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = rgrad.nn.Parameter(rgrad.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> model = Affine()
    >>> model(rgrad.tensor(3.0)).item()
    6.0
    >>> [name for name, _ in model.named_parameters()]
    ['scale']
    """

    # Registered things are plain attributes, so that reading one costs what any attribute costs; `_kinds`
    # remembers in order which attribute is what.
    _kinds: dict[str, str]
    _transient: set[str]
    training: bool

    def __init__(self) -> None:
        object.__setattr__(self, "_kinds", {})
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output; for subclasses to define."""
        raise NotImplementedError(f"{type(self).__name__} has no forward; define it")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    # ---- registration --------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        kinds = self.__dict__.get("_kinds")
        kind = (
            "parameter" if isinstance(value, Parameter) else "module" if isinstance(value, Module) else None
        )
        if kinds is None:
            if kind is not None:
                raise AttributeError(f"call super().__init__() before setting the {kind} {name!r}")
        elif kind is not None:
            self._transient.discard(name)
            kinds[name] = kind
        elif name in kinds:
            if value is None or (kinds[name] == "buffer" and isinstance(value, Tensor)):
                pass
            elif kinds[name] == "buffer":
                raise TypeError(
                    f"{name!r} is a buffer; set it to a tensor or None, not {type(value).__name__}"
                )
            else:
                raise TypeError(
                    f"{name!r} is a {kinds[name]}; set it to one or to None, not {type(value).__name__} (del it first)"
                )
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._kinds.pop(name, None)
        self._transient.discard(name)

    def _register(self, kind: str, name: str, value: Any, allowed: type) -> None:
        if "_kinds" not in self.__dict__:
            raise AttributeError(f"call super().__init__() before registering the {kind} {name!r}")
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"the name of a {kind} must be a string without dots and not empty, got {name!r}")
        if name not in self._kinds and hasattr(self, name):
            raise KeyError(f"{type(self).__name__} already has an attribute {name!r}")
        if value is not None and not isinstance(value, allowed):
            raise TypeError(
                f"the {kind} {name!r} must be a {allowed.__name__} or None, got {type(value).__name__}"
            )
        self._kinds[name] = kind
        self._transient.discard(name)
        object.__setattr__(self, name, value)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter; None reserves the name."""
        self._register("parameter", name, param, Parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is no parameter; ``persistent`` ones are part of the state dict."""
        self._register("buffer", name, tensor, Tensor)
        if not persistent:
            self._transient.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a module."""
        self._register("module", name, module, Module)

    register_module = add_module

    # ---- walks ---------------------------------------------------------------------------------------

    def _own(self, kind: str) -> Iterator[tuple[str, Any]]:
        for name, k in self._kinds.items():
            if k == kind and self.__dict__[name] is not None:
                yield name, self.__dict__[name]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Modules directly below, with their names."""
        seen = set()
        for name, module in self._own("module"):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Modules directly below."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below, with dotted names; each once."""
        memo = set() if memo is None else memo
        todo: list[tuple[str, Module]] = [(prefix, self)]
        while todo:
            path, module = todo.pop()
            if remove_duplicate:
                if id(module) in memo:
                    continue
                memo.add(id(module))
            yield path, module
            below = [(f"{path}.{name}" if path else name, m) for name, m in module._own("module")]
            todo += reversed(below)

    def modules(self) -> Iterator[Module]:
        """This module and all below, each once."""
        for _, module in self.named_modules():
            yield module

    def _named(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in module._own(kind):
                if remove_duplicate and id(value) in seen:
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names; shared ones once."""
        return self._named("parameter", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters; shared ones once."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with dotted names; shared ones once."""
        return self._named("buffer", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers; shared ones once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; the empty name is this module.

        Raises
        ------
        AttributeError
            When there is none.
        """
        module = self
        for part in target.split(".") if target else ():
            found = module.__dict__.get(part)
            if not isinstance(found, Module):
                raise AttributeError(
                    f"{type(module).__name__} has no module {part!r} (looking for {target!r})"
                )
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if owner._kinds.get(name) != "parameter":
            raise AttributeError(f"{type(owner).__name__} has no parameter {name!r}")
        return owner.__dict__[name]

    # ---- state ---------------------------------------------------------------------------------------

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.named_modules(remove_duplicate=False):
            for kind in ("parameter", "buffer"):
                for name, value in module._own(kind):
                    if name not in module._transient:
                        yield (f"{path}.{name}" if path else name), value

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Parameters and persistent buffers by name; the tensors share memory with the module's.

        Parameters
        ----------
        prefix : str
            Put in front of each name.
        keep_vars : bool, default False
            Whether to give the tensors themselves rather than detached ones.
        """
        return OrderedDict((prefix + name, t if keep_vars else t.detach()) for name, t in self._state())

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """Copies values into the module's parameters and buffers.

        Parameters
        ----------
        state_dict : mapping of str to Tensor or array
            As :meth:`state_dict` gives.
        strict : bool, default True
            Whether names must agree.

        Returns
        -------
        LoadResult
            ``missing_keys`` and ``unexpected_keys``.

        Raises
        ------
        RuntimeError
            When names (if strict) or shapes do not agree; nothing is copied then.
        """
        own = dict(self._state())
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        problems = []
        if strict and missing:
            problems.append(f"missing: {', '.join(missing)}")
        if strict and unexpected:
            problems.append(f"unexpected: {', '.join(unexpected)}")
        pairs = []
        for name, target in own.items():
            if name in state_dict:
                value = state_dict[name]
                if tuple(value.shape) != tuple(target.shape):
                    problems.append(f"{name} has shape {tuple(value.shape)}, expected {tuple(target.shape)}")
                pairs.append((target, value))
        if problems:
            raise RuntimeError(f"the state dict does not fit {type(self).__name__}: " + "; ".join(problems))
        with no_grad():
            for target, value in pairs:
                target.copy_(value if isinstance(value, Tensor) else target.new_tensor(value))
        return LoadResult(missing, unexpected)

    def train(self, mode: bool = True) -> Module:
        """Sets training mode here and in all modules below; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError(f"train() takes True or False, got {mode!r}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Sets evaluation mode, in which dropout does nothing."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Sets ``requires_grad`` of all parameters; returns the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters: to None, or to zeros."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach().zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Calls ``fn`` with each module below and then with this one; returns the module."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def to(self, dtype: Any) -> Module:
        """Converts floating point parameters and buffers, and gradients with them; returns the module.

        The tensors stay the same objects, so an optimizer that holds them goes on working.
        """
        for _, value in [*self.named_parameters(), *self.named_buffers()]:
            if value.is_floating_point() and value.dtype != dtype:
                grad, value.grad = value.grad, None
                value.data = value.detach().to(dtype)
                if grad is not None:
                    value.grad = grad.detach().to(dtype)
        return self

    def float(self) -> Module:
        """Converts to float32."""
        from .._rgrad import float32

        return self.to(float32)

    def double(self) -> Module:
        """Converts to float64."""
        from .._rgrad import float64

        return self.to(float64)

    # ---- text ----------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands in the brackets of the module's text."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(m).replace("\n", "\n  ") for name, m in self._own("module")]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = "\n  ".join(([extra] if extra else []) + lines)
        return f"{type(self).__name__}(\n  {body}\n)"
