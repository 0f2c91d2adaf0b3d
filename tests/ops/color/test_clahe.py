# SPDX-License-Identifier: Apache-2.0
"""fn.clahe: contrast limited adaptive histogram equalization, as in OpenCV."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, run_case, run_op

OP = "clahe"
ARGS = {"tiles_x": 4, "tiles_y": 3, "clip_limit": 2.0}
NEWER = "DALI 1.35 has no such operator"


def dark(shape: tuple[int, ...]):
    """Makes images that are darker towards the left, with little contrast."""

    def make(index: int) -> torch.Tensor:
        x = random_tensor(shape, torch.uint8, index).float() / 4
        return (x + torch.linspace(0, 120, shape[1])[None, :, None]).to(torch.uint8)

    return make


def case(shape, args, make=None) -> OpCase:
    return OpCase(OP, "HWC", shape, args, make=make, no_parity=NEWER)


CASES = [
    case(shape, ARGS | more, dark(shape))
    for shape in [(36, 48, 1), (37, 50, 1), (36, 50, 3), (5, 3, 3), (1, 1, 1)]
    for more in [
        {},
        {"clip_limit": 0.0},
        {"clip_limit": 0.01},
        {"clip_limit": 1e30, "luma_only": False},
        {"bins": 32},
        {"tiles_x": 1, "tiles_y": 1},
    ]
]
CASES += [
    case((36, 48, 3), ARGS, lambda _: torch.full((36, 48, 3), 90, dtype=torch.uint8)),
    case([(36, 48, 3), (20, 9, 1)], ARGS),
    case((9, 7, 1), ARGS | {"bins": 1}),
    case((9, 7, 1), ARGS | {"tiles_x": 100}),
    case((0, 7, 3), ARGS),
    OpCase(OP, "", (9, 7, 3), ARGS, no_parity=NEWER),
]


def reference(x, tiles_x, tiles_y, clip_limit, bins=256, luma_only=True) -> np.ndarray:
    """Equalizes an image, [H, W, C]."""
    if x.shape[2] == 3:
        if luma_only:
            r, g, b = (x[..., c : c + 1].astype(int) for c in range(3))
            luma = ((9798 * r + 19235 * g + 3735 * b + 2**14) >> 15).astype(np.uint8)
            gain = reference(luma, tiles_x, tiles_y, clip_limit, bins).astype(int) - luma
            return np.clip(x + gain, 0, 255).astype(np.uint8)
        planes = [
            reference(x[..., c : c + 1], tiles_x, tiles_y, clip_limit, bins) for c in range(3)
        ]
        return np.concatenate(planes, -1)
    x, f = x[..., 0], np.float32
    height, width = x.shape
    enlarged = x
    if height % tiles_y or width % tiles_x:
        more = ((0, tiles_y - height % tiles_y), (0, tiles_x - width % tiles_x))
        enlarged = np.pad(x, more, mode="reflect") if min(x.shape) > 1 else np.pad(x, more, "edge")
    rows, columns = enlarged.shape[0] // tiles_y, enlarged.shape[1] // tiles_x
    tables = np.empty((tiles_y, tiles_x, bins), np.float32)
    for j in range(tiles_y):
        for i in range(tiles_x):
            tile = enlarged[j * rows : (j + 1) * rows, i * columns : (i + 1) * columns]
            counts = np.bincount(tile.ravel().astype(int) * bins // 256, minlength=bins)
            if clip_limit > 0:
                limit = max(int(min(clip_limit * tile.size / bins, tile.size)), 1)
                excess = int((counts - np.minimum(counts, limit)).sum())
                counts = np.minimum(counts, limit) + excess // bins
                rest = excess % bins
                if rest:
                    counts[:: max(bins // rest, 1)][:rest] += 1
            table = np.rint(np.cumsum(counts).astype(f) * (f(255) / f(tile.size)))
            tables[j, i] = np.clip(table, 0, 255)

    def places(count: int, extent: int, tiles: int):
        at = np.arange(count, dtype=f) * (f(1) / f(extent)) - f(0.5)
        low = np.floor(at)
        first = low.astype(int)
        return np.maximum(first, 0), np.minimum(first + 1, tiles - 1), at - low

    top, bottom, v = (a[:, None] for a in places(height, rows, tiles_y))
    left, right, u = (a[None] for a in places(width, columns, tiles_x))
    bin_ = x.astype(int) * bins // 256
    upper = tables[top, left, bin_] * (f(1) - u) + tables[top, right, bin_] * u
    lower = tables[bottom, left, bin_] * (f(1) - u) + tables[bottom, right, bin_] * u
    y = np.rint(upper * (f(1) - v) + lower * v)
    return np.clip(y, 0, 255).astype(np.uint8)[..., None]


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(index).numpy()
        expected = reference(x, **case.args) if x.size else x
        np.testing.assert_array_equal(actual.numpy(), expected)


def test_one_tile_without_a_limit_equals_equalization():
    x = dark((40, 60, 1))(0)
    actual = run_op(OP, x, layout="HWC", tiles_x=1, tiles_y=1, clip_limit=0.0).numpy()
    share = np.cumsum(np.bincount(x.numpy().ravel(), minlength=256)) / x.numel()
    assert np.abs(actual - 255 * share[x.numpy()]).max() < 0.51


def test_color_differences_do_not_change():
    x = dark((36, 48, 3))(0)
    actual = run_op(OP, x, layout="HWC", **ARGS).int()
    inside = ((actual > 0) & (actual < 255)).all(-1)
    assert torch.equal((actual - x)[inside].amin(-1), (actual - x)[inside].amax(-1))


@for_each(
    ("args", "x", "message"),
    [
        ({"tiles_x": 0}, torch.zeros(4, 4, 1).byte(), "`tiles_x` is 0, expected 1 to"),
        ({"tiles_y": -1}, torch.zeros(4, 4, 1).byte(), "`tiles_y` is -1, expected 1 to"),
        ({"tiles_x": 2000, "tiles_y": 2000}, torch.zeros(4, 4, 1).byte(), "make 4000000 tiles"),
        ({"bins": 0}, torch.zeros(4, 4, 1).byte(), "`bins` is 0, expected 1 to 256"),
        ({"bins": 257}, torch.zeros(4, 4, 1).byte(), "`bins` is 257"),
        ({"clip_limit": math.nan}, torch.zeros(4, 4, 1).byte(), "`clip_limit` is nan"),
        ({}, torch.zeros(4, 4, 2).byte(), "`data` has 2 channels, expected 1 or 3"),
        ({}, torch.zeros(4, 4, 1), "`data` is float32, expected uint8"),
    ],
)
def test_unsuitable_inputs_are_errors(args, x, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run_op(OP, x, layout="HWC", **(ARGS | args))
