# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.median_blur, equal to OpenCV's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.opencv import opencv
from helpers.ops import OpCase, PerSample, run_op

from torchdali.errors import LayoutError, UnsupportedError

OPERATORS = ["experimental.median_blur"]
OP = OPERATORS[0]
ON_GPU = "DALI has it on the GPU only"
CASES = [
    OpCase(OP, layout, shape, args, no_parity=ON_GPU)
    for layout, shape, args in [
        ("HWC", (12, 15, 3), {}),
        ("HW", (12, 35), {"window_size": 5}),
        ("CHW", (3, 9, 70), {"window_size": [1, 7]}),
        ("FHWC", (2, 9, 7, 1), {"window_size": [5, 1]}),
        ("FCHW", (2, 3, 9, 7), {"window_size": [7, 9]}),
        ("HWC", [(15, 17, 3), (1, 1, 3)], {"window_size": 21}),
        ("HWC", (12, 15, 3), {"window_size": PerSample([[3, 5], [7, 1]])}),
        ("HWC", (12, 15, 3), {"window_size": 1}),
        ("", (12, 15, 3), {}),
        ("HWC", (0, 7, 3), {}),
    ]
]
CASES += [
    OpCase(OP, "HWC", (9, 11, 2), {"window_size": size}, dtype, no_parity=ON_GPU)
    for dtype in (torch.uint16, torch.int16, torch.int32, torch.float32)
    for size in (3, [5, 7], [19, 23])
]


def reference(x: np.ndarray, width: int, height: int) -> np.ndarray:
    """Computes an image, [H, W, C]."""
    ends = ((height // 2, height // 2), (width // 2, width // 2), (0, 0))
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ends, "edge"), (height, width), (0, 1)
    )
    flat = windows.reshape(*x.shape, height * width)
    return np.partition(flat, height * width // 2, -1)[..., height * width // 2]


@for_each("dtype", [torch.uint8, torch.uint16, torch.int16, torch.int32, torch.float32])
@for_each("window", [(1, 3), (3, 1), (5, 3), (3, 7), (7, 5), (11, 9), (1, 15), (43, 43), (401, 3)])
@for_each("shape", [(13, 21, 3), (2, 40, 1)])
def test_matches_reference(dtype, window, shape):
    x = random_tensor(shape, dtype, 1)
    actual = run_op(OP, x, layout="HWC", window_size=window).numpy()
    assert np.array_equal(actual, reference(x.numpy(), *window))


def test_large_images_are_computed_in_tiles():
    x = random_tensor((530, 1100, 1), torch.int16, 1)
    whole = run_op(OP, x, layout="HWC", window_size=[19, 21])
    part = x[480:, 490:1060].contiguous()
    part = run_op(OP, part, layout="HWC", window_size=[19, 21])
    assert torch.equal(whole[490:, 500:1050], part[10:, 10:-10])


def test_nan_is_larger_or_smaller_than_all_numbers():
    x = random_tensor((30, 40, 1), torch.float32, 1)
    x[5:20, 3:30] = float("nan")
    x[20:, 10:15] = -float("nan")
    for first, window in ((x, 19), (x[:19, :19].contiguous(), 21)):
        actual = run_op(OP, first, layout="HWC", window_size=window)
        key = first.view(torch.int32)
        key = torch.where(key < 0, key ^ 0x7FFFFFFF, key)
        expected = torch.tensor(reference(key.numpy(), window, window))
        expected = torch.where(expected < 0, expected ^ 0x7FFFFFFF, expected)
        assert torch.equal(actual.view(torch.int32), expected)


@for_each("window", [(19, 17), (33, 3), (257, 1), (1, 301)])
def test_histograms_match_the_reference(window):
    x = random_tensor((40, 900, 3), torch.uint8, 1)
    x[5:30, 100:500] //= 16  # values that change groups
    actual = run_op(OP, x[:, :200], layout="HWC", window_size=window).numpy()
    assert np.array_equal(actual, reference(x[:, :200].numpy(), *window))


def test_wide_images_are_computed_in_stripes():
    x = random_tensor((6, 9000, 1), torch.uint8, 1)
    whole = run_op(OP, x, layout="HWC", window_size=[41, 9])
    part = run_op(OP, x[:, 3000:6000].contiguous(), layout="HWC", window_size=[41, 9])
    assert torch.equal(whole[:, 3020:5980], part[:, 20:-20])


@for_each("dtype", [torch.uint8, torch.uint16, torch.float32])
@for_each("size", [3, 5, 7, 9, 15, 31, 101])
def test_is_equal_to_opencv(dtype, size):
    if dtype != torch.uint8 and size > 5:
        return  # OpenCV has no such filter
    cv2 = opencv()
    for shape in ((33, 70, 3), (7, 5, 1), (20, 1100, 4)):
        x = random_tensor(shape, dtype, 1)
        actual = run_op(OP, x, layout="HWC", window_size=size).numpy()
        assert np.array_equal(actual, cv2.medianBlur(x.numpy(), size).reshape(shape))


@for_each(
    ("args", "message"),
    [
        ({"window_size": 4}, "`window_size` has 4, expected odd numbers from 1 to 32767"),
        ({"window_size": [3, -1]}, "`window_size` has -1"),
        ({"window_size": 32769}, "`window_size` has 32769"),
        ({"window_size": [3, 3, 3]}, r"`window_size` has 3 values, expected 1 or 2 \(x, y\)"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, torch.zeros(4, 5, dtype=torch.uint8), layout="HW", **args)


def test_windows_that_are_too_large_are_refused():
    with pytest.raises(UnsupportedError, match="a window of 1050625 elements"):
        run_op(OP, torch.zeros(4, 5), layout="HW", window_size=1025)


def test_other_inputs_are_refused():
    with pytest.raises(TypeError, match="input `data` is float64, expected uint8, uint16"):
        run_op(OP, torch.zeros(4, 5, dtype=torch.float64), layout="HW")
    with pytest.raises(LayoutError, match='has layout "HCW"'):
        run_op(OP, torch.zeros(4, 5, 3, dtype=torch.uint8), layout="HCW")
