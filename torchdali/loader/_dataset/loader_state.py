# SPDX-License-Identifier: Apache-2.0
"""The state that a DataLoader keeps from epoch to epoch."""

from __future__ import annotations

from typing import Any

from torchdali._common.bad_samples import BadSampleLog
from torchdali.loader._dataset.clock import WaitClock
from torchdali.loader._dataset.progress import Progress
from torchdali.loader._dataset.random_stream import RandomStreams
from torchdali.loader._dataset.randomness import GlobalGenerator

__all__ = ["LoaderState"]


class LoaderState:
    """The state of one DataLoader.

    Attributes:
        progress: how far the user is in the epoch; None: no epoch has begun.
        loaded: what load_state_dict() was called with, until the next epoch begins.
        idle_pipelines: pipelines of earlier epochs, for the next.
        random_streams: of the pipeline.
        bad_samples: those of the epoch, as far as the user is.
        clock: measures how long the user waits.
        view: what iterators get in place of the loader, with `accelerate`; None: the loader.
        generator: what is used where the loader was given none.
    """

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.loaded: dict[str, Any] | None = None
        self.idle_pipelines: list[Any] = []
        self.random_streams = RandomStreams()
        self.bad_samples = BadSampleLog()
        self.bad_samples.epoch = -1  # before the first one
        self.clock = WaitClock()
        self.view: Any = None
        self.generator = GlobalGenerator()
