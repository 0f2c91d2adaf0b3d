# SPDX-License-Identifier: Apache-2.0
"""Decoding of a video from the first to the last frame, to RGB, on one thread.

Axes: ``video``, a name of videos.VIDEOS; ``threads``; ``seed``. Frames are returned in sequences of
16, and the video begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers import api
from benchmarks.video import readers, videos

PEERS = readers.PEERS
CASES = [
    {"video": name, "threads": 1}
    for name in videos.VIDEOS
    if "GOP 250" in name and "VFR" not in name and ("360p" in name or "H.264" in name)
]
LENGTH = 16


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that decodes the next frames and returns their number."""
    path = videos.one(axes["video"])
    if peer in ("torchdali", "dali"):
        dali = api(peer)

        @dali.pipeline_def(
            batch_size=1, num_threads=axes["threads"], device_id=None, seed=axes["seed"]
        )
        def define() -> Any:
            read = dali.fn.readers if peer == "torchdali" else dali.fn.experimental.readers
            return read.video(filenames=[path], sequence_length=LENGTH)

        pipeline = define()
        pipeline.build()

        def run() -> int:
            pipeline.run()
            return LENGTH

        return run
    video = readers.OPEN[peer](path, 0)
    count = len(video) // LENGTH
    state = {"at": 0}

    if peer == "pyav":  # which would seek for each sequence
        decoded: list[Any] = []

        def frames() -> Any:
            while True:
                video.container.seek(0)
                yield from video.container.decode(video.stream)

        stream = frames()

        def step() -> int:
            decoded[:] = [next(stream).to_ndarray(format="rgb24") for _ in range(LENGTH)]
            return LENGTH

        return step

    def step_of_frames() -> int:
        video.read(state["at"] * LENGTH, LENGTH)
        state["at"] = (state["at"] + 1) % count
        return LENGTH

    return step_of_frames
