# SPDX-License-Identifier: Apache-2.0
"""fn.equalize: equalizes the histogram of each channel."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

SHAPES = {
    "HW": (9, 70),
    "HWC": (9, 70, 3),
    "CHW": (3, 9, 70),
    "FHW": (2, 9, 7),
    "FHWC": (2, 9, 7, 3),
    "FCHW": (2, 3, 9, 7),
}


def dark(shape: tuple[int, ...], low: int = 20, high: int = 90):
    """Makes images whose values are a part of the range."""
    return lambda index: random_tensor(shape, torch.uint8, index) % (high - low) + low


def case(layout: str, shape, make=None, **options) -> OpCase:
    return OpCase("equalize", layout, shape, make=make, dali_op="experimental.equalize", **options)


CASES = [case(layout, shape) for layout, shape in SHAPES.items()]
CASES += [case(layout, shape, dark(shape)) for layout, shape in SHAPES.items()]
CASES += [case("HWC", (9, 7, channels), dark((9, 7, channels))) for channels in (1, 2, 4, 130)]
CASES += [
    case("HWC", (40, 60, 3), dark((40, 60, 3), 255, 256)),
    case("HWC", (40, 60, 3), dark((40, 60, 3), 0, 2)),
    case("HW", (40, 60), dark((40, 60), 100, 101)),
    case("", (9, 7)),
    case("", (9, 7, 3)),
    case("", (2, 9, 7, 3)),
    case("HWC", [(9, 7, 3), (1, 1, 3), (2, 100, 1)]),
    case("HWC", (0, 7, 3), no_parity="DALI refuses empty images"),
    case("HWC", (9, 7, 0), no_parity="DALI refuses empty images"),
]


def reference(x: np.ndarray) -> np.ndarray:
    """Equalizes one channel."""
    counts = np.bincount(x.ravel(), minlength=256)
    first = np.flatnonzero(counts)[0]
    if counts[first] == x.size:
        return x
    brighter = (np.cumsum(counts) - counts[first]).astype(np.float32)
    scale = np.float32(255) / np.float32(x.size - counts[first])
    return np.clip(np.rint(brighter * scale), 0, 255).astype(np.uint8)[x]


@for_each("case", CASES)
def test_matches_reference(case):
    run = run_case(case)
    layout = run.layouts[0]
    for index, actual in enumerate(run.samples()[0]):
        x = case.input(index).numpy()
        assert actual.shape == x.shape
        if not x.size:
            continue
        # [..., H, W], with any axes before.
        order = [i for i, axis in enumerate(layout) if axis not in "HW"]
        order += [layout.index("H"), layout.index("W")]
        planes = x.transpose(order).reshape(-1, *(x.shape[i] for i in order[-2:]))
        got = actual.numpy().transpose(order).reshape(planes.shape)
        for plane, one in zip(planes, got, strict=True):
            np.testing.assert_array_equal(one, reference(plane))


@given(height=st.integers(1, 20), width=st.integers(1, 90), seed=st.integers(0, 50))
def test_planar_and_interleaved_images_give_the_same(height, width, seed):
    x = random_tensor((height, width, 3), torch.uint8, seed)
    planar = run_op("equalize", x.permute(2, 0, 1).contiguous(), layout="CHW")
    assert torch.equal(run_op("equalize", x, layout="HWC"), planar.permute(1, 2, 0))


def test_equalization_is_monotonic_and_uses_the_whole_range():
    x = dark((30, 30))(0)
    actual = run_op("equalize", x, layout="HW")
    assert (actual.min(), actual.max()) == (0, 255)
    order = x.flatten().argsort(stable=True)
    assert (actual.flatten()[order].int().diff() >= 0).all()


def test_other_types_are_errors():
    with pytest.raises(TypeError, match="input `data` is float32, expected uint8"):
        run_op("equalize", torch.zeros(2, 2), layout="HW")
