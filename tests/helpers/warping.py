# SPDX-License-Identifier: Apache-2.0
"""Samples of images and volumes at arbitrary positions, in float64: the reference of warps."""

from __future__ import annotations

import itertools

import numpy as np
import torch


def sample_at(
    image: torch.Tensor, positions: np.ndarray, *, linear: bool = True, fill: float | None = None
) -> np.ndarray:
    """Reads a sample at positions.

    Args:
        image: [(D,) H, W, C].
        positions: [..., n] with x, y(, z) in the last axis; 0.5 is the middle of the first pixel.
        linear: interpolate, else take the pixel that contains a position.
        fill: what is outside; None repeats the border.

    Returns:
        float64 [..., C].
    """
    data = image.numpy().astype(np.float64)
    ndim = positions.shape[-1]
    extents = data.shape[:ndim][::-1]
    at = [positions[..., axis] - (0.5 if linear else 0.0) for axis in range(ndim)]
    low = [np.floor(p) for p in at]
    total = np.zeros((*positions.shape[:-1], data.shape[-1]))
    for taps in itertools.product((0, 1) if linear else (0,), repeat=ndim):
        weight = np.ones(positions.shape[:-1])
        inside = np.ones(positions.shape[:-1], dtype=bool)
        index = []
        for axis, tap in enumerate(taps):
            fraction = at[axis] - low[axis]
            if linear:
                weight = weight * (fraction if tap else 1 - fraction)
            i = (low[axis] + tap).astype(np.int64)
            inside &= (i >= 0) & (i < extents[axis])
            index.append(np.clip(i, 0, extents[axis] - 1))
        values = data[tuple(index[::-1])]
        if fill is not None:
            values = np.where(inside[..., None], values, fill)
        total += values * weight[..., None]
    return total


def grid(extents: tuple[int, ...]) -> np.ndarray:
    """Returns the middles of the pixels of [(D,) H, W] as [..., n] with x, y(, z)."""
    axes = np.meshgrid(*(np.arange(e) + 0.5 for e in extents), indexing="ij")
    return np.stack(axes[::-1], axis=-1)
