# SPDX-License-Identifier: Apache-2.0
"""fn.coord_flip: mirrors the coordinates of points."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "coord_flip"
FLIPS = {"flip_x": 0, "flip_y": 1, "flip_z": 1}
CENTERS = {"center_x": 2.0, "center_y": 3.5, "center_z": -7.25}
CASES = [
    OpCase(OP, layout, (9, ndim), args, dtype=torch.float32)
    for layout, ndim, args in [
        ("", 2, {}),
        ("", 3, {**FLIPS, **CENTERS}),
        ("NX", 2, {"layout": "yx", "flip_y": 1, **CENTERS}),
        ("", 3, {"layout": "zyx", **FLIPS, **CENTERS}),
        ("", 3, {"layout": "yzx", "flip_z": 2}),
        ("", 2, {"layout": "xyz"}),
        ("", 2, {"flip_x": PerSample([0, 1]), "center_x": PerSample([3.0, 4.0, 5.0])}),
        ("", 2, {"flip_y": PerSample([0, 1]), "center_y": PerSample([3.0])}),
    ]
]
CASES += [
    OpCase(OP, "", [(0, 2), (4, 2)], dtype=torch.float32),
    OpCase(OP, "", (4, 1), dtype=torch.float32, no_parity="DALI 1.35 fails with one coordinate"),
]


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {n: a.at(index) if isinstance(a, PerSample) else a for n, a in case.args.items()}
        expected = case.input(index).clone()
        for column, letter in enumerate(args.get("layout", "xyz")[: expected.shape[1]]):
            if args.get(f"flip_{letter}", int(letter == "x")):
                expected[:, column] = 2 * args.get(f"center_{letter}", 0.5) - expected[:, column]
        torch.testing.assert_close(actual, expected, rtol=1e-6, atol=0)


@given(center=st.floats(-100, 100, width=16), seed=st.integers(0, 99))
def test_flipping_twice_is_the_identity(center, seed):
    x = random_tensor((5, 2), torch.float32, seed)
    once = run_op(OP, x, center_x=center, flip_y=1)
    again = run_op(OP, once, center_x=center, flip_y=1)
    torch.testing.assert_close(again, x, rtol=0, atol=1e-3)


@for_each(
    ("x", "args", "message"),
    [
        (torch.zeros(3, 4), {}, r"input `points` has shape \[3, 4\]"),
        (torch.zeros(3), {}, r"input `points` has shape \[3\]"),
        (torch.zeros(3, 2, dtype=torch.int32), {}, "input `points` is int32, expected float32"),
        (torch.zeros(3, 2), {"layout": "xx"}, '`layout` is "xx"'),
        (torch.zeros(3, 2), {"layout": "ab"}, '`layout` is "ab"'),
        (torch.zeros(3, 3), {"layout": "xy"}, "the points have 3 coordinates"),
    ],
)
def test_unsuitable_inputs_are_errors(x, args, message):
    with pytest.raises(RuntimeError, match=message):
        run_case(OpCase(OP, args=args, make=lambda _: x, batch=1))


@pytest.mark.timeout(60)
def test_points_without_coordinates_take_no_time():
    assert run_op("coord_flip", torch.empty(2**36, 0)).shape == (2**36, 0)
