# SPDX-License-Identifier: Apache-2.0
"""fn.crop: windows of images, volumes and sequences."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op
from helpers.reference import convert, cut, window
from hypothesis import given
from hypothesis import strategies as st

from torchdali import Pipeline, fn, types

EXTENTS = {"F": 4, "D": 6, "H": 9, "W": 12, "C": 3}
LAYOUTS = ["HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW"]
# DALI 1.35 documents these but supports four dimensions only.
LAYOUTS_5D = ["FDHWC", "FCDHW", "CFDHW"]
DTYPES = [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16]
DTYPES += [torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
NO_5D = "DALI 1.35 takes at most four dimensions"


def extents(layout: str) -> tuple[int, ...]:
    return tuple(EXTENTS[letter] for letter in layout)


ARGS = [
    {},
    {"crop": [4, 5]},
    {"crop": [3, 4, 5]},
    {"crop": (4.9, 5.2), "crop_pos_x": 0.25, "crop_pos_y": 0.7},
    {"crop_h": 4, "crop_w": 5, "crop_d": 2, "crop_pos_z": 1.0},
    {"crop": [4, 5], "crop_pos_x": 0.1, "rounding": "truncate"},
    {"crop": [11, 14], "out_of_bounds_policy": "pad"},
    {
        "crop": [11, 14],
        "out_of_bounds_policy": "pad",
        "fill_values": [1, 2.7, 3],
        "crop_pos_x": 0.0,
    },
    {"crop": [11, 5], "out_of_bounds_policy": "trim_to_shape", "crop_pos_x": 1.0},
    {"crop": [11, 5], "out_of_bounds_policy": "pad", "rounding": "truncate", "fill_values": 7},
]
CASES = [
    OpCase("crop", layout, extents(layout), args)
    for layout in LAYOUTS
    for args in ARGS
    if len(layout) == 4 or args.get("crop") != [3, 4, 5]
]
CASES += [
    OpCase("crop", layout, extents(layout), args, no_parity=NO_5D)
    for layout in LAYOUTS_5D
    for args in ARGS
]
CASES += [OpCase("crop", "HWC", (9, 12, 3), {"crop": [4, 5]}, dtype=dtype) for dtype in DTYPES]
CASES += [
    OpCase(
        "crop", "HWC", (9, 12, 3), {"crop": [4, 5], "dtype": to}, dtype=dtype, algorithm=algorithm
    )
    for to, algorithm in [
        (types.UINT8, "exact"),
        (types.FLOAT, "exact"),
        (types.FLOAT16, "float16_ties"),
    ]
    for dtype in DTYPES
]
CASES += [
    OpCase("crop", "CHW", (2, 9, 12), dtype=torch.bool, no_parity="DALI refuses bool"),
    OpCase("crop", "HWC", (9, 12, 3), {"crop": [4, 5], "output_dtype": types.FLOAT}),
    OpCase("crop", "HWC", (9, 12, 1), {"crop": [0, 5]}),
    # These are contiguous in the input, so the result is a view.
    OpCase("crop", "HWC", (9, 12, 3), {"crop": [4, 12], "crop_pos_y": 0.9}),
    OpCase("crop", "DHWC", (6, 9, 12, 3), {"crop": [1, 4, 12], "crop_pos_z": 0.3}),
    OpCase("crop", "HWC", (0, 5, 3), {"crop": [0, 0]}),
    OpCase("crop", "HWC", (9, 12, 1), {"crop": [-3, 0.5]}),
    OpCase("crop", "", (9, 12, 3), {"crop": [4, 5]}),
    OpCase("crop", "", (3, 9, 12, 3), {"crop": [2, 4, 5]}),
    OpCase("crop", "HWC", (0, 5, 3), {"crop": [2, 2], "out_of_bounds_policy": "pad"}),
    OpCase(
        "crop",
        "HWC",
        [(9, 12, 3), (30, 20, 1)],
        {
            "crop": PerSample([[3.0, 4.0], [5.5, 6.5]]),
            "crop_pos_x": PerSample([0.0, 0.7, 1.0]),
            "crop_pos_y": PerSample([0.9, 0.3]),
        },
    ),
    OpCase(
        "crop",
        "HWC",
        [(9, 12, 3), (9, 20, 3)],
        {"crop_h": PerSample([3.0, 4.0]), "crop_w": 7, "crop_pos_y": PerSample([0.5, 0.1])},
    ),
    OpCase(
        "crop",
        "HWC",
        (9, 12, 3),
        {"crop": [4, 5], "crop_pos_x": PerSample([0.5, 0.3]), "rounding": "torchvision"},
        no_parity="not a value of DALI",
    ),
]


def expected_crop(case: OpCase, index: int = 0) -> torch.Tensor:
    """Returns the window of a case whose arguments are constant."""
    args, layout = case.args, case.layout or {3: "HWC", 4: "DHWC"}[len(case.shape)]
    x = case.input(index)
    sizes = args.get("crop") or [
        args.get("crop_d", 0),
        args.get("crop_h", 0),
        args.get("crop_w", 0),
    ]
    depth = "D" if "D" in layout else "F"
    size = dict(zip((depth, "H", "W"), map(int, [0, *sizes][-3:]), strict=True))
    names = {"W": "crop_pos_x", "H": "crop_pos_y", "D": "crop_pos_z", "F": "crop_pos_z"}
    position = {letter: args.get(name, 0.5) for letter, name in names.items()}
    if depth == "F":  # frames are cropped like depth if there is no depth
        layout = layout.replace("F", "D")
        size["D"] = size.pop("F")
    elif size.get("D"):
        layout = layout.replace("F", "f")
    anchor, shape = window(x, layout, size, position, args.get("rounding", "round"))
    if args.get("out_of_bounds_policy") == "trim_to_shape":
        ends = [min(a + s, n) for a, s, n in zip(anchor, shape, x.shape, strict=True)]
        anchor = [max(a, 0) for a in anchor]
        shape = [e - a for a, e in zip(anchor, ends, strict=True)]
    fill = torch.tensor(args.get("fill_values", 0.0)).trunc().to(x.dtype).reshape(-1)
    fill = fill.reshape([-1 if letter == "C" else 1 for letter in layout])
    return cut(x, anchor, shape, fill)


@for_each(
    "case",
    [
        case
        for case in CASES
        if not any(isinstance(a, PerSample) or n.endswith("dtype") for n, a in case.args.items())
    ],
)
def test_matches_reference(case):
    run = run_case(case)
    assert run.layouts == [case.layout or {3: "HWC", 4: "DHWC"}[len(case.shape)]]
    for index, actual in enumerate(run.samples()[0]):
        assert torch.equal(actual, expected_crop(case, index))


def test_a_view_of_a_view_is_not_copied():
    x = ramp((8, 5, 2))
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        rows = fn.crop(fn.external_source(name="x", layout="HWC"), crop=[6, 5])
        pipe.set_outputs(fn.flip(fn.crop(rows, crop=[2, 5], crop_pos_y=1.0)))
    pipe.build()
    pipe.feed_input("x", [x])
    (output,) = pipe.run()
    pipe.close()
    assert torch.equal(output.as_torch()[0], x[5:7].flip(1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32])
def test_conversion_to_uint8_truncates(dtype):
    x = torch.tensor([-1.5, 0.5, 0.7, 2.5, 255.9, 300.0]).to(dtype).reshape(1, 2, 3)
    actual = run_op("crop", x, layout="HWC", dtype=types.UINT8)
    assert torch.equal(actual, convert(x, torch.uint8, truncate=True))


def test_conversion_to_float16_saturates():
    x = torch.tensor([1e10, -1e10, 65504.0]).reshape(1, 1, 3)
    actual = run_op("crop", x, layout="HWC", dtype=types.FLOAT16)
    assert actual.flatten().tolist() == [65504.0, -65504.0, 65504.0]


@given(
    extent=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    crop=st.tuples(st.integers(1, 24), st.integers(1, 24)),
    position=st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)),
)
def test_a_padded_window_contains_the_overlapping_part_of_the_sample(extent, crop, position):
    x = ramp((*extent, 1))
    x += 1
    args = {"crop_pos_y": position[0], "crop_pos_x": position[1], "out_of_bounds_policy": "pad"}
    actual = run_op("crop", x, layout="HWC", crop=list(crop), **args)
    size = dict(zip("HW", crop, strict=True))
    anchor, shape = window(x, "HWC", size, dict(zip("HW", position, strict=True)))
    assert torch.equal(actual, cut(x, anchor, shape, torch.zeros(1, dtype=x.dtype)))


@for_each(
    ("args", "message"),
    [
        ({"crop": [10, 5]}, "reaches outside the sample"),
        ({"crop": [4]}, "`crop` takes"),
        ({"crop": [1, 2, 3, 4]}, "`crop` takes"),
        ({"crop": [4, 4], "crop_h": 3, "crop_w": 3}, "`crop` excludes"),
        ({"crop_h": 4}, "must be given together"),
        ({"crop_d": 4}, "must be given together"),
        ({"crop": [4, 4], "crop_pos_x": 1.5}, "expected 0 to 1"),
        ({"crop": [4, 4], "crop_pos_x": float("nan")}, "expected 0 to 1"),
        ({"crop": [4, 4], "out_of_bounds_policy": "wrap"}, "`out_of_bounds_policy`"),
        ({"crop": [4, 4], "rounding": "up"}, "`rounding`"),
        (
            {"crop": [11, 4], "out_of_bounds_policy": "pad", "fill_values": [1, 2]},
            "`fill_values` has 2 values, but the output has 3 channels",
        ),
        ({"crop": [1e9, 1e9], "out_of_bounds_policy": "pad"}, "is too large"),
        ({"crop": [4, 4], "dtype": types.INT16}, "`dtype` is int16"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op("crop", torch.zeros(9, 12, 3, dtype=torch.uint8), layout="HWC", **args)
    assert "fn.crop: " in str(caught.value)
