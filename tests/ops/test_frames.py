# SPDX-License-Identifier: Apache-2.0
"""Sequences: arguments with a value per frame, for every operator on sequences."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import run_batches, run_op

FRAMES = 3


def per_frame(op: str, data: torch.Tensor, layout: str, values: dict[str, torch.Tensor], **args):
    """Runs `op` on one sample, with arguments whose first axis goes over the frames."""
    sources = {"data": (layout, [[data]])}
    sources |= {n: ("F" + "*" * (v.ndim - 1), [[v]]) for n, v in values.items()}
    run = run_batches(op, sources, 1, args, batch_sizes=[1])
    return run.batches[0][0][0], run.layouts[0]


@pytest.mark.parametrize("layout", ["FHWC", "FCHW"])
def test_each_frame_has_its_own_value(layout):
    data = ramp((FRAMES, 4, 5, 3))
    mirrored = torch.tensor([1, 0, 1], dtype=torch.int32)
    actual, out_layout = per_frame("flip", data, layout, {"horizontal": mirrored}, vertical=1)
    for frame, on, got in zip(data, mirrored, actual, strict=True):
        expected = run_op("flip", frame, layout=layout[1:], horizontal=int(on), vertical=1)
        assert torch.equal(got, expected)
    assert out_layout == layout


def test_one_value_applies_to_all_frames():
    data = ramp((FRAMES, 4, 5, 3))
    actual, _ = per_frame("flip", data, "FHWC", {"horizontal": torch.zeros(1, dtype=torch.int32)})
    assert torch.equal(actual, data)


def test_each_frame_may_have_its_own_list():
    data = ramp((FRAMES, 8, 9, 3)).to(torch.uint8)
    sizes = torch.tensor([[4, 5]] * FRAMES, dtype=torch.float32)
    actual, layout = per_frame("resize", data, "FHWC", {"size": sizes})
    assert torch.equal(actual, run_op("resize", data, layout="FHWC", size=[4, 5]))
    assert layout == "FHWC"


def test_values_for_another_number_of_frames_are_errors():
    values = {"horizontal": torch.tensor([1, 0], dtype=torch.int32)}
    with pytest.raises(ValueError, match="`horizontal` has values for 2 frames, and the sequence"):
        per_frame("flip", ramp((FRAMES, 4, 5, 3)), "FHWC", values)


def test_values_per_frame_of_an_image_are_errors():
    values = {"horizontal": torch.tensor([1, 0], dtype=torch.int32)}
    with pytest.raises(ValueError, match="no input is a sequence"):
        per_frame("flip", ramp((4, 5, 3)), "HWC", values)


def test_frames_of_different_shapes_are_errors():
    sizes = torch.tensor([[4, 5], [4, 6], [4, 5]], dtype=torch.float32)
    with pytest.raises(ValueError, match="frame 1 of the sequence would have shape"):
        per_frame("resize", ramp((FRAMES, 8, 9, 3)).to(torch.uint8), "FHWC", {"size": sizes})


def test_a_sequence_without_frames_is_an_error():
    values = {"horizontal": torch.zeros(0, dtype=torch.int32)}
    with pytest.raises(ValueError, match="a sequence without frames"):
        per_frame("flip", torch.zeros((0, 4, 5, 3), dtype=torch.uint8), "FHWC", values)


def test_operators_without_per_frame_arguments_reject_them():
    angles = {"angle": ("F", [[torch.zeros(0)]])}
    with pytest.raises(ValueError, match="a sequence without frames"):
        run_batches("transforms.rotation", angles, 0, {}, batch_sizes=[1])


EMPTY = torch.empty(2**36, 0, 4, 3, dtype=torch.uint8)


@for_each(
    ("op", "args"),
    [
        ("equalize", {}),  # the engine calls these once per frame
        ("jpeg_compression_distortion", {}),
        ("warp_affine", {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]}),
        ("flip", {}),  # these loop over frames
        ("multi_paste", {}),
        ("rotate", {"angle": 0.0}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.timeout(60)
def test_frames_without_data_take_no_time(op, args):
    out = run_op(op, EMPTY, layout="FHWC", **args)
    assert out.shape[0] == EMPTY.shape[0]
    assert out.numel() == 0
