# SPDX-License-Identifier: Apache-2.0
"""Conditions that are data nodes: `if`, `and`, `or`, `not` in the definition of a pipeline.

`convert()` rewrites a function; docs/design/conditionals.md says how it works.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TypeVar

from torchdali._common.location import find_user_location
from torchdali._graph.conditionals import runtime, source
from torchdali._graph.conditionals.expressions import RUNTIME
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentTypeError, _make

__all__ = ["convert", "is_left_alone", "leave_alone", "refuse_truth_value"]

_T = TypeVar("_T")


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that does the same, and for which data nodes may be conditions."""
    made: Callable[..., Any] = runtime.call(function)
    return made


def leave_alone(function: _T) -> _T:
    """Marks a function as one that is not rewritten; returns it."""
    marked = getattr(function, "__func__", function)
    setattr(marked, source.LEFT_ALONE, True)
    return function


def is_left_alone(function: Any) -> bool:
    """Returns whether a function is marked."""
    return bool(getattr(function, source.LEFT_ALONE, False))


def refuse_truth_value(node: DataNode) -> NoReturn:
    """Raises for a data node in a condition that is not rewritten, and says why it is not."""
    frame: FrameType | None = sys._getframe(2)  # above DataNode.__bool__
    fix = (
        "pass enable_conditionals=True to pipeline_def for `if`, `and`, `or` and `not` on data "
        "nodes; fn.cast converts to bool"
    )
    if frame is not None:
        code = frame.f_code
        reason = source.why_unconverted(code)
        if reason is not None:
            fix = f"`{code.co_name}` is called as it is: {reason}; move the condition out of it"
        elif _is_rewritten(frame):
            fix = (
                "`if`, `a if p else b`, `and`, `or` and `not` take data nodes; `while`, `assert`, "
                "`bool()`, conditions of comprehensions and code in C do not"
            )
    raise _make(
        ArgumentTypeError,
        f"{node!r} has no truth value while the pipeline is being defined",
        location=find_user_location(),
        fix=fix,
    )


def _is_rewritten(frame: FrameType | None) -> bool:
    """Returns whether a frame, or one that called it, runs rewritten code."""
    while frame is not None:
        if RUNTIME in frame.f_code.co_freevars:
            return True
        frame = frame.f_back
    return False
