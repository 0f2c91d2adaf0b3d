# SPDX-License-Identifier: Apache-2.0
"""fn.jpeg_compression_distortion: the artifacts of JPEG compression."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op

OP = "jpeg_compression_distortion"


def blocks(shape: tuple[int, ...]):
    """Makes images of colored squares with some noise."""

    def make(index: int) -> torch.Tensor:
        height, width = shape[-3:-1]
        coarse = random_tensor(
            (*shape[:-3], height // 8 + 1, width // 8 + 1, 3), torch.uint8, index
        )
        fine = random_tensor(shape, torch.uint8, index + 100).float() / 16
        large = coarse.float().repeat_interleave(8, -3).repeat_interleave(8, -2)
        return (large[..., :height, :width, :] * 0.9 + fine).to(torch.uint8)

    return make


def case(layout: str, shape, args=None, **options) -> OpCase:
    return OpCase(OP, layout, shape, args or {}, make=blocks(shape), algorithm="jpeg", **options)


CASES = [case("HWC", (48, 64, 3), {"quality": q}) for q in (-5, 0, 1, 30, 95, 100, 1000)]
CASES += [case("HWC", shape) for shape in [(48, 64, 3), (47, 61, 3), (1, 1, 3), (17, 2, 3)]]
CASES += [
    case("FHWC", (2, 24, 32, 3)),
    case("", (24, 32, 3)),
    case("", (2, 24, 32, 3)),
    case("HWC", (24, 32, 3), {"quality": PerSample([10, 90])}),
    case("FHWC", (2, 24, 32, 3), {"quality": PerSample([10, 90])}),
    OpCase(OP, "HWC", [(24, 32, 3), (9, 100, 3)]),
    OpCase(OP, "HWC", (0, 32, 3), no_parity="DALI refuses empty images"),
]


@pytest.mark.parametrize("quality", [1, 50, 90, 100])
def test_matches_pillow(quality):
    image = pytest.importorskip("PIL.Image")
    x = blocks((47, 61, 3))(0)
    encoded = io.BytesIO()
    image.fromarray(x.numpy()).save(encoded, "JPEG", quality=quality, subsampling=2)
    expected = np.array(image.open(encoded))
    actual = run_op(OP, x, layout="HWC", quality=quality).numpy()
    assert np.abs(actual.astype(int) - expected).max() <= 2


def test_higher_quality_is_closer_to_the_image():
    x = blocks((64, 64, 3))(0)
    errors = [
        (run_op(OP, x, layout="HWC", quality=q).float() - x.float()).pow(2).mean().item()
        for q in (1, 10, 50, 95)
    ]
    assert errors == sorted(errors, reverse=True)
    flat = torch.full((16, 16, 3), 77, dtype=torch.uint8)
    assert torch.equal(run_op(OP, flat, layout="HWC", quality=100), flat)


def test_frames_are_compressed_one_by_one():
    x = blocks((3, 24, 32, 3))(0)
    actual = run_op(OP, x, layout="FHWC", quality=20)
    for frame, got in zip(x, actual, strict=True):
        assert torch.equal(got, run_op(OP, frame, layout="HWC", quality=20))


def test_inputs_do_not_change_and_batches_are_independent():
    runs = [run_case(CASES[0]).samples()[0] for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(4, 4, 3), "`data` is float32, expected uint8"),
        (torch.zeros(4, 4, 1).byte(), "`data` has 1 channel, expected 3"),
        (torch.zeros(1, 65501, 3).byte(), "JPEG images have at most 65500 pixels a side"),
    ],
)
def test_unsuitable_inputs_are_errors(x, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run_op(OP, x, layout="HWC")
