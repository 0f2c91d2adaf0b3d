# SPDX-License-Identifier: Apache-2.0
"""Operators that are added by libraries, and the modules that show them."""

from __future__ import annotations

import ctypes
import keyword
import os
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

from torchdali._engine.extension import _C
from torchdali._engine.schema import OperatorSchema, every_operator, operator_schema, read_again
from torchdali.errors import ArgumentError, FileError, _make

__all__ = ["load", "show"]


class _Display(NamedTuple):
    package: ModuleType
    add: Callable[[Sequence[OperatorSchema]], None]
    shown: Callable[[str], str]


_displays: list[_Display] = []
_loaded: dict[str, tuple[str, ...]] = {}
_lock = threading.RLock()


def show(
    package: ModuleType,
    add: Callable[[Sequence[OperatorSchema]], None],
    shown: Callable[[str], str] = str,
) -> None:
    """Lets a package show all operators, also those of libraries that are loaded later.

    Args:
        package: where their names are.
        add: takes the operators to show.
        shown: takes the name of an operator; returns its dotted name in the package.

    Raises:
        ArgumentError: an operator of a library has the name of something else in the package.
    """
    with _lock:
        display = _Display(package, add, shown)
        present = list(every_operator().values())
        for schema in present:
            if schema.library:
                _check(schema.name, schema.library, display)
        add(present)
        _displays.append(display)


def load(path: str | os.PathLike[str], global_symbols: bool = False) -> tuple[str, ...]:
    """Adds the operators of a library; nothing happens if it is loaded already.

    Args:
        path: of the shared library.
        global_symbols: libraries that are loaded later see its symbols.

    Returns:
        The names of its operators, as in ``fn``.

    Raises:
        FileError: there is no such file.
        UnsupportedError: it is not a library of operators, or is one for another version.
        ArgumentError: an operator is described wrongly, or its name is taken.
    """
    file = os.path.realpath(os.fspath(path))
    with _lock:
        if file in _loaded:
            return _loaded[file]
        if not os.path.isfile(file):
            raise _make(FileError, f'the library "{os.fspath(path)}" does not exist')
        library = _C.OperatorLibrary(os.fsencode(file))
        names = tuple(library.names())
        for name in names:
            for display in _displays:
                _check(name, file, display)
        library.add()
        if global_symbols:
            ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
        _loaded[file] = names
        read_again()
        schemas = [operator_schema(name) for name in names]
        for display in _displays:
            display.add(schemas)
        return names


def _check(name: str, file: str, display: _Display) -> None:
    if any(keyword.iskeyword(part) for part in name.split(".")):
        raise _make(ArgumentError, f"the operator {name} of {file} has a Python keyword as name")
    taken = _conflict(display.package, display.shown(name))
    if taken is not None:
        raise _make(
            ArgumentError,
            f"the operator {name} of {file} has a name that is taken: there is {taken} already",
            fix=f"rename it, for instance to my.{name}; restart Python to load another version "
            "of an operator",
        )


def _conflict(package: ModuleType, name: str) -> str | None:
    """Returns what has the place of a dotted name in a package, or of a module of it; else None."""
    module = package
    *path, own = name.split(".")
    for part in path:
        found = vars(module).get(part)
        if found is None:
            return None
        if not isinstance(found, ModuleType):
            return f"{module.__name__}.{part}"
        module = found
    return f"{module.__name__}.{own}" if own in vars(module) else None
