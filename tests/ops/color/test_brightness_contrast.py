# SPDX-License-Identifier: Apache-2.0
"""fn.brightness, fn.contrast and fn.brightness_contrast: one linear function of every element."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_batches, run_case, run_op
from helpers.reference import convert
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OPERATORS = ["brightness", "brightness_contrast", "contrast"]

OP = "brightness_contrast"
DTYPES = {
    types.UINT8: torch.uint8,
    types.INT16: torch.int16,
    types.INT32: torch.int32,
    types.FLOAT: torch.float32,
}
MORE_DTYPES = [torch.int8, torch.uint16, torch.uint32, torch.uint64, torch.int64]
MORE_DTYPES += [torch.float16, torch.float64, torch.bool]
NO_TYPE = "DALI refuses the type"
ARGS = {"brightness": 1.3, "brightness_shift": 0.1, "contrast": 0.7, "contrast_center": 100.0}

CASES = [
    OpCase(OP, "HWC", (7, 9, 3), ARGS | {"dtype": to}, dtype=dtype)
    for dtype in DTYPES.values()
    for to in DTYPES
]
CASES += [
    OpCase(OP, "HWC", (7, 9, 3), {"contrast": 1.9, "brightness": 0.5}, dtype=dtype)
    for dtype in DTYPES.values()
]
CASES += [
    OpCase(OP, "HWC", (7, 9, 3), {"contrast": 0.5}, dtype=dtype, no_parity=NO_TYPE)
    for dtype in MORE_DTYPES
]
CASES += [
    OpCase(OP, "HWC", (5, 400, 3)),
    OpCase(OP, "HWC", (5, 50, 3), {"brightness": -1.5, "brightness_shift": 0.5}),
    OpCase(OP, "HWC", (5, 50, 1), {"contrast": 0.0}),
    OpCase(OP, "FHWC", (2, 5, 7, 4), ARGS),
    OpCase(OP, "DHWC", (2, 5, 7, 2), ARGS),
    OpCase(OP, "", (5, 7, 3), ARGS),
    OpCase(OP, "", (2, 5, 7, 3), ARGS),
    OpCase(OP, "HWC", (0, 7, 3), ARGS),
    OpCase(OP, "HWC", (5, 7, 0), ARGS),
    OpCase(
        OP,
        "HWC",
        [(5, 7, 3), (3, 70, 1)],
        {
            "brightness": PerSample([0.5, 1.5, 2.0]),
            "brightness_shift": PerSample([0.1, -0.1]),
            "contrast": PerSample([1.5, 0.5]),
            "contrast_center": PerSample([10.0, 200.0, 0.0]),
        },
    ),
    OpCase("brightness", "HWC", (5, 70, 3), {"brightness": 1.7, "brightness_shift": -0.2}),
    OpCase(
        "brightness", "HWC", (5, 7, 3), {"brightness": PerSample([0.3, 2.5])}, dtype=torch.int16
    ),
    OpCase("brightness", "FHWC", (3, 5, 7, 3), {"brightness": 0.3, "dtype": types.FLOAT}),
    OpCase("contrast", "HWC", (5, 70, 3), {"contrast": 1.7}),
    OpCase("contrast", "HWC", (5, 7, 3), {"contrast": PerSample([0.3, 2.5])}, dtype=torch.int16),
    OpCase("contrast", "DHWC", (3, 5, 7, 3), {"contrast": 0.3, "contrast_center": 30.0}),
]


def reference(
    x: torch.Tensor,
    dtype: torch.dtype | None = None,
    brightness: float = 1.0,
    brightness_shift: float = 0.0,
    contrast: float = 1.0,
    contrast_center: float | None = None,
) -> torch.Tensor:
    dtype = dtype or x.dtype
    floating = x.dtype.is_floating_point or x.dtype == torch.bool
    half = 0.5 if floating else (torch.iinfo(x.dtype).max + 1) // 2
    whole = 1 if dtype.is_floating_point or dtype == torch.bool else torch.iinfo(dtype).max
    b, s, c = (np.float32(v) for v in (brightness, brightness_shift, contrast))
    center = np.float32(half if contrast_center is None else contrast_center)
    y = x.numpy().astype(np.float32) * (b * c) + (s * np.float32(whole) + b * (center - c * center))
    return convert(torch.from_numpy(y), dtype)


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {
            n: float(a.at(index)) if isinstance(a, PerSample) else a for n, a in case.args.items()
        }
        args["dtype"] = DTYPES.get(args.get("dtype"))
        assert torch.equal(actual, reference(case.input(index), **args))


@given(brightness=st.floats(0.125, 4, width=32), contrast=st.floats(0.125, 4, width=32))
def test_brightness_contrast_equals_contrast_then_brightness(brightness, contrast):
    x = torch.arange(256, dtype=torch.float32).reshape(1, -1, 1) / 255
    both = run_op(OP, x, layout="HWC", brightness=brightness, contrast=contrast)
    first = run_op("contrast", x, layout="HWC", contrast=contrast)
    torch.testing.assert_close(
        run_op("brightness", first, layout="HWC", brightness=brightness), both
    )


def test_contrast_does_not_change_its_center():
    x = torch.full((1, 1, 1), 100, dtype=torch.uint8)
    assert run_op("contrast", x, layout="HWC", contrast=3.3, contrast_center=100.0).item() == 100


def test_each_frame_has_its_own_values():
    x = torch.full((3, 1, 2, 1), 100, dtype=torch.uint8)
    sources = {"x": ("FHWC", [[x]]), "brightness": ("F", [[torch.tensor([1.0, 0.5, 2.0])]])}
    (out,) = run_batches("brightness", sources, 1, {}, batch_sizes=[1]).samples()
    assert out[0].flatten().tolist() == [100, 100, 50, 50, 200, 200]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e38])
def test_infinite_and_nan_arguments_saturate(value):
    x = torch.tensor([0, 1, 255], dtype=torch.uint8).reshape(1, 3, 1)
    for dtype in (types.UINT8, types.INT32, types.INT64):
        actual = run_op("brightness", x, layout="HWC", brightness=value, dtype=dtype)
        assert actual.shape == x.shape
    actual = run_op("brightness", x, layout="HWC", brightness=float("nan"))
    assert actual.flatten().tolist() == [0, 0, 0]


def test_two_values_for_one_sample_are_an_error():
    x = torch.zeros(2, 2, 1, dtype=torch.uint8)
    with pytest.raises(ValueError, match="`brightness` takes one value per sample"):
        run_op("brightness", x, layout="HWC", brightness=torch.tensor([1.0, 0.0]))
