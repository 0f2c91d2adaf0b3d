# SPDX-License-Identifier: Apache-2.0
"""One of several operations for each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchdali._common.location import find_user_location
from torchdali._graph.conditionals.runtime import Choice
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, _make

__all__ = ["select"]


def select(
    ops: Sequence[Callable[..., Any]], selected_op_idx: DataNode, *op_args: Any, **op_kwargs: Any
) -> Any:
    """Calls ``ops[selected_op_idx](*op_args, **op_kwargs)`` for each sample.

    All are recorded, and a sample goes through the one that was selected for it: it costs what that
    one costs. The pipeline needs no `enable_conditionals`.

    Args:
        ops: functions over data nodes, or augmentations; their results have one structure.
        selected_op_idx: an int for each sample, 0 to ``len(ops) - 1``; other values count as
            the first or the last.
        *op_args: passed on.
        **op_kwargs: passed on.

    Raises:
        ArgumentError: `ops` is empty.
    """
    if not ops:
        raise _make(
            ArgumentError, "`ops` is empty", operator="select", location=find_user_location()
        )

    def among(first: int, last: int) -> Any:
        if first == last:
            return ops[first](*op_args, **op_kwargs)
        middle = (first + last) // 2
        choice = Choice(selected_op_idx <= middle)
        return choice.lazily(lambda: among(first, middle), lambda: among(middle + 1, last))

    return among(0, len(ops) - 1)
