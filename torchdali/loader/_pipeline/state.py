# SPDX-License-Identifier: Apache-2.0
"""The state of a PipelineLoader as a dict of plain values: written and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._pipeline.epochs import Buckets, Position
from torchdali.pipeline._checkpoint_format import Checkpoint, integer

__all__ = ["check_facts", "check_whole", "position_of", "read_state", "write_state"]

_VERSION = 1
_LATER = ("errors", "rows", "bucket_batch")  # not in the first states of this version


def write_state(
    position: Position,
    facts: Mapping[str, Any],
    *,
    mid_epoch: bool,
    world_size: int,
    pipelines: Sequence[Checkpoint],
) -> dict[str, Any]:
    """Returns a dict of integers, booleans and strings, for JSON or torch.save().

    Args:
        position: of all ranks.
        facts: that the meaning of the position depends on.
        mid_epoch: whether external sources are inside the epoch.
        world_size: number of shards that the epoch is divided into.
        pipelines: checkpoints of this rank.
    """
    return {
        "version": _VERSION,
        "epoch": position.epoch,
        "consumed": position.consumed,
        "batches": position.batches,
        "errors": position.errors,
        "rows": position.rows,
        "bucket_batch": position.bucket_batch,
        "within": mid_epoch,
        "world_size": world_size,
        **facts,
        "pipelines": [checkpoint.encode().decode() for checkpoint in pipelines],
    }


def read_state(state: Any) -> dict[str, Any]:
    """Returns a copy of what write_state() returned.

    Raises:
        ArgumentTypeError: it is no dict.
        ArgumentError: it is damaged, or no state.
    """
    if not isinstance(state, Mapping):
        raise _make(
            ArgumentTypeError,
            f"the state is a {type(state).__name__}, expected the dict that state_dict() returned",
        )
    try:
        for key, least in {
            "epoch": 0,
            "consumed": 0,
            "batches": 0,
            "world_size": 1,
            "seed": 0,
        }.items():
            integer(state, key, least)
        for key in _LATER:
            integer({key: state.get(key, 0)}, key)
        if state.get("version") != _VERSION:
            raise ValueError(f"its version is {state.get('version')!r}, not {_VERSION}")
        if not isinstance(state.get("pipelines"), list) or not state["pipelines"]:
            raise ValueError("`pipelines` is no list of checkpoints")
        if not isinstance(state.get("within"), bool):
            raise ValueError("`within` is missing")
    except ValueError as error:
        raise _make(
            ArgumentError,
            f"the state is damaged, or no state of a PipelineLoader: {error}",
            fix="pass what state_dict() returned",
        ) from None
    for text in state["pipelines"]:
        Checkpoint.decode(text)
    return {**Buckets().facts, **state}


def position_of(state: Mapping[str, Any]) -> Position:
    """Returns the position in a state."""
    keys = ("epoch", "consumed", "batches")
    later = {key: state.get(key, 0) for key in _LATER}
    return Position(**{key: state[key] for key in keys}, **later)


def check_whole(state: Mapping[str, Any]) -> None:
    """Raises ArgumentError if a loader without `fill_batches` cannot continue from a state."""
    if state.get("rows"):
        raise _make(
            ArgumentError,
            "load_state_dict(): the state is of a loader with `fill_batches`, which has returned a "
            "part of a batch",
            fix="pass fill_batches=True",
        )


def check_facts(state: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Checks the facts of a state against those of a loader.

    Raises:
        ArgumentError: a fact differs, so that the position has another meaning.
    """
    for key, own in facts.items():
        if state.get(key) != own:
            raise _make(
                ArgumentError,
                f"`{key}` of the loader is {own!r}, in the state it is {state.get(key)!r}",
                fix="resume with the data set and the arguments that the state was made with",
            )
