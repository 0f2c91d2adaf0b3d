# SPDX-License-Identifier: Apache-2.0
"""A reader of videos and the operators after it, fused and one by one: CPU time and peak memory.

``python -m benchmarks.video.chains`` reads clips of 16 frames, on one thread, and prints the median
ratio of interleaved rounds, and how much larger a process is at its peak.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.video import videos

LENGTH = 16


def _resized(fn: Any, frames: Any) -> Any:
    return _normalized(fn, fn.resize(frames, resize_shorter=256), crop=(224, 224))


def _drawn(fn: Any, frames: Any) -> Any:
    return _normalized(fn, fn.random_resized_crop(frames, size=[224, 224]))


def _normalized(fn: Any, frames: Any, **window: Any) -> Any:
    options = {"mean": [0.0], "std": [255.0], "output_layout": "FCHW"}
    return fn.crop_mirror_normalize(frames, mirror=fn.random.coin_flip(), **options, **window)


CASES: dict[str, tuple[str, dict[str, Any], Callable[[Any, Any], Any]]] = {
    "resize to 256, normalized window of 224": ("video", {}, _resized),
    "random_resized_crop to 224, normalized": ("video", {}, _drawn),
    "crop of 224, normalized": ("video", {}, lambda fn, x: _normalized(fn, x, crop=(224, 224))),
    "video_resize to 256, normalized window of 224": (
        "video_resize",
        {"resize_shorter": 256},
        lambda fn, x: _normalized(fn, x, crop=(224, 224)),
    ),
}


def build(video: str, case: str, *, fused: bool) -> Any:
    """Returns a pipeline of batches of one clip."""
    os.environ["TORCHDALI_FUSION"] = str(int(fused))
    import torchdali

    name, reading, define = CASES[case]

    @torchdali.pipeline_def(
        batch_size=1, num_threads=1, device_id=None, seed=3, prefetch_queue_depth=1
    )
    def definition() -> Any:
        read = getattr(torchdali.fn.readers, name)
        file = videos.one(video)
        frames = read(filenames=[file], sequence_length=LENGTH, random_shuffle=True, **reading)
        return define(torchdali.fn, frames)

    pipe = definition()
    pipe.build()
    return pipe


def _peak(video: str, case: str, *, fused: bool) -> float:
    """Returns by how many MB a process grows at most while it reads clips."""
    pipe = build(video, case, fused=fused)
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = _kilobytes("VmRSS:")
    for _ in range(8):
        pipe.run()
    return (_kilobytes("VmHWM:") - before) / 1e3


def _kilobytes(name: str) -> int:
    return int(Path("/proc/self/status").read_text().split(name)[1].split()[0])


def _cpu_time(pipe: Any, clips: int) -> float:
    start = time.process_time()
    for _ in range(clips):
        pipe.run()
    return (time.process_time() - start) / clips


def main() -> None:
    """Prints a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--videos", nargs="*", default=[v for v in videos.VIDEOS if "GOP 12" in v])
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--peak", choices=["fused", "plain"])
    options = parser.parse_args()
    if options.peak:
        print(_peak(options.videos[0], options.cases[0], fused=options.peak == "fused"))
        return
    for video in options.videos:
        for case in options.cases:
            pipes = [build(video, case, fused=fused) for fused in (True, False)]
            for pipe in pipes:
                _cpu_time(pipe, options.clips)
            rounds = [
                [_cpu_time(pipe, options.clips) for pipe in pipes] for _ in range(options.rounds)
            ]
            ratio = statistics.median(plain / fused for fused, plain in rounds)
            low = [1e3 * sorted(times)[len(times) // 4] for times in zip(*rounds, strict=True)]
            peaks = [
                float(subprocess.check_output(
                    [sys.executable, "-m", __spec__.name, "--peak", which, "--videos", video,
                     "--cases", case]
                ))
                for which in ("fused", "plain")
            ]  # fmt: skip
            print(
                f"{video}, {case}: {ratio:.3f} ({low[0]:.1f} ms a clip fused, {low[1]:.1f} not); "
                f"peak {peaks[0]:.0f} MB fused, {peaks[1]:.0f} not",
                flush=True,
            )


if __name__ == "__main__":
    main()
