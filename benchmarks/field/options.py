# SPDX-License-Identifier: Apache-2.0
"""The options that all benchmarks of the field have."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes:
        data: folder with JPEG files, at any depth.
        rounds: interleaved rounds.
        seconds: length of a peer's part of a round.
        seed: of all random values.
        threads: threads, or worker processes, of a loader.
        peers: the only peers to measure; all if empty.
    """

    data: str
    rounds: int = 3
    seconds: float = 3.0
    seed: int = 1
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    peers: tuple[str, ...] = ()

    def axes(self, **others: Any) -> dict[str, Any]:
        """Returns the axes of a benchmark."""
        return {"threads": self.threads, "seed": self.seed, "data": self.data, **others}

    def chosen(self, peers: list[str]) -> list[str]:
        """Returns those of the peers that are to be measured."""
        return [peer for peer in peers if not self.peers or peer in self.peers]
