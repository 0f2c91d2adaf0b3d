# SPDX-License-Identifier: Apache-2.0
"""Writes dali_members.json: the public names in the modules of DALI, for tests/test_dali_names.py.

    DALI_PYTHON tests/data/make_dali_members.py

DALI_PYTHON is a Python with DALI 1.35.0 (`make dali`). The result maps each module, without
"nvidia.dali", to its names. Of plugins whose framework is not installed, the names are read from
the source. Modules and objects of other packages that a module imports are no names of DALI.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

OUTPUT = Path(__file__).with_name("dali_members.json")
PACKAGE = "nvidia.dali"
VERSION = "1.35.0"
LIBRARIES = "libdali"  # pkgutil takes these shared libraries for modules


def public(name: str) -> bool:
    """Returns whether no part of a dotted name is private, or one of DALI's libraries."""
    return not any(part.startswith(("_", LIBRARIES)) for part in name.split("."))


def loaded(name: str, module: ModuleType) -> Iterator[str]:
    """Yields the public names of a module that come from DALI."""
    for own, value in vars(module).items():
        home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        foreign = isinstance(home, str) and not home.startswith(PACKAGE)
        if inspect.ismodule(value):
            foreign = foreign or home != f"{name}.{own}"  # another module of DALI, under its name
        if public(own) and not foreign and type(value).__module__ != "__future__":
            yield own


def written(text: str) -> Iterator[str]:
    """Yields the public names that a module defines at its top or takes from a private module."""
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from [statement.name] if public(statement.name) else []
        elif isinstance(statement, ast.ImportFrom):
            inside = statement.level > 0 or (statement.module or "").startswith(PACKAGE)
            names = [one.asname or one.name for one in statement.names]
            if inside and not public(statement.module or ""):
                yield from filter(public, names)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and public(target.id):
                    yield target.id
                elif isinstance(target, ast.Name) and target.id == "__all__":
                    yield from ast.literal_eval(statement.value)


def main() -> None:
    """Walks DALI's modules and writes their names."""
    warnings.simplefilter("ignore")
    package = importlib.import_module(PACKAGE)
    if importlib.metadata.version("nvidia-dali-cuda120") != VERSION:
        sys.exit(f"this is not DALI {VERSION}")
    found: dict[str, set[str]] = {}

    def add(name: str, names: Iterator[str]) -> None:
        found.setdefault(name, set()).update(names)
        parent, _, own = name.rpartition(".")
        if name != PACKAGE:
            found.setdefault(parent, set()).add(own)

    add(PACKAGE, loaded(PACKAGE, package))
    for info in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.", onerror=lambda _: None):
        if not public(info.name):
            continue
        try:
            importlib.import_module(info.name)
        except ImportError:  # a plugin without its framework
            origin = next(
                f
                for f in (
                    Path(*package.__path__, *info.name.split(".")[2:], "__init__.py"),
                    Path(*package.__path__, *info.name.split(".")[2:]).with_suffix(".py"),
                )
                if f.exists()
            )
            add(info.name, written(origin.read_text()))
            if origin.name == "__init__.py":
                for part in origin.parent.glob("[a-z]*"):
                    inner = part / "__init__.py" if part.is_dir() else part
                    if inner.suffix == ".py" and inner.exists():
                        add(f"{info.name}.{part.stem}", written(inner.read_text()))
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PACKAGE}.") and public(name):
            add(name, loaded(name, module))
    table = {n[len(PACKAGE) + 1 :]: sorted(names) for n, names in sorted(found.items())}
    lines = [f" {json.dumps(name)}: {json.dumps(names)}" for name, names in table.items()]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
