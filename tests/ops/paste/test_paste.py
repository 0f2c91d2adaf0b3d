# SPDX-License-Identifier: Apache-2.0
"""fn.paste and fn.bbox_paste: images, and the boxes on them, on a larger canvas."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import OpCase, PerSample, run_op
from hypothesis import given
from hypothesis import strategies as st

OPERATORS = ["bbox_paste", "paste"]

NO_CPU = "DALI's paste has no CPU implementation"
COLOR = {"fill_value": [100, 101, 102]}
CASES = [
    OpCase("paste", "HWC", (4, 6, 3), {**COLOR, **args}, no_parity=NO_CPU)
    for args in (
        {"ratio": 1.0},
        {"ratio": 1.4},
        {"ratio": 2.0, "paste_x": 0.0, "paste_y": 1.0},
        {"ratio": 2.0, "paste_x": 0.3, "paste_y": 0.9},
        {"ratio": 1.5, "min_canvas_size": 7.0},
        {"ratio": PerSample([1.0, 3.0, 1.1]), "paste_x": PerSample([0.1, 0.5])},
        {"ratio": 2.0, "paste_y": PerSample([0.0, 1.0]), "min_canvas_size": PerSample([0.0, 9.5])},
    )
]
CASES += [
    OpCase("paste", "HWC", (3, 2, 3), {**COLOR, "ratio": 2.0}, dtype, no_parity=NO_CPU)
    for dtype in (torch.float32, torch.int16, torch.float16)
]
CASES += [
    OpCase("paste", "HWC", shape, args, no_parity=NO_CPU)
    for shape, args in (
        ((3, 2, 1), {"fill_value": 7, "n_channels": 1, "ratio": 2.0}),
        ((3, 2, 3), {"fill_value": 0, "ratio": 2.0}),
        ((3, 2, 4), {"fill_value": [1, 2, 300, -4], "n_channels": 4, "ratio": 2.0}),
        ([(3, 2, 3), (5, 4, 3)], {**COLOR, "ratio": 1.3}),
        ((0, 2, 3), {**COLOR, "ratio": 2.0}),
        ((0, 0, 3), {**COLOR, "ratio": 2.0, "min_canvas_size": 2.0}),
    )
]


def boxes(index: int) -> torch.Tensor:
    return random_tensor((3, 4), torch.float32, index) / 320


CASES += [
    OpCase("bbox_paste", make=boxes, args=args)
    for args in (
        {"ratio": 2.0},
        {"ratio": 2.0, "ltrb": True},
        {"ratio": 1.37, "paste_x": 0.33, "paste_y": 0.71},
        {"ratio": 1.37, "paste_x": 0.33, "paste_y": 0.71, "ltrb": True},
        {"ratio": 0.8, "paste_x": 0.0},
        {"ratio": PerSample([1.0, 3.0]), "paste_x": PerSample([0.0, 1.0, 0.5])},
    )
]
CASES += [
    OpCase("bbox_paste", "", (4,), {"ratio": 1.5}, torch.float32),
    OpCase("bbox_paste", "XY", (2, 4), {"ratio": 1.5}, torch.float32),
    OpCase("bbox_paste", "", [(2, 4), (0, 4)], {"ratio": 1.5}, torch.float32),
]


@given(
    ratio=st.floats(1, 3, width=32),
    x=st.floats(0, 1, width=32),
    y=st.floats(0, 1, width=32),
    least=st.sampled_from([0.0, 5.5, 9.0]),
)
def test_matches_torch(ratio, x, y, least):
    image = ramp((4, 6, 3))
    where = {"paste_x": x, "paste_y": y}
    out = run_op("paste", image, layout="HWC", ratio=ratio, min_canvas_size=least, **where, **COLOR)
    r = torch.tensor(ratio, dtype=torch.float32)
    height, width = (max(int(r * extent), int(least)) for extent in (4, 6))
    expected = torch.tensor([100, 101, 102], dtype=image.dtype).expand(height, width, 3).clone()
    top = int(torch.tensor(y, dtype=torch.float32) * (height - 4))
    left = int(torch.tensor(x, dtype=torch.float32) * (width - 6))
    expected[top : top + 4, left : left + 6] = image
    assert torch.equal(out, expected)


def test_one_fill_value_is_for_all_channels():
    def pasted(fill_value):
        return run_op("paste", ramp((4, 6, 3)), layout="HWC", ratio=1.5, fill_value=fill_value)

    assert torch.equal(pasted(7), pasted([7, 7, 7]))
    assert torch.equal(pasted([7]), pasted([7, 7, 7]))


def test_a_box_stays_on_its_pixels():
    image = torch.zeros(10, 10, 3, dtype=torch.uint8)
    image[2:6, 3:8] = 255
    where = {"ratio": 2.0, "paste_x": 0.5, "paste_y": 1.0}
    canvas = run_op("paste", image, layout="HWC", fill_value=[0, 0, 0], **where)
    box = torch.tensor([0.3, 0.2, 0.8, 0.6])
    left, top, right, bottom = (run_op("bbox_paste", box, ltrb=True, **where) * 20).round().int()
    assert (canvas[top:bottom, left:right] == 255).all()
    assert int(canvas.sum()) == 255 * 4 * 5 * 3


@for_each(
    ("args", "message"),
    [
        ({"ratio": 0.5}, "`ratio` is 0.5"),
        ({"ratio": float("nan")}, "`ratio` is nan"),
        ({"ratio": float("inf")}, "`ratio` is inf"),
        ({"ratio": 1e9}, "too large|out of memory"),
        ({"ratio": 1.0, "paste_x": 1.5}, "`paste_x` is 1.5"),
        ({"ratio": 1.0, "paste_y": -0.5}, "`paste_y` is -0.5"),
        ({"ratio": 1.0, "paste_y": float("nan")}, "`paste_y` is nan"),
        ({"ratio": 1.0, "min_canvas_size": float("inf")}, "`min_canvas_size` is inf"),
        ({"ratio": 1.0, "fill_value": [1, 2]}, "`fill_value` has 2 values"),
        ({"ratio": 1.0, "n_channels": 1, "fill_value": 1}, "the input has 3 channels"),
        ({"ratio": 1.0, "n_channels": -1, "fill_value": 1}, "`n_channels` is -1"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises((ValueError, RuntimeError), match=message) as caught:
        run_op("paste", ramp((4, 6, 3)), layout="HWC", **{**COLOR, **args})
    assert str(caught.value).startswith("fn.paste: ")


def test_boxes_of_other_shapes_and_types_are_errors():
    with pytest.raises(TypeError, match="boxes are float32, got float64"):
        run_op("bbox_paste", torch.zeros(2, 4, dtype=torch.float64), ratio=2.0)
    with pytest.raises(ValueError, match="4 values each"):
        run_op("bbox_paste", torch.zeros(2, 3), ratio=2.0)
