# SPDX-License-Identifier: Apache-2.0
"""Programs of several operations, which are compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali._eager.operation import Operation
from torchdali._eager.program import Program, placeholder

__all__ = ["Edge", "program_of"]

# Where a value comes from: (number of the operation, output), or (-1, number of the data).
Edge = tuple[int, int]

_programs: dict[Any, Program] = {}
_MOST_PROGRAMS = 256


def program_of(steps: tuple[tuple[Operation, tuple[Edge, ...]], ...], num_data: int) -> Program:
    """Returns the program with the outputs of the last operation.

    Its errors name the location of operation 3 as "@3".

    Args:
        steps: operations, each after those that it needs, and where its values come from.
        num_data: number of values that come with each run.
    """
    program = _programs.pop(steps, None)
    if program is None:
        program = _compile(steps, num_data)
        for oldest in list(_programs)[: len(_programs) - _MOST_PROGRAMS + 1]:
            _programs.pop(oldest, None)  # the least recently used
    _programs[steps] = program
    return program


def _compile(steps: Sequence[tuple[Operation, tuple[Edge, ...]]], num_data: int) -> Program:
    on_gpu = [False] * num_data
    for operation, edges in steps:
        for (at, index), is_there in zip(edges, operation.on_gpu, strict=True):
            if at < 0:
                on_gpu[index] = is_there
    inputs = [placeholder(f"in{i}", is_there) for i, is_there in enumerate(on_gpu)]
    made: list[Any] = []
    for number, (operation, edges) in enumerate(steps):
        parents = [inputs[index] if at < 0 else made[at][index] for at, index in edges]
        made.append(operation.record(parents, SourceLocation(f"@{number}", 0, "")))
    return Program(inputs, made[-1])
