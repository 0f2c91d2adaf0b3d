# SPDX-License-Identifier: Apache-2.0
"""fn.bbox_rotate: bounding boxes of rotated images."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import Input, OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali.errors import LayoutError

OP = "bbox_rotate"
NO_PARITY = "DALI 1.35 has no such operator"
BOXES = torch.tensor(
    [[0.1, 0.1, 0.3, 0.3], [0.45, 0.4, 0.55, 0.7], [0.0, 0.0, 1.0, 1.0], [0.9, 0.9, 1.0, 1.0]]
)
LABELS = torch.tensor([5, 6, 7, 8], dtype=torch.int32)
IMAGE = {"input_shape": [120, 200]}


def case(args, boxes=BOXES, labels=None):
    more = () if labels is None else (Input(lambda _: labels),)
    args = {**IMAGE, **args}
    return OpCase(OP, args=args, make=lambda _: boxes, more_inputs=more, no_parity=NO_PARITY)


CASES = [
    case({"angle": angle, "mode": mode, "keep_size": keep})
    for angle in (0.0, 30.0, -90.0)
    for mode in ("expand", "halfway", "fixed")
    for keep in (False, True)
]
CASES += [
    case({"angle": PerSample([10.0, 200.0, -45.0])}, labels=LABELS),
    case({"angle": 45.0, "keep_size": True, "remove_threshold": 0.0}, labels=LABELS),
    case({"angle": 45.0, "keep_size": True, "remove_threshold": 0.9}, labels=LABELS[:, None]),
    case({"angle": 20.0, "size": [100.0, 90.4]}),
    case({"angle": 20.0, "size": PerSample([[100.0, 90.0], [300.0, 300.0]])}, labels=LABELS),
    case({"angle": 20.0, "bbox_layout": "yxHW"}, boxes=BOXES * 0.5),
    case({"angle": 20.0, "bbox_layout": "XYxy"}, boxes=BOXES[:, [2, 3, 0, 1]]),
    case(
        {"angle": 20.0, "bbox_normalized": False, "shape_layout": "WH", "input_shape": [200, 120]},
        boxes=BOXES * 120,
    ),
    case({"angle": 20.0, "shape_layout": "HWC", "input_shape": [120, 200, 3]}),
    case({"angle": 20.0, "input_shape": PerSample([[120, 200], [64, 48]])}),
    case({"angle": 20.0}, boxes=BOXES[:0], labels=LABELS[:0]),
    case({"angle": 20.0, "remove_threshold": 0.0}, boxes=BOXES[:, [0, 1, 0, 1]]),
]


def canvas(radians, height, width, args):
    """Returns width and height of the rotated image."""
    layout = args.get("shape_layout", "HW")
    if "size" in args:
        size = [float(math.floor(x + 0.5)) for x in args["size"]]
        return size if layout.index("W") < layout.index("H") else size[::-1]
    if args.get("keep_size"):
        return [width, height]
    c, s = abs(math.cos(radians)), abs(math.sin(radians))
    sizes = []
    for one, other in ((width, height), (height, width)):
        size = math.ceil(c * one + s * other - 1e-2)
        sizes.append(size + (size - (other if s > c else one)) % 2)
    return sizes


def reference(boxes, args):
    """Returns the boxes that remain and their numbers, by turning corners one by one."""
    sides = dict(zip(args.get("shape_layout", "HW"), args["input_shape"], strict=True))
    order = args.get("bbox_layout", "xyXY")
    radians = float(torch.tensor(math.radians(args["angle"]), dtype=torch.float32))
    height, width = float(sides["H"]), float(sides["W"])
    to = canvas(radians, int(height), int(width), args)
    unit = (width, height) if args.get("bbox_normalized", True) else (1.0, 1.0)
    back = to if args.get("bbox_normalized", True) else (1.0, 1.0)
    c, s = math.cos(radians), math.sin(radians)
    kept, numbers = [], []
    for number, row in enumerate(boxes.double().tolist()):
        value = dict(zip(order, row, strict=True))
        x, y = value["x"], value["y"]
        right, bottom = value.get("X", x + value.get("W", 0)), value.get("Y", y + value.get("H", 0))
        x, right, y, bottom = x * unit[0], right * unit[0], y * unit[1], bottom * unit[1]
        corners = [(u - width / 2, v - height / 2) for u in (x, right) for v in (y, bottom)]
        turned = [(c * u + s * v, c * v - s * u) for u, v in corners]
        sides_of = {}
        for axis, size in ((0, right - x), (1, bottom - y)):
            values = [p[axis] + to[axis] / 2 for p in turned]
            middle = sum(values) / 4
            expand = (min(values), max(values))
            fixed = (middle - size / 2, middle + size / 2)
            half = tuple((a + b) / 2 for a, b in zip(expand, fixed, strict=True))
            sides_of[axis] = {"expand": expand, "fixed": fixed, "halfway": half}[
                args.get("mode", "expand")
            ]
        cut = {a: [min(max(v, 0.0), to[a]) for v in sides_of[a]] for a in (0, 1)}
        area = math.prod(b - a for a, b in sides_of.values())
        left = math.prod(b - a for a, b in cut.values())
        if left < args.get("remove_threshold", 0.1) * area:
            continue
        (x, right), (y, bottom) = ([v / back[a] for v in cut[a]] for a in (0, 1))
        named = {"x": x, "y": y, "X": right, "Y": bottom, "W": right - x, "H": bottom - y}
        kept.append([named[letter] for letter in order])
        numbers.append(number)
    return torch.tensor(kept).reshape(-1, 4), numbers


@for_each("case", CASES)
def test_matches_reference(case):
    outputs = run_case(case).samples()
    for index, actual in enumerate(outputs[0]):
        args = {
            n: a.at(index).tolist() if isinstance(a, PerSample) else a for n, a in case.args.items()
        }
        expected, numbers = reference(case.input(index), args)
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
        if case.more_inputs:
            assert torch.equal(outputs[1][index], case.more_inputs[0].make(index)[numbers])


@given(seed=st.integers(0, 50), quarters=st.integers(-3, 3))
def test_quarter_turns_are_those_of_the_image(seed, quarters):
    """A box around bright pixels stays around them."""
    random = torch.Generator().manual_seed(seed)
    top, left = (int(torch.randint(0, 20, (), generator=random)) for _ in range(2))
    image = torch.zeros(40, 60, 1, dtype=torch.uint8)
    image[top : top + 11, left : left + 17] = 255
    box = torch.tensor([[left / 60, top / 40, (left + 17) / 60, (top + 11) / 40]])
    turned = run_op("rotate", image, layout="HWC", angle=90.0 * quarters)[..., 0]
    height, width = turned.shape
    moved = run_op(OP, box, angle=90.0 * quarters, input_shape=[40, 60])[0]
    rows, columns = torch.where(turned > 127)
    expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    actual = moved * torch.tensor([width, height, width, height])
    torch.testing.assert_close(actual, torch.tensor(expected).float(), rtol=0, atol=0.02)


def test_wrong_arguments_are_errors():
    def run(boxes=BOXES, **args):
        return run_op(OP, boxes, **{**IMAGE, "angle": 10.0, **args})

    for args, text in [
        ({"mode": "grow"}, '`mode` is "grow", expected "expand"'),
        ({"remove_threshold": 1.5}, "`remove_threshold` is 1.5"),
        ({"input_shape": [3, 4, 5]}, '`input_shape` has 3 values, and `shape_layout` is "HW"'),
        ({"input_shape": [3, 0]}, "`input_shape` has 0"),
        ({"size": [3.0]}, "`size` has 1 value, expected 2"),
        ({"size": [3.0, -2.0]}, "`size` has -2"),
        ({"angle": math.inf}, "`angle` is inf"),
        ({"boxes": torch.zeros(3, 6)}, r"shape \[3, 6\], expected \(boxes, 4\)"),
        ({"boxes": BOXES[:, [2, 1, 0, 3]]}, "box 0 goes from 0.3 to 0.1 in x"),
    ]:
        with pytest.raises(ValueError, match=text):
            run(**args)
    with pytest.raises(TypeError, match="input `bboxes` is float64"):
        run(BOXES.double())
    with pytest.raises(LayoutError, match="`bbox_layout` is"):
        run(bbox_layout="xyzX")
    with pytest.raises(LayoutError, match="`shape_layout` is"):
        run(shape_layout="HX")
