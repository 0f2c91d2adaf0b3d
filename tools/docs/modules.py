# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the public modules, from their ``__all__`` and docstrings.

Every module without a leading underscore has a page, except those in INTERNAL. An object that
several modules export is described on the page of one of them, its home; the others link to it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.docs import docstrings
from tools.docs.skeleton import skeleton
from torchdali._engine.schema import ENUMS, registry

__all__ = ["INTERNAL", "MARK", "Modules", "public_modules"]

MARK = "<!-- Made by `make generate`; do not edit. -->"
PACKAGE = Path(__file__).resolve().parents[2] / "torchdali"
# Modules that programs do not import; the names of some are exported by others.
INTERNAL = {
    "graph": "what definitions record; DataNode is in torchdali.pipeline",
    "index": "a command: docs/guide/command_line.md",
    "info": "a command: docs/guide/command_line.md",
    "loader.fields": "Layout and File are in torchdali.loader",
    "loader.operator_data": "how workers prepare samples",
    "loader.packing": "how batches are sent to other processes",
}
# The order in which modules become homes; others follow.
_FIRST = ("loader", "loop", "pipeline", "tensors", "types", "auto_aug.core", "plugin.pytorch")
# They are read, not imported, because that changes the process, or takes seconds.
_READ_ONLY = ("as_dali", "lightning", "ray")
# Of methods that a base class describes.
_SEE = re.compile(r"See [\w.]+\.")
_WITH_OPERATORS = ("functional", "experimental.", "fn", "ops")
# Pages whose names are older than this file, or are written elsewhere.
_FILES = {"plugin.numba.fn.experimental": "numba"}


def public_modules() -> Iterator[str]:
    """Yields the names of the modules below torchdali that have a page."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = ".".join(parts)
        if name and name not in INTERNAL and not any(part.startswith("_") for part in parts):
            yield name


def _is_enum_part(value: Any) -> bool:
    """Returns whether a value is in a table of torchdali.types."""
    kind = value if isinstance(value, type) else type(value)
    return issubclass(kind, tuple(ENUMS.values()))


@dataclass
class Modules:
    """The pages of all public modules."""

    # Of an object: itself, and module and name of its entry.
    _homes: dict[int, tuple[Any, str, str]] = field(default_factory=dict)
    _names: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = ["", *public_modules()]
        order = [*(n for n in _FIRST if n in found), *(n for n in found if n not in _FIRST)]
        order.remove("")
        for module in [*order, ""]:  # the package itself has the entries that no module has
            self._names[module] = self._own_names(module)

    def pages(self) -> dict[str, str]:
        """Returns the texts of the pages by their names in docs/reference."""
        return {self.file(name): self.page(name) for name in self.listed() if name != "types"}

    def listed(self) -> list[str]:
        """Returns the modules that have a page: with entries, operators or modules of their own."""
        return [name for name in sorted(self._names) if self._names[name] or self._shows(name)]

    def _shows(self, module: str) -> bool:
        loaded = _load(module)
        modules = any(isinstance(_value(loaded, name), ModuleType) for name in loaded.__all__)
        return modules or module in ("fn", "ops", "functional")

    @staticmethod
    def file(module: str) -> str:
        """Returns the name of the page of a module."""
        return f"{_FILES.get(module, module.replace('.', '/')) or 'torchdali'}.md"

    def rows(self) -> list[str]:
        """Returns the table of modules for the index."""
        lines = ["| module | |", "|---|---|"]
        for name in self.listed():
            title = f"torchdali.{name}".rstrip(".")
            doc = docstrings.summary(_load(name).__doc__ or "", "../").replace("|", "\\|")
            lines.append(f"| [`{title}`]({self.file(name)}) | {doc} |")
        return lines

    def _own_names(self, module: str) -> list[str]:
        loaded = _load(module)
        names = []
        for name in loaded.__all__:
            value = _value(loaded, name)
            if isinstance(value, ModuleType) or self._operator(module, name) or name[:2] == "__":
                continue
            if module == "types" and _is_enum_part(value):
                continue
            # Constants have no identity.
            if not callable(value) or self._home(value, module, name)[0] == module:
                names.append(name)
        return names

    def __contains__(self, value: Any) -> bool:
        """Returns whether an object has an entry."""
        return id(value) in self._homes

    def _home(self, value: Any, module: str, name: str) -> tuple[str, str]:
        """Returns the module and the name of the entry of an object; by default the given ones."""
        return self._homes.setdefault(id(value), (value, module, name))[1:]

    @staticmethod
    def _operator(module: str, name: str) -> bool:
        """Returns whether a name of a module is an operator, or a family of operators."""
        return module.startswith(_WITH_OPERATORS) and name in _operator_names()

    def page(self, module: str, first: Sequence[str] = ()) -> str:
        """Returns the page of a module: docstring, links to other pages, entries.

        Args:
            module: below torchdali.
            first: lines before the entries.
        """
        up = "../" * (self.file(module).count("/") + 1)
        lines = [MARK, f"# torchdali.{module}".rstrip("."), ""]
        lines += [docstrings.markdown(_load(module).__doc__ or "", up), ""]
        lines += self._elsewhere(module, up)
        lines += first
        lines += entries(_load(module), self._names[module], self, up)
        return "\n".join(lines).rstrip() + "\n"

    def _elsewhere(self, module: str, up: str) -> list[str]:
        """Returns the list of names that are described on other pages, and of constants."""
        loaded = _load(module)
        links: list[str] = []
        operators = module in ("fn", "ops")
        for name in loaded.__all__:
            value = _value(loaded, name)
            if self._operator(module, name):
                operators = True
            elif isinstance(value, ModuleType):
                target = value.__name__.removeprefix("torchdali.")
                if target in self.listed():
                    links.append(f"[`{name}`]({up}reference/{self.file(target)})")
            elif callable(value) and name not in self._names[module]:
                home, title = self._home(value, module, name)
                if home != module:
                    page = f"{up}reference/{self.file(home)}"
                    links.append(f"[`{name}`]({page}#{title.lower()})")
        lines = [f"On other pages: {', '.join(links)}.", ""] if links else []
        if operators:
            lines += [
                f"The operators are in [the list of operators]({up}reference/README.md#operators).",
                "",
            ]
        return lines


@functools.cache
def _operator_names() -> set[str]:
    """Returns the names of operators in modules: functions, classes and families."""
    families = {name.partition(".")[0] for name in registry() if "." in name}
    return (
        {s.path[-1] for s in registry().values()}
        | {s.class_name for s in registry().values()}
        | families
    )


@functools.cache
def _load(module: str) -> ModuleType:
    if module in _READ_ONLY:
        path = PACKAGE / f"{module}.py"
        return skeleton(
            f"torchdali.{module}", path if path.exists() else PACKAGE / module / "__init__.py"
        )
    return importlib.import_module(f"torchdali.{module}".rstrip("."))


def _value(module: ModuleType, name: str) -> Any:
    """Returns what a name of a module is; modules may not be loaded yet."""
    try:
        return getattr(module, name)
    except AttributeError:
        return importlib.import_module(f"{module.__name__}.{name}")


def call(name: str, value: Any) -> str:
    """Returns the signature of a call: name and parameters, without annotations."""
    # The constructor of an enumeration depends on the version of Python, so list its members.
    if isinstance(value, type) and issubclass(value, Enum):
        return ", ".join(f"{name}.{member.name}" for member in value)
    try:
        own = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    params = []
    star = False
    for p in own.parameters.values():
        if p.name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            params.append("*")
            star = True
        prefix = "*" * ((p.kind is p.VAR_POSITIONAL) + 2 * (p.kind is p.VAR_KEYWORD))
        star = star or p.kind is p.VAR_POSITIONAL
        default = "" if p.default is p.empty else f"={_default(p.default)}"
        params.append(f"{prefix}{p.name}{default}")
    text = f"{name}({', '.join(params)})"
    if len(text) <= 88:
        return text
    return "\n".join([f"{name}(", *(f"    {param}," for param in params), ")"])


def _default(value: Any) -> str:
    """Returns the text of a default value; functions have their name."""
    return str(value.__name__) if inspect.isroutine(value) else repr(value)


def entries(module: ModuleType, names: list[str], described: Any, up: str) -> list[str]:
    """Returns the lines of the entries of a page: functions, classes with methods, constants."""
    lines: list[str] = []
    constants = [name for name in names if not callable(getattr(module, name))]
    if constants:
        lines += ["## Constants", "", "| name | value |", "|---|---|"]
        lines += [f"| `{name}` | `{_short(getattr(module, name))}` |" for name in constants] + [""]
    for name in names:
        value = getattr(module, name)
        if name in constants:
            continue
        lines += [f"## {name}", ""]
        doc = docstrings.markdown(docstrings.own(value), up)
        if isinstance(value, type) and issubclass(value, BaseException):
            bases = [b.__name__ for b in value.__mro__[1:] if b not in (BaseException, object)]
            lines += [doc, "", f"Bases: {', '.join(f'`{base}`' for base in bases)}.", ""]
            continue
        lines += ["```python", call(name, value), "```", "", doc, ""]
        if isinstance(value, type):
            lines += _methods(value, [base for base in value.__mro__[1:] if base in described], up)
    return lines


def _short(value: Any) -> str:
    text = repr(value).replace("|", "\\|")
    return text if len(text) < 60 and " at 0x" not in text else type(value).__name__


def _methods(cls: type, described: list[type], up: str) -> list[str]:
    """Returns the lines of a class's public methods and properties that torchdali defines.

    Those of base classes that have an entry are left out.
    """
    lines: list[str] = []
    for name, member in inspect.getmembers(cls):
        doc = inspect.getdoc(member) or ""
        if name.startswith("_") or not doc or _SEE.fullmatch(doc):
            continue
        owner = next(base for base in cls.__mro__ if name in base.__dict__)
        if not owner.__module__.startswith("torchdali") or owner in described:
            continue
        if isinstance(member, property):
            title = name
        elif inspect.isroutine(member):
            title = call(name, member)
        else:
            continue
        text = docstrings.markdown(doc, up)
        lines += [f"### {name}", "", "```python", title, "```", "", text, ""]
    return lines
