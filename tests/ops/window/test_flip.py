# SPDX-License-Identifier: Apache-2.0
"""fn.flip: mirrors samples along W, H or D."""

from __future__ import annotations

import itertools

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import functional

AXES = {"horizontal": "W", "vertical": "H", "depthwise": "D"}
SHAPES = {
    "HWC": (5, 7, 3),
    "CHW": (3, 5, 7),
    "FHWC": (2, 5, 7, 3),
    "FCHW": (2, 3, 5, 7),
    "DHWC": (4, 5, 7, 3),
    "CDHW": (2, 3, 4, 5),
    "FDHWC": (2, 3, 4, 5, 1),
    "FCDHW": (2, 1, 3, 4, 5),
}
# Layouts and types that DALI supports, and others.
DTYPES = [torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64]
MORE_DTYPES = [torch.int8, torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.bool]

CASES = [
    OpCase("flip", layout, shape, dict(zip(AXES, on, strict=True)))
    for layout, shape in SHAPES.items()
    for on in itertools.product([0, 1], repeat=3)
]
CASES += [OpCase("flip", "HWC", (5, 23, 3), {"vertical": 1}, dtype=dtype) for dtype in DTYPES]
CASES += [
    OpCase("flip", "CHW", (2, 5, 40), dtype=dtype, no_parity="DALI refuses the type")
    for dtype in MORE_DTYPES
]
CASES += [OpCase("flip", "HWC", (3, 50, channels)) for channels in (1, 2, 4, 5, 16, 17)]
CASES += [
    OpCase("flip", "HWC", [(3, 4, 3), (6, 2, 3)], {"horizontal": PerSample([1, 0, -2])}),
    OpCase("flip", "CHW", (3, 4, 3), {"vertical": PerSample([[1], [0]]), "horizontal": 0}),
    OpCase("flip", "HWC", (0, 4, 3)),
    OpCase("flip", "HWC", (1, 1, 1)),
    OpCase("flip", "", (4, 5, 3)),
    OpCase("flip", "", (2, 4, 5, 3), {"vertical": 1}),
]


def as_bytes(x: torch.Tensor) -> torch.Tensor:
    """Adds an axis of bytes: torch has no flip of wide unsigned integers."""
    return x.view(torch.uint8).reshape(*x.shape, x.element_size())


def reference(x: torch.Tensor, layout: str, **on: int) -> torch.Tensor:
    on = {"horizontal": 1, **on}
    return x.flip([layout.index(AXES[name]) for name in on if on[name] and AXES[name] in layout])


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {
            n: int(a.at(index).item()) if isinstance(a, PerSample) else a
            for n, a in case.args.items()
        }
        layout = case.layout or {3: "HWC", 4: "FHWC"}[len(case.shape)]
        expected = reference(as_bytes(case.input(index)), layout, **args)
        assert torch.equal(as_bytes(actual), expected)


@given(
    height=st.integers(1, 20),
    width=st.integers(1, 40),
    channels=st.integers(1, 17),
    axes=st.sets(st.sampled_from(["horizontal", "vertical"])),
)
def test_flipping_twice_is_the_identity(height, width, channels, axes):
    x = ramp((height, width, channels))
    args = {"horizontal": 0, **dict.fromkeys(axes, 1)}
    once = run_op("flip", x, layout="HWC", **args)
    assert torch.equal(run_op("flip", once, layout="HWC", **args), x)


def test_the_default_is_horizontal():
    assert run_op("flip", ramp((1, 3, 1)), layout="HWC").flatten().tolist() == [2, 1, 0]


def test_an_unknown_layout_is_an_error_that_lists_the_layouts():
    with pytest.raises(ValueError, match=r'fn\.flip: input `data` has layout "HW"'):
        run_op("flip", torch.zeros(4, 4), layout="HW")


def test_two_values_for_one_sample_are_an_error():
    with pytest.raises(ValueError, match="`horizontal` takes one value per sample"):
        run_op("flip", ramp((2, 2, 1)), layout="HWC", horizontal=torch.tensor([1, 0]))


@pytest.mark.parametrize(
    "value", [torch.tensor(float("nan")), torch.tensor(1e30), torch.tensor(2**40)], ids=str
)
def test_arguments_that_no_integer_can_represent_are_errors(value):
    with pytest.raises(ValueError, match="argument `horizontal` takes integers"):
        run_op("flip", ramp((2, 3, 1)), layout="HWC", horizontal=PerSample([value], value.dtype))


def test_rows_of_bytes_of_any_length():
    for width in (1, 2, 31, 32, 33, 63, 64, 65, 127, 224):
        planes = torch.arange(2 * 3 * width).reshape(2, 3, width).to(torch.uint8)
        made = functional.flip(planes, layout="CHW")
        assert torch.equal(made, planes.flip(2)), width
