# SPDX-License-Identifier: Apache-2.0
"""What users pass to eager operators, as batches of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._eager import values
from torchdali._eager.batch import Batch, batch_of
from torchdali._eager.caller import Caller
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = ["FACE", "as_batch", "as_lists", "batch_size_of", "call", "check_options", "operand"]

FACE = "eager"
# What has a meaning in pipelines only; the random operators get their seeds from rng_state.
_NOT_TAKEN = ("bytes_per_sample_hint", "name", "on_error", "preserve", "seed")


def call(caller: Caller, inputs: Sequence[Any], kwargs: dict[str, Any], seed: int = 0) -> Any:
    """Runs an operator on what users pass; returns a batch for each output.

    Args:
        caller: the operator.
        inputs: batches, arrays whose first axis is the samples, lists of samples.
        kwargs: its arguments, `batch_size` and `device`.
        seed: of its random values.

    Raises:
        TorchdaliError: the call is wrong, or fails.
    """
    return caller.named(lambda: _call(caller, inputs, kwargs, seed))


def _call(caller: Caller, inputs: Sequence[Any], kwargs: dict[str, Any], seed: int) -> Any:
    check_options(kwargs, _NOT_TAKEN)
    rest = {name: v for name, v in kwargs.items() if name not in ("batch_size", "device")}
    given = [value for value in inputs if value is not None]
    size = batch_size_of(given, kwargs.get("batch_size"))
    batches = [as_batch(value) for value in given]
    device = kwargs.get("device")
    made = caller.call(batches, _arguments(rest), size=size, seed=seed, device=device)
    made_lists = as_lists(made)
    return made_lists[0] if len(made_lists) == 1 else (made_lists or None)


def check_options(kwargs: Mapping[str, Any], not_taken: Sequence[str]) -> None:
    """Raises an error for arguments that eager operators do not take."""
    for name in not_taken:
        if name in kwargs:
            raise _make(ArgumentError, f"argument `{name}` is not supported by eager operators")


def batch_size_of(inputs: Sequence[Any], batch_size: int | None = None) -> int:
    """Returns the number of samples of a call.

    Raises:
        ArgumentError: nothing says it, or the inputs have another one.
    """
    sizes = [len(value) for value in inputs if isinstance(value, values.LISTS)]
    sizes += [_length(value) for value in inputs if not isinstance(value, values.LISTS)]
    if not sizes:
        if batch_size is None:
            raise _make(ArgumentError, "an operator without inputs needs `batch_size`")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise _make(ArgumentError, f"batch_size is an integer from 1, got {batch_size!r}")
        return batch_size
    if batch_size not in (None, sizes[0]):
        raise _make(
            ArgumentError, f"batch_size={batch_size}, but the inputs have {sizes[0]} samples"
        )
    return sizes[0]


def _length(value: Any) -> int:
    if isinstance(value, (list, tuple)) or np.ndim(value) > 0:
        return len(value)
    raise _make(
        ArgumentTypeError,
        "an input is a batch (TensorListCPU), an array whose first axis is the samples, or a list "
        f"of samples, got {type(value).__name__}",
    )


def as_batch(value: Any) -> Batch:
    """Returns an input as a batch of the mechanism; no copy."""
    if isinstance(value, (*values.LISTS, list, tuple)):
        return Batch(*values.samples(value)) if len(value) else _empty()
    tensor, layout = values.sample(value)
    return batch_of(tensor, layout[1:]) if len(tensor) else _empty()


def _empty() -> Batch:
    raise _make(ArgumentError, "a batch needs at least one sample")


def _arguments(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments with batches where there is a value for each sample."""
    return {
        name: as_batch(value)
        if isinstance(value, values.LISTS) or _is_list_of_arrays(value)
        else value
        for name, value in kwargs.items()
    }


def operand(value: Any) -> Any:
    """Returns an operand of arithmetic: a batch, an array that is shared, or a number as it is."""
    if isinstance(value, values.LISTS) or _is_list_of_arrays(value):
        return as_batch(value)
    if isinstance(value, (list, tuple)):
        return values.numbers(value), ""
    return values.sample(value) if np.ndim(value) else value


def _is_list_of_arrays(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, (np.ndarray, torch.Tensor, TensorCPU, TensorGPU)) for one in value)
    )


def as_lists(batches: Sequence[Batch]) -> list[Any]:
    """Returns computed batches as users get them: TensorListCPU or TensorListGPU."""
    return [_as_list(batch.as_list(), batch.layout) for batch in batches]


def _as_list(samples: list[torch.Tensor], layout: str) -> Any:
    made = TensorListGPU if samples[0].is_cuda else TensorListCPU
    return made(samples, layout)
