# SPDX-License-Identifier: Apache-2.0
"""fn.random_resized_crop: random windows with DALI's distribution, resized."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_op

from torchdali import types

RANDOM = {"no_parity": "other random numbers; the law is tested here", "algorithm": "resample"}
CASES = [
    OpCase("random_resized_crop", layout, shape, {"size": [7, 9]}, dtype=dtype, **RANDOM)
    for layout, shape in {
        "HWC": (30, 40, 3),
        "CHW": (3, 30, 40),
        "FHWC": (2, 30, 40, 3),
        "FCHW": (2, 3, 30, 40),
        "CFHW": (3, 2, 30, 40),
    }.items()
    for dtype in (torch.uint8, torch.float32)
]
CASES += [
    OpCase("random_resized_crop", "HWC", [(30, 40, 3), (5, 4, 3)], args, **RANDOM)
    for args in (
        {"size": 12},
        {"size": [5, 6], "interp_type": types.INTERP_NN, "random_area": [0.0, 1.0]},
        {"size": [5, 6], "antialias": False, "dtype": types.FLOAT, "num_attempts": 1},
        {"size": [5, 6], "min_filter": types.INTERP_CUBIC, "random_aspect_ratio": [1.0]},
        {"size": [50, 6], "mag_filter": types.INTERP_GAUSSIAN, "minibatch_size": 1},
        {"size": [5, 6], "random_area": 0.25, "temp_buffer_hint": 10, "seed": 7},
        {"size": [5, 6], "window_rule": "torchvision", "filter_edges": "cut"},
        {"size": [0, 6]},
    )
]


def windows(height: int, width: int, count: int, seed: int = 1, **args: object) -> np.ndarray:
    """Draws windows, [count, (top, left, height, width)], and reads them from resized ramps.

    Without antialiasing, a linear filter takes a ramp at whole positions: the two output pixels of
    an axis lie at a quarter and three quarters of the window.
    """
    y = torch.arange(height, dtype=torch.float32)[:, None].expand(height, width)
    x = torch.arange(width, dtype=torch.float32)[None].expand(height, width)
    sample = torch.stack([y, x], -1).contiguous()
    out = run_op(
        "random_resized_crop",
        [sample] * count,
        layout="HWC",
        size=[2, 2],
        antialias=False,
        pipeline_seed=seed,
        **args,
    )
    found = []
    for image in out:
        low, high = image[0, 0].tolist(), image[1, 1].tolist()
        extents = [2 * (b - a) for a, b in zip(low, high, strict=True)]
        # Positions are pixel centers: the window starts a quarter of its size before the first.
        start = [a + 0.5 - e / 4 for a, e in zip(low, extents, strict=True)]
        found.append([*start, *extents])
    return np.array(found)


def test_windows_are_inside_the_image_and_in_the_ranges():
    w = windows(60, 90, 400, random_area=[0.2, 0.6], random_aspect_ratio=[0.8, 1.5])
    np.testing.assert_allclose(w, np.round(w), atol=2e-4)
    w = np.round(w)
    assert (w[:, :2] >= 0).all()
    assert (w[:, 0] + w[:, 2] <= 60).all()
    assert (w[:, 1] + w[:, 3] <= 90).all()
    ratio, area = w[:, 3] / w[:, 2], w[:, 2] * w[:, 3] / 5400
    assert (ratio >= 0.8).all()
    assert (ratio <= 1.5).all()
    # Whole pixels move the area by up to half a row and half a column.
    slack = (w[:, 2] + w[:, 3]) / 2 / 5400
    assert (area >= 0.2 - slack).all()
    assert (area <= 0.6 + slack).all()


def test_area_is_even_and_aspect_ratio_even_on_a_logarithmic_scale():
    # Of windows this small none is rejected.
    w = windows(200, 200, 1500, random_area=[0.1, 0.2], random_aspect_ratio=[0.5, 2.0])
    area = (w[:, 2] * w[:, 3] / 40_000 - 0.1) / 0.1
    ratio = (np.log(w[:, 3] / w[:, 2]) + math.log(2)) / (2 * math.log(2))
    top = w[:, 0] / (200 - w[:, 2])
    for values in (area, ratio, top, w[:, 1] / (200 - w[:, 3])):
        # Kolmogorov and Smirnov: at 0.1 % significance, with a margin for whole pixels.
        distance = np.abs(np.sort(values) - (np.arange(1500) + 0.5) / 1500).max()
        assert distance < 1.95 / math.sqrt(1500) + 0.02


# (height, width, area, aspect ratio) -> extents of the window that DALI 1.35.0 falls back to.
FALLBACKS = [
    ((20, 24, 0.732, 1.12), (17, 19)),
    ((11, 25, 0.39, 3.643), (5, 21)),
    ((13, 35, 0.235, 1.378), (9, 11)),
    ((33, 27, 0.395, 0.387), (31, 11)),
    ((22, 37, 0.818, 0.274), (22, 6)),
    ((34, 7, 0.865, 1.114), (6, 7)),
    ((100, 10, 0.01, 4.0), (1, 7)),
    ((100, 10, 0.5, 1.0), (10, 10)),
    ((10, 100, 0.5, 3.0), (10, 30)),
    ((3, 3, 0.01, 1.0), (1, 1)),
]


@for_each(("asked", "extents"), FALLBACKS)
def test_impossible_windows_fall_back_as_in_dali(asked, extents):
    height, width, area, ratio = asked
    w = windows(height, width, 4, random_area=area, random_aspect_ratio=ratio)
    np.testing.assert_allclose(w[:, 2:], [extents] * 4, atol=2e-4) if min(extents) > 1 else None
    # A window of one pixel returns the pixel twice if the border repeats.
    assert w.shape == (4, 4)


def test_a_window_of_the_whole_image_resizes_all_of_it():
    x = OpCase("resize", "HWC", (20, 20, 3)).input()
    whole = {"random_area": 1.0, "random_aspect_ratio": 1.0}
    for filter_ in (types.INTERP_LINEAR, types.INTERP_CUBIC):
        actual = run_op(
            "random_resized_crop", x, layout="HWC", size=[9, 31], interp_type=filter_, **whole
        )
        expected = run_op("resize", x, layout="HWC", size=[9, 31], interp_type=filter_)
        assert torch.equal(actual, expected)


def test_filters_read_pixels_around_the_window():
    x = ramp((1, 40, 1), torch.float32)
    args = {"random_area": 0.25, "random_aspect_ratio": 10.0, "size": [1, 20]}
    out = run_op("random_resized_crop", x, layout="HWC", **args).flatten()
    steps = out.diff()
    # Filters that stopped at the window would shorten the first and last steps of a ramp.
    torch.testing.assert_close(steps, torch.full_like(steps, 0.5), rtol=0, atol=1e-4)


def test_frames_share_the_window():
    frame = OpCase("resize", "HWC", (20, 30, 3)).input()
    out = run_op("random_resized_crop", torch.stack([frame] * 3), layout="FHWC", size=[6, 7])
    assert torch.equal(out[0], out[1])
    assert torch.equal(out[0], out[2])


def test_results_depend_on_the_seed():
    first, again, other = (windows(50, 50, 20, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first, axis=0)) > 15


@for_each(
    ("args", "error", "message"),
    [
        ({}, TypeError, "size"),
        ({"size": [1, 2, 3]}, ValueError, "`size` has 3 values"),
        ({"size": [-1, 2]}, ValueError, "`size` must not be negative"),
        ({"size": 4, "random_area": [0.5, 0.2]}, ValueError, "`random_area` must be a range"),
        ({"size": 4, "random_area": [0.1, 0.2, 0.3]}, ValueError, "`random_area` has 3 values"),
        ({"size": 4, "random_aspect_ratio": [0.0, 2.0]}, ValueError, "`random_aspect_ratio` must"),
        ({"size": 4, "num_attempts": -1}, ValueError, "`num_attempts` is -1, expected 0 to"),
        ({"size": 4, "dtype": types.INT32}, TypeError, "`dtype` is int32"),
    ],
)
def test_wrong_arguments_are_errors(args, error, message):
    with pytest.raises(error, match=message):
        run_op(
            "random_resized_crop", torch.zeros((5, 6, 3), dtype=torch.uint8), layout="HWC", **args
        )


def test_an_empty_image_is_an_error():
    with pytest.raises(ValueError, match="empty axis"):
        run_op(
            "random_resized_crop", torch.zeros((0, 6, 3), dtype=torch.uint8), layout="HWC", size=4
        )
