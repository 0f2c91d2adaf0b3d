# SPDX-License-Identifier: Apache-2.0
"""Random clips of a data set of videos: 8 clips of 16 frames, resized to 224 x 224 bytes of RGB.

Each clip is of another of 160 files, at a random place, on two threads. The peers open the file for
each clip, as a dataset for torch's DataLoader does. torchdali has indices of the files; DALI 1.35
has no random places, and reads sequences that follow one another in a random order. Axes:
``video``, a name of videos.VIDEOS; ``threads``; ``seed``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.peers import api
from benchmarks.video import readers, videos

PEERS = readers.PEERS
CASES = [{"video": name, "threads": 2} for name in videos.VIDEOS]
CLIPS, LENGTH, SIZE = 8, 16, 224


def _pipeline(peer: str, axes: dict[str, Any]) -> Any:
    dali = api(peer)
    files = videos.many(axes["video"])

    @dali.pipeline_def(
        batch_size=CLIPS, num_threads=axes["threads"], device_id=None, seed=axes["seed"]
    )
    def define() -> Any:
        args = {"filenames": files, "sequence_length": LENGTH, "random_shuffle": True}
        if peer == "torchdali":
            return dali.fn.readers.video_resize(**args, clips_per_video=1, size=[SIZE, SIZE])
        frames = dali.fn.experimental.readers.video(**args, initial_fill=32)
        return dali.fn.resize(frames, size=[SIZE, SIZE])

    pipeline = define()
    pipeline.build()
    return pipeline


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that reads a batch of clips and returns the number of frames."""
    if peer in ("torchdali", "dali"):
        pipeline = _pipeline(peer, axes)

        def run() -> int:
            pipeline.run()
            return CLIPS * LENGTH

        return run
    files, random = videos.many(axes["video"]), np.random.default_rng(axes["seed"])
    opening = readers.OPEN[peer]
    pool = ThreadPoolExecutor(axes["threads"])

    def clip(path: str, place: float) -> Any:
        video = opening(path, SIZE)
        return video.read(int(place * (len(video) - LENGTH)), LENGTH)

    def step() -> int:
        made = list(pool.map(clip, random.choice(files, CLIPS), random.random(CLIPS)))
        assert all(frames.shape == (LENGTH, SIZE, SIZE, 3) for frames in made)
        return CLIPS * LENGTH

    return step
