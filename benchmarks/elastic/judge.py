# SPDX-License-Identifier: Apache-2.0
"""Says of a run that was killed and resumed whether each epoch had every sample once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.elastic.adapter import Batch

__all__ = ["Trace", "Verdict", "judge", "worst"]

# The batches of each rank in an epoch.
Streams = list[list[Batch]]
# From the best to the worst.
LABELS = ("exact", "other order", "repeats", "loses", "cannot")


@dataclass
class Trace:
    """What a run has returned.

    Attributes:
        epochs: by number, the batches of each rank.
    """

    epochs: dict[int, Streams] = field(default_factory=dict)

    def add(self, epoch: int, step: Sequence[Batch | None]) -> None:
        """Notes a step of all ranks."""
        streams = self.epochs.setdefault(epoch, [[] for _ in step])
        for stream, batch in zip(streams, step, strict=True):
            if batch is not None:
                stream.append(batch)

    def ids(self, epoch: int) -> list[int]:
        """Returns the samples of an epoch that all ranks have had."""
        streams = self.epochs.get(epoch, [])
        return [i for stream in streams for batch in stream for i in batch.ids]

    def values(self, epoch: int) -> set[tuple[int, float]]:
        """Returns the random values of the samples of an epoch."""
        streams = self.epochs.get(epoch, [])
        batches = [batch for stream in streams for batch in stream]
        return {pair for b in batches for pair in zip(b.ids, b.values, strict=False)}


@dataclass(frozen=True)
class Verdict:
    """What became of the epochs.

    Attributes:
        label: one of LABELS.
        lost: samples that no rank has had.
        repeated: samples that came again, except those that make ranks equal.
        detail: in words, if it is not exact.
    """

    label: str
    lost: int = 0
    repeated: int = 0
    detail: str = ""

    def document(self) -> dict[str, Any]:
        """Returns it for JSON."""
        return {
            "label": self.label,
            "lost": self.lost,
            "repeated": self.repeated,
            "detail": self.detail,
        }


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the worst of some verdicts."""
    return max(verdicts, key=lambda one: (LABELS.index(one.label), one.lost + one.repeated))


def judge(
    size: int,
    before: Trace,
    after: Trace,
    *,
    padding: int,
    reference: Trace | None,
    values: Trace | None,
    left_out: int = 0,
) -> Verdict:
    """Returns what became of the samples.

    Args:
        size: samples of an epoch.
        before: the run that was killed, up to the checkpoint.
        after: the run that has resumed.
        padding: how many samples may come again at the end of an epoch.
        reference: a run without a kill that both together must be equal to; None: the order may
            be another one.
        left_out: samples of an epoch that the loader leaves out also without a kill.
        values: a run that the random values of each sample must be equal to; None: they may
            differ.
    """
    epochs = sorted(set(before.epochs) | set(after.epochs))
    lost = repeated = 0
    for epoch in epochs:
        counts = Counter(before.ids(epoch) + after.ids(epoch))
        lost += max(0, sum(1 for i in range(size) if not counts[i]) - left_out)
        lost += sum(1 for i in counts if not 0 <= i < size)  # no sample of the data set
        repeated += max(0, sum(counts.values()) - len(counts) - padding)
    if lost:
        return Verdict("loses", lost, repeated)
    if repeated:
        return Verdict("repeats", lost, repeated)
    if reference is not None:
        for epoch, expected in reference.epochs.items():
            had = before.epochs.get(epoch) or [[] for _ in expected]
            rest = after.epochs.get(epoch) or [[] for _ in expected]
            found = [[*a, *b] for a, b in zip(had, rest, strict=True)]
            if found != expected:
                return Verdict("other order", detail=f"of epoch {epoch}")
    if values is not None:
        for epoch in epochs:
            if before.values(epoch) | after.values(epoch) != values.values(epoch):
                return Verdict("other order", detail=f"random values of epoch {epoch}")
    return Verdict("exact")
