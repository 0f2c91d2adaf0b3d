# SPDX-License-Identifier: Apache-2.0
"""Stubs of ``fn``, ``ops`` and ``functional``, from the schemas of operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdali._engine.schema import OperatorSchema
from torchdali._stubs import functions, pipelines
from torchdali._stubs.module import Extends, StubModule

__all__ = ["KINDS", "modules"]

KINDS = ("fn", "functional", "ops")


def modules(
    schemas: Iterable[OperatorSchema], extends: Extends | None = None
) -> Iterator[StubModule]:
    """Yields the stubs of the modules that show operators.

    Args:
        schemas: the operators.
        extends: for operators of libraries: returns the names of a module of torchdali, which
            the stub has, too, or none if there is no such module. By default, the stubs are
            torchdali's own.
    """
    chosen = list(schemas)
    yield from pipelines.stubs("fn", chosen, extends)
    yield from pipelines.stubs("ops", chosen, extends)
    yield from functions.stubs(chosen, extends)
