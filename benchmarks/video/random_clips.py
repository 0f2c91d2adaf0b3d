# SPDX-License-Identifier: Apache-2.0
"""Random clips of a data set of videos: 8 clips of 16 frames, resized to 224 x 224 bytes of RGB.

Each clip is of another of 160 files, at a random place, on two threads. The peers open the file for
each clip, as a dataset for torch's DataLoader does. torchdali has indices of the files. DALI 1.35
has no random places. Axes: ``video``, a name of videos.VIDEOS; ``threads``; ``seed``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.video import readers, videos

PEERS = ["torchdali", *readers.OPEN]
CASES = [
    {"video": name, "threads": 2}
    for name in videos.VIDEOS
    if "360p" in name or name == "H.264, 1080p, GOP 250"
]
CLIPS, LENGTH, SIZE = 8, 16, 224


def _pipeline(axes: dict[str, Any]) -> Any:
    import torchdali

    files = videos.many(axes["video"])

    @torchdali.pipeline_def(
        batch_size=CLIPS, num_threads=axes["threads"], device_id=None, seed=axes["seed"]
    )
    def define() -> Any:
        return torchdali.fn.readers.video_resize(
            filenames=files,
            sequence_length=LENGTH,
            random_shuffle=True,
            clips_per_video=1,
            size=[SIZE, SIZE],
        )

    pipeline = define()
    pipeline.build()
    return pipeline


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that reads a batch of clips and returns the number of frames."""
    if peer == "torchdali":
        pipeline = _pipeline(axes)

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
