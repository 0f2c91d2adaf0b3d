# SPDX-License-Identifier: Apache-2.0
"""fn.multi_paste: regions of several images on one canvas."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import Input, OpCase, PerSample, run_batches, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

SHAPES = [(3, 4, 2), (4, 3, 2), (5, 5, 2)]
NEWER = "DALI 1.35 has no such argument, input or layout"


def two(*values, dtype=torch.int32) -> PerSample:
    """Two numbers for each region, the same for all samples."""
    return PerSample([torch.tensor(values)], dtype)


BATCH = {"output_size": [6, 7]}
CASES = [
    OpCase("multi_paste", "HWC", SHAPES, {**BATCH, **args}, sees_batch=True)
    for args in (
        {"in_ids": [0]},
        {"in_ids": [2, 0]},
        {"in_ids": [1], "in_anchors": two([1, 2])},
        {"in_ids": [0, 2], "out_anchors": two([0, 0], [1, 2])},
        {
            "in_ids": [0, 2],
            "out_anchors": two([3, 4], [1, 2]),
            "in_anchors": two([0, 1], [2, 2]),
            "shapes": two([3, 3], [2, 1]),
        },
        {"in_ids": PerSample([[0], [1, 2], [2]])},
        {"in_ids": [0, 0], "output_size": PerSample([[3, 4], [4, 5]])},
        {"in_ids": [0], "dtype": types.FLOAT},
        {"in_ids": PerSample([torch.zeros(0, dtype=torch.int32)])},
        {"in_ids": [0], "shapes": two([0, 2])},
    )
]
CASES += [
    OpCase("multi_paste", "HWC", SHAPES, {**BATCH, "in_ids": [2, 1], "dtype": to}, dtype).replace(
        sees_batch=True, no_parity=reason
    )
    for dtype, to, reason in (
        (torch.float32, types.UINT8, ""),
        (torch.float32, types.INT16, ""),
        (torch.int32, types.UINT8, ""),
        (torch.int16, types.INT16, ""),
        (torch.uint16, types.FLOAT16, "DALI refuses the type"),
        (torch.bool, types.INT8, "DALI refuses the type"),
        (torch.float64, types.FLOAT64, "DALI refuses the type"),
    )
]


def more(*shapes, layout="HWC", dtype=torch.uint8) -> tuple[Input, ...]:
    return tuple(
        Input(lambda i, s=s, n=n: random_tensor(s, dtype, 100 * n + i), layout)
        for n, s in enumerate(shapes, 1)
    )


PLACES = two([0, 0], [1, 2])
CASES += [
    OpCase("multi_paste", layout, shape, args, more_inputs=others, no_parity=NEWER)
    for layout, shape, args, others in (
        ("HWC", (3, 4, 2), {}, ()),
        ("HWC", (3, 4, 2), {}, more((3, 4, 2))),
        ("HWC", (3, 4, 2), {**BATCH, "out_anchors": PLACES}, more((5, 5, 2))),
        ("HWC", SHAPES, {**BATCH, "out_anchors_rel": two([0.2, 0.26], dtype=torch.float32)}, ()),
        (
            "HWC",
            (6, 7, 1),
            {
                **BATCH,
                "in_anchors_rel": two([0.3, 0.4], dtype=torch.float32),
                "shapes_rel": two([0.3, 0.5], dtype=torch.float32),
            },
            (),
        ),
        ("FHWC", (2, 3, 4, 2), {**BATCH, "out_anchors": PLACES}, more((2, 5, 5, 2), layout="FHWC")),
        ("FHWC", (2, 3, 4, 2), {**BATCH, "out_anchors": PLACES}, more((5, 5, 2))),
        ("HWC", (5, 5, 2), {**BATCH, "out_anchors": PLACES}, more((2, 3, 4, 2), layout="FHWC")),
        ("HWC", (3, 4, 2), {**BATCH, "out_anchors": 1}, more((2, 2, 2))),
    )
]
CASES += [
    OpCase(
        "multi_paste", "FHWC", (2, 3, 4, 1), {**BATCH, "in_ids": [1, 0], "out_anchors": PLACES}
    ).replace(sees_batch=True, no_parity=NEWER)
]


@given(data=st.data(), regions=st.integers(0, 4))
def test_matches_torch(data, regions):
    image = ramp((5, 6, 2)) + 1
    canvas = torch.zeros(7, 8, 2, dtype=image.dtype)
    numbers = {"in_anchors": [], "shapes": [], "out_anchors": []}
    for _ in range(regions):
        y, x = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 6))
        h, w = data.draw(st.integers(0, 5 - y)), data.draw(st.integers(0, 6 - x))
        top, left = data.draw(st.integers(0, 7 - h)), data.draw(st.integers(0, 8 - w))
        canvas[top : top + h, left : left + w] = image[y : y + h, x : x + w]
        for name, value in zip(numbers, ([y, x], [h, w], [top, left]), strict=True):
            numbers[name].append(value)
    args = {n: torch.tensor(v, dtype=torch.int32).reshape(-1, 2) for n, v in numbers.items()}
    ids = torch.zeros(regions, dtype=torch.int32)
    out = run_op("multi_paste", image, layout="HWC", in_ids=ids, output_size=[7, 8], **args)
    assert torch.equal(out, canvas)


def test_adjacent_relative_regions_cover_the_image():
    image = ramp((7, 9, 3))
    anchors = torch.tensor([[0.0, 0.0], [0.0, 0.37], [0.41, 0.0], [0.41, 0.37]])
    shapes = torch.tensor([[0.41, 0.37], [0.41, 0.63], [0.59, 0.37], [0.59, 0.63]])
    args = {"in_anchors_rel": anchors, "out_anchors_rel": anchors, "shapes_rel": shapes}
    ids = torch.zeros(4, dtype=torch.int32)
    assert torch.equal(run_op("multi_paste", image, layout="HWC", in_ids=ids, **args), image)


@pytest.mark.parametrize("ids", [False, True])
def test_every_frame_has_its_own_position(ids):
    frames = ramp((2, 2, 2, 1)) + 1
    places = torch.tensor([[[0, 0]], [[1, 2]]], dtype=torch.int32)
    sources = {"x": ("FHWC", [[frames]]), "out_anchors": ("F**", [[places]])}
    args = {"output_size": [3, 4]} | ({"in_ids": [0]} if ids else {})
    run = run_batches("multi_paste", sources, 1, args, batch_sizes=[1])
    expected = torch.zeros(2, 3, 4, 1, dtype=frames.dtype)
    expected[0, :2, :2] = frames[0]
    expected[1, 1:, 2:] = frames[1]
    assert torch.equal(run.samples()[0][0], expected)
    assert run.layouts == ["FHWC"]


@for_each(
    ("args", "message"),
    [
        ({"in_ids": [1]}, "`in_ids` has 1, and the batch 1 samples"),
        ({"in_ids": [-1]}, "`in_ids` has -1"),
        ({"out_anchors": torch.tensor([[4, 0]])}, "region 0 reaches outside the canvas"),
        ({"out_anchors": torch.tensor([[-1, 0]])}, "region 0 reaches outside the canvas"),
        ({"in_anchors": torch.tensor([[0, 5]])}, "region 0 reaches outside the image"),
        ({"shapes": torch.tensor([[4, 1]])}, "region 0 reaches outside the image"),
        ({"shapes": torch.tensor([[-1, 1]])}, "region 0 reaches outside"),
        ({"out_anchors": torch.tensor([0, 0])}, "two numbers for each"),
        ({"out_anchors": torch.tensor([[0, 0], [0, 0]])}, "two numbers for each"),
        ({"out_anchors_rel": torch.tensor([[float("nan"), 0.0]])}, "`out_anchors_rel` has nan"),
        ({"shapes_rel": torch.tensor([[float("inf"), 0.0]])}, "`shapes_rel` has inf"),
        ({"shapes": 1, "shapes_rel": 0.5}, "exclude each other"),
        ({"output_size": [5]}, "`output_size` takes"),
        ({"output_size": [5, -1]}, "`output_size` is"),
        ({"output_size": [2**31 - 1, 2**31 - 1]}, "too large|out of memory"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    args = {
        n: a.to(torch.int32) if isinstance(a, torch.Tensor) and "rel" not in n else a
        for n, a in ({"in_ids": [0], "output_size": [5, 5]} | args).items()
    }
    with pytest.raises((ValueError, IndexError, RuntimeError), match=message) as caught:
        run_op("multi_paste", ramp((3, 4, 1)), layout="HWC", **args)
    assert str(caught.value).startswith("fn.multi_paste: ")


@pytest.mark.parametrize(
    ("inputs", "args", "message"),
    [
        ([(2, 2, 1), (2, 2, 1)], {"in_ids": [0]}, "samples of one input"),
        ([(2, 2, 1), (2, 2, 2)], {}, "1 and 2 channels"),
        ([(2, 2, 1), (2, 3, 1)], {}, "the canvas has no size"),
    ],
    ids=["ids", "channels", "size"],
)
def test_incompatible_inputs_are_errors(inputs, args, message):
    with pytest.raises(ValueError, match=message):
        run_op("multi_paste", *[ramp(shape) for shape in inputs], layout="HWC", **args)


def test_another_layout_is_an_error_of_the_definition():
    # DALI 1.35 pastes its rows as columns.
    with pytest.raises(ValueError, match=r'has layout "CHW", expected one of "HWC", "FHWC"'):
        run_op("multi_paste", ramp((3, 4, 5)), layout="CHW", in_ids=[0], output_size=[6, 7])


def test_samples_of_a_batch_may_differ_in_channels():
    # DALI gives canvas i the channels of sample i, also if other samples are pasted there.
    batch = [ramp((3, 4, 2)) + 1, ramp((4, 3, 1)) + 1]
    args = {"layout": "HWC", "output_size": [4, 4]}
    canvases = run_op("multi_paste", batch, in_ids=PerSample([[1], [0]]), **args)
    assert [canvas.shape[2] for canvas in canvases] == [1, 2]
    assert torch.equal(canvases[1][:3], batch[0])
    with pytest.raises(ValueError, match=r"2 and 1 channels(.|\n)*sample 0 of 2"):
        run_op("multi_paste", batch, in_ids=[0, 1], **args)
