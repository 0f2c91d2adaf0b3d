# SPDX-License-Identifier: Apache-2.0
"""Measures clips on the GPU: ``python -m benchmarks.gpu_video --out FILE``.

Random clips of 16 frames become tensors on the GPU, resized to 224 x 224 there: decoded by NVDEC,
and by threads of the CPU whose frames are copied. Rounds are interleaved. Videos are made with the
program ffmpeg; a codec that this GPU does not decode is left out, with the reason.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import machine, spread
from benchmarks.video.videos import VIDEOS, many
from torchdali import fn, pipeline_def

BATCH, LENGTH, SIZE = 8, 16, 224
DECODERS = {"NVDEC": "required", "CPU threads, copied": "0"}


@pipeline_def(batch_size=BATCH, device_id=0, seed=1)
def _clips(files: list[str]) -> Any:
    frames = fn.readers.video(
        device="gpu", filenames=files, sequence_length=LENGTH, clips_per_video=1,
        random_shuffle=True,
    )  # fmt: skip
    return fn.resize(frames, size=[SIZE, SIZE])


def _batches(files: list[str], decoder: str, threads: int) -> Generator[int, None, None]:
    """Yields the number of clips of each batch once they are on the GPU."""
    os.environ["TORCHDALI_NVDEC"] = DECODERS[decoder]  # read when the pipeline is built
    with _clips(files, num_threads=threads, prefetch_queue_depth=3) as pipe:
        while True:
            (clips,) = pipe.run()
            torch.cuda.current_stream().synchronize()
            yield len(clips)


def measure(name: str, threads: int, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns clips per second of each decoder, and per second of CPU time."""
    files = many(name)
    running: dict[str, Generator[int, None, None]] = {}
    results: list[dict[str, Any]] = []
    for decoder in DECODERS:
        try:
            running[decoder] = _batches(files, decoder, threads)
            for _ in range(4):
                next(running[decoder])
        except Exception as error:
            running.pop(decoder)
            reason = f"{type(error).__name__}: {error}"[:200]
            results.append({"video": name, "decoder": decoder, "absent": reason})
    walls: dict[str, list[float]] = {decoder: [] for decoder in running}
    cpus: dict[str, list[float]] = {decoder: [] for decoder in running}
    for _ in range(rounds):
        for decoder, batches in running.items():
            for _ in range(3):  # discard batches prefetched while others were measured
                next(batches)
            start, cpu, count = time.perf_counter(), time.process_time(), 0
            while time.perf_counter() - start < seconds:
                count += next(batches)
            walls[decoder].append(count / (time.perf_counter() - start))
            cpus[decoder].append(count / (time.process_time() - cpu))
    for batches in running.values():
        batches.close()
    for decoder, values in walls.items():
        results.append(
            {
                "video": name,
                "decoder": decoder,
                "clips_per_s": spread(values),
                "clips_per_cpu_s": spread(cpus[decoder]),
            }
        )
    return results


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--videos", nargs="+", default=list(VIDEOS), choices=list(VIDEOS))
    options = parser.parse_args()
    document: dict[str, Any] = {
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "task": f"random clips of {LENGTH} frames on the GPU, resized to {SIZE} x {SIZE} there",
        "machine": {**machine(), "gpu": torch.cuda.get_device_name(0)},
        "threads": options.threads,
        "batch": BATCH,
        "results": [],
    }
    for name in options.videos:
        document["results"] += measure(name, options.threads, options.rounds, options.seconds)
        options.out.write_text(json.dumps(document, indent=1) + "\n")
        print(name, json.dumps(document["results"][-2:], indent=1), flush=True)


if __name__ == "__main__":
    main()
