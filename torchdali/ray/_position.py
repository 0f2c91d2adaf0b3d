# SPDX-License-Identifier: Apache-2.0
"""Where a RayLoader is: its state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._dataset.progress import Step

__all__ = ["Position", "RowStep", "read_state", "seed_of_rank", "write_state"]

_FORMAT, _VERSION = "torchdali RayLoader", 1


@dataclass(frozen=True)
class Position:
    """A place in the epochs of a dataset.

    Attributes:
        epoch: number of the epoch.
        consumed: rows of it that all ranks together had.
        batches: of it that each rank had.
        errors: rows of it that failed on this rank.
    """

    epoch: int = 0
    consumed: int = 0
    batches: int = 0
    errors: int = 0


@dataclass(frozen=True)
class RowStep(Step):
    """The step to the position after a batch.

    Attributes:
        after: that position.
    """

    after: Position = Position()


def seed_of_rank(seed: int, rank: int, world_size: int) -> int:
    """Returns the seed of the random operators of a rank."""
    if world_size == 1:
        return seed
    text = f"{seed} {rank} {world_size}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def write_state(position: Position, seed: int) -> dict[str, Any]:
    """Returns the state of a loader."""
    return {"format": _FORMAT, "version": _VERSION, **asdict(position), "seed": seed}


def read_state(state: Any) -> tuple[Position, int]:
    """Returns the position and the seed in a state.

    Raises:
        ArgumentError, ArgumentTypeError: it is no state of a RayLoader.
    """
    if not isinstance(state, Mapping):
        raise _make(
            ArgumentTypeError, f"RayLoader: a state is a dict, not a {type(state).__name__}"
        )
    names = ("epoch", "consumed", "batches", "errors", "seed")
    values = [state.get(name) for name in names]
    if (state.get("format"), state.get("version")) != (_FORMAT, _VERSION) or any(
        isinstance(value, bool) or not isinstance(value, int) or value < 0 for value in values
    ):
        raise _make(
            ArgumentError,
            "RayLoader: this is no state of a RayLoader, or of another version of torchdali",
            fix="pass what state_dict() of a RayLoader has returned",
        )
    *place, seed = (int(state[name]) for name in names)
    return Position(*place), seed
