# SPDX-License-Identifier: Apache-2.0
"""fn.resize_crop_mirror: resize, crop and flip in one step."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op
from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchdali import types

ALGORITHM = {"algorithm": "resample"}
IMAGE = (31, 43, 3)
VOLUME = (9, 11, 13, 2)
CASES = [
    OpCase("resize_crop_mirror", "HWC", IMAGE, args, dtype=dtype, **ALGORITHM)
    for dtype in (torch.uint8, torch.float32)
    for args in (
        {"size": [20, 30]},
        {"size": [20, 30], "crop": [10, 15]},
        {"size": [20, 30], "crop": [10.9, 15.9], "mirror": 1},
        {"resize_shorter": 25.7, "crop": [20, 20], "mirror": 2, "crop_pos_x": 0.3},
        {"resize_longer": 60, "crop_h": 20, "crop_w": 30, "mirror": 3, "crop_pos_y": 0.9},
        {"resize_x": -50, "crop": [17, 19], "crop_pos_x": 0.37, "rounding": "truncate"},
        {"size": [20, 30], "crop": [28, 33], "mirror": 1},  # larger than the resized image
        {"size": [20, 30], "crop": [0, 15], "interp_type": types.INTERP_CUBIC},
        {"size": 24, "crop": [9, 9, 9], "min_filter": types.INTERP_LANCZOS3, "antialias": False},
        {
            "size": [20, 30],
            "roi_start": [0.1, 0.8],
            "roi_end": [0.9, 0.2],
            "roi_relative": True,
            "crop": [10, 12],
            "dtype": types.FLOAT,
        },
        {"size": [20, 30], "crop": [10, 15], "interp_type": types.INTERP_NN, "mirror": 1},
        {
            "size": [40, 40],
            "max_size": 35,
            "mode": "not_smaller",
            "crop": [15, 15],
            "subpixel_scale": False,
            "minibatch_size": 8,
            "temp_buffer_hint": 1,
        },
    )
]
CASES += [
    OpCase("resize_crop_mirror", "DHWC", VOLUME, args, **ALGORITHM)
    for args in (
        {"size": [6, 20, 10], "crop": [4, 12, 7], "mirror": 4, "crop_pos_z": 0.2},
        {"size": [12, 8, 20], "crop_d": 5, "crop_h": 5, "crop_w": 6, "mirror": 7},
        {"resize_shorter": 7, "crop": [5, 6]},
    )
]
CASES += [
    OpCase(
        "resize_crop_mirror",
        layout,
        shape,
        {"size": 20, "crop": [10, 12], "mirror": 1},
        no_parity="DALI crops the wrong axes of any layout other than HWC and DHWC",
        **ALGORITHM,
    )
    for layout, shape in {
        "CHW": (3, 13, 17),
        "FHWC": (2, 13, 17, 3),
        "FCHW": (2, 3, 13, 17),
    }.items()
]
CASES += [
    OpCase(
        "resize_crop_mirror",
        "HWC",
        [(20, 33, 3), (17, 15, 3)],
        {
            "resize_shorter": PerSample([20.0, 15.0]),
            "crop": PerSample([[10.0, 11.0], [8.0, 9.0]]),
            "crop_pos_x": PerSample([0.2, 0.7]),
            "mirror": PerSample([0, 1, 3]),
        },
        **ALGORITHM,
    ),
    OpCase("resize_crop_mirror", "HWC", (0, 4, 3), {"size": 5, "crop": [3, 3]}, no_parity="empty"),
]


def one_after_another(x, layout, crop, position, mirror, **args):
    """Resizes, then cuts with a slice, then flips."""
    x = run_op("resize", x, layout=layout, **args)
    for bit, letter in ((1, "W"), (2, "H"), (4, "D")):
        if letter in layout:
            axis = layout.index(letter)
            size = crop[letter]
            start = math.floor(position[letter] * (x.shape[axis] - size) + 0.5)
            x = x.narrow(axis, start, size)
            x = x.flip(axis) if mirror & bit else x
    return x


@given(
    layout=st.sampled_from(["HWC", "CHW", "FHWC", "DHWC", "CDHW"]),
    size=st.tuples(*[st.integers(4, 40)] * 3),
    keep=st.tuples(*[st.integers(1, 4)] * 3),
    position=st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])] * 3),
    mirror=st.integers(0, 7),
    filter_=st.sampled_from([types.INTERP_NN, types.INTERP_LINEAR, types.INTERP_CUBIC]),
    dtype=st.sampled_from([torch.uint8, torch.float32]),
)
@example("DHWC", (6, 4, 4), (4, 1, 4), (0.0, 0.0, 0.0), 4, types.INTERP_LINEAR, torch.uint8)
@settings(max_examples=80)
def test_equals_resize_then_slice_then_flip(layout, size, keep, position, mirror, filter_, dtype):
    letters = [c for c in layout if c in "DHW"]
    extents = {"C": 3, "F": 2, "D": 6, "H": 17, "W": 23}
    x = OpCase("resize", layout, tuple(extents[c] for c in layout), dtype=dtype).input()
    size = dict(zip("DHW", size, strict=True))
    crop = {c: max(1, size[c] * k // 4) for c, k in zip("DHW", keep, strict=True)}
    place = dict(zip("DHW", position, strict=True))
    resize = {"size": [float(size[c]) for c in letters], "interp_type": filter_}
    expected = one_after_another(x, layout, crop, place, mirror, **resize)
    actual = run_op(
        "resize_crop_mirror",
        x,
        layout=layout,
        crop=[float(crop[c]) for c in letters],
        mirror=mirror,
        crop_pos_x=place["W"],
        crop_pos_y=place["H"],
        crop_pos_z=place["D"],
        **resize,
    )
    assert torch.equal(actual, expected)


def test_a_window_larger_than_the_result_repeats_the_border():
    x = torch.arange(16, dtype=torch.uint8).reshape(4, 4, 1) * 10
    for filter_ in (types.INTERP_NN, types.INTERP_LINEAR):
        args = {"size": 4, "crop": [4, 8], "interp_type": filter_}
        out = run_op("resize_crop_mirror", x, layout="HWC", **args)
        expected = x[:, [0, 0, 0, 1, 2, 3, 3, 3]]
        assert torch.equal(out, expected)


@for_each(
    ("args", "message"),
    [
        ({"crop": [3, 3]}, "size was given in 0 ways"),
        ({"size": 5, "crop_h": 3}, "`crop_h` and `crop_w` must be given together"),
        ({"size": 5, "crop": [3, 3], "crop_w": 2, "crop_h": 2}, "`crop` excludes"),
        ({"size": 5, "crop": [3]}, "`crop` takes"),
        ({"size": 5, "crop": [3, 3], "crop_pos_x": 1.5}, "is 1.5, expected 0 to 1"),
        ({"size": 5, "crop": [3, 3], "rounding": "up"}, '`rounding` is "up"'),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(
            "resize_crop_mirror", torch.zeros((6, 7, 3), dtype=torch.uint8), layout="HWC", **args
        )
