# SPDX-License-Identifier: Apache-2.0
"""fn.crop_mirror_normalize: crop, mirror, normalize, convert and transpose in one step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_op
from helpers.reference import convert, cut, window
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OP = "crop_mirror_normalize"
MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
EXTENTS = {"F": 2, "D": 4, "H": 7, "W": 21, "C": 3}
DTYPES = {
    types.FLOAT: torch.float32,
    types.FLOAT16: torch.float16,
    types.UINT8: torch.uint8,
    types.INT8: torch.int8,
}
# Element types that DALI supports, and others.
INPUTS = [torch.uint8, torch.uint16, torch.int16, torch.int32, torch.float16, torch.float32]
MORE_INPUTS = [torch.int8, torch.uint32, torch.uint64, torch.int64, torch.float64, torch.bool]


def extents(layout: str) -> tuple[int, ...]:
    return tuple(EXTENTS[letter] for letter in layout)


def case(layout: str, shape=None, **args) -> OpCase:
    out = args.get("dtype", types.FLOAT)
    algorithm = {types.FLOAT: "normalize", types.FLOAT16: "normalize"}.get(out, "exact")
    dtype = args.pop("input", torch.uint8)
    reason = args.pop("no_parity", "")
    return OpCase(
        OP, layout, shape or extents(layout), args, dtype, algorithm=algorithm, no_parity=reason
    )


NO_5D = "DALI 1.35 takes at most four dimensions"
NORM = {"mean": MEAN, "std": STD}
CASES = [
    case(layout, output_layout=out, mirror=mirror, dtype=dtype, **NORM)
    for layout, out in itertools.product(["HWC", "CHW"], ["HWC", "CHW", "WHC", "HCW", "WCH"])
    for mirror, dtype in itertools.product([0, 1], DTYPES)
]
CASES += [
    case(layout, output_layout=out, mirror=mirror, crop=[5, 17], crop_pos_x=0.3, **NORM)
    for mirror in (0, 1)
    for layout, outs in {
        "FHWC": ["FHWC", "FCHW", "CFHW", ""],
        "FCHW": ["FHWC", "FCHW"],
        "CFHW": ["FCHW"],
        "DHWC": ["CDHW", "DHWC", "HWDC"],
        "CDHW": ["CDHW", "DHWC"],
    }.items()
    for out in outs
]
CASES += [
    case(
        layout, output_layout=out, mirror=1, crop=[2, 5, 17], no_parity="DALI knows 4 axes", **NORM
    )
    for layout, out in [("FDHWC", "FCDHW"), ("FCDHW", "FDHWC"), ("CFDHW", "CFDHW")]
]
CASES += [
    case("HWC", input=dtype, dtype=out, mirror=mirror, scale=0.5, shift=shift)
    for dtype, out, mirror, shift in itertools.product(INPUTS, DTYPES, [0, 1], [0.0, 3.0])
]
CASES += [
    case("CHW", input=dtype, mirror=mirror, no_parity="DALI refuses the type")
    for dtype, mirror in itertools.product(MORE_INPUTS, [0, 1])
]
# Widths around the block of 16 pixels of the vector code.
CASES += [
    case("HWC", (2, width, 3), mirror=mirror, **NORM)
    for width, mirror in itertools.product([1, 2, 15, 16, 17, 31, 32, 33], [0, 1])
]
CASES += [case("HWC", (4, 5, c), mirror=1, mean=2.0, std=[3.0]) for c in (1, 2, 4, 5)]
CASES += [
    case("HWC", crop=[9, 25], out_of_bounds_policy="pad", crop_pos_x=x, mirror=mirror, **options)
    for x, mirror in itertools.product([0.0, 0.3, 1.0], [0, 1])
    for options in [
        {"fill_values": [7.5], "mean": [1.0, 2.0, 3.0]},
        {"fill_values": [7, -3, 9], "dtype": types.INT8, "output_layout": "HWC"},
        {"fill_values": [1, 2, 3, 4], "pad_output": True},
        {"pad_output": True, "output_layout": "HWC", "dtype": types.FLOAT16},
    ]
]
CASES += [case("HWC", (3, 4, c), pad_output=True, fill_values=[9]) for c in (1, 2, 3, 4, 5, 6, 8)]
CASES += [
    case(
        "HWC",
        crop=[9, 25],
        out_of_bounds_policy="pad",
        fill_values=[1, 2, 3],
        mean=9.0,
        no_parity="DALI makes all channels but the first 0",
    )
]
CASES += [case("HWC", (3, 4, 3), pad_output=True, mean=[1, 2, 3, 4], std=[1, 2, 4, 8])]
CASES += [
    case("HWC", crop=[9, 17], out_of_bounds_policy="trim_to_shape", mirror=1),
    case("HWC", crop_h=3, crop_w=17, crop_pos_y=1.0, rounding="truncate"),
    case("HWC", std=[0.0, 1.0, 2.0]),
    case("HWC", output_dtype=types.UINT8),
    case("", (4, 5, 3)),
    case("HWC", (0, 5, 3)),
    case("HWC", (4, 5, 0)),
    case(
        "HWC",
        [(9, 20, 3), (40, 18, 3), (9, 30, 3)],
        mirror=PerSample([1, 0, 1]),
        crop=PerSample([[5.0, 17.0], [9.0, 18.0]]),
        crop_pos_x=PerSample([0.0, 0.7, 1.0]),
        crop_pos_y=PerSample([0.9]),
        mean=PerSample([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        std=PerSample([[2.0, 4.0, 8.0], [1.0, 1.0, 3.0]]),
    ),
]


def expected_output(c: OpCase, index: int = 0) -> torch.Tensor:
    """Returns the result of a case with constant arguments in float32."""
    args, layout = c.args, c.layout or "HWC"
    x = c.input(index)
    sizes = [0, *args.get("crop", [0, args.get("crop_h", 0), args.get("crop_w", 0)])][-3:]
    depth = "D" if "D" in layout else "F"
    position = {"W": args.get("crop_pos_x", 0.5), "H": args.get("crop_pos_y", 0.5)}
    size = dict(zip((depth, "H", "W"), sizes, strict=True))
    anchor, shape = window(x, layout, size, position, args.get("rounding", "round"))
    if args.get("out_of_bounds_policy") == "trim_to_shape":
        shape = [min(s, n) for s, n in zip(shape, x.shape, strict=True)]
        anchor = [max(a, 0) for a in anchor]
    axis = layout.index("C")

    def by_channel(values) -> torch.Tensor:
        values = np.atleast_1d(np.asarray(values, dtype=np.float32))
        return torch.from_numpy(values).reshape([-1 if i == axis else 1 for i in range(x.ndim)])

    # Added channels do not matter.
    mean, std = (
        by_channel(np.atleast_1d(args.get(name, default))[: max(1, x.shape[axis])])
        for name, default in (("mean", 0), ("std", 1))
    )
    scale = torch.tensor(args.get("scale", 1.0)) / std
    wide = convert(x, torch.float32)
    wide = (wide - mean) * scale + args.get("shift", 0.0)
    dtype = DTYPES[args.get("dtype", args.get("output_dtype", types.FLOAT))]
    converted = convert(wide, dtype)
    pads = args.get("out_of_bounds_policy") == "pad"
    if args.get("pad_output") and x.shape[axis]:
        shape[axis] = 1 << (x.shape[axis] - 1).bit_length()
    fill = by_channel(args.get("fill_values", 0) if pads else 0)
    fill = fill if dtype.is_floating_point else fill.trunc()
    out = cut(converted, anchor, shape, fill.to(dtype))
    if args.get("mirror"):
        out = out.flip(layout.index("W"))
    order = args.get("output_layout", "CHW") or layout
    return out.permute([layout.index(letter) for letter in order]).contiguous()


CONSTANT = [c for c in CASES if not any(isinstance(a, PerSample) for a in c.args.values())]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@for_each("case", CONSTANT)
def test_matches_reference(case):
    run = run_case(case)
    assert run.layouts == [case.args.get("output_layout", "CHW") or case.layout]
    for index, actual in enumerate(run.samples()[0]):
        # Exactly: the order of operations is part of the contract.
        expected = expected_output(case, index)
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


@given(
    height=st.integers(1, 5),
    width=st.integers(1, 70),
    mirror=st.booleans(),
    layout=st.sampled_from(["HWC", "CHW"]),
)
def test_mirroring_equals_flipping_the_result(height, width, mirror, layout):
    x = torch.arange(height * width * 3, dtype=torch.uint8).reshape(height, width, 3)
    plain = run_op(OP, x, layout="HWC", output_layout=layout, **NORM)
    turned = run_op(OP, x, layout="HWC", output_layout=layout, mirror=int(mirror), **NORM)
    assert torch.equal(turned, plain.flip(layout.index("W")) if mirror else plain)


def test_equals_crop_then_flip_then_transpose():
    x = torch.randint(0, 256, (40, 50, 3), generator=torch.Generator().manual_seed(1))
    x = x.to(torch.uint8)
    window = {"crop": [17, 33], "crop_pos_x": 0.2, "crop_pos_y": 0.8}
    fused = run_op(OP, x, layout="HWC", mirror=1, dtype=types.UINT8, **window)
    steps = run_op("flip", run_op("crop", x, layout="HWC", **window), layout="HWC")
    assert torch.equal(fused, steps.permute(2, 0, 1))


@for_each(
    ("args", "message"),
    [
        ({"crop": [10, 5]}, "reaches outside the sample"),
        ({"mean": [1.0, 2.0]}, "`mean` has 2 values, but the input has 3 channels"),
        ({"std": [1.0] * 4}, "`std` has 4 values, but the input has 3 channels"),
        ({"output_layout": "FCHW"}, '`output_layout` "FCHW" is not an order of the axes'),
        ({"output_layout": "CHX"}, '`output_layout` "CHX" is not an order of the axes'),
        ({"dtype": types.INT32}, "`dtype` is int32"),
        ({"mean": []}, "`mean` has 0 values"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op(OP, torch.zeros(7, 12, 3, dtype=torch.uint8), layout="HWC", **args)
    assert f"fn.{OP}: " in str(caught.value)
