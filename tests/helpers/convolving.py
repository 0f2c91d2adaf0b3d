# SPDX-License-Identifier: Apache-2.0
"""Correlation in float64, tap by tap: the reference of convolutions."""

from __future__ import annotations

import itertools

import numpy as np

# Names of fn.filter and of np.pad.
PAD_MODES = {
    "reflect_101": "reflect",
    "reflect_1001": "symmetric",
    "wrap": "wrap",
    "clamp": "edge",
    "constant": "constant",
}


def correlate(
    data: np.ndarray,
    kernel: np.ndarray,
    first: int = 0,
    *,
    anchor: tuple[int, ...] | None = None,
    border: str = "reflect_101",
    fill: float = 0.0,
) -> np.ndarray:
    """Returns sum over k of kernel[k] * data[p + k - anchor], along the axes from `first` on.

    Args:
        data: any shape.
        kernel: one axis for each axis that is filtered.
        first: first axis that is filtered.
        anchor: element of the kernel over p; None is its middle.
        border: a key of PAD_MODES.
        fill: what is outside with "constant".
    """
    at = anchor or tuple(extent // 2 for extent in kernel.shape)
    padding = [(0, 0)] * data.ndim
    for axis, extent in enumerate(kernel.shape):
        padding[first + axis] = (at[axis], extent - 1 - at[axis])
    options = {"constant_values": fill} if border == "constant" else {}
    padded = np.pad(data.astype(np.float64), padding, PAD_MODES[border], **options)
    total = np.zeros(data.shape)
    for k in itertools.product(*map(range, kernel.shape)):
        window = [slice(None)] * data.ndim
        for axis, offset in enumerate(k):
            window[first + axis] = slice(offset, offset + data.shape[first + axis])
        total += kernel[k] * padded[tuple(window)]
    return total
