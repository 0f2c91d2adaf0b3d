# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of PipelineLoader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchdali._common.bad_samples import ON_ERROR
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._filling import not_alone
from torchdali.loader._pipeline.epochs import SHARD_POLICIES
from torchdali.loader._pipeline.pipeline_set import PipelineSet
from torchdali.loader._pipeline.ranks import Ranks, find_ranks

__all__ = ["check_arguments", "check_effects", "check_filling", "check_integer"]


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
    if arguments["fill_batches"]:
        pipelines, on_error = arguments["pipelines"], arguments["on_error"]
        if on_error not in (None, "skip"):
            raise _not_skipped(on_error)
        if isinstance(pipelines, (list, tuple)) and len(pipelines) > 1:
            raise not_alone("PipelineLoader", len(pipelines))
    by = arguments["bucket_by"]
    if by is not None and (not isinstance(by, str) or not by):
        raise _make(
            ArgumentTypeError,
            f"`bucket_by` is {by!r}, expected the name of lengths that the reader knows, such as "
            '"size" or "duration"',
            fix="torchdali.DataLoader takes lengths from Python",
        )
    if by is None and arguments["bucket_window"] is not None:
        raise _make(ArgumentError, "`bucket_window` without `bucket_by`")
    least_of = {"seed": 0, "batch_size": 1, "size": 1, "max_errors": 0, "bucket_window": 1}
    for name, least in least_of.items():
        if arguments[name] is not None:
            check_integer(name, arguments[name], least)
    if arguments["rank"] is not None or arguments["world_size"] is not None:
        find_ranks(arguments["rank"], arguments["world_size"])


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise _make(ArgumentError, f"`{name}` is {value!r}, expected one of {known}")


def check_effects(
    pipelines: PipelineSet,
    shuffle: bool | None,
    bucket_by: str,
    shards: str,
    last: Mapping[str, bool | None],
) -> None:
    """Raises ArgumentError for an argument that has no effect on the pipelines of a loader.

    Args:
        pipelines: of the loader, built.
        shuffle: of the loader.
        bucket_by: of the loader; "": not given.
        shards: of the loader.
        last: `drop_last` and `pad_last` of the loader.
    """
    if shuffle and not pipelines.has_reader:
        raise _make(
            ArgumentError,
            "`shuffle` is True, but the pipeline has no reader",
            fix="shuffle in the external source",
        )
    if bucket_by and not pipelines.has_reader:
        raise _make(
            ArgumentError,
            f"`bucket_by` is {bucket_by!r}, but the pipeline has no reader that knows lengths",
            fix="return batches of like length from the external source",
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


def check_filling(pipelines: PipelineSet, ranks: Ranks, pad_last: bool | None) -> None:
    """Raises ArgumentError if batches of pipelines cannot be filled.

    Args:
        pipelines: of the loader, built.
        ranks: of this process.
        pad_last: of the loader.
    """
    if pipelines.on_error != "skip":
        raise _not_skipped(pipelines.on_error)
    count = pipelines.shards(ranks)[0].world_size
    if count > 1:
        raise not_alone("PipelineLoader", count)
    if pad_last or (pad_last is None and pipelines.pads):
        name = "`pad_last`" if pad_last else "`pad_last_batch` of the reader"
        raise _make(
            ArgumentError,
            f"`fill_batches` and {name} exclude each other",
            fix="pass pad_last=False, and drop_last=True if the last batch must be full",
        )


def _not_skipped(on_error: str) -> Exception:
    return _make(
        ArgumentError,
        f"`fill_batches` with on_error={on_error!r}: it is for samples that are left out",
        fix='pass on_error="skip"',
    )


def check_integer(name: str, value: Any, least: int) -> None:
    """Raises ArgumentError or ArgumentTypeError unless it is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _make(ArgumentTypeError, f"`{name}` is {value!r}, expected an integer")
    if value < least:
        raise _make(ArgumentError, f"`{name}` is {value}, expected {least} or more")
