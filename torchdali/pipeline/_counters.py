# SPDX-License-Identifier: Apache-2.0
"""From the engine's counters to the figures of ``stats()``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchdali.stats import (
    ChosenStats,
    OperatorPart,
    OperatorStats,
    PipelineStats,
    QueueStats,
    SourceStats,
    WorkerStats,
)


def difference(now: Any, before: Any) -> Any:
    """Returns counters less those of a time before; what is greatest stays as it is."""
    if isinstance(now, Mapping):
        return {
            key: value
            if key.startswith("max_") or key == "now_ns"
            else difference(value, before.get(key, 0))
            for key, value in now.items()
        }
    if isinstance(now, list):
        return [difference(a, b) for a, b in zip(now, before, strict=True)]
    return now - before if isinstance(now, int) and not isinstance(now, bool) else now


def from_counters(
    counters: Mapping[str, Any],
    sources: Sequence[SourceStats],
    wall_ns: int,
    chosen: ChosenStats | None = None,
) -> PipelineStats:
    """Returns the statistics for the engine's counters.

    Args:
        counters: of one Executor, since its build or a time.
        sources: what Python knows of external sources.
        wall_ns: since that time.
        chosen: for options that are "auto".
    """
    readers = tuple(
        SourceStats(
            "reader",
            o["self"][1],
            o["self"][2],
            o["source_batches"],
            o["source_ns"],
            o["max_source_ns"],
        )
        for o in counters["operators"]
        if o["source_batches"] and o["self"][0] != "external_source"
    )
    ready = list(counters["ready"])
    while ready and not ready[-1]:
        ready.pop()
    return PipelineStats(
        wall_ns=wall_ns,
        queue=QueueStats(
            tuple(ready), counters["waits"], counters["wait_ns"], counters["max_wait_ns"]
        ),
        operators=tuple(_operator(o) for o in counters["operators"]),
        sources=(*readers, *sources),
        workers=tuple(
            WorkerStats(
                f"torchdali-{index}",
                w["wall_ns"],
                w["busy_ns"],
                w["idle_ns"],
                w["waiting_ns"],
                w["claims"],
                w["parked_ns"],
                w["cpu_ns"],
            )
            for index, w in enumerate(counters["workers"])
        ),
        chosen=chosen,
    )


def _operator(counters: Mapping[str, Any]) -> OperatorStats:
    operator, name, location = counters["self"]
    parts = tuple(OperatorPart(*part) for part in counters["parts"])
    samples, timed = counters["samples"], counters["timed"]
    scale = samples / timed if timed else 0
    return OperatorStats(
        operator=" + ".join(part.operator for part in parts) or operator,
        name=name,
        location=location,
        parts=parts,
        device="gpu" if counters["on_gpu"] else "cpu",
        samples=samples or counters["batch_samples"],
        timed=timed,
        total_ns=round(counters["ns"] * scale) + counters["batch_ns"],
        max_ns=counters["max_ns"],
        output_bytes=round(counters["bytes"] * scale) + counters["batch_bytes"],
        batches=counters["batches"],
        batch_ns=counters["batch_ns"],
        max_batch_ns=counters["max_batch_ns"],
        counts=dict(counters["counts"]),
    )
