"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .module import Module
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterList", "Sequential"]


class Sequential(Module):
    """Modules one after the other, each fed by the one before.

    Parameters
    ----------
    *modules : Module, or one dict of str to Module
        In order.

    Examples
    --------
    >>> import rgrad
    >>> net = rgrad.nn.Sequential(rgrad.nn.Linear(4, 3), rgrad.nn.ReLU())
    >>> tuple(net(rgrad.ones(2, 4)).shape)
    (2, 3)
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            pairs: list[tuple[str, Any]] = list(modules[0].items())
        else:
            pairs = [(str(i), m) for i, m in enumerate(modules)]
        for name, module in pairs:
            if not isinstance(module, Module):
                raise TypeError(f"Sequential takes modules; entry {name} is of type {type(module).__name__}")
            self.add_module(name, module)

    def forward(self, x: Any) -> Any:
        """Feeds ``x`` through."""
        for _, module in self._own("module"):
            x = module(x)
        return x

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self._own("module"))

    def __iter__(self) -> Iterator[Module]:
        return iter([m for _, m in self._own("module")])

    def __getitem__(self, index: int | slice) -> Any:
        pairs = list(self._own("module"))
        return Sequential(dict(pairs[index])) if isinstance(index, slice) else pairs[index][1]


class ModuleList(Module):
    """A list of modules, registered."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end; returns the list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end; returns the list."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self._own("module"))

    def __iter__(self) -> Iterator[Module]:
        return iter([m for _, m in self._own("module")])

    def __getitem__(self, index: int | slice) -> Any:
        modules = [m for _, m in self._own("module")]
        return ModuleList(modules[index]) if isinstance(index, slice) else modules[index]


class ModuleDict(Module):
    """A dict of modules, registered."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self[name] = module

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __getitem__(self, name: str) -> Module:
        if self._kinds.get(name) != "module":
            raise KeyError(name)
        return self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._kinds.get(name) == "module"

    def __len__(self) -> int:
        return sum(1 for _ in self._own("module"))

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._own("module")])

    def keys(self) -> list[str]:
        """Names in order."""
        return [name for name, _ in self._own("module")]

    def values(self) -> list[Module]:
        """Modules in order."""
        return [m for _, m in self._own("module")]

    def items(self) -> list[tuple[str, Module]]:
        """Pairs in order."""
        return list(self._own("module"))


class ParameterList(Module):
    """A list of parameters, registered."""

    def __init__(self, values: Iterable[Parameter] = ()) -> None:
        super().__init__()
        for p in values:
            self.append(p)

    def append(self, value: Parameter) -> ParameterList:
        """Adds a parameter at the end; returns the list."""
        self.register_parameter(str(len(self)), value)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self._own("parameter"))

    def __iter__(self) -> Iterator[Parameter]:
        return iter([p for _, p in self._own("parameter")])

    def __getitem__(self, index: int) -> Parameter:
        return [p for _, p in self._own("parameter")][index]
