# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments that the iterators of all frameworks take."""

from __future__ import annotations

import operator
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["epoch_size", "resets_itself"]

_AUTO_RESET = {"yes": True, "true": True, "silent": True, "no": False, "false": False}


def resets_itself(auto_reset: str | bool | None) -> bool:
    """Returns whether an iterator starts the next epoch without a call of reset()."""
    if not isinstance(auto_reset, str):
        return bool(auto_reset)
    known = _AUTO_RESET.get(auto_reset.lower())
    if known is None:
        raise _make(
            ArgumentError,
            f'`auto_reset` is "{auto_reset}", expected "yes", "no", True, False or None',
        )
    return known


def epoch_size(
    size: Any, reader_name: str | None, last_batch_padded: bool, num_pipelines: int
) -> int:
    """Returns the number of samples of an epoch; -1 if only the data says it.

    Args:
        size: number of samples, also a float, as from a division; negative: until the data ends.
        reader_name: name of the reader whose epoch counts; None: no reader.
        last_batch_padded: whether the pipeline pads the last batch of an epoch.
        num_pipelines: number of pipelines of the iterator.

    Raises:
        ArgumentError: the arguments contradict each other.
        ArgumentTypeError: `size` is no whole number.
    """
    try:
        whole = int(size) if isinstance(size, float) else operator.index(size)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or isinstance(size, bool) or whole != size:
        raise _make(ArgumentTypeError, f"`size` is {size!r}, expected an integer")
    samples = max(whole, -1)
    if samples == 0:
        raise _make(
            ArgumentError,
            "`size` is 0, expected the samples of an epoch, or -1 for as many as there are",
        )
    if reader_name is not None and samples != -1:
        raise _make(ArgumentError, "`size` and `reader_name` exclude each other")
    if reader_name is not None and last_batch_padded:
        raise _make(
            ArgumentError,
            "`last_batch_padded` and `reader_name` exclude each other: the reader knows",
        )
    if reader_name is None and samples == -1 and num_pipelines > 1:
        raise _make(
            ArgumentError,
            f"{num_pipelines} pipelines need to know the size of an epoch",
            fix="give `reader_name` or `size`",
        )
    return samples
