# SPDX-License-Identifier: Apache-2.0
"""fn.hsv, fn.hue, fn.saturation and fn.color_twist: one linear map of each pixel's channels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_batches, run_case, run_op
from helpers.reference import convert
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OPERATORS = ["color_twist", "hsv", "hue", "saturation"]

ALL = {"hue": 40.0, "saturation": 0.7, "contrast": 1.2, "brightness": 0.8}
HSV = {"hue": -70.0, "saturation": 1.4, "value": 0.9}
DTYPES = {
    types.UINT8: torch.uint8,
    types.INT16: torch.int16,
    types.INT32: torch.int32,
    types.FLOAT16: torch.float16,
    types.FLOAT: torch.float32,
}
MORE_DTYPES = [torch.int8, torch.uint16, torch.uint32, torch.uint64, torch.int64]
MORE_DTYPES += [torch.float64, torch.bool]


def case(op: str, layout: str, shape, args=None, **options) -> OpCase:
    return OpCase(op, layout, shape, args or {}, algorithm="color", **options)


CASES = [
    case("color_twist", "HWC", (7, 9, 3), {**ALL, "dtype": to}, dtype=dtype)
    for to, dtype in zip(DTYPES, [torch.uint8, *list(DTYPES.values())[:-1]], strict=True)
]
CASES += [case("color_twist", "HWC", (7, 9, 3), ALL, dtype=dtype) for dtype in DTYPES.values()]
CASES += [
    case("color_twist", "HWC", (7, 9, 3), ALL, dtype=dtype, no_parity="DALI refuses the type")
    for dtype in MORE_DTYPES
]
CASES += [case("hsv", "HWC", (1, width, 3), HSV) for width in (1, 7, 8, 15, 16, 17, 33, 400)]
CASES += [case("hsv", "HWC", (5, 9, 3), HSV, dtype=dtype) for dtype in list(DTYPES.values())[1:]]
CASES += [
    case("hsv", "HWC", (5, 90, 3)),
    case("hsv", "HWC", (5, 90, 3), HSV | {"dtype": types.FLOAT}),
    case("hsv", "HWC", (5, 90, 3), {"saturation": 0.0, "value": -1.0}),
    case("hsv", "FHWC", (2, 5, 7, 3), HSV),
    case("hsv", "DHWC", (2, 5, 7, 3), HSV),
    case("hue", "HWC", (5, 90, 3), {"hue": 720.5}),
    case("hue", "FHWC", (2, 5, 7, 3), {"hue": PerSample([30.0, 60.0])}),
    case("saturation", "HWC", (5, 90, 3), {"saturation": 3.0}),
    case("saturation", "DHWC", (2, 5, 7, 3), {"saturation": PerSample([0.5, 1.5])}),
    case("color_twist", "HWC", (5, 90, 3)),
    case("color_twist", "HWC", (5, 9, 3), ALL | {"image_type": types.BGR}),
    case("color_twist", "", (5, 9, 3), ALL),
    case("color_twist", "", (2, 5, 9, 3), ALL),
    case("color_twist", "HWC", (0, 9, 3), ALL),
    case(
        "color_twist",
        "HWC",
        [(5, 7, 3), (3, 70, 3)],
        {
            "hue": PerSample([10.0, -100.0, 250.0]),
            "saturation": PerSample([0.5, 1.5]),
            "contrast": PerSample([1.5, 0.5]),
            "brightness": PerSample([0.5, 1.5, 2.0]),
        },
    ),
]


def reference(x: torch.Tensor, case: OpCase, index: int) -> torch.Tensor:
    args = {n: float(a.at(index)) if isinstance(a, PerSample) else a for n, a in case.args.items()}
    angle = np.deg2rad(args.get("hue", 0.0))
    saturation, contrast = args.get("saturation", 1.0), args.get("contrast", 1.0)
    brightness = args.get("brightness", 1.0) * args.get("value", 1.0)
    to_yiq = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
    turn = np.eye(3)
    turn[1:, 1:] = saturation * np.array(
        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    )
    matrix = np.linalg.inv(to_yiq) @ turn @ to_yiq
    center = 0.5 if x.dtype.is_floating_point else 128
    y = x.numpy().astype(np.float64) @ matrix.T
    y = brightness * (center + contrast * (y - center))
    to = args.get("dtype", types.UINT8 if case.op == "hsv" else None)
    return convert(torch.from_numpy(y), x.dtype if to is None else DTYPES[to])


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        expected = reference(case.input(index), case, index)
        assert actual.dtype == expected.dtype
        torch.testing.assert_close(
            actual.double(),
            expected.double(),
            rtol=2**-10 if actual.dtype == torch.float16 else 0,
            # Large terms that cancel leave their rounding errors.
            atol=max(
                1 - actual.dtype.is_floating_point,
                np.abs(case.input(index).numpy().astype(float)).max(initial=0) * 1e-6,
            ),
        )


@given(hue=st.floats(-360, 360, width=32), saturation=st.floats(0.125, 4, width=32))
def test_turning_the_hue_back_is_the_identity(hue, saturation):
    x = torch.rand(3, 5, 3, generator=torch.Generator().manual_seed(1))
    once = run_op("color_twist", x, layout="HWC", hue=hue, saturation=saturation)
    back = run_op("color_twist", once, layout="HWC", hue=-hue, saturation=1 / saturation)
    torch.testing.assert_close(back, x, rtol=1e-4, atol=1e-4)


def test_gray_has_no_hue():
    x = torch.arange(256, dtype=torch.uint8).reshape(1, -1, 1).expand(1, 256, 3).contiguous()
    turned = run_op("hue", x, layout="HWC", hue=77.0)
    assert (turned.int() - x.int()).abs().max() <= 1


def test_each_frame_has_its_own_hue():
    frame = random_tensor((4, 5, 3), torch.uint8, seed=1)
    hues = torch.tensor([0.0, 90.0, -33.0])
    sources = {"x": ("FHWC", [[torch.stack([frame] * 3)]]), "hue": ("F", [[hues]])}
    (out,) = run_batches("hue", sources, 1, {}, batch_sizes=[1]).samples()
    for hue, got in zip(hues, out[0], strict=True):
        assert torch.equal(got, run_op("hue", frame, layout="HWC", hue=float(hue)))


@for_each("value", [float("nan"), float("inf"), 3e38])
@for_each("name", ["hue", "saturation", "contrast", "brightness"])
def test_infinite_and_nan_arguments_saturate(name, value):
    x = torch.full((1, 40, 3), 9, dtype=torch.uint8)
    for dtype in (types.UINT8, types.INT16, types.FLOAT):
        actual = run_op("color_twist", x, layout="HWC", dtype=dtype, **{name: value})
        assert actual.shape == x.shape


@pytest.mark.parametrize("channels", [0, 1, 2, 4])
def test_images_without_three_channels_are_errors(channels):
    x = torch.zeros(2, 2, channels, dtype=torch.uint8)
    with pytest.raises(ValueError, match=rf"input `data` has {channels} channel.*expected 3"):
        run_op("hsv", x, layout="HWC")
