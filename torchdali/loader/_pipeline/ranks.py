# SPDX-License-Identifier: Apache-2.0
"""The rank of this process and the number of ranks."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch.distributed

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["Ranks", "find_ranks", "local_rank"]


@dataclass(frozen=True)
class Ranks:
    """A process among those that train together: `rank` of `world_size`."""

    rank: int = 0
    world_size: int = 1


def find_ranks(rank: int | None = None, world_size: int | None = None) -> Ranks:
    """Returns the rank of this process and the number of ranks.

    They come from the arguments, else from the process group of torch.distributed, else from the
    environment variables that torchrun sets (RANK and WORLD_SIZE); else there is one process.

    Raises:
        ArgumentError: one argument is passed without the other, or they are out of range.
        ArgumentTypeError: they are not integers.
    """
    if (rank is None) != (world_size is None):
        raise _make(
            ArgumentError,
            f"`rank` is {rank} and `world_size` is {world_size}",
            fix="pass both, or neither: then they come from torch.distributed or torchrun",
        )
    if rank is not None and world_size is not None:
        return _checked(rank, world_size, "`rank`", "`world_size`")
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return Ranks(torch.distributed.get_rank(), torch.distributed.get_world_size())
    texts = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if None in texts:
        return Ranks()
    return _checked(
        _from_environment("RANK"), _from_environment("WORLD_SIZE"), "$RANK", "$WORLD_SIZE"
    )


def local_rank() -> int:
    """Returns the rank of this process on its machine, from torchrun's $LOCAL_RANK; else 0.

    Raises:
        ArgumentError: the environment variable is not a number.
    """
    return _from_environment("LOCAL_RANK") if "LOCAL_RANK" in os.environ else 0


def _from_environment(name: str) -> int:
    text = os.environ[name]
    try:
        return int(text)
    except ValueError:
        raise _make(
            ArgumentError,
            f'the environment variable {name} is "{text}", expected a number',
            fix="start the processes with torchrun, or unset it",
        ) from None


def _checked(rank: int, world_size: int, rank_name: str, size_name: str) -> Ranks:
    for name, value in ((rank_name, rank), (size_name, world_size)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise _make(ArgumentTypeError, f"{name} is {value!r}, expected an integer")
    if not 0 <= rank < world_size:
        raise _make(
            ArgumentError,
            f"{rank_name} is {rank} and {size_name} is {world_size}, expected 0 to {size_name} - 1",
        )
    return Ranks(rank, world_size)
