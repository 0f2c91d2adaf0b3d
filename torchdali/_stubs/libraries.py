# SPDX-License-Identifier: Apache-2.0
"""Writes typed modules for the operators of libraries.

A type checker does not see names that are added to another package when the program runs. So a
package with operators has modules of its own, `fn`, `ops` and `functional`: to type checkers they
are torchdali's with the operators of the package, and when the program runs, torchdali's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from torchdali._engine.schema import OperatorSchema, every_operator
from torchdali._stubs import KINDS, modules

__all__ = ["KINDS", "files", "operators_of"]

_HEAD = "# Made by `python -m torchdali.extension stubs`; do not edit.\n# ruff: noqa"
_MODULE = '''{head}
"""torchdali.{kind}; to type checkers, with the operators of this package."""

import sys

from torchdali import {kind} as shown

sys.modules.update(
    (__name__ + name.removeprefix(shown.__name__), module)
    for name, module in list(sys.modules.items())
    if f"{{name}}.".startswith(f"{{shown.__name__}}.")
)
'''


def operators_of(libraries: Iterable[str] | None = None) -> list[OperatorSchema]:
    """Returns the operators of loaded libraries.

    Args:
        libraries: their files; None: all.
    """
    wanted = None if libraries is None else set(libraries)
    return [
        schema
        for schema in every_operator().values()
        if schema.library and (wanted is None or schema.library in wanted)
    ]


def files(operators: Iterable[OperatorSchema]) -> dict[Path, str]:
    """Returns relative paths and texts of the typed modules of operators."""
    every = every_operator().values()
    ours = _names(schema for schema in every if not schema.library)
    added = _names(schema for schema in every if schema.library)

    def extends(name: str) -> list[str]:
        if name not in ours or name not in sys.modules:
            return []
        new = added.get(name, set()) - ours[name]
        return [one for one in sys.modules[name].__all__ if one not in new]

    found = {}
    for module in modules(operators, extends):
        found[Path(module.file)] = f"{_HEAD}\n{module.text}"
        if not module.path:
            text = _MODULE.format(head=_HEAD, kind=module.kind)
            found[Path(module.kind, "__init__.py")] = text
    return found


def _names(schemas: Iterable[OperatorSchema]) -> dict[str, set[str]]:
    """Returns the names that operators have in each module: their own, and those of modules."""
    found: dict[str, set[str]] = {}
    for schema in schemas:
        for kind in KINDS:
            path = [*schema.path[:-1], schema.class_name if kind == "ops" else schema.path[-1]]
            for i, name in enumerate(path):
                found.setdefault(".".join(["torchdali", kind, *path[:i]]), set()).add(name)
    return found
