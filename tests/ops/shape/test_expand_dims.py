# SPDX-License-Identifier: Apache-2.0
"""fn.expand_dims: inserts axes of extent 1."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case, run_op

CASES = [
    OpCase("expand_dims", layout, shape, args)
    for layout, shape, args in [
        ("HWC", (5, 7, 3), {"axes": 0}),
        ("HWC", (5, 7, 3), {"axes": [0, 1]}),
        ("HWC", (5, 7, 3), {"axes": [1, 3]}),
        ("HWC", (5, 7, 3), {"axes": [3]}),
        ("HWC", (5, 7, 3), {"axes": []}),
        ("HWC", (5, 7, 3), {"axes": [2, 0]}),
        ("HWC", (5, 7, 3), {"axes": [0], "new_axis_names": "N"}),
        ("HWC", (5, 7, 3), {"axes": [2, 0], "new_axis_names": "NM"}),
        ("HWC", [(5, 7, 3), (1, 0, 2)], {"axes": [0, 2], "new_axis_names": "NM"}),
        ("HWC", (5, 7, 3), {"axes": [0], "new_axis_names": "H"}),
        ("", (5, 7), {"axes": [1]}),
        ("", (), {"axes": [0, 1], "new_axis_names": "AB"}),
    ]
]
CASES += [OpCase("expand_dims", "HW", (5, 7), {"axes": 1}, dtype=torch.float64)]
CASES += [
    OpCase("expand_dims", "HW", (5, 7), args, no_parity="DALI takes no axes from the end")
    for args in ({"axes": -1}, {"axes": [0, -1], "new_axis_names": "NC"})
]


@for_each("case", CASES)
def test_matches_numpy(case):
    axes = case.args["axes"]
    for index, actual in enumerate(run_case(case).samples()[0]):
        expected = np.expand_dims(case.input(index).numpy(), tuple(np.atleast_1d(axes).astype(int)))
        assert np.array_equal(actual.numpy(), expected)


@pytest.mark.parametrize(
    ("axes", "names", "layout"),
    [
        ([0], "N", "NHW"),
        ([-1], "C", "HWC"),
        ([-1, 0], "CN", "NHWC"),
        ([1], "", ""),
        ([], "", "HW"),
    ],
)
def test_new_axes_get_their_names_in_the_layout(axes, names, layout):
    args = {"axes": axes, "new_axis_names": names}
    assert run_case(OpCase("expand_dims", "HW", (2, 3), args)).layouts == [layout]


@for_each(
    ("layout", "args", "error", "text"),
    [
        ("HW", {"axes": [1, 1]}, ValueError, "`axes` names axis 1 twice"),
        ("HW", {"axes": [3, -1]}, ValueError, "`axes` names axis 3 twice"),
        ("HW", {"axes": [0, -4]}, ValueError, "`axes` names axis 0 twice"),
        ("HW", {"axes": [3]}, IndexError, "`axes` has 3, which an output of 3 dimensions"),
        ("HW", {"axes": [-4]}, IndexError, "`axes` has -4"),
        ("HW", {"axes": [0], "new_axis_names": "AB"}, ValueError, '"AB" for 1 new axes'),
        ("", {"axes": [0], "new_axis_names": "A"}, ValueError, "needs an input with a layout"),
        ("HW", {"axes": list(range(15))}, ValueError, "17 dimensions"),
        ("HW", {}, TypeError, "needs the argument `axes`"),
    ],
)
def test_wrong_axes_are_errors(layout, args, error, text):
    with pytest.raises(error, match=f"fn.expand_dims: (?s:.*){text}"):
        run_op("expand_dims", ramp((2, 3)), layout=layout, **args)
