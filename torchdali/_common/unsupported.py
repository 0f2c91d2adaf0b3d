# SPDX-License-Identifier: Apache-2.0
"""Errors for names and modules of DALI that are not here, with what to use instead.

dali_names.json, which tools/dali_names.py writes, has the public names of DALI with their kinds. A
name of it that torchdali has is never looked up here, so the table holds all of them. What to use
instead is in alternatives.py.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from torchdali._common.alternatives import Alternative, alternative
from torchdali.errors import UnsupportedModuleError, UnsupportedNameError, _make

__all__ = ["check_module", "kind_of", "missing", "names", "names_of"]

_PACKAGE = "torchdali"


@functools.cache
def _table() -> Mapping[str, Mapping[str, str]]:
    """Returns the kind of each name of each module, without the package's name."""
    text = Path(__file__).with_name("dali_names.json").read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, str]] = json.loads(text)
    return table


def names(path: str) -> list[str]:
    """Returns DALI's names in a module, which is named without the package."""
    return list(_table().get(path, {}))


def kind_of(module: str, name: str) -> str | None:
    """Returns the kind of a name of DALI, None for others."""
    return _table().get(module[len(_PACKAGE) + 1 :], {}).get(name)


def _refuse(
    cls: type[UnsupportedNameError] | type[UnsupportedModuleError], full_name: str, kind: str
) -> NoReturn:
    path = full_name[len(_PACKAGE) + 1 :]
    raise _make(
        cls,
        f"nvidia.dali.{path} has no counterpart in this version of torchdali",
        fix=alternative(path, kind).fix,
    )


def _is_module(full_name: str) -> bool:
    """Returns whether torchdali has a module, which may not be loaded yet."""
    try:
        return importlib.util.find_spec(full_name) is not None
    except ModuleNotFoundError:
        return False


def names_of(module: str) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module, for names that it does not have.

    It also makes the module an empty package. ``from module import name`` asks the importers, and
    so check_module(), only for packages; for other modules, Python replaces the error by its own.

    Raises:
        UnsupportedNameError: by what is returned, for a name of DALI.
        AttributeError: likewise, for others.
    """
    if module in sys.modules:
        vars(sys.modules[module]).setdefault("__path__", [])

    def __getattr__(name: str) -> NoReturn:
        kind = None if name.startswith("__") else kind_of(module, name)
        if kind is not None and not _is_module(f"{module}.{name}"):
            _refuse(UnsupportedNameError, f"{module}.{name}", kind)
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module)
        )

    return __getattr__


def check_module(full_name: str) -> None:
    """Does nothing for a module that DALI does not have either.

    Raises:
        UnsupportedModuleError: it is a module or a name of DALI that is not here.
    """
    module, _, name = full_name.rpartition(".")
    kind = kind_of(module, name)
    if kind is not None and name not in dir(sys.modules.get(module)):
        _refuse(UnsupportedModuleError, full_name, kind)


def missing() -> Iterator[tuple[str, Alternative]]:
    """Yields the names of DALI that torchdali does not have, and what to use instead.

    It imports every module. Names in missing modules are left out.
    """
    for path, names in _table().items():
        module = f"{_PACKAGE}.{path}".rstrip(".")
        try:
            found = importlib.import_module(module)
        except UnsupportedModuleError:
            continue
        for name, kind in names.items():
            if not hasattr(found, name) and not _is_module(f"{module}.{name}"):
                own = f"{path}.{name}".lstrip(".")
                yield own, alternative(own, kind)
