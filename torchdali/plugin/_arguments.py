# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments that the iterators of all frameworks take."""

from __future__ import annotations

from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["check_epoch_size", "resets_itself"]

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


def check_epoch_size(
    size: Any, reader_name: str | None, last_batch_padded: bool, num_pipelines: int
) -> None:
    """Raises an error if the arguments that set the size of an epoch contradict each other.

    Args:
        size: number of samples; -1: until the data ends.
        reader_name: name of the reader whose epoch counts; None: no reader.
        last_batch_padded: whether the pipeline pads the last batch of an epoch.
        num_pipelines: number of pipelines of the iterator.

    Raises:
        ArgumentError: the arguments contradict each other.
        ArgumentTypeError: `size` is not an integer.
    """
    if isinstance(size, bool) or not isinstance(size, int):
        raise _make(ArgumentTypeError, f"`size` is {size!r}, expected an integer")
    if size == 0 or size < -1:
        raise _make(
            ArgumentError,
            f"`size` is {size}, expected the samples of an epoch, or -1 for as many as there are",
        )
    if reader_name is not None and size != -1:
        raise _make(ArgumentError, "`size` and `reader_name` exclude each other")
    if reader_name is not None and last_batch_padded:
        raise _make(
            ArgumentError,
            "`last_batch_padded` and `reader_name` exclude each other: the reader knows",
        )
    if reader_name is None and size == -1 and num_pipelines > 1:
        raise _make(
            ArgumentError,
            f"{num_pipelines} pipelines need to know the size of an epoch",
            fix="give `reader_name` or `size`",
        )
