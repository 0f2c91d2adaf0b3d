# SPDX-License-Identifier: Apache-2.0
"""Data for tests, made from a seed: the same everywhere, and nothing on disk."""

from __future__ import annotations

import numpy as np
import torch

# Floats are spread over the range of uint8 and beyond its ends, with halves that show rounding.
FLOAT_RANGE = (-20.0, 300.0)


def random_tensor(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Returns values over the whole range of an integer type, or FLOAT_RANGE of a floating one.

    One value in eight of a floating tensor is a multiple of one half.
    """
    rng = np.random.default_rng(seed)
    if dtype == torch.bool:
        return torch.from_numpy(rng.integers(0, 2, shape).astype(bool))
    if dtype.is_floating_point:
        values = rng.uniform(*FLOAT_RANGE, shape)
        halves = np.round(values * 2) / 2
        values = np.where(rng.integers(0, 8, shape) == 0, halves, values)
        return torch.from_numpy(np.asarray(values)).to(dtype)
    limits = torch.iinfo(dtype)
    numpy_type = np.dtype(str(dtype).removeprefix("torch."))
    values = rng.integers(limits.min, limits.max, shape, dtype=numpy_type, endpoint=True)
    return torch.from_numpy(np.asarray(values))


def ramp(shape: tuple[int, ...], dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Returns a tensor whose every element is its own position, in C order."""
    count = int(np.prod(shape, dtype=np.int64))
    return torch.arange(count).reshape(shape).to(dtype)


def counting(*shape: int, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    """Returns the numbers from 0 on, in C order."""
    return torch.arange(int(np.prod(shape))).reshape(shape).to(dtype)
