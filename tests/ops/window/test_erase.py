# SPDX-License-Identifier: Apache-2.0
"""fn.erase: fills regions of each sample."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_op
from hypothesis import given
from hypothesis import strategies as st

HW = {"axis_names": "HW"}
ONE = {"anchor": [1.0, 2.0], "shape": [2.0, 3.0], **HW}
TWO = {"anchor": [0, 1, 3, 3], "shape": [2, 2, 9, 2], **HW}
DTYPES = [torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64]
DTYPES += [torch.int64, torch.float16, torch.float32]

CASES = [
    OpCase("erase", layout, shape, {**args, **fill})
    for layout, shape in {"HWC": (5, 7, 3), "CHW": (3, 5, 7), "FHWC": (2, 5, 7, 3)}.items()
    for args in (ONE, TWO)
    for fill in ({}, {"fill_value": 7.5}, {"fill_value": [1.0, 2.0, 3.0]})
]
CASES += [OpCase("erase", "HWC", (5, 7, 2), {**ONE, "fill_value": 2.5}, dtype=t) for t in DTYPES]
CASES += [
    OpCase("erase", "HWC", (5, 7, 2), ONE, dtype=t, no_parity="DALI refuses the type")
    for t in (torch.bool, torch.float64)
]
CASES += [
    OpCase("erase", "HWC", (5, 7, 3), args)
    for args in (
        {},
        {"shape": [1.0, 2.0]},  # H, W: all axes but C
        {"anchor": [1.5, 0.5], "shape": [1.5, 2.6]},
        {"anchor": [-1.0, 1.0], "shape": [3.0, 300.0]},
        {"anchor": [9.0, 1.0], "shape": [3.0, 2.0]},
        {"anchor": [1.0, 1.0], "shape": [-1.0, 2.0]},
        {"anchor": [0.34, 0.25], "shape": [0.5, 0.5], "normalized": True},
        {"anchor": [0.34, 0.25], "shape": [2.0, 2.0], "normalized_anchor": True},
        {"anchor": [1.0, 2.0], "shape": [0.5, 0.5], "normalized_shape": True},
        {"anchor": [2.0, 3.0], "shape": [2.0, 3.0], "centered_anchor": True},
        {"anchor": [0.5, 0.5], "shape": [0.6, 0.3], "normalized": True, "centered_anchor": True},
        {"anchor": [1.0, 2.0], "shape": [2.0, 1.0], "axes": [1, 0]},
        {"anchor": [1.0, 2.0], "shape": [2.0, 1.0], "axes": [0, 1], "axis_names": "WH"},
        {"anchor": [1.0], "shape": [1.0], "axes": [2]},
        {"anchor": [1.0], "shape": [2.0], "axis_names": "C", "fill_value": [4.0, 5.0, 6.0]},
        {"anchor": PerSample([[1.0, 2.0], [0.0, 0.0]]), "shape": [2.0, 2.0], **HW},
        {
            "anchor": PerSample([[1.0, 2.0], [0.0, 0.0, 3.0, 3.0]]),
            "shape": PerSample([[1.0, 2.0], [2.0, 1.0, 1.0, 2.0]]),
            **HW,
        },
        {**ONE, "fill_value": PerSample([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])},
    )
]
CASES += [
    OpCase("erase", "DHWC", (2, 4, 5, 1), {"anchor": [1.0, 1.0, 1.0], "shape": [1.0, 2.0, 2.0]}),
    OpCase("erase", "", (9,), {"anchor": [1, 4], "shape": [2, 1], "axes": [0], "fill_value": 3}),
    OpCase("erase", "HWC", [(5, 7, 3), (2, 2, 3)], ONE),
    OpCase("erase", "HWC", (0, 7, 3), ONE),
]
CASES += [  # two axes, with a layout and without
    OpCase("erase", "HW", (5, 7), {"anchor": [1.0, 2.0], "shape": [2.0, 3.0]}),
    OpCase("erase", "HW", (5, 7), {**TWO, "fill_value": [3.0]}),
    OpCase("erase", "HC", (5, 3), {"anchor": [1.0], "shape": [2.0], "fill_value": [1.0, 2.0, 3.0]}),
    OpCase("erase", "", (5, 7), {"anchor": [1.0, 2.0], "shape": [2.0, 3.0], "axes": [0, 1]}),
    OpCase("erase", "", (5, 7), {"anchor": [2.0], "shape": [3.0], "axes": [1]}),
    OpCase("erase", "", (5, 7), {"anchor": [1.0, 2.0], "shape": [2.0, 3.0]}).replace(
        no_parity="DALI ends the process without a layout and axes"
    ),
]
CASES += [  # nothing to fill: the number of values does not matter
    OpCase("erase", "HWC", shape, {**ONE, "fill_value": [1.0, 2.0], **args})
    for shape, args in (
        ((5, 7, 0), {}),
        ((5, 0, 3), {}),
        ([(5, 7, 0), (5, 7, 2)], {}),
        ((5, 7, 3), {"shape": [2.0, 0.0]}),
        ((5, 7, 3), {"anchor": [5.0, 0.0]}),
    )
]
CASES += [
    OpCase("erase", "HWC", (5, 7, 3), {**ONE, "fill_value": fill})
    for fill in ([], PerSample([torch.zeros(0)]))
]


@given(
    anchor=st.tuples(st.integers(-3, 8), st.integers(-3, 8)),
    shape=st.tuples(st.integers(-1, 9), st.integers(-1, 9)),
    layout=st.sampled_from(["HWC", "CHW"]),
    fill=st.sampled_from([[9.0], [1.0, 2.0, 3.0]]),
)
def test_matches_torch(anchor, shape, layout, fill):
    x = ramp(tuple({"H": 6, "W": 5, "C": 3}[axis] for axis in layout)) + 10
    args = {"anchor": list(map(float, anchor)), "shape": list(map(float, shape))}
    out = run_op("erase", x, layout=layout, fill_value=fill, **args, **HW)
    expected = x.clone()
    window = {
        axis: slice(max(a, 0), max(a + s, 0) if s > 0 else max(a, 0))
        for axis, a, s in zip("HW", anchor, shape, strict=True)
    }
    for c in range(3):
        window["C"] = slice(c, c + 1)
        expected[tuple(window[axis] for axis in layout)] = fill[c % len(fill)]
    assert torch.equal(out, expected)


def test_erasing_twice_equals_erasing_once():
    x = ramp((6, 5, 3))
    once = run_op("erase", x, layout="HWC", **ONE)
    assert torch.equal(run_op("erase", once, layout="HWC", **ONE), once)
    assert not torch.equal(once, x)


def test_negative_axes_count_from_the_end():
    out = run_op("erase", ramp((4,)) + 1, anchor=[1.0], shape=[1.0], axes=[-1])
    assert out.tolist() == [1, 0, 3, 4]


def test_fill_values_saturate():
    args = {"anchor": [0.0], "shape": [1.0], "axes": [0]}
    assert run_op("erase", ramp((1,)).to(torch.uint8), fill_value=300.0, **args).tolist() == [255]
    assert run_op(
        "erase", ramp((1,)).to(torch.uint8) + 9, fill_value=float("nan"), **args
    ).tolist() == [0]


@for_each(
    ("args", "message"),
    [
        ({"anchor": [1.0, 1.0]}, "`anchor` has 2 values and `shape` 0"),
        ({"anchor": [1.0], "shape": [1.0]}, "`shape` has 1 values"),
        ({"anchor": [1.0, 1.0], "shape": [1.0]}, "`anchor` has 2 values and `shape` 1"),
        ({"anchor": [float("nan"), 1.0], "shape": [1.0, 1.0]}, "not a number"),
        ({"shape": [1.0], "axis_names": "X"}, "not in the layout"),
        ({"shape": [1.0], "axes": [3]}, "axis 3 of `axes`"),
        ({**ONE, "fill_value": [1.0, 2.0]}, "`fill_value` has 2 values"),
        ({**ONE, "normalized": True, "normalized_shape": False}, "excludes"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op("erase", ramp((4, 5, 3)), layout="HWC", **args)
    assert str(caught.value).startswith("fn.erase: ")


def test_fill_values_per_channel_need_a_channel_axis():
    with pytest.raises(ValueError, match="no channels"):
        run_op("erase", ramp((4, 3)), shape=[1.0], axes=[0], fill_value=[1.0, 2.0, 3.0])
