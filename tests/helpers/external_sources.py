# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one external source."""

from __future__ import annotations

from typing import Any

from torchdali import Pipeline, fn


def pulled(source: Any, depth: int = 2, **arguments: Any) -> Pipeline:
    """Returns a pipeline whose outputs are those of a source."""
    pipe = Pipeline(2, 1, prefetch_queue_depth=depth)
    with pipe:
        made = fn.external_source(source, **arguments)
        pipe.set_outputs(*made) if isinstance(made, list) else pipe.set_outputs(made)
    return pipe


def take(pipe: Pipeline, rounds: int) -> list[Any]:
    """Returns the first element of every sample for each run, and "end" for each end."""
    results: list[Any] = []
    for _ in range(rounds):
        try:
            results.append([float(s.as_torch().flatten()[0]) for s in pipe.run()[0]])
        except StopIteration:
            results.append("end")
            pipe.reset()
    return results
