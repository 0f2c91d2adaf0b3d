# SPDX-License-Identifier: Apache-2.0
"""What one fn.external_source is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali._sources.python_source import PythonSource

__all__ = ["SourceGroup"]


@dataclass(frozen=True, eq=False)
class SourceGroup:
    """The definition of one fn.external_source, shared by the operators of its outputs.

    Attributes:
        source: the user's; None: data is fed.
        num_outputs: length of the tuples that the source returns; None: it returns no tuples.
        no_copy: use the user's memory.
        repeat_last: if nothing new was fed, use the last data again.
        blocking: wait for data to be fed.
        location: the user's line.
        parallel: a ParallelSource, if worker processes run the source; else None.
        device: "gpu": takes data on a GPU too.
        cuda_stream: the stream that makes such data, as the user passed it.
    """

    source: PythonSource | None = None
    num_outputs: int | None = None
    no_copy: bool = False
    repeat_last: bool = False
    blocking: bool = False
    location: SourceLocation | None = None
    parallel: Any = None
    device: str = "cpu"
    cuda_stream: Any = None
