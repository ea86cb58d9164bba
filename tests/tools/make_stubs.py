"""Writes python/rgrad/_rgrad.pyi: names, signatures and docstrings are read off the compiled module, types come from
the tables of stub_types.py. A parameter that the tables do not know is an error, never silently ``Any``.

    python tests/tools/make_stubs.py            # write
    python tests/tools/make_stubs.py --check    # exit with 1 when the file differs from what would be written
"""

import difflib
import inspect
import subprocess
import sys
from pathlib import Path

import stub_types as tables
from rgrad import _rgrad

TARGET = Path(__file__).parents[2] / "python" / "rgrad" / "_rgrad.pyi"
Tensor = _rgrad.Tensor

ARITHMETIC = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod matmul rmatmul".split()
LOGIC = "and rand or ror xor rxor lt le gt ge eq ne".split()
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow".split()
# Special methods that the classes have, with their declarations; object's own are not repeated.
SPECIAL_METHODS = {
    **{f"__{n}__": f"def __{n}__(self, value: _Operand, /) -> Tensor: ..." for n in ARITHMETIC + LOGIC},
    **{f"__{n}__": f"def __{n}__(self, value: _Operand, /) -> Self: ..." for n in IN_PLACE},
    "__eq__": "def __eq__(self, value: _Operand, /) -> Tensor: ...  # type: ignore[override]",
    "__ne__": "def __ne__(self, value: _Operand, /) -> Tensor: ...  # type: ignore[override]",
    "__pow__": "def __pow__(self, value: _Operand, mod: None = None, /) -> Tensor: ...",
    "__rpow__": "def __rpow__(self, value: _Operand, mod: None = None, /) -> Tensor: ...",
    "__ipow__": "def __ipow__(self, value: _Operand, /) -> Self: ...  # type: ignore[misc]",
    **{f"__{n}__": f"def __{n}__(self) -> Tensor: ..." for n in ("neg", "pos", "abs", "invert")},
    "__bool__": "def __bool__(self) -> _bool: ...",
    "__int__": "def __int__(self) -> _int: ...",
    "__index__": "def __index__(self) -> _int: ...",
    "__float__": "def __float__(self) -> _float: ...",
    "__complex__": "def __complex__(self) -> complex: ...",
    "__len__": "def __len__(self) -> _int: ...",
    "__hash__": "def __hash__(self) -> _int: ...",
    "__iter__": "def __iter__(self) -> Iterator[Tensor]: ...",
    "__contains__": "def __contains__(self, key: _Operand, /) -> _bool: ...",
    "__getitem__": "def __getitem__(self, key: Any, /) -> Tensor: ...",
    "__setitem__": "def __setitem__(self, key: Any, value: _Operand, /) -> None: ...",
}
# Py_TPFLAGS_BASETYPE
SUBCLASSABLE = 1 << 10
unknown: list[str] = []


def parameter(owner: str, function: str, p: inspect.Parameter) -> str:
    kind = (
        tables.SPECIAL.get((f"{owner}.{function}", p.name))
        or tables.SPECIAL.get((function, p.name))
        or tables.PARAMETERS.get(p.name)
    )
    if kind is None:
        unknown.append(f"{owner}.{function}: {p.name}")
        kind = "Any"
    if p.kind is p.VAR_POSITIONAL:
        return f"*{p.name}: {kind}"
    if p.kind is p.VAR_KEYWORD:
        return f"**{p.name}: {kind}"
    if p.default is p.empty:
        return f"{p.name}: {kind}"
    if p.default is None and kind != "Any":
        kind += " | None"
    default = "..." if p.default is Ellipsis else repr(p.default).replace("'", '"')
    return f"{p.name}: {kind} = {default}"


def signature(owner: str, function: str, f, bound: str | None) -> str:
    """The parameter list; ``bound`` is how the first parameter, self, is written."""
    out, star, slash = [], False, False
    for i, p in enumerate(inspect.signature(f).parameters.values()):
        if slash and p.kind is not p.POSITIONAL_ONLY:
            out.append("/")
            slash = False
        if p.kind is p.KEYWORD_ONLY and not star:
            out.append("*")
        star |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        slash = p.kind is p.POSITIONAL_ONLY
        is_self = i == 0 and bound is not None and p.name in ("self", "cls")
        out.append(bound if is_self else parameter(owner, function, p))
    if slash:
        out.append("/")
    return ", ".join(out)


def summary(f, indent: str) -> str:
    """The docstring's first paragraph as the body of a declaration."""
    text = inspect.getdoc(f)
    if not text:
        return " ..."
    first = text.split("\n\n")[0].replace("\n", " ").replace("\\", "\\\\")
    if len(first) > 95:
        first = first[:92].rsplit(" ", 1)[0] + " …"
    quote = "r" if "\\" in first else ""
    return f'\n{indent}    {quote}"""{first}"""'


def function(name: str, f, owner: str = "", indent: str = "") -> str:
    """Declares a function, a method, or a method of Tensor that is a function of the module as well."""
    unbound = not owner and inspect.ismethoddescriptor(f)
    lines = []
    bound = None if not (owner or unbound) else ("self" if owner else "self: Tensor")
    static = owner and isinstance(inspect.getattr_static(getattr(_rgrad, owner), name), staticmethod)
    if static:
        lines.append(indent + "@staticmethod\n")
        bound = "cls: Any"
    where = owner or ("Tensor" if unbound else "")
    result = tables.SPECIAL_RESULTS.get((where, name)) or tables.RESULTS.get(name, "Tensor")
    if result == "Tensor" and owner == "Tensor" and name.endswith("_") and not name.startswith("_"):
        result = "Self"
    overloads = tables.OVERLOADS.get(name) or (not owner and tables.OVERLOADS.get((name, "function")))
    for params, res in overloads or [(None, result)]:
        if params is None:
            params = signature(owner, name, f, bound)
        else:
            lines.append(indent + "@overload\n")
            params = params.format(self=bound)
        lines.append(f"{indent}def {name}({params}) -> {res}:")
        lines.append(summary(f, indent) + "\n")
    return "".join(lines)


def class_(name: str, c: type) -> str:
    bases = ", ".join(b.__name__ for b in c.__bases__ if b is not object)
    out = [] if c.__flags__ & SUBCLASSABLE else ["@final\n"]
    out.append(f"class {name}({bases}):\n" if bases else f"class {name}:\n")
    indent = "    "
    if doc := inspect.getdoc(c) if c.__dict__.get("__doc__") else None:
        out.append(f'    """{doc.splitlines()[0]}"""\n')
    members = dict(c.__dict__)
    if members.pop("__new__", None):
        parameters = ", ".join(filter(None, ["cls", signature(name, name, c, None)]))
        out.append(f"    def __new__({parameters}) -> Self: ...\n")
    for key in sorted(members):
        value = members[key]
        if inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value):
            if key.startswith("__"):
                continue
            kind = tables.SPECIAL_PROPERTIES.get((name, key)) or tables.PROPERTIES.get(key)
            if kind is None:
                unknown.append(f"{name}.{key}")
                kind = "Any"
            out.append(f"    @property\n    def {key}(self) -> {kind}:{summary(value, indent)}\n")
            if key in tables.SETTABLE and name == "Tensor":
                out.append(f"    @{key}.setter\n    def {key}(self, value: {kind}) -> None: ...\n")
        elif key in SPECIAL_METHODS and name == "Tensor":
            out.append(f"    {SPECIAL_METHODS[key]}\n")
        elif (key in tables.OWN_SPECIAL or not key.startswith("__")) and callable(getattr(c, key)):
            out.append(function(key, getattr(c, key), name, indent))
    out += [f"    {line}\n" for line in tables.EXTRA_MEMBERS.get(name, [])]
    if out[-1].startswith("class"):
        out.append("    ...\n")
    return "".join(out)


def module() -> str:
    out = [tables.HEADER, "\n"]
    # Functions come last: some carry names of builtin types.
    names = [n for n in dir(_rgrad) if not (n.startswith("__") and n != "__version__")]
    groups: tuple[list[str], list[str], list[str]] = ([], [], [])
    for name in names:
        value = getattr(_rgrad, name)
        if isinstance(value, type):
            groups[1].append(class_(name, value))
        elif callable(value):
            groups[2].append(function(name, value))
        else:
            kind = {"NoneType": "None", "str": "str", "float": "_float"}.get(
                type(value).__name__, type(value).__name__
            )
            groups[0].append(f"{name}: {kind}\n")
    out += groups[0] + groups[1] + groups[2]
    out.append("__all__ = [" + ", ".join(f'"{n}"' for n in _rgrad.__all__) + "]\n")
    text = "".join(out)
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"],
        input=text,
        capture_output=True,
        text=True,
        cwd=TARGET.parent,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def main() -> int:
    text = module()
    if unknown:
        print("stub_types.py lacks types of:", *unknown, sep="\n  ", file=sys.stderr)
        return 1
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    old = TARGET.read_text() if TARGET.exists() else ""
    diff = list(
        difflib.unified_diff(old.splitlines(), text.splitlines(), "committed", "from the module", "", "", 1)
    )
    print(*diff or [f"{TARGET.name} is up to date"], sep="\n")
    return int(bool(diff))


if __name__ == "__main__":
    sys.exit(main())
