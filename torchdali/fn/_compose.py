# SPDX-License-Identifier: Apache-2.0
"""ops.Compose: a chain of operators that is called like one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchdali._common.location import find_user_location
from torchdali.errors import ArgumentTypeError, _make

__all__ = ["Compose"]


class Compose:
    """A chain of operators that is called like one: each takes the outputs of the one before it.

    Args:
        op_list: operators of `ops`, or other callables that take and return data nodes.

    Raises:
        ArgumentTypeError: it is no list, or something in it cannot be called.

    Example:
        >>> normalized = ops.Compose([ops.Cast(dtype=types.FLOAT), ops.Normalize()])
        >>> images = normalized(images)
    """

    def __init__(self, op_list: Sequence[Callable[..., Any]]) -> None:
        wrong: Any = op_list
        if isinstance(op_list, (list, tuple)):
            wrong = [op for op in op_list if not callable(op)]
        if wrong != []:
            raise _make(
                ArgumentTypeError,
                f"ops.Compose: takes a list of operators, got {wrong!r}",
                location=find_user_location(),
            )
        self._operators = tuple(op_list)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns what the last operator returns; keywords are for the first one."""
        result: Any = inputs[0] if len(inputs) == 1 else list(inputs)
        for operator in self._operators:
            result = operator(*inputs, **kwargs)
            inputs = tuple(result) if isinstance(result, (list, tuple)) else (result,)
            kwargs = {}
        return result
