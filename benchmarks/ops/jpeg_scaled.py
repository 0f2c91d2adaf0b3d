# SPDX-License-Identifier: Apache-2.0
"""JPEG files decoded and resized on one thread, at full size and at a reduced size.

Axes: ``work``: "crop" (random resized crop) or "whole" (resized so that the shorter side fits);
``size`` of the result in pixels; ``data`` (folder); ``seed``. A peer's name ends with its
``scaled_margin``; 0 means decoding at full size.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.pipelines.files import find_files

PREFIX = "torchdali-margin-"
MARGINS = ["0", "1", "1.5", "2"]
PEERS = [PREFIX + margin for margin in MARGINS]
WORK = [(work, size) for work in ("crop", "whole") for size in (64, 128, 224)]
BATCH = 32
PEAK = 255


def _pipeline(margin: str, files: list[bytes], axes: dict[str, Any]) -> Any:
    import numpy as np

    import torchdali
    from torchdali import fn

    arrays = [np.frombuffer(file, np.uint8) for file in files]
    first = itertools.count(step=BATCH)
    size = axes["size"]

    def batch() -> list[Any]:
        start = next(first)
        return [arrays[(start + i) % len(arrays)] for i in range(BATCH)]

    @torchdali.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=axes["seed"])
    def resized() -> Any:
        encoded = fn.external_source(source=batch, no_copy=True)
        images = fn.decoders.image(encoded, scaled_margin=float(margin))
        if axes["work"] == "crop":
            return fn.random_resized_crop(images, size=[size, size])
        return fn.resize(images, size=[size, size], mode="not_smaller")

    pipeline = resized()
    pipeline.build()
    return pipeline


def _read(axes: dict[str, Any]) -> list[bytes]:
    return [Path(name).read_bytes() for name in find_files(axes["data"])]


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    pipeline = _pipeline(peer.removeprefix(PREFIX), _read(axes), axes)
    return lambda: len(pipeline.run()[0])


def quality(axes: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns one result per margin: PSNR against full size, over the images that differ."""
    import numpy as np

    files = _read(axes)
    shown = {name: value for name, value in axes.items() if name != "data"}
    results = []
    for margin in MARGINS[1:]:
        pipelines = [_pipeline(m, files, axes) for m in (MARGINS[0], margin)]
        values, count = [], 0
        for _ in range((len(files) + BATCH - 1) // BATCH):
            full, scaled = (pipeline.run()[0] for pipeline in pipelines)
            for a, b in zip(full, scaled, strict=True):
                difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
                error = float(np.mean(difference**2))
                count += 1
                if error > 0:
                    values.append(float(10 * np.log10(PEAK**2 / error)))
        entry = {"benchmark": __name__, "peer": PREFIX + margin, "axes": {**shown, "psnr": True}}
        entry["quality"] = {"images": count, "scaled": len(values)}
        if values:
            values.sort()
            entry["quality"] |= {
                "mean_db": statistics.mean(values),
                "p5_db": values[len(values) // 20],
                "least_db": values[0],
            }
        results.append(entry)
    return results
