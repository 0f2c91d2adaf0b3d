# SPDX-License-Identifier: Apache-2.0
"""Finds the cases of operators: the ``CASES`` of the files in tests/ops/ROOM.

test_NAME.py has the cases of ``fn.NAME``, with ``_`` for each dot. A file that tests other
operators, or several, lists them in ``OPERATORS``. The list is read without importing the file, so
that ``pytest --op`` imports the files of one operator only.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from torchdali._engine.schema import registry

from .ops import OpCase

OPS_TESTS = Path(__file__).parents[1] / "ops"
# The operators of ``--op``; None: all of them.
selected: frozenset[str] | None = None


def select(names: Sequence[str]) -> None:
    """Restricts cases, and the operators that suites run over, to some operators."""
    global selected
    selected = frozenset(names)


def operators() -> list[str]:
    """Returns the names of all operators that run, or of those that are selected."""
    names = (schema.name for schema in registry().values() if not schema.never)
    return sorted(name for name in names if selected is None or name in selected)


def parameters(names: Iterable[str]) -> list[Any]:
    """Returns the selected ones of some operators as parameters, or a skipped one if none is."""
    found: list[Any] = sorted(n for n in names if selected is None or n in selected)
    if selected is not None and not found:
        found = [pytest.param("none", marks=pytest.mark.skip(reason="no operator of --op"))]
    return found


def files() -> list[Path]:
    """Returns every file of tests of operators."""
    return sorted(OPS_TESTS.glob("*/test_*.py"), key=lambda path: path.name)


def operators_of(path: Path) -> list[str]:
    """Returns the operators that a file tests, without importing it."""
    text = path.read_text()
    for node in ast.parse(text).body if "\nOPERATORS = " in text else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OPERATORS":
            names: list[str] = ast.literal_eval(node.value)
            return names
    name = path.stem.removeprefix("test_")
    return [op for op in registry() if op.replace(".", "_") == name]


@functools.cache
def selected_files() -> list[Path]:
    """Returns the files that test one of the selected operators, or all."""
    if selected is None:
        return files()
    return [path for path in files() if not selected.isdisjoint(operators_of(path))]


def modules() -> Iterator[ModuleType]:
    """Imports and yields the files of tests of the operators."""
    for path in selected_files():
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        yield importlib.import_module(path.stem)


def all_cases() -> list[OpCase]:
    """Returns the cases of all operators, or of those that are selected."""
    found = [case for module in modules() for case in getattr(module, "CASES", [])]
    return [case for case in found if selected is None or case.op in selected]


def cases_by_operator(cases: Sequence[OpCase] | None = None) -> dict[str, list[OpCase]]:
    """Returns cases of the selected operators, by default all_cases(), by operator."""
    found: dict[str, list[OpCase]] = {}
    for case in all_cases() if cases is None else cases:
        if selected is None or case.op in selected:
            found.setdefault(case.op, []).append(case)
    return dict(sorted(found.items()))
