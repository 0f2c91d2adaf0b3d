# SPDX-License-Identifier: Apache-2.0
"""A reference of fn.resize in NumPy, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from torchdali import types

Weight = Callable[[np.ndarray], np.ndarray]


def cubic(x: np.ndarray) -> np.ndarray:
    near, far = ((1.5 * x - 2.5) * x * x + 1), (((-0.5 * x + 2.5) * x - 4) * x + 2)
    return np.where(x < 1, near, np.where(x < 2, far, 0))


# Radius in pixels, and weight at a distance. All but linear are sampled, 32 steps a pixel.
WEIGHTS: dict[Any, tuple[float, Weight]] = {
    types.INTERP_LINEAR: (1, lambda x: np.maximum(0, 1 - x)),
    types.INTERP_TRIANGULAR: (1, lambda x: np.maximum(0, 1 - x)),
    types.INTERP_CUBIC: (2, cubic),
    types.INTERP_LANCZOS3: (3, lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)),
    types.INTERP_GAUSSIAN: (1, lambda x: np.exp(-4 * x * x)),
}


def resample_axis(
    x: np.ndarray, axis: int, out: int, low: float, high: float, filter_: Any, antialias: bool
) -> np.ndarray:
    """Resamples one axis: weights for every pair of output and input pixel, then a product."""
    extent = x.shape[axis]
    step = (high - low) / out
    centers = low + (np.arange(out) + 0.5) * step
    matrix = np.zeros((out, extent))
    if filter_ == types.INTERP_NN:
        matrix[np.arange(out), np.clip(np.floor(centers), 0, extent - 1).astype(int)] = 1
    else:
        radius, weight = WEIGHTS[filter_]
        scale = max(1.0, abs(step)) if antialias else 1.0
        grid = np.arange(0, radius + 1 / 32, 1 / 32)
        for i, center in enumerate(centers):
            first = math.ceil(center - 0.5 - radius * scale)
            taps = first + np.arange(math.ceil(2 * radius * scale))
            distance = np.abs(taps + 0.5 - center) / scale
            weights = np.interp(distance, grid, weight(grid))
            weights[distance > radius] = 0
            # Outside the input its border repeats.
            np.add.at(matrix[i], np.clip(taps, 0, extent - 1), weights / weights.sum())
    return np.moveaxis(np.tensordot(matrix, x, ([1], [axis])), 0, axis)


def region_and_size(
    extents: Sequence[int],
    size: Sequence[float],
    mode: str = "default",
    max_size: Sequence[float] | None = None,
    subpixel_scale: bool = True,
    roi: tuple[Sequence[float], Sequence[float]] | None = None,
) -> tuple[list[int], list[float], list[float]]:
    """The law of sizes: extents of the result, and both ends of the region for each axis."""
    low, high = ([*roi[0]], [*roi[1]]) if roi else ([0.0] * len(extents), [*map(float, extents)])
    region = [abs(b - a) for a, b in zip(low, high, strict=True)]
    scales = [abs(s) / r for s, r in zip(size, region, strict=True) if s]
    limits = [m if m > 0 else math.inf for m in max_size or [0] * len(extents)]
    if not scales:
        exact = list(region)
    elif mode in ("default", "stretch"):
        mean = math.exp(sum(map(math.log, scales)) / len(scales)) if mode == "default" else 1
        exact = [abs(s) or r * mean for s, r in zip(size, region, strict=True)]
        exact = [min(e, m) for e, m in zip(exact, limits, strict=True)]
    else:
        scale = min(scales) if mode == "not_larger" else max(scales)
        scale = min(scale, *(m / r for m, r in zip(limits, region, strict=True)))
        exact = [r * scale for r in region]
    out = [max(1, math.floor(e + 0.5)) for e in exact]
    for a, (rounded, e) in enumerate(zip(out, exact, strict=True)):
        if subpixel_scale:  # the scale stays, the region follows the rounded size
            center, grow = (low[a] + high[a]) / 2, rounded / max(e, 0.1)
            low[a], high[a] = (center + (end - center) * grow for end in (low[a], high[a]))
        backwards = not size[a] and (mode in ("default", "stretch") or not scales)
        if size[a] < 0 or (backwards and low[a] > high[a]):
            low[a], high[a] = high[a], low[a]
    return out, low, high


def reference(x: torch.Tensor, layout: str, args: dict[str, Any]) -> np.ndarray:
    """Resizes one sample, in double precision and without rounding."""
    axes = [i for i, letter in enumerate(layout) if letter in "DHW"]
    extents = [x.shape[a] for a in axes]

    def per_axis(name: str) -> list[float] | None:
        value = args.get(name)
        if value is None:
            return None
        values = [float(v) for v in np.atleast_1d(value)]
        return values * len(axes) if len(values) == 1 else values

    mode = args.get("mode", "default")
    size = per_axis("size")
    for name, implied in (("resize_shorter", "not_smaller"), ("resize_longer", "not_larger")):
        if name in args:
            size, mode = [float(args[name])] * len(axes), implied
    if size is None:
        size = [float(args.get(f"resize_{n}", 0)) for n in "zyx"[-len(axes) :]]
    roi = None
    if "roi_start" in args:
        roi = (per_axis("roi_start"), per_axis("roi_end"))
        if args.get("roi_relative"):
            roi = tuple([c * e for c, e in zip(corner, extents, strict=True)] for corner in roi)
        if any(a == b for a, b in zip(*roi, strict=True)):
            roi = tuple(
                [c + half for c in corner] for corner, half in zip(roi, (-5e-4, 5e-4), strict=True)
            )
    out, low, high = region_and_size(
        extents, size, mode, per_axis("max_size"), args.get("subpixel_scale", True), roi
    )
    common = args.get("interp_type", types.INTERP_LINEAR)
    values = x.numpy().astype(np.float64)
    for i, axis in enumerate(axes):
        shrinks = abs(high[i] - low[i]) / out[i] > 1
        filter_ = args.get("min_filter" if shrinks else "mag_filter", common)
        values = resample_axis(
            values, axis, out[i], low[i], high[i], filter_, args.get("antialias", True)
        )
    return values
