# SPDX-License-Identifier: Apache-2.0
"""Clips from all over the videos of a data set: 8 of 16 frames, resized to 224 x 224 bytes of RGB.

Each clip is of another of 160 files, on two threads. How far it is from a key frame decides how
much work it is, so all peers read the same clips, and those of a batch are spread evenly over the
videos. The peers open the file for each clip, as a dataset for torch's DataLoader does. torchdali
has indices of the files. DALI 1.35 has no places. Axes: ``video``, a name of videos.VIDEOS;
``threads``; ``seed``.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.video import readers, videos

PEERS = ["torchdali", *readers.OPEN]
CASES = [
    {"video": name, "threads": 2}
    for name in videos.VIDEOS
    if "360p" in name or name == "H.264, 1080p, GOP 250"
]
CLIPS, LENGTH, SIZE = 8, 16, 224


def _clips(axes: dict[str, Any]) -> list[tuple[str, int]]:
    """Returns the file and the first frame of each clip of an epoch."""
    last = videos.VIDEOS[axes["video"]].frames - LENGTH
    # The van der Corput sequence: the bits of the number, reversed, as a fraction.
    places = [int(f"{i:08b}"[::-1], 2) / 256 for i in range(videos.COPIES)]
    return [
        (file, int(place * last))
        for file, place in zip(videos.many(axes["video"]), places, strict=True)
    ]


def _pipeline(axes: dict[str, Any]) -> Any:
    import torchdali

    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.writelines(f"{path} 0 {at} {at + LENGTH}\n" for path, at in _clips(axes))

    @torchdali.pipeline_def(
        batch_size=CLIPS, num_threads=axes["threads"], device_id=None, seed=axes["seed"]
    )
    def define() -> Any:
        frames, _ = torchdali.fn.readers.video_resize(
            file_list=file.name,
            file_list_frame_num=True,
            sequence_length=LENGTH,
            size=[SIZE, SIZE],
        )
        return frames

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
    clips = itertools.cycle(_clips(axes))
    opening = readers.OPEN[peer]
    pool = ThreadPoolExecutor(axes["threads"])

    def read(clip: tuple[str, int]) -> Any:
        return opening(clip[0], SIZE).read(clip[1], LENGTH)

    def step() -> int:
        made = list(pool.map(read, itertools.islice(clips, CLIPS)))
        assert all(frames.shape == (LENGTH, SIZE, SIZE, 3) for frames in made)
        return CLIPS * LENGTH

    return step
