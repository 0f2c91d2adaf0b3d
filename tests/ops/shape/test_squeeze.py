# SPDX-License-Identifier: Apache-2.0
"""fn.squeeze: removes axes of extent 1."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_op
from hypothesis import given
from hypothesis import strategies as st

SHAPE = (1, 3, 1, 2)
CASES = [
    OpCase("squeeze", "FHWC", SHAPE, args)
    for args in (
        {"axes": [0]},
        {"axes": [2, 0]},
        {"axes": []},
        {"axis_names": "W"},
        {"axis_names": "WF"},
        {"axis_names": ""},
    )
]
CASES += [
    OpCase("squeeze", "", SHAPE, {"axes": [0, 2]}, dtype=torch.float32),
    OpCase("squeeze", "", [SHAPE, (1, 2, 1, 1)], {"axes": [0]}),
    OpCase("squeeze", "", (1, 1), {"axes": [0, 1]}),
    OpCase("squeeze", "ABC", (2, 0, 1), {"axes": [0]}),
    OpCase("squeeze", "ABC", (2, 0, 1), {"axis_names": "CA"}),
    OpCase("squeeze", "ABC", (0, 0, 1), {"axes": [1]}),
    OpCase("squeeze", "", SHAPE, {"axes": [-2]}, no_parity="DALI ignores axes below 0"),
    OpCase(
        "squeeze",
        "",
        SHAPE,
        {"axes": PerSample([[0], [2]])},
        no_parity="DALI 1.35 does not see the tensor",
    ),
]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.data())
def test_expand_dims_restores_the_input(shape, data):
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    axes = data.draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    x = ramp(tuple(shape))
    out = run_op("squeeze", x, axes=axes)
    assert list(out.shape) == [e for axis, e in enumerate(shape) if axis not in axes]
    assert torch.equal(run_op("expand_dims", out, axes=sorted(axes)) if axes else out, x)


@pytest.mark.parametrize("axes", [[1], [0, 1], [1, 2]])
def test_the_only_extent_of_0_stays(axes):
    with pytest.raises(ValueError, match=r"axis \d of \[2, 0, 1\] cannot be removed"):
        run_op("squeeze", torch.zeros(2, 0, 1), axes=axes)


@for_each(
    ("args", "message"),
    [
        ({}, "either `axes` or `axis_names`"),
        ({"axes": [0], "axis_names": "F"}, "either `axes` or `axis_names`"),
        ({"axes": [1]}, "its extent is 3"),
        ({"axes": [4]}, "axis 4 of `axes`"),
        ({"axes": [0, -4]}, "given twice"),
        ({"axis_names": "X"}, "not in the layout"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op("squeeze", ramp(SHAPE), layout="FHWC", **args)
    assert str(caught.value).startswith("fn.squeeze: ")
