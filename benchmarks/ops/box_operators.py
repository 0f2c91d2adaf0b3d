# SPDX-License-Identifier: Apache-2.0
"""Operators of boxes and masks, for the benchmark of single operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.ops.case import Case

HEIGHT, WIDTH = 480, 640  # of images and masks
BOXES = 20
PARTS = 4  # objects of a mask


def _boxes(random: np.random.Generator) -> np.ndarray:
    corners = np.sort(random.random((2, BOXES, 2), np.float32), axis=0)
    return np.concatenate([corners[0], corners[1]], axis=1)


def _mask(random: np.random.Generator) -> np.ndarray:
    mask = np.zeros((HEIGHT, WIDTH, 1), np.int32)
    for part in range(PARTS):
        top, left = random.integers(0, HEIGHT // 2), random.integers(0, WIDTH // 2)
        mask[top : top + HEIGHT // 3, left : left + WIDTH // 3] = part + 1
    return mask


BOX_INPUTS: Mapping[str, tuple[Callable[[np.random.Generator], np.ndarray], str]] = {
    "boxes": (_boxes, ""),
    "mask": (_mask, "HWC"),
    "labels": (lambda random: random.integers(0, 80, BOXES).astype(np.int32), ""),
}

BOX_CASES: Mapping[str, Case] = {
    "bb_flip": Case(lambda d, x: d.fn.bb_flip(x, ltrb=True), ("boxes",)),
    "bbox_rotate": Case(
        lambda d, x: d.fn.bbox_rotate(x, angle=30.0, input_shape=(HEIGHT, WIDTH)), ("boxes",)
    ),
    "random_bbox_crop": Case(
        lambda d, x, y: d.fn.random_bbox_crop(
            x,
            y,
            thresholds=[0.1, 0.3, 0.5],
            aspect_ratio=[0.5, 2.0],
            scaling=[0.3, 1.0],
            bbox_layout="xyXY",
            num_attempts=10,
        ),
        ("boxes", "labels"),
    ),
    "ssd_random_crop": Case(
        lambda d, x, y, z: d.fn.ssd_random_crop(x, y, z), ("image", "boxes", "labels")
    ),
    "box_encoder": Case(
        lambda d, x, y: d.fn.box_encoder(
            x, y, anchors=_boxes(np.random.default_rng(3)).repeat(400, 0).flatten().tolist()
        ),
        ("boxes", "labels"),
    ),
    "segmentation.random_object_bbox": Case(
        lambda d, x: d.fn.segmentation.random_object_bbox(x, foreground_prob=0.8), ("mask",)
    ),
    "segmentation.random_mask_pixel": Case(
        lambda d, x: d.fn.segmentation.random_mask_pixel(x, foreground=1), ("mask",)
    ),
}
