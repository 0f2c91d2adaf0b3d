# SPDX-License-Identifier: Apache-2.0
"""fn.filter: correlation with a filter that is an input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.convolving import PAD_MODES, correlate
from helpers.inputs import random_tensor
from helpers.ops import Input, OpCase, PerSample, run_batches

from torchdali import types

SHAPE = (12, 15, 3)


def weights(*shape: int, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=shape) / np.prod(shape) * 2).float()


def fixed(tensor: torch.Tensor, layout: str = "") -> Input:
    return Input(lambda _: tensor, layout)


def case(
    layout: str = "HWC",
    shape=SHAPE,
    kernel: Input | tuple[int, ...] = (3, 3),
    fill: Input | None = None,
    input_dtype=torch.uint8,
    no_parity="",
    **args,
) -> OpCase:
    if isinstance(kernel, tuple):
        kernel = fixed(weights(*kernel))
    return OpCase(
        "filter",
        layout,
        shape,
        args,
        input_dtype,
        more_inputs=(kernel,) if fill is None else (kernel, fill),
        algorithm="convolve",
        dali_op="experimental.filter",
        no_parity=no_parity,
    )


TWO_D = "DALI filters two data axes on the CPU"
CASES = [case(border=border, anchor=anchor) for border in PAD_MODES for anchor in ([0, 2], -1)]
CASES += [case(border=border) for border in ("101", "1001")]
CASES += [
    case("HW", (12, 15)),
    case("CHW", (3, 12, 15)),
    case("FCHW", (2, 3, 9, 7)),
    case("", (12, 15)),
    case("W", (20,), (5,), no_parity=TWO_D),
    case("DHWC", (5, 6, 7, 2), (3, 2, 3), no_parity=TWO_D),
    case("CDHW", (2, 5, 6, 7), (3, 2, 3), border="wrap", no_parity=TWO_D),
    case("DHWC", (5, 6, 7, 2), (3, 3, 3), border="constant", mode="valid", no_parity=TWO_D),
    case(kernel=(2, 4)),
    case(kernel=(7, 5)),
    case(kernel=(1, 1)),
    case(kernel=(11, 13)),
    case(kernel=fixed(torch.zeros(3, 3))),
    case(kernel=(2, 4), mode="valid"),
    case(kernel=(12, 15), mode="valid"),
    case(shape=[SHAPE, (30, 8, 1)], kernel=Input(lambda i: weights(3, 3 + 2 * (i % 2)))),
    case(kernel=(25, 31), no_parity="DALI fails where the filter is much larger than the data"),
    case(kernel=(25, 31), border="wrap", no_parity="as above"),
    case(anchor=PerSample([[0, 1], [2, 2]])),
    case("FHWC", (2, 9, 7, 3), anchor=PerSample([torch.tensor([[0, 1], [2, 2]])], layout="F*")),
    case("FHWC", (2, 9, 7, 3), kernel=fixed(weights(2, 3, 5), "F**")),
    case(border="constant", fill=fixed(torch.tensor(77, dtype=torch.uint8))),
    case(
        "FHWC",
        (2, 9, 7, 3),
        border="constant",
        fill=fixed(torch.tensor([200, 7], dtype=torch.uint8), "F"),
    ),
    case(
        shape=(9, 7, 5),
        border="constant",
        fill=fixed(torch.tensor(77, dtype=torch.uint8)),
        no_parity="DALI takes at most three channels, with four the border of the last one is 0",
    ),
    case(dtype=types.FLOAT),
    case(shape=(40, 50, 3)),
    case(shape=(0, 5, 3), no_parity="DALI crashes"),
    case(kernel=fixed(weights(3, 3).double()), no_parity="DALI wants float32"),
]
CASES += [case(input_dtype=dtype) for dtype in (torch.uint16, torch.int16, torch.float32)]
CASES += [
    case(input_dtype=dtype, no_parity="DALI refuses the type")
    for dtype in (torch.int8, torch.int32, torch.float16, torch.float64)
]


def run_filter(x: torch.Tensor, kernel: torch.Tensor, *fill, layout: str = "HWC", **args):
    sources = {"x": (layout, [[x]]), "filter": ("", [[kernel]])}
    if fill:
        sources["fill"] = ("", [list(fill)])
    run = run_batches("filter", sources, len(sources), args, batch_sizes=[1])
    return run.batches[0][0][0]


@for_each("border", PAD_MODES)
@for_each("dtype", [torch.uint8, torch.float32])
@for_each("shape", [(3, 3), (4, 7)])
def test_matches_reference(border, dtype, shape):
    x = random_tensor((20, 25, 3), dtype, 1)
    kernel = weights(*shape)
    fill = torch.tensor(9.0)
    actual = run_filter(x, kernel, fill, border=border, anchor=[2, 1])
    expected = correlate(x.numpy(), kernel.double().numpy(), anchor=(2, 1), border=border, fill=9.0)
    if dtype == torch.uint8:
        assert np.abs(actual.double().numpy() - expected.clip(0, 255)).max() <= 0.51
    else:
        np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-3)


def test_a_volume_matches_the_reference():
    x = random_tensor((6, 7, 8, 2), torch.float32, 1)
    kernel = weights(3, 2, 5)
    actual = run_filter(x, kernel, layout="DHWC")
    expected = correlate(x.numpy(), kernel.double().numpy())
    np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-3)


def test_valid_mode_equals_the_inner_part_of_same_mode():
    x = random_tensor((12, 15, 3), torch.float32, 1)
    kernel = weights(3, 4)
    same = run_filter(x, kernel, anchor=[0, 0])
    assert torch.equal(run_filter(x, kernel, mode="valid"), same[:10, :12])


@pytest.mark.parametrize("anchor", [(0, 0), (1, 2), (2, 1)])
def test_a_single_tap_moves_the_image(anchor):
    x = random_tensor((12, 15, 3), torch.uint8, 1)
    kernel = torch.zeros(3, 3)
    kernel[1, 1] = 1
    actual = run_filter(x, kernel, anchor=list(anchor), border="wrap")
    assert torch.equal(actual, x.roll((anchor[0] - 1, anchor[1] - 1), (0, 1)))


@for_each(
    ("kernel", "fill", "args", "message"),
    [
        ((3,), None, {}, r"`filter` has shape \[3\], expected 2 axes"),
        ((3, 0), None, {}, r"`filter` has shape \[3, 0\]"),
        ((3, 3), None, {"anchor": [3, 0]}, "`anchor` has 3, expected 0 to 2"),
        ((3, 3), None, {"anchor": [-2, 0]}, "`anchor` has -2"),
        ((3, 3), None, {"anchor": [1, 1, 1]}, "`anchor` has 3 values, expected 1 or 2"),
        ((3, 3), None, {"border": "mirror"}, '`border` is "mirror"'),
        ((3, 3), None, {"mode": "full"}, '`mode` is "full"'),
        ((10, 3), None, {"mode": "valid"}, "the filter is larger than the data: 10 and 9"),
        ((3, 3), (2,), {}, r"`fill_value` has shape \[2\], expected a scalar"),
        ((3, 3), None, {"dtype": types.INT16}, "`dtype` is int16"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(kernel, fill, args, message):
    more = () if fill is None else (torch.zeros(fill),)
    with pytest.raises(RuntimeError, match=message) as caught:
        run_filter(torch.zeros(9, 12, 3, dtype=torch.uint8), torch.ones(kernel), *more, **args)
    assert "fn.filter: " in str(caught.value)
