# SPDX-License-Identifier: Apache-2.0
"""Shows how stats() finds the bottleneck of a training loop.

Runs the same loop twice: with a step that takes almost no time, so that the loop waits for the
pipeline, and with a slow step, so that the pipeline waits for the loop. stats() reports both cases.
With --profile PATH, the second loop is recorded for https://ui.perfetto.dev. Without --data, the
images are noise.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import torchdali
from torchdali import PipelineLoader, fn, pipeline_def, types

BATCHES = 12
SLOW_STEP_SECONDS = 0.1
BATCH_SIZE = 16
PIXELS = 256
IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".ppm"}


@pipeline_def(device_id=None, seed=1)
def augment(files: list[str]):
    """Images from files, or noise; cropped, blurred and normalized."""
    if files:
        data, _ = fn.readers.file(files=files, random_shuffle=True, name="Reader")
        images = fn.decoders.image(data, output_type=types.RGB)
    else:
        noise = fn.random.uniform(range=[0.0, 255.0], shape=[PIXELS, PIXELS, 3])
        images = fn.reshape(fn.cast(noise, dtype=types.UINT8), layout="HWC")
    crops = fn.random_resized_crop(images, size=[128, 128])
    blurred = fn.gaussian_blur(crops, sigma=2.0)
    return fn.crop_mirror_normalize(blurred, mirror=fn.random.coin_flip(), output_layout="CHW")


def train(loader: PipelineLoader, step_seconds: float) -> None:
    """Simulates a training loop whose steps run on another device and use no CPU time."""
    for number, _ in enumerate(loader):
        time.sleep(step_seconds)
        if number + 1 == BATCHES:
            break


@contextlib.contextmanager
def recorded(path: Path | None) -> Iterator[None]:
    """Records a profile if a path is given."""
    if path is None:
        yield
        return
    with torchdali.profile(path) as profile:
        yield
    print(f"{profile.events} events: open {path} in https://ui.perfetto.dev")


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of images; default: noise")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--profile", type=Path, help="JSON file to write")
    options = parser.parse_args()
    files = []
    if options.data is not None:
        found = sorted(p for p in options.data.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
        files = [str(path) for path in found]
    loader = PipelineLoader(
        augment,
        batch_size=BATCH_SIZE,
        pipeline_args={"files": files, "num_threads": options.threads},
        size=None if files else BATCHES * BATCH_SIZE,
    )
    for title, seconds in (("a fast step", 0.0), ("a slow step", SLOW_STEP_SECONDS)):
        with recorded(options.profile if seconds else None):
            train(loader, seconds)
        print(f"-- {title}\n{loader.stats(reset=True)}\n")
    loader.close()


if __name__ == "__main__":
    main()
