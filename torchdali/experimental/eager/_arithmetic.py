# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on batches in the eager mode, and the switch that turns its operators on."""

from __future__ import annotations

from typing import Any

from torchdali._eager import values
from torchdali._eager.caller import Expressions
from torchdali.errors import ArgumentTypeError, _make
from torchdali.experimental.eager import _batches
from torchdali.tensors._arithmetic import arithmetic_of_batches

__all__ = ["apply", "arithmetic"]

_expressions = Expressions(_batches.FACE)


def apply(operation: str, *operands: Any) -> Any:
    """Returns the result of an operation on batches, arrays and numbers.

    Args:
        operation: DALI's name of it.
        operands: batches and lists of samples; numbers, and arrays that all samples share.

    Raises:
        TorchdaliError: the operands do not fit, or none is a batch.
    """
    lists = [one for one in operands if isinstance(one, values.LISTS)]
    if not lists:
        raise _make(
            ArgumentTypeError,
            f"eager.math.{operation} takes at least one TensorListCPU, got "
            f"{', '.join(type(one).__name__ for one in operands)}",
        )
    size = _batches.batch_size_of(lists)
    data = [_batches.operand(value) for value in operands]
    return _batches.as_lists([_expressions.apply(operation, data, size)])[0]


class _Switch(type):
    @property
    def enabled(cls) -> bool:
        """Whether the operators are on."""
        return arithmetic_of_batches.apply is not None


class arithmetic(metaclass=_Switch):  # DALI's name
    """Turns operators such as ``batch + 1`` on TensorListCPU on or off, for the whole process.

    As a context manager, it restores the state at the end.

    Args:
        enabled: whether they are on.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._before = arithmetic_of_batches.apply
        arithmetic_of_batches.apply = apply if enabled else None

    @property
    def enabled(self) -> bool:
        """Whether the operators are on."""
        return arithmetic_of_batches.apply is not None

    def __enter__(self) -> None:
        pass

    def __exit__(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
        arithmetic_of_batches.apply = self._before
