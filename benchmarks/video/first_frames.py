# SPDX-License-Identifier: Apache-2.0
"""Opening of many videos: the first frame of each of 160 files, in RGB, on one thread.

torchdali has indices of the files, and has to open each anew, since it keeps fewer open. Axes:
``video``, a name of videos.VIDEOS; ``seed``; and for the benchmark of memory ``keeps``: that many
videos stay open after their first frame.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from benchmarks.peers import api
from benchmarks.video import readers, videos

PEERS = readers.PEERS
OPEN = "H.264, 1080p, GOP 250"  # of the benchmark of memory
CASES = [
    {"video": name, "threads": 1}
    for name in ("H.264, 360p, GOP 12", "H.264, 360p, GOP 250", "VP9, 360p, GOP 250")
]
KEPT = 32
DALI_FILES = 16  # each of which it reads as a whole when it is built


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that reads one frame."""
    keeps = axes.get("keeps", 0)
    files = videos.many(axes["video"])[: keeps or (DALI_FILES if peer == "dali" else None)]
    if peer in ("torchdali", "dali"):
        dali = api(peer)

        @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=axes["seed"])
        def define() -> Any:
            read = dali.fn.readers if peer == "torchdali" else dali.fn.experimental.readers
            return read.video(filenames=files, sequence_length=1, step=1 << 20)

        pipeline = define()
        if not keeps:
            pipeline.build()

        def run() -> int:
            pipeline.build()
            pipeline.run()
            return 1

        return run
    endless = itertools.cycle(files)
    kept: list[Any] = []

    def step() -> int:
        video = readers.OPEN[peer](next(endless), 0)
        video.read(0, 1)
        if keeps:
            kept.append(video)
        return 1

    return step
