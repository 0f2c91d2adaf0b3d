# SPDX-License-Identifier: Apache-2.0
"""fn.laplacian: sums of smoothed second derivatives."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.convolving import correlate
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_op

from torchdali import types

SHAPE = (12, 15, 3)
LAYOUTS = {
    "HW": (12, 15),
    "CHW": (3, 12, 15),
    "FHWC": (2, 9, 7, 3),
    "DHWC": (5, 6, 7, 2),
    "CDHW": (2, 5, 6, 7),
    "FCDHW": (2, 1, 4, 5, 6),
    "W": (20,),
    "": (5, 6, 3),
}


def case(layout: str = "HWC", shape=SHAPE, input_dtype=torch.uint8, no_parity="", **args) -> OpCase:
    # Sums of integers are exact in float32 until they are scaled, unless windows are wide.
    inexact = input_dtype == torch.float32 or args.get("window_size") == 23
    algorithm = "convolve" if inexact else "exact"
    return OpCase(
        "laplacian", layout, shape, args, input_dtype, algorithm=algorithm, no_parity=no_parity
    )


CASES = [case(layout, shape, window_size=5) for layout, shape in LAYOUTS.items()]
CASES += [
    case(),
    case(dtype=types.FLOAT),
    case(window_size=[3, 5], dtype=types.FLOAT),
    case(smoothing_size=1),
    case(window_size=[5, 3], smoothing_size=[1, 7], dtype=types.FLOAT),
    case(normalized_kernel=True, dtype=types.FLOAT),
    case(window_size=[3, 5], smoothing_size=[1, 7], normalized_kernel=True, dtype=types.FLOAT),
    case(window_size=23, normalized_kernel=True, dtype=types.FLOAT),
    case(scale=[0.5, -2.0]),
    case(shape=(40, 50, 3), scale=0.1, smoothing_size=1),
    case(shape=(40, 50, 3), scale=[0.3, 0.7], window_size=[3, 5]),
    case(scale=[0.3, 0.7], window_size=[3, 11], dtype=types.FLOAT),
    case(scale=0.125, window_size=5),
    case("DHWC", (5, 6, 7, 2), window_size=[3, 5, 7], scale=[0.1, 0.2, 0.3]),
    case(window_size=PerSample([3, 5]), scale=PerSample([[0.5, 1.0], [0.1, 0.1]])),
    case(smoothing_size=PerSample([[1, 3], [5, 5]]), dtype=types.FLOAT),
    case(
        "FHWC",
        (2, 9, 7, 3),
        window_size=PerSample([[3, 5]], layout="F"),
        scale=PerSample([[0.5, 0.25]], layout="F"),
    ),
    case(shape=[SHAPE, (1, 1, 1), (2, 9, 5)]),
    case(shape=(0, 5, 3), no_parity="DALI crashes"),
    case(shape=(4, 5, 3), scale=float("nan"), dtype=types.FLOAT),
]
CASES += [case(input_dtype=dtype, scale=0.1) for dtype in (torch.int8, torch.int16, torch.float32)]
CASES += [
    case(input_dtype=dtype, scale=0.1, no_parity="float32 holds no such numbers; not in DALI")
    for dtype in (torch.int32, torch.uint64, torch.float64, torch.float16)
]


def binomial(size: int) -> np.ndarray:
    return functools.reduce(np.convolve, [[1.0, 1.0]] * (size - 1), np.ones(1))


def derivative(size: int) -> np.ndarray:
    return np.convolve(binomial(size - 2), [1.0, -2.0, 1.0])


@pytest.mark.parametrize("smoothing", [None, [1, 5]])
@pytest.mark.parametrize("normalized", [False, True])
def test_matches_reference(smoothing, normalized):
    x = random_tensor((20, 25, 3), torch.float32, 1)
    args = {} if smoothing is None else {"smoothing_size": smoothing}
    actual = run_op(
        "laplacian", x, layout="HWC", window_size=[3, 7], normalized_kernel=normalized, **args
    )
    expected = np.zeros(x.shape)
    for axis, size in enumerate([3, 7]):
        other = size if smoothing is None else smoothing[1 - axis]
        windows = [derivative(size), binomial(other)]
        kernel = np.outer(*(windows if axis == 0 else windows[::-1]))
        factor = 2.0 ** (4 - size - other) if normalized else 1.0
        expected += factor * correlate(x.numpy(), kernel)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("window_size", [3, 5, 9])
def test_a_normalized_kernel_gives_the_second_derivative(window_size):
    y, x = torch.meshgrid(torch.arange(30.0), torch.arange(40.0), indexing="ij")
    data = (1.5 * x * x - 0.5 * y * y + 3 * x - y).unsqueeze(-1)
    actual = run_op(
        "laplacian", data, layout="HWC", window_size=window_size, normalized_kernel=True
    )
    inside = actual[8:-8, 8:-8]
    torch.testing.assert_close(inside, torch.full_like(inside, 3.0 - 1.0), rtol=1e-3, atol=0)


def test_a_constant_has_no_derivative():
    x = torch.full((9, 12, 3), 77, dtype=torch.uint8)
    assert not run_op("laplacian", x, layout="HWC", window_size=7, dtype=types.FLOAT).any()


@for_each(
    ("args", "message"),
    [
        ({"window_size": 4}, "`window_size` has 4, expected an odd number from 3 to 31"),
        ({"window_size": 1}, "`window_size` has 1"),
        ({"window_size": 33}, "`window_size` has 33"),
        ({"smoothing_size": 2}, "`smoothing_size` has 2, expected an odd number from 1 to 31"),
        ({"smoothing_size": -1}, "`smoothing_size` has -1"),
        ({"window_size": [3, 3, 3]}, "`window_size` has 3 values, expected 1 or 2"),
        ({"scale": [1.0, 2.0, 3.0]}, "`scale` has 3 values, expected 1 or 2"),
        ({"scale": 2.0, "normalized_kernel": True}, "exclude each other"),
        ({"dtype": types.INT16}, "`dtype` is int16"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op("laplacian", torch.zeros(9, 12, 3, dtype=torch.uint8), layout="HWC", **args)
    assert "fn.laplacian: " in str(caught.value)
