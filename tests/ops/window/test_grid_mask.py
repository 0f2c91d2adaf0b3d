# SPDX-License-Identifier: Apache-2.0
"""fn.grid_mask: sets the squares of a grid to 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "grid_mask"
SHIFTED = {"tile": 13, "ratio": 0.6, "angle": 0.4, "shift_x": 3.0, "shift_y": -7.5}
DTYPES = [torch.uint8, torch.int16, torch.int32, torch.float32]
MORE_DTYPES = [torch.int8, torch.uint16, torch.uint32, torch.uint64, torch.int64]
MORE_DTYPES += [torch.float16, torch.float64, torch.bool]
AS_HWC = "DALI takes every input as HWC"

CASES = [OpCase(OP, "HWC", (40, 61, 3), SHIFTED, dtype=dtype) for dtype in DTYPES]
CASES += [
    OpCase(OP, "HWC", (9, 61, 1), SHIFTED, dtype=dtype, no_parity="DALI refuses the type")
    for dtype in MORE_DTYPES
]
CASES += [
    OpCase(OP, layout, shape, SHIFTED, no_parity=AS_HWC)
    for layout, shape in [
        ("CHW", (3, 40, 61)),
        ("HW", (40, 61)),
        ("FHWC", (2, 20, 61, 3)),
        ("FCHW", (2, 3, 20, 61)),
        ("FHW", (2, 20, 61)),
    ]
]
CASES += [
    OpCase(OP, "HWC", (30, 33, channels), {"tile": 5, "ratio": ratio})
    for channels, ratio in [(1, 0.4), (2, 0.5), (3, 1 / 3), (4, 0.9), (3, 0.0), (3, 1.0), (5, 0.2)]
]
CASES += [
    OpCase(OP, "HWC", (250, 230, 3)),
    OpCase(OP, "HWC", (8, 2100, 3), {"tile": 7, "angle": 0.1}),
    OpCase(OP, "", (30, 33, 3), {"tile": 8, "angle": math.pi / 2}),
    OpCase(OP, "HWC", (0, 33, 3)),
    OpCase(
        OP,
        "HWC",
        [(40, 61, 3), (9, 7, 1)],
        {
            "tile": PerSample([5, 20]),
            "ratio": PerSample([0.3, 0.7]),
            "angle": PerSample([0.0, 1.0, -2.0]),
            "shift_x": PerSample([1.0, 2.0]),
            "shift_y": PerSample([3.0, 0.5]),
        },
    ),
]


def keep(height: int, width: int, tile=100, ratio=0.5, angle=0.0, shift_x=0.0, shift_y=0.0):
    """Returns where pixels are kept, [H, W]; in float32, which decides the borders."""
    f = np.float32
    y, x = np.mgrid[:height, :width].astype(np.float32)
    c, s = f(math.cos(f(angle))) / f(tile), f(math.sin(f(angle))) / f(tile)
    across = (-f(shift_x) / f(tile) - y * s) + x * c
    down = (-f(shift_y) / f(tile) + y * c) + x * s
    return (across - np.floor(across) >= f(ratio)) | (down - np.floor(down) >= f(ratio))


@for_each("case", CASES)
def test_matches_reference(case):
    layout = case.layout or "HWC"
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {
            n: float(a.at(index)) if isinstance(a, PerSample) else a for n, a in case.args.items()
        }
        x = case.input(index).numpy()
        height, width = x.shape[layout.index("H")], x.shape[layout.index("W")]
        mask = keep(height, width, **args)
        if layout.endswith("C"):
            mask = mask[..., None]
        np.testing.assert_array_equal(actual.numpy(), np.where(mask, x, x.dtype.type(0)))


@given(tile=st.integers(1, 30), shift=st.integers(0, 5), seed=st.integers(0, 9))
def test_a_shift_by_whole_tiles_is_the_identity(tile, shift, seed):
    x = random_tensor((20, 30, 3), torch.uint8, seed)
    args = {"layout": "HWC", "tile": tile, "ratio": 0.53}
    moved = run_op(OP, x, shift_x=float(shift * tile), **args)
    assert (moved != run_op(OP, x, **args)).float().mean() < 0.2


def test_the_share_of_kept_pixels_follows_the_ratio():
    x = torch.ones(300, 300, 1, dtype=torch.uint8)
    for ratio in (0.2, 0.5, 0.8):
        share = run_op(OP, x, layout="HWC", tile=30, ratio=ratio, angle=0.5).float().mean()
        assert share == pytest.approx(1 - ratio**2, abs=0.02)


@for_each("name", ["ratio", "angle", "shift_x", "shift_y"])
@for_each("value", [math.nan, math.inf, -1e30])
def test_infinite_and_nan_arguments_keep_the_shape(name, value):
    x = torch.ones(5, 40, 3, dtype=torch.uint8)
    assert run_op(OP, x, layout="HWC", **{name: value}).shape == x.shape


@pytest.mark.parametrize("tile", [0, -3, PerSample([0])])
def test_a_tile_of_size_zero_is_an_error(tile):
    with pytest.raises(ValueError, match=r"`tile` is (0|-3), expected 1 or more"):
        run_op(OP, torch.zeros(5, 5, 3), layout="HWC", tile=tile)
