# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of PipelineLoader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchdali._common.bad_samples import ON_ERROR
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._pipeline.epochs import SHARD_POLICIES
from torchdali.loader._pipeline.pipeline_set import PipelineSet

__all__ = ["check_arguments", "check_effects", "check_integer"]


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Checks single arguments, given by their names.

    Raises:
        ArgumentError, ArgumentTypeError: one is wrong.
    """
    _check_choice("shards", arguments["shards"], SHARD_POLICIES)
    if arguments["on_error"] is not None:
        _check_choice("on_error", arguments["on_error"], ON_ERROR)
    mask = arguments["mask"]
    if not isinstance(mask, (bool, str)):
        raise _make(ArgumentTypeError, f"`mask` is {mask!r}, expected a bool or a string")
    if arguments["drop_last"] and arguments["pad_last"]:
        raise _make(ArgumentError, "`drop_last` and `pad_last` exclude each other")
    for name, least in {"seed": 0, "batch_size": 1, "size": 1, "max_errors": 0}.items():
        if arguments[name] is not None:
            check_integer(name, arguments[name], least)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise _make(ArgumentError, f"`{name}` is {value!r}, expected one of {known}")


def check_effects(
    pipelines: PipelineSet, shuffle: bool | None, shards: str, last: Mapping[str, bool | None]
) -> None:
    """Raises ArgumentError for an argument that has no effect on the pipelines of a loader.

    Args:
        pipelines: of the loader, built.
        shuffle: of the loader.
        shards: of the loader.
        last: `drop_last` and `pad_last` of the loader.
    """
    if shuffle and not pipelines.has_reader:
        raise _make(
            ArgumentError,
            "`shuffle` is True, but the pipeline has no reader",
            fix="shuffle in the external source",
        )
    if pipelines.size is not None:
        return
    for name, is_given in {**last, "shards": shards != "equal"}.items():
        if is_given:
            raise _make(
                ArgumentError,
                f"`{name}` has no effect: the number of samples is not known in advance",
                fix="pass `size`",
            )


def check_integer(name: str, value: Any, least: int) -> None:
    """Raises ArgumentError or ArgumentTypeError unless it is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _make(ArgumentTypeError, f"`{name}` is {value!r}, expected an integer")
    if value < least:
        raise _make(ArgumentError, f"`{name}` is {value}, expected {least} or more")
