# SPDX-License-Identifier: Apache-2.0
"""fn.resize of images in memory, on one thread, and OpenCV's nearest equivalent.

Axes: ``filter``, a name of FILTERS; ``ratio``, a name of RATIOS; ``channels``; ``dtype``. OpenCV
resizes one image after the other into arrays that it allocates. Its results differ where its filter
does: "antialias" is INTER_AREA, the mean of an area, and "lanczos" has 8 taps instead of 6.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import api

PEERS = ["torchdali", "dali", "opencv"]
SAMPLES = 64
# DALI's filter, whether it is widened, OpenCV's.
FILTERS = {
    "nearest": ("INTERP_NN", False, "INTER_NEAREST"),
    "linear": ("INTERP_LINEAR", False, "INTER_LINEAR"),
    "antialias": ("INTERP_LINEAR", True, "INTER_AREA"),
    "cubic": ("INTERP_CUBIC", False, "INTER_CUBIC"),
    "lanczos": ("INTERP_LANCZOS3", False, "INTER_LANCZOS4"),
}
# Height and width before and after.
RATIOS = {
    "to 64 x 64": ((480, 640), (64, 64)),
    "to 224 x 224": ((480, 640), (224, 224)),
    "halved": ((480, 640), (240, 320)),
    "half the width": ((480, 640), (480, 320)),
    "half the height": ((480, 640), (240, 640)),
    "the same": ((480, 640), (480, 640)),
    "doubled": ((240, 320), (480, 640)),
    "to 600 x 777": ((480, 640), (600, 777)),
}
CHANNELS = (1, 3)
DTYPES = ("uint8", "float32")


def cases() -> list[dict[str, Any]]:
    """Returns the axes of all cases."""
    return [
        {"threads": 1, "filter": name, "ratio": ratio, "channels": channels, "dtype": dtype}
        for dtype, channels, name, ratio in itertools.product(DTYPES, CHANNELS, FILTERS, RATIOS)
    ]


def _images(axes: dict[str, Any]) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    height, width = RATIOS[axes["ratio"]][0]
    shape = (height, width, axes["channels"])
    return [random.integers(0, 256, shape).astype(axes["dtype"]) for _ in range(SAMPLES)]


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its number of samples."""
    images = _images(axes)
    dali_filter, antialias, cv_filter = FILTERS[axes["filter"]]
    size = RATIOS[axes["ratio"]][1]
    if peer == "opencv":
        import cv2

        cv2.setNumThreads(1)
        method = getattr(cv2, cv_filter)
        return lambda: len([cv2.resize(x, size[::-1], interpolation=method) for x in images])

    dali = api(peer)

    @dali.pipeline_def(
        batch_size=SAMPLES, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def definition() -> Any:
        fed = dali.fn.external_source(source=lambda: images, batch=True, no_copy=True, layout="HWC")
        interp_type = getattr(dali.types, dali_filter)
        return dali.fn.resize(fed, size=size, interp_type=interp_type, antialias=antialias)

    pipeline = definition()
    pipeline.build()
    return lambda: len(pipeline.run()[0])
