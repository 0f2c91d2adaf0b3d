# SPDX-License-Identifier: Apache-2.0
"""fn.transpose: another order of the axes."""

from __future__ import annotations

import itertools

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

DTYPES = [torch.int8, torch.uint16, torch.int16, torch.int32, torch.uint32, torch.int64]
DTYPES += [torch.uint64, torch.float16, torch.float32, torch.float64, torch.bool]

CASES = [
    OpCase("transpose", "HWC", (5, 7, 3), {"perm": list(perm)})
    for perm in itertools.permutations(range(3))
]
CASES += [OpCase("transpose", "HWC", (9, 7, 3), {"perm": [2, 0, 1]}, dtype=t) for t in DTYPES]
CASES += [OpCase("transpose", "CHW", (3, 9, 7), {"perm": [1, 2, 0]}, dtype=t) for t in DTYPES]
CASES += [OpCase("transpose", "HWC", (8, 9, c), {"perm": [2, 0, 1]}) for c in (1, 2, 4, 5)]
CASES += [OpCase("transpose", "CHW", (c, 8, 9), {"perm": [1, 2, 0]}) for c in (1, 2, 4, 5)]
CASES += [
    OpCase("transpose", "HW", (70, 45), {"perm": [1, 0]}),
    OpCase("transpose", "HW", (70, 45), {"perm": [1, 0]}, dtype=torch.float32),
    OpCase("transpose", "FHWC", (2, 5, 7, 3), {"perm": [0, 3, 1, 2]}),
    OpCase("transpose", "FCHW", (2, 3, 5, 7), {"perm": [0, 2, 3, 1]}),
    OpCase("transpose", "DHWC", (2, 3, 4, 3), {"perm": [3, 2, 1, 0]}),
    OpCase("transpose", "", (2, 3, 2, 2, 3), {"perm": [4, 1, 0, 3, 2]}),
    OpCase("transpose", "HWC", (5, 7, 3)),
    OpCase("transpose", "HWC", (5, 7, 3), {"perm": []}),
    OpCase("transpose", "HWC", (5, 7, 3), {"output_layout": "CHW"}),
    OpCase("transpose", "HWC", (5, 7, 3), {"perm": [2, 0, 1], "output_layout": "XYZ"}),
    OpCase("transpose", "HWC", (5, 7, 3), {"perm": [2, 0, 1], "transpose_layout": False}),
    OpCase("transpose", "HWC", [(5, 7, 3), (2, 4, 1)], {"perm": [2, 0, 1]}),
    OpCase("transpose", "HWC", (0, 7, 3), {"perm": [2, 0, 1]}),
    OpCase("transpose", "", ()),
    OpCase("transpose", "", (4,), {"perm": [0]}),
]


@for_each("case", CASES)
def test_matches_torch(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(index)
        perm = case.args.get("perm") or list(reversed(range(x.ndim)))
        assert torch.equal(
            actual.contiguous().view(torch.uint8) if x.ndim else actual,
            x.permute(perm).contiguous().view(torch.uint8) if x.ndim else x,
        )


@given(
    shape=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    data=st.data(),
    dtype=st.sampled_from([torch.uint8, torch.int16, torch.float32, torch.float64]),
)
def test_the_inverse_order_restores_the_input(shape, data, dtype):
    perm = data.draw(st.permutations(range(len(shape))))
    x = ramp(tuple(shape)).to(dtype)
    there = run_op("transpose", x, perm=perm)
    assert torch.equal(there, x.permute(perm))
    inverse = [perm.index(axis) for axis in range(len(perm))]
    assert torch.equal(run_op("transpose", there, perm=inverse), x)


@for_each("width", [1, 15, 16, 17, 47, 48, 100])
@for_each("dtype", [torch.uint8, torch.float32])
def test_rows_of_any_length_are_transposed(width, dtype):
    x = ramp((1, width, 3)).to(dtype)
    planes = run_op("transpose", x, perm=[2, 0, 1])
    assert torch.equal(planes, x.permute(2, 0, 1))
    assert torch.equal(run_op("transpose", planes, perm=[1, 2, 0]), x)


@for_each(
    ("args", "message"),
    [
        ({"perm": [0, 1]}, "`perm` has 2 axes"),
        ({"perm": [0, 0, 1]}, "no order"),
        ({"perm": [0, -1, 1]}, "no order"),
        ({"perm": [0, 3, 1]}, "no order"),
        ({"output_layout": "XY"}, "does not fit"),
        ({"output_layout": ""}, "is empty"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises(ValueError, match=message) as caught:
        run_op("transpose", ramp((4, 5, 3)), layout="HWC", **args)
    assert str(caught.value).startswith("fn.transpose: ")
