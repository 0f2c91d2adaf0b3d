# SPDX-License-Identifier: Apache-2.0
"""Turns, by which the attempts to take the data of an iteration are told apart, and the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch

__all__ = ["ALL_SAMPLES", "NO_TURN", "Batch", "Batches", "Failures", "Fed", "Turn"]

# A batch for the engine: [N, ...] tensor or N tensors, and the layout.
Batch = tuple[torch.Tensor | list[torch.Tensor], str]
# Samples of a batch that a source failed to make: what to say, and what it raised.
Failures = Mapping[int, tuple[str, BaseException]]
# In place of a sample: all samples of a batch, which then has the size of the others.
ALL_SAMPLES = -1
# The data of an iteration: names of operators, their batches, and samples that were not made.
Batches = list[tuple[str, Batch, Failures]]


class Turn(NamedTuple):
    """One attempt to take the data of an iteration, in a run.

    If the attempt is interrupted, another one of the same turn takes the same data.

    Attributes:
        epoch: ends of data that were passed. What sources gave for an iteration in which another
            one ended is dropped.
        number: iterations begun before it.
    """

    epoch: int
    number: int


NO_TURN = Turn(-1, -1)


@dataclass(eq=False)
class Fed:
    """A batch that was fed.

    Attributes:
        batch: the data.
        turn: number of the turn that has taken it; None: it is in the queue.
    """

    batch: Batch
    turn: int | None = None
