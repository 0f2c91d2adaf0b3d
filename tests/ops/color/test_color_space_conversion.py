# SPDX-License-Identifier: Apache-2.0
"""fn.color_space_conversion: conversions between RGB, BGR, gray and YCbCr."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OP = "color_space_conversion"
SPACES = [types.RGB, types.BGR, types.GRAY, types.YCbCr]
CHANNELS = {types.RGB: 3, types.BGR: 3, types.GRAY: 1, types.YCbCr: 3}


def case(layout: str, shape: tuple[int, ...], source, target, **options) -> OpCase:
    matrix = types.YCbCr in (source, target)
    return OpCase(
        OP,
        layout,
        (*shape, CHANNELS[source]),
        {"image_type": source, "output_type": target},
        algorithm="color" if matrix else "exact",
        **options,
    )


CASES = [
    case(layout, shape, source, target)
    for source, target in itertools.permutations(SPACES, 2)
    for layout, shape in [("HWC", (5, 71)), ("HWC", (1, 3)), ("FHWC", (2, 8, 80))]
]
CASES += [case("HWC", (3, 5), s, s, no_parity="DALI refuses what changes nothing") for s in SPACES]
CASES += [
    case(layout, shape, types.RGB, types.GRAY)
    for layout, shape in [
        ("DHWC", (2, 5, 7)),
        ("FDHWC", (2, 3, 5, 7)),
        ("", (5, 7)),
        ("", (2, 5, 7)),
    ]
]
CASES += [case("HWC", (0, 7), types.GRAY, types.RGB, no_parity="DALI refuses empty images")]
CASES += [case("HWC", (1, 2048), types.GRAY, types.YCbCr)]


def to_rgb(x: np.ndarray, space: types.DALIImageType) -> np.ndarray:
    """Returns red, green and blue in [0, 255], not rounded."""
    x = x.astype(np.float64)
    if space == types.YCbCr:  # ITU-R BT.601
        y, cb, cr = ((x[..., i] - o) / s for i, (o, s) in enumerate([(16, 219), *[(128, 224)] * 2]))
        red, blue = y + 1.402 * cr, y + 1.772 * cb
        return 255 * np.stack([red, (y - 0.299 * red - 0.114 * blue) / 0.587, blue], -1)
    return np.repeat(x, 3, -1) if space == types.GRAY else x[..., ::-1] if space == types.BGR else x


def reference(x: torch.Tensor, source, target) -> torch.Tensor:
    if (source, target) == (types.YCbCr, types.GRAY):
        y = (x.numpy()[..., :1].astype(np.float64) - 16) * 255 / 219
    else:
        rgb = to_rgb(x.numpy(), source)
        red, blue = rgb[..., :1], rgb[..., 2:]
        luma = rgb @ np.array([[0.299], [0.587], [0.114]])
        y = {
            types.RGB: rgb,
            types.BGR: rgb[..., ::-1],
            types.GRAY: luma,
            types.YCbCr: np.concatenate([luma, (blue - luma) / 1.772, (red - luma) / 1.402], -1),
        }[target]
        if target == types.YCbCr:
            y = y / 255 * [219, 224, 224] + [16, 128, 128]
    return torch.from_numpy(np.clip(np.floor(y + 0.5), 0, 255).astype(np.uint8))


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        expected = reference(case.input(index), case.args["image_type"], case.args["output_type"])
        assert actual.shape == expected.shape
        difference = (actual.int() - expected.int()).abs()
        assert difference.numel() == 0 or difference.max() <= 1
        assert (difference != 0).float().mean() < 0.02 or not difference.numel()


@given(width=st.integers(1, 50), seed=st.integers(0, 100))
def test_converting_to_bgr_twice_is_the_identity_and_keeps_gray(width, seed):
    x = random_tensor((2, width, 3), torch.uint8, seed)
    bgr = run_op(OP, x, layout="HWC", image_type=types.RGB, output_type=types.BGR)
    assert torch.equal(bgr, x.flip(2))
    back = run_op(OP, bgr, layout="HWC", image_type=types.BGR, output_type=types.RGB)
    assert torch.equal(back, x)
    for target in (types.GRAY, types.YCbCr):
        of_rgb = run_op(OP, x, layout="HWC", image_type=types.RGB, output_type=target)
        of_bgr = run_op(OP, bgr, layout="HWC", image_type=types.BGR, output_type=target)
        assert (of_rgb.int() - of_bgr.int()).abs().max() <= (target == types.YCbCr)


def test_gray_is_unchanged_by_ycbcr_and_back():
    x = torch.arange(256, dtype=torch.uint8).reshape(1, 256, 1)
    ycbcr = run_op(OP, x, layout="HWC", image_type=types.GRAY, output_type=types.YCbCr)
    assert ycbcr[0, [0, 255]].tolist() == [[16, 128, 128], [235, 128, 128]]
    back = run_op(OP, ycbcr, layout="HWC", image_type=types.YCbCr, output_type=types.GRAY)
    assert (back.int() - x.int()).abs().max() <= 1


@pytest.mark.parametrize(
    ("x", "source", "target", "message"),
    [
        (torch.zeros(2, 2, 1), types.GRAY, types.RGB, "`data` is float32, expected uint8"),
        (torch.zeros(2, 2, 4).byte(), types.RGB, types.GRAY, "has 4 channels.*RGB, which has 3"),
        (torch.zeros(2, 2, 3).byte(), types.GRAY, types.RGB, "has 3 channels.*GRAY, which has 1"),
        (torch.zeros(2, 2, 3).byte(), types.RGB, types.ANY_DATA, "ANY_DATA is no color space"),
        (torch.zeros(2, 2, 3).byte(), types.ANY_DATA, types.RGB, "ANY_DATA is no color space"),
    ],
)
def test_unsuitable_inputs_are_errors(x, source, target, message):
    with pytest.raises((TypeError, ValueError), match=message):
        run_op(OP, x, layout="HWC", image_type=source, output_type=target)
