# SPDX-License-Identifier: Apache-2.0
"""fn.debayer: colors from a sensor with a Bayer pattern, as in OpenCV."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.opencv import opencv
from helpers.ops import OpCase, PerSample, run_op

from torchdali.errors import UnsupportedError

OP = "debayer"
ON_GPU = "DALI 1.35 has it on the GPU only"
POSITIONS = {"BG": (0, 0), "GB": (0, 1), "GR": (1, 0), "RG": (1, 1)}
# OpenCV's conversions.
ALGORITHMS = {"bilinear_ocv": "RGB", "edgeaware_ocv": "RGB_EA", "gray_ocv": "GRAY"}
VNG = "vng_ocv"
CASES = [
    OpCase(
        OP,
        layout,
        shape,
        {"blue_position": position, "algorithm": algorithm},
        dtype,
        no_parity=ON_GPU,
    )
    for algorithm in ALGORITHMS
    for layout, shape, position, dtype in [
        ("HW", (12, 70), (0, 0), torch.uint8),
        ("HWC", (9, 7, 1), (0, 1), torch.uint16),
        ("FHW", (2, 5, 6), (1, 0), torch.uint8),
        ("FHWC", (2, 3, 3, 1), (1, 1), torch.uint8),
        ("HW", [(5, 7), (6, 4)], PerSample([[0, 1], [1, 1]]), torch.uint8),
        ("", (5, 7), (0, 0), torch.uint8),
    ]
]
CASES += [
    OpCase(OP, layout, shape, {"blue_position": at, "algorithm": VNG}, no_parity=ON_GPU)
    for layout, shape, at in [
        ("HW", (12, 70), (0, 0)),
        ("FHWC", (2, 8, 9, 1), (0, 1)),
        ("HWC", [(9, 8, 1), (7, 20, 1)], (1, 1)),
    ]
]


def reference(x: np.ndarray, position: tuple[int, int], algorithm: str) -> np.ndarray:
    """Computes an image, [H, W]."""
    p = np.pad(x.astype(np.int64), 1, "reflect")
    center, left, right, up, down = (
        p[1:-1, 1:-1],
        p[1:-1, :-2],
        p[1:-1, 2:],
        p[:-2, 1:-1],
        p[2:, 1:-1],
    )
    corners = p[:-2, :-2] + p[:-2, 2:] + p[2:, :-2] + p[2:, 2:]
    y, x = np.mgrid[: center.shape[0], : center.shape[1]]
    row, column = (y - 1 - position[0]) % 2 == 0, (x - 1 - position[1]) % 2 == 0

    def color(in_row, in_column):
        beside, above = (left + right + 1) >> 1, (up + down + 1) >> 1
        others = np.where(in_row, beside, np.where(in_column, above, (corners + 2) >> 2))
        return np.where(in_row & in_column, center, others)

    if algorithm == "gray_ocv":
        red, green, blue = 4899, 9617, 1868
        own, other = np.where(row, blue, red), np.where(row, red, blue)
        at_color = 4 * center * own + (left + right + up + down) * green + corners * other
        at_green = 4 * center * green + 2 * (left + right) * own + 2 * (up + down) * other
        result = (np.where(row == column, at_color, at_green) + (1 << 15) >> 16)[..., None]
    else:
        middle = (left + right + up + down + 2) >> 2
        if algorithm == "edgeaware_ocv":
            across = abs(left - right) > abs(up - down)
            middle = np.where(across, (up + down + 1) >> 1, (left + right + 1) >> 1)
        result = np.stack(
            [color(~row, ~column), np.where(row == column, middle, center), color(row, column)], -1
        )
    result[0], result[-1] = result[1], result[-2]
    result[:, 0], result[:, -1] = result[:, 1], result[:, -2]
    return result


@for_each("algorithm", ALGORITHMS)
@for_each("dtype", [torch.uint8, torch.uint16])
@for_each("shape", [(3, 3), (8, 10), (7, 9), (5, 40), (31, 200)])
def test_matches_reference(algorithm, dtype, shape):
    x = random_tensor(shape, dtype, 1)
    for position in POSITIONS.values():
        actual = run_op(OP, x, layout="HW", blue_position=position, algorithm=algorithm).numpy()
        assert np.array_equal(actual, reference(x.numpy(), position, algorithm))


@for_each("algorithm", ALGORITHMS)
@for_each("dtype", [torch.uint8, torch.uint16])
def test_is_equal_to_opencv(algorithm, dtype):
    cv2 = opencv()
    x = random_tensor((31, 200), dtype, 1)
    for name, position in POSITIONS.items():
        actual = run_op(OP, x, layout="HW", blue_position=position, algorithm=algorithm).numpy()
        expected = cv2.cvtColor(
            x.numpy(), getattr(cv2, f"COLOR_Bayer{name}2{ALGORITHMS[algorithm]}")
        )
        assert np.array_equal(actual, expected.reshape(actual.shape))


@for_each("shape", [(31, 200), (8, 8), (9, 40), (7, 40), (40, 7), (3, 3), (26, 37)])
def test_vng_is_that_of_opencv(shape):
    """OpenCV rounds a few halves differently in the last columns, which it does not vectorize."""
    cv2 = opencv()
    y, x = np.mgrid[: shape[0], : shape[1]]
    smooth = 100 + 50 * np.sin(y / 3) + 40 * np.cos(x / 4)
    for image in (random_tensor(shape, torch.uint8, 1), torch.tensor(smooth).to(torch.uint8)):
        for name, position in POSITIONS.items():
            actual = run_op(OP, image, layout="HW", blue_position=position, algorithm=VNG).int()
            code = getattr(cv2, f"COLOR_Bayer{name}2RGB_VNG")
            expected = torch.tensor(cv2.cvtColor(image.numpy(), code)).int()
            difference = (actual - expected).abs()
            assert difference.max() <= 1
            assert (difference > 0).sum() <= max(4, 0.01 * difference.numel())
            if shape[1] > 100:
                assert not difference[:, :-20].any()


@for_each("shape", [(8, 9), (31, 200)])
def test_vng_commutes_with_turning(shape):
    image = random_tensor(shape, torch.uint8, 1)
    result = run_op(OP, image, layout="HW", blue_position=(0, 1), algorithm=VNG)
    # A mirrored row begins with the other color if its length is even.
    mirrored = (0, 1 if shape[1] % 2 else 0)
    flipped = run_op(OP, image.flip(1), layout="HW", blue_position=mirrored, algorithm=VNG)
    assert torch.equal(flipped, result.flip(1))
    turned = run_op(OP, image.T.contiguous(), layout="HW", blue_position=(1, 0), algorithm=VNG)
    assert torch.equal(turned, result.transpose(0, 1))


def test_vng_takes_bytes():
    x = torch.zeros(9, 9, dtype=torch.uint16)
    with pytest.raises(TypeError, match='input `data` is uint16, and "vng_ocv" takes uint8'):
        run_op(OP, x, layout="HW", blue_position=(0, 0), algorithm=VNG)


def test_the_default_is_bilinear():
    x = random_tensor((9, 12), torch.uint8, 1)
    expected = run_op(OP, x, layout="HW", blue_position=(0, 0), algorithm="bilinear_ocv")
    for args in ({}, {"algorithm": "default_ocv"}):
        assert torch.equal(run_op(OP, x, layout="HW", blue_position=(0, 0), **args), expected)


@for_each("algorithm", ["bilinear_npp", "default_npp"])
def test_algorithms_that_are_missing_say_so(algorithm):
    x = torch.zeros(4, 5, dtype=torch.uint8)
    with pytest.raises(UnsupportedError, match=f'`algorithm` "{algorithm}" is not supported'):
        run_op(OP, x, layout="HW", blue_position=(0, 0), algorithm=algorithm)


@for_each(
    ("args", "message"),
    [
        ({"blue_position": (0, 2)}, "`blue_position` has 2, expected 0 or 1"),
        ({"blue_position": 0}, "`blue_position` has 1 values, expected 2"),
        ({"blue_position": (0, 0), "algorithm": "ahd"}, '`algorithm` is "ahd", expected'),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, torch.zeros(4, 5, dtype=torch.uint8), layout="HW", **args)


def test_other_inputs_are_refused():
    with pytest.raises(TypeError, match="input `data` is float32, expected uint8 or uint16"):
        run_op(OP, torch.zeros(4, 5), layout="HW", blue_position=(0, 0))
    with pytest.raises(RuntimeError, match="input `data` has 3 channels, expected 1"):
        run_op(OP, torch.zeros(4, 5, 3, dtype=torch.uint8), layout="HWC", blue_position=(0, 0))
    with pytest.raises(RuntimeError, match="has 2 x 5 pixels, expected at least 3 x 3"):
        run_op(OP, torch.zeros(2, 5, dtype=torch.uint8), layout="HW", blue_position=(0, 0))
