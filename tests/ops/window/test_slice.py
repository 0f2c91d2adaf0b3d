# SPDX-License-Identifier: Apache-2.0
"""fn.slice: a window of each sample, given by coordinates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import Input, OpCase, PerSample, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import Pipeline, fn, types

DTYPES = [torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64]
DTYPES += [torch.int64, torch.float16, torch.float32, torch.float64]
HW = {"axis_names": "HW"}
WINDOW = {"start": [1, 2], "shape": [3, 4], **HW}
OUTSIDE = {"start": [-1, 2], "shape": [4, 7], **HW}


def given_by(anchor, extent, dtype=torch.float32) -> tuple[Input, ...]:
    return (
        Input(lambda i: torch.tensor(anchor[i % len(anchor)], dtype=dtype)),
        Input(lambda i: torch.tensor(extent[i % len(extent)], dtype=dtype)),
    )


CASES = [
    OpCase("slice", layout, shape, WINDOW)
    for layout, shape in {
        "HWC": (6, 8, 3),
        "CHW": (3, 6, 8),
        "FHWC": (2, 6, 8, 3),
        "CDHW": (2, 3, 6, 8),
        "HW": (6, 8),
        "XHYW": (2, 6, 3, 8),
    }.items()
]
CASES += [OpCase("slice", "HWC", (6, 8, 2), WINDOW, dtype=dtype) for dtype in DTYPES]
CASES += [
    OpCase("slice", "HWC", (6, 8, 2), {**HW, **window})
    for window in (
        {"start": [], "shape": [3, 4]},
        {"start": [1, 2], "shape": []},
        {"rel_start": [], "rel_shape": [0.5, 0.25]},
    )
]
# In float32, 0.7 * 15 is 10.5, which is rounded to 11.
CASES += [OpCase("slice", "HWC", (15, 8, 2), {**HW, "rel_start": [0.7, 0], "rel_end": [1, 1]})]
CASES += [
    OpCase("slice", "HWC", (6, 8, 2), WINDOW, dtype=torch.bool, no_parity="DALI refuses the type")
]
CASES += [
    OpCase("slice", layout, shape, {**OUTSIDE, "out_of_bounds_policy": policy, **fill})
    for layout, shape in (("HWC", (6, 8, 3)), ("CHW", (3, 6, 8)))
    for policy, fill in (
        ("pad", {}),
        ("pad", {"fill_values": [7.5]}),
        ("pad", {"fill_values": [1, 2, 3]}),
        ("trim_to_shape", {}),
    )
]
CASES += [
    OpCase("slice", "HWC", (6, 8, 3), args)
    for args in (
        {"start": [2, 1], "end": [8, 6]},  # by default W, H
        {"end": [5, 4]},
        {"start": [1], "shape": [3]},
        {"rel_start": [0.1, 0.26], "rel_end": [0.7, 0.9], **HW},
        {"rel_start": [0.1, 0.26], "rel_shape": [0.44, 0.31], **HW},
        {"rel_start": [0.5], "shape": [2, 3], **HW},
        {"start": [1, 1], "rel_end": [0.5, 0.5], **HW},
        {"start": [2, 0], "shape": [2, 1], "axes": [-2, -1]},
        {"start": [2, 1, 0], "shape": [2, 2, 1], "axes": []},
        {"start": [2, 1, 0], "shape": [2, 2, 1], "axis_names": ""},
        {"start": [2], "shape": [0], "axes": [0]},
        {"start": [1], "shape": [3], "axes": [0]},  # contiguous: a view
        {"start": [20], "shape": [3], "axes": [1], "out_of_bounds_policy": "pad"},
        {"start": [20], "shape": [3], "axes": [1], "out_of_bounds_policy": "trim_to_shape"},
    )
]
CASES += [
    OpCase("slice", "", (6, 8, 3), {"start": [1, 2], "shape": [4, 2]}),
    OpCase(
        "slice",
        "",
        (6, 8, 3),
        {"start": [-1, 2], "shape": [4, 7], "axes": [0, 1], "out_of_bounds_policy": "pad"}
        | {"fill_values": [5, 6, 7]},
    ),
    OpCase("slice", "", (9,), {"start": [2], "shape": [4], "axes": [0]}),
    OpCase("slice", "HWC", [(6, 8, 3), (9, 7, 1)], {"rel_shape": [0.5, 0.5], **HW}),
    OpCase(
        "slice",
        "HWC",
        (6, 8, 3),
        {"start": PerSample([[0, 1], [2, 3]]), "shape": PerSample([[2, 2], [4, 1]]), **HW},
    ),
    OpCase(
        "slice",
        "HWC",
        (6, 8, 3),
        {"rel_start": PerSample([[0.1], [0.4]]), "axes": PerSample([[0], [1]])},
    ),
    OpCase("slice", "HWC", (6, 8, 3), more_inputs=given_by([[0.2, 0.3]], [[0.5, 0.25]])),
    OpCase(
        "slice",
        "HWC",
        (6, 8, 3),
        HW | {"normalized_anchor": False, "normalized_shape": False},
        more_inputs=given_by([[1, 2], [0, 3]], [[3, 2], [2.6, 2]]),
    ),
    OpCase(
        "slice",
        "CHW",
        (3, 6, 8),
        {"normalized_shape": False, "axis_names": "WH"},
        more_inputs=given_by([[0.5, 0.25]], [[3, 2]]),
    ),
    OpCase("slice", "HWC", (6, 8, 3), more_inputs=given_by([[1, 2]], [[3, 2]], torch.int64)),
]
CASES += [
    OpCase("slice", "HWC", (6, 8, 3), {**OUTSIDE, "dtype": to, "out_of_bounds_policy": "pad"})
    for to in (types.FLOAT, types.FLOAT16)
]
CASES += [
    OpCase(
        "slice",
        "HWC",
        (6, 8, 3),
        {**WINDOW, "dtype": types.UINT8},
        dtype=torch.float32,
        make=lambda i: ramp((6, 8, 3)).float() * 2.3 - 20 + i,
    )
]


@for_each("layout", ["HWC", "CHW", "FHWC"])
@for_each("policy", ["pad", "trim_to_shape"])
def test_matches_numpy(layout, policy):
    shape = {"H": 5, "W": 7, "C": 3, "F": 2}
    x = ramp(tuple(shape[axis] for axis in layout))
    start, extent = [-2, 3], [5, 9]
    out = run_op(
        "slice",
        x,
        layout=layout,
        start=start,
        shape=extent,
        axis_names="HW",
        out_of_bounds_policy=policy,
        fill_values=[9],
    )
    padding = {"H": (2, 0), "W": (0, 5)}
    padded = np.pad(x.numpy(), [padding.get(a, (0, 0)) for a in layout], constant_values=9)
    window = {"H": slice(0, 5), "W": slice(3, 12)}
    if policy == "trim_to_shape":
        window, padded = {"H": slice(0, 3), "W": slice(3, 7)}, x.numpy()
    expected = padded[tuple(window.get(a, slice(None)) for a in layout)]
    np.testing.assert_array_equal(out.numpy(), expected)


@given(cut=st.integers(0, 9), axis=st.integers(0, 2))
def test_two_adjacent_slices_cover_the_sample(cut, axis):
    x = ramp((9, 9, 9))
    args = {"layout": "HWC", "axes": [axis]}
    parts = [run_op("slice", x, end=[cut], **args), run_op("slice", x, start=[cut], **args)]
    assert torch.equal(torch.cat(parts, axis), x)


def test_fill_values_saturate():
    args = {"start": [-1], "shape": [2], "axes": [0], "out_of_bounds_policy": "pad"}
    assert run_op("slice", ramp((2,)).to(torch.uint8), fill_values=[300.5], **args).tolist() == [
        255,
        0,
    ]
    assert run_op("slice", ramp((2,)).to(torch.uint8), fill_values=[-1.5], **args).tolist() == [
        0,
        0,
    ]


def test_every_frame_has_its_own_window():
    x = ramp((2, 4, 5, 1))
    pipe = Pipeline(1, 1, device_id=None)
    with pipe:
        first = fn.per_frame(fn.external_source(name="start"))
        frames = fn.external_source(name="x", layout="FHWC")
        pipe.set_outputs(fn.slice(frames, start=first, shape=[2, 2], axis_names="HW"))
    pipe.build()
    pipe.feed_input("x", [x])
    pipe.feed_input("start", [torch.tensor([[0, 0], [1, 2]], dtype=torch.int32)])
    out = pipe.run()[0].as_torch_list()[0]
    assert torch.equal(out, torch.stack([x[0, :2, :2], x[1, 1:3, 2:4]]))


@for_each(
    ("args", "message"),
    [
        ({}, "needs a window"),
        ({"start": [0], "rel_start": [0.0]}, "exclude each other"),
        ({"end": [1], "shape": [1]}, "exclude each other"),
        ({"start": [3], "end": [1], "axes": [0]}, "ends at 1 before it starts at 3"),
        ({"start": [0], "shape": [-1], "axes": [0]}, "extent of -1"),
        ({"start": [0], "shape": [1], "axes": [3]}, "axis 3 of `axes`"),
        ({"start": [0], "shape": [1], "axes": [0, 0]}, "given twice"),
        ({"start": [0], "shape": [1], "axes": [0], "axis_names": "H"}, "exclude each other"),
        ({"start": [0, 1, 2], "shape": [1]}, "`start` has 3 values"),
        ({"rel_start": [float("nan")]}, "before it starts at nan"),
        ({"rel_start": [0.0], "rel_shape": [float("inf")]}, "coordinate of the window is"),
        ({"start": [2], "shape": [9], "axes": [0]}, "reaches outside"),
        ({"shape": [1 << 30] * 2, "out_of_bounds_policy": "pad"}, "too large"),
        ({"shape": [2], "out_of_bounds_policy": "wrap"}, "out_of_bounds_policy"),
        ({"shape": [9], "out_of_bounds_policy": "pad", "fill_values": [1, 2]}, "fill_values"),
        ({"shape": [2], "dtype": types.INT64}, "dtype"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises((ValueError, TypeError, IndexError, RuntimeError), match=message) as caught:
        run_op("slice", ramp((4, 5, 3)), layout="HWC", **args)
    assert str(caught.value).startswith("fn.slice: ")


def test_axis_names_need_a_layout():
    with pytest.raises(ValueError, match="not in the layout"):
        run_op("slice", ramp((4, 5)), start=[0], shape=[1], axis_names="H")
