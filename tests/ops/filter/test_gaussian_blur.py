# SPDX-License-Identifier: Apache-2.0
"""fn.gaussian_blur: images, volumes and sequences, blurred."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.convolving import correlate
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

SHAPE = (12, 15, 3)
LAYOUTS = {
    "HW": (12, 15),
    "CHW": (3, 12, 15),
    "FHWC": (2, 9, 7, 3),
    "FCHW": (2, 3, 9, 7),
    "CFHW": (3, 2, 9, 7),
    "DHWC": (5, 6, 7, 2),
    "CDHW": (2, 5, 6, 7),
    "FDHWC": (2, 4, 5, 6, 1),
    "FCDHW": (2, 1, 4, 5, 6),
    "DHW": (5, 6, 7),
    "W": (20,),
    "XYC": (9, 8, 2),
    "": (5, 6, 3),
}
INTEGERS = [torch.int8, torch.uint16, torch.int16]
WIDE = [torch.int32, torch.uint32, torch.int64, torch.uint64, torch.float64, torch.float16]


def case(layout: str = "HWC", shape=SHAPE, input_dtype=torch.uint8, no_parity="", **args) -> OpCase:
    if not {"sigma", "window_size"} & args.keys():
        args["sigma"] = 1.2
    return OpCase(
        "gaussian_blur",
        layout,
        shape,
        args,
        input_dtype,
        algorithm="convolve",
        no_parity=no_parity,
    )


CASES = [case(layout, shape) for layout, shape in LAYOUTS.items()]
CASES += [case("WC", (20, 3), no_parity="fails in DALI")]
CASES += [
    case(window_size=3),
    case(window_size=1),
    case(window_size=7, sigma=0.5),
    case(window_size=[3, 7]),
    case(sigma=[0.4, 2.0]),
    case(sigma=[0.0, 1.5], window_size=[5, 0]),
    case(sigma=1e-6),
    case(sigma=9.0),  # wider than the image
    case("DHWC", (5, 6, 7, 2), sigma=[0.5, 1.0, 2.0]),
    case("DHWC", (5, 6, 7, 2), window_size=[1, 3, 1]),
    case(sigma=PerSample([0.5, 1.0, 2.0]), shape=[SHAPE, (1, 20, 2), (30, 1, 1)]),
    case(sigma=PerSample([[0.5, 1.0], [2.0, 1.0]])),
    case(window_size=PerSample([[3, 5], [7, 1]])),
    case("FHWC", (2, 9, 7, 3), sigma=PerSample([[0.5, 2.0]], layout="F")),
    case(
        "FCHW", (2, 3, 9, 7), window_size=PerSample([torch.tensor([[3, 5], [7, 1]])], layout="F*")
    ),
    case(shape=(40, 50, 3)),
    case(shape=(1, 1, 3)),
    case(shape=(9, 8, 70)),
    case(dtype=types.FLOAT),
    case(dtype=types.UINT8),
    case(shape=(0, 5, 3), no_parity="DALI crashes"),
    case(shape=(4, 5, 0), no_parity="DALI crashes"),
]
CASES += [case(input_dtype=dtype) for dtype in (*INTEGERS, torch.float32)]
CASES += [case(input_dtype=torch.int16, dtype=types.FLOAT)]
CASES += [case(input_dtype=dtype, no_parity="float32 holds no such numbers") for dtype in WIDE]


def window(sigma: float, size: int = 0) -> np.ndarray:
    radius = size // 2 if size else math.ceil(3 * sigma)
    deviation = sigma or (radius - 1) * 0.3 + 0.8
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    return weights / weights.sum()


@for_each("dtype", [torch.uint8, torch.int16, torch.float32])
@for_each(("layout", "first"), [("HWC", 0), ("CHW", 1), ("FCHW", 2)])
def test_matches_reference(dtype, layout, first):
    x = random_tensor((2, 30, 25, 3)[4 - len(layout) :], dtype, 1)
    actual = run_op("gaussian_blur", x, layout=layout, sigma=[1.5, 0.0], window_size=[0, 5])
    kernel = np.outer(window(1.5), window(0.0, 5))
    expected = correlate(x.numpy(), kernel, first)
    difference = np.abs(actual.double().numpy() - expected)
    assert difference.max() <= (1e-3 if dtype == torch.float32 else 0.51)


def test_a_volume_matches_the_reference():
    x = random_tensor((6, 7, 8, 2), torch.float32, 1)
    actual = run_op("gaussian_blur", x, layout="DHWC", sigma=[0.5, 1.0, 2.0])
    kernel = np.einsum("i,j,k->ijk", window(0.5), window(1.0), window(2.0))
    np.testing.assert_allclose(actual.double().numpy(), correlate(x.numpy(), kernel), atol=1e-3)


@given(value=st.integers(0, 255), sigma=st.floats(0.1, 5), size=st.integers(1, 20))
def test_a_constant_image_stays_constant(value, sigma, size):
    x = torch.full((size, 9, 3), value, dtype=torch.uint8)
    assert torch.equal(run_op("gaussian_blur", x, layout="HWC", sigma=sigma), x)


def test_transposing_commutes():
    x = random_tensor((12, 15), torch.float32, 1)
    y = run_op("gaussian_blur", x, layout="HW", sigma=[0.7, 2.0])
    turned = run_op("gaussian_blur", x.T.contiguous(), layout="HW", sigma=[2.0, 0.7])
    torch.testing.assert_close(turned.T, y, rtol=1e-5, atol=1e-3)


@for_each(
    ("layout", "args", "message"),
    [
        ("HWC", {}, "`sigma` and `window_size` are both 0"),
        ("HWC", {"sigma": [1.0, 0.0]}, "`sigma` and `window_size` are both 0"),
        ("HWC", {"window_size": 4}, "`window_size` has 4, expected an odd positive number"),
        ("HWC", {"window_size": -3}, "`window_size` has -3"),
        ("HWC", {"window_size": 65537}, "at most 65535 are possible"),
        ("HWC", {"sigma": -1.0}, "`sigma` has -1"),
        ("HWC", {"sigma": float("nan")}, "`sigma` has nan"),
        ("HWC", {"sigma": float("inf")}, "`sigma` has inf"),
        ("HWC", {"sigma": 1e30}, "at most 65535 are possible"),
        ("HWC", {"sigma": [1.0, 2.0, 3.0]}, "`sigma` has 3 values, expected 1 or 2"),
        (
            "HWC",
            {"sigma": 1.0, "dtype": types.INT16},
            "`dtype` is int16, expected float32 or uint8",
        ),
        ("HCW", {"sigma": 1.0}, "one to three data axes"),
        ("CF", {"sigma": 1.0}, "one to three data axes"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(layout, args, message):
    x = torch.zeros((9, 12, 3)[: len(layout)], dtype=torch.uint8)
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op("gaussian_blur", x, layout=layout, **args)
    assert "fn.gaussian_blur: " in str(caught.value)


def test_booleans_are_errors():
    with pytest.raises(TypeError, match="bool, expected numbers"):
        run_op("gaussian_blur", torch.zeros(4, 5, dtype=torch.bool), layout="HW", sigma=1.0)
