# SPDX-License-Identifier: Apache-2.0
"""Random windows of the engine, and how far two distributions are apart."""

from __future__ import annotations

import numpy as np

import torchdali


def windows_of(height, width, scale, ratio, count):
    """Returns windows that the engine draws, from images that hold their coordinates."""
    generator = torchdali.fn.random_crop_generator
    pipeline = torchdali.Pipeline(batch_size=count, num_threads=1, device_id=None, seed=5)
    with pipeline:
        shape = torchdali.fn.constant(idata=[height, width], shape=[2])
        pipeline.set_outputs(
            *generator(
                shape, random_area=scale, random_aspect_ratio=ratio, window_rule="torchvision"
            )
        )
    pipeline.build()
    anchors, shapes = (np.array(batch.as_tensor()) for batch in pipeline.run())
    return np.concatenate([anchors, shapes], 1)


def kolmogorov_smirnov(a, b):
    """Returns the greatest distance between two distributions."""
    both = np.sort(np.concatenate([a, b]))
    a, b = np.sort(a), np.sort(b)
    return np.abs(
        np.searchsorted(a, both, "right") / len(a) - np.searchsorted(b, both, "right") / len(b)
    ).max()
