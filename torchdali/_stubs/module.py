# SPDX-License-Identifier: Apache-2.0
"""The modules that stubs describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Extends", "Path", "StubModule", "families_in", "modules_of", "names_from"]

Path: TypeAlias = tuple[str, ...]
# The names that a module of torchdali has, to which a stub adds; none if there is no such module.
Extends: TypeAlias = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class StubModule:
    """A stub.

    Attributes:
        kind: "fn", "ops" or "functional".
        path: of the module in that package.
        package: there are modules in it.
        text: of the stub, without its first line.
    """

    kind: str
    path: Path
    package: bool
    text: str

    @property
    def file(self) -> str:
        """The path of the file, from the folder that `kind` is in."""
        name = "/".join([self.kind, *self.path])
        return f"{name}/__init__.pyi" if self.package else f"{name}.pyi"


def modules_of(operators: Iterable[Path]) -> set[Path]:
    """Returns the modules that operators are in, and those that these are in."""
    return {()} | {path[:i] for path in operators for i in range(len(path))}


def families_in(modules: set[Path], path: Path) -> list[str]:
    """Returns the names of the modules in a module."""
    return sorted(p[-1] for p in modules if len(p) == len(path) + 1 and p[:-1] == path)


def names_from(module: str, names: Sequence[str], replaced: Sequence[str]) -> list[str]:
    """Returns imports of the names of a module, without those that the stub defines itself.

    They come before all other imports: what these import has another meaning in the stub.
    """
    if not names:
        return []
    if not set(names) & set(replaced):  # checkers differ in which of two definitions they take
        return [f"from {module} import *"]
    return [f"from {module} import {name} as {name}" for name in names if name not in replaced]
