# SPDX-License-Identifier: Apache-2.0
"""What operators should give, in NumPy: written to be read, not to be fast."""

from __future__ import annotations

import math

import numpy as np
import torch


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Rounds to the nearest integral value, halves away from zero."""
    return np.trunc(x + np.copysign(np.nextafter(x.dtype.type(0.5), x.dtype.type(0)), x))


def convert(x: torch.Tensor, dtype: torch.dtype, *, truncate: bool = False) -> torch.Tensor:
    """Converts as fn.cast does: rounds, saturates, NaN becomes 0; `truncate` cuts fractions off."""
    values = x.numpy()
    if dtype == x.dtype:
        return x
    if dtype == torch.bool:
        if x.dtype.is_floating_point:
            return torch.from_numpy(~(np.abs(values.astype(np.float64)) < 0.5))
        return torch.from_numpy(values != 0)
    if dtype.is_floating_point:
        with np.errstate(over="ignore"):
            return torch.from_numpy(values.astype(str(dtype).removeprefix("torch.")))
    limits = torch.iinfo(dtype)
    if x.dtype.is_floating_point:
        wide = values.astype(np.float32) if x.dtype == torch.float16 else values
        wide = np.trunc(wide) if truncate else round_half_away(wide)
        # Python's integers have no limits: exact for every type.
        whole = [0 if math.isnan(v) else v for v in wide.ravel().tolist()]
    else:
        whole = values.ravel().tolist()
    saturated = [
        limits.max if v >= limits.max else limits.min if v <= limits.min else int(v) for v in whole
    ]
    name = str(dtype).removeprefix("torch.")
    return torch.from_numpy(np.array(saturated, dtype=name).reshape(values.shape))


def window(
    x: torch.Tensor,
    layout: str,
    size: dict[str, int],
    position: dict[str, float],
    rounding: str = "round",
) -> tuple[list[int], list[int]]:
    """Returns anchor and shape of a crop window; `size` and `position` by axis letter."""
    half = 0.0 if rounding == "truncate" else 0.5
    anchor, shape = [0] * x.ndim, list(x.shape)
    for axis, letter in enumerate(layout):
        if size.get(letter, 0) > 0:
            shape[axis] = size[letter]
        free = x.shape[axis] - shape[axis]
        if letter in "DHW":
            start = float(np.float32(position.get(letter, 0.5))) * free
            anchor[axis] = int(math.copysign(math.floor(abs(start) + half), start))
    return anchor, shape


def cut(x: torch.Tensor, anchor: list[int], shape: list[int], fill: torch.Tensor) -> torch.Tensor:
    """Cuts a window out of a tensor; what lies outside is `fill`, which broadcasts to `shape`."""
    out = fill.expand(shape).clone()
    source, target = [], []
    for begin, extent, limit in zip(anchor, shape, x.shape, strict=True):
        first, last = max(begin, 0), min(begin + extent, limit)
        source.append(slice(first, last))
        target.append(slice(first - begin, last - begin))
    out[tuple(target)] = x[tuple(source)].to(out.dtype)
    return out
