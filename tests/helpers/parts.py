# SPDX-License-Identifier: Apache-2.0
"""The parts of a pipeline, for tests of what its public methods do not show."""

from __future__ import annotations

from torchdali import Pipeline
from torchdali.data_node import OpNode
from torchdali.pipeline._parts import PipelineParts


def parts_of(pipeline: Pipeline) -> PipelineParts:
    return pipeline.__torchdali_driver__()


def nodes_of(pipeline: Pipeline) -> list[OpNode]:
    """Returns the operators that a built pipeline runs."""
    return list(parts_of(pipeline).built().nodes)


def worker_pids(pipeline: Pipeline) -> list[int]:
    """Returns the process ids of the workers of external sources."""
    return parts_of(pipeline).processes.pids
