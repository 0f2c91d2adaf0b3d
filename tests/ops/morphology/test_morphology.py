# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.dilate and fn.experimental.erode, equal to OpenCV's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.opencv import opencv
from helpers.ops import OpCase, PerSample, run_op

from torchdali.errors import LayoutError

OPERATORS = ["experimental.dilate", "experimental.erode"]
NAMES = ["dilate", "erode"]
NEWER = "DALI 1.35 has no such operator"
# NumPy's names of the borders; a constant border does not count.
BORDERS = {
    "constant": "constant",
    "replicate": "edge",
    "reflect": "symmetric",
    "reflect_101": "reflect",
    "wrap": "wrap",
}


def case(name, layout="HWC", shape=(12, 15, 3), dtype=torch.uint8, **args) -> OpCase:
    return OpCase(f"experimental.{name}", layout, shape, args, dtype, no_parity=NEWER)


CASES = [
    case(name, layout, shape, **args)
    for name in NAMES
    for layout, shape, args in [
        ("HWC", (12, 15, 3), {}),
        ("HW", (12, 35), {"mask_size": 5, "iterations": 2}),
        ("CHW", (3, 9, 70), {"mask_size": [2, 4], "anchor": [0, 3]}),
        ("FHWC", (2, 9, 7, 1), {"mask_size": [9, 1], "border_mode": "wrap"}),
        ("FCHW", (2, 3, 9, 7), {"mask_size": [1, 9], "border_mode": "reflect"}),
        ("HWC", [(5, 7, 3), (1, 1, 3)], {"mask_size": [31, 33], "border_mode": "reflect_101"}),
        ("HWC", (12, 15, 3), {"mask_size": PerSample([[3, 5], [7, 1]])}),
        (
            "FHWC",
            (2, 9, 7, 3),
            {"anchor": PerSample([torch.tensor([[0, 1], [2, 2]], dtype=torch.int32)], layout="F*")},
        ),
        ("HWC", (12, 15, 3), {"iterations": 0}),
        ("", (12, 15, 3), {"border_mode": "replicate"}),
        ("HWC", (0, 7, 3), {}),
    ]
]
CASES += [
    case("dilate", dtype=dtype, mask_size=[4, 7])
    for dtype in (torch.bool, torch.uint16, torch.int16, torch.int32, torch.float32)
]


def reference(name, x, mask_size, anchor=(-1, -1), border_mode="constant", iterations=1):
    """Computes an image, [H, W, C]."""
    ends = []
    for size, at in zip(reversed(mask_size), reversed(anchor), strict=True):
        before = (size // 2 if at < 0 else at) * iterations
        ends.append((before, iterations * (size - 1) - before))
    mode, more = BORDERS[border_mode], {}
    if mode == "constant":
        values = np.iinfo(x.dtype) if x.dtype.kind in "iu" else np.finfo(x.dtype)
        more["constant_values"] = values.min if name == "dilate" else values.max
    extended = np.pad(x, (*ends, (0, 0)), mode, **more)
    shape = tuple(before + 1 + after for before, after in ends)
    windows = np.lib.stride_tricks.sliding_window_view(extended, shape, (0, 1))
    return windows.max((3, 4)) if name == "dilate" else windows.min((3, 4))


@for_each("name", NAMES)
@for_each("border", BORDERS)
@for_each("mask", [(3, 3), (1, 4), (5, 2), (6, 6), (7, 9), (31, 3), (2, 40)])
@for_each("dtype", [torch.uint8, torch.float32])
@for_each("iterations", [1, 3])
def test_matches_reference(name, border, mask, dtype, iterations):
    x = random_tensor((13, 41, 3), dtype, 1)
    for anchor in ((-1, -1), (0, mask[1] - 1)):
        args = {"anchor": anchor, "border_mode": border, "iterations": iterations}
        actual = run_op(f"experimental.{name}", x, layout="HWC", mask_size=mask, **args)
        assert np.array_equal(actual.numpy(), reference(name, x.numpy(), mask, **args))


@for_each("name", NAMES)
@for_each("dtype", [torch.uint8, torch.uint16, torch.int16, torch.float32])
@for_each("mask", [(3, 3), (4, 7), (15, 15)])
def test_is_equal_to_opencv(name, dtype, mask):
    cv2 = opencv()
    x = random_tensor((37, 80, 3), dtype, 1)
    borders = ("CONSTANT", "REPLICATE", "REFLECT", "REFLECT_101")
    for border in borders:
        actual = run_op(
            f"experimental.{name}",
            x,
            layout="HWC",
            mask_size=mask,
            anchor=[1, 2],
            iterations=2,
            border_mode=border.lower(),
        )
        expected = getattr(cv2, name)(
            x.numpy(),
            np.ones(mask[::-1], np.uint8),
            anchor=(1, 2),
            iterations=2,
            borderType=getattr(cv2, f"BORDER_{border}"),
        )
        assert np.array_equal(actual.numpy(), expected)


def test_an_erosion_is_a_dilation_of_the_negative():
    x = random_tensor((40, 70, 3), torch.uint8, 1)
    dilated = run_op("experimental.dilate", ~x, layout="HWC", mask_size=[4, 9])
    assert torch.equal(run_op("experimental.erode", x, layout="HWC", mask_size=[4, 9]), ~dilated)


@for_each(
    ("args", "message"),
    [
        ({"mask_size": 0}, "`mask_size` has 0, expected 1 to"),
        ({"mask_size": [3, 3, 3]}, r"`mask_size` has 3 values, expected 1 or 2 \(x, y\)"),
        ({"mask_size": 2**40}, "`mask_size` has"),
        ({"anchor": [3, 0]}, r"`anchor` has 3, expected 0 to 2 \(inside the mask\)"),
        ({"anchor": -2}, "`anchor` has -2"),
        ({"iterations": -1}, "`iterations` is -1"),
        ({"border_mode": "mirror"}, '`border_mode` is "mirror", expected "constant", "replicate"'),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message):
        run_op("experimental.dilate", torch.zeros(4, 5, dtype=torch.uint8), layout="HW", **args)


def test_other_inputs_are_refused():
    with pytest.raises(TypeError, match="input `data` is float64, expected bool, uint8"):
        run_op("experimental.erode", torch.zeros(4, 5, dtype=torch.float64), layout="HW")
    with pytest.raises(LayoutError, match='has layout "HCW"'):
        run_op("experimental.erode", torch.zeros(4, 5, 3, dtype=torch.uint8), layout="HCW")
