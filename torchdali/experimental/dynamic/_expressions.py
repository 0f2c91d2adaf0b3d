# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on Tensor and Batch by the rules of pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchdali._common.location import find_user_location
from torchdali._eager.caller import Expressions
from torchdali.errors import ArgumentTypeError, _make
from torchdali.experimental.dynamic import _context
from torchdali.experimental.dynamic._base import FACE, is_batch, sample_of, samples_of
from torchdali.experimental.dynamic._data import Tensor, wrapped
from torchdali.experimental.dynamic._operations import connect

__all__ = ["apply"]

_expressions = Expressions(FACE)


def apply(operation: str, *operands: Any) -> Any:
    """Returns the result of an operation on tensors, batches and numbers, as a Tensor or Batch.

    Args:
        operation: DALI's name of it.
        operands: at least one of them is a Tensor or Batch. A Tensor is the same for all samples
            of a batch, and so are arrays.

    Raises:
        TorchdaliError: the operands do not fit.
    """
    sizes = [len(samples_of(one) or ()) for one in operands if is_batch(one)]
    if not sizes and not any(isinstance(one, Tensor) for one in operands):
        kinds = ", ".join(type(one).__name__ for one in operands)
        raise _make(
            ArgumentTypeError,
            f"dynamic.math.{operation} takes at least one Tensor or Batch, got {kinds}",
            location=find_user_location(),
        )
    size = sizes[0] if sizes else 1
    made = _expressions.apply(operation, [_operand(one, bool(sizes)) for one in operands], size)
    result = wrapped(made, not sizes)
    _context.note([made], [result])
    return result


def _operand(value: Any, in_batch: bool) -> Any:
    samples = samples_of(value)
    if isinstance(value, Tensor) and in_batch:
        return value.torch(), value.layout or ""
    if samples is not None:
        return samples
    if isinstance(value, (bool, int, float)) or np.ndim(value) == 0:
        return value
    return sample_of(value, None)


connect(apply)
