# SPDX-License-Identifier: Apache-2.0
"""fn.one_hot: class numbers as vectors."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

DTYPES = [torch.uint8, torch.int8, torch.uint16, torch.int64, torch.uint64, torch.float64]


def classes(*values, dtype=torch.int32):
    return lambda i: torch.tensor(values[i % len(values)], dtype=dtype)


TWO = classes([0, 2], [1, 3])
CASES = [
    OpCase("one_hot", make=TWO, args=args)
    for args in (
        {"num_classes": 4},
        {"num_classes": 2},  # 2 and 3 are no classes
        {},
        {"num_classes": 4, "axis": 0},
        {"num_classes": 4, "axis": 1, "on_value": 7.7, "off_value": 2.5},
        {"num_classes": 4, "dtype": types.UINT8, "on_value": 7.7, "off_value": 2.5},
        {"num_classes": 4, "dtype": types.INT32, "off_value": -2.5},
        {"num_classes": 4, "dtype": types.INT64},
        {"num_classes": 4, "dtype": types.FLOAT64},
    )
]
CASES[2] = CASES[2].replace(no_parity="DALI fails to copy a batch without elements")
CASES += [OpCase("one_hot", make=classes([0, 1], dtype=t), args={"num_classes": 3}) for t in DTYPES]
CASES += [
    OpCase("one_hot", make=classes([1, 0], dtype=t), args={"num_classes": 3}).replace(
        no_parity="DALI refuses the type"
    )
    for t in (torch.float16, torch.bool)
]
CASES += [
    OpCase("one_hot", make=TWO, args={"num_classes": 4, "dtype": t}).replace(
        no_parity="DALI refuses the type"
    )
    for t in (types.FLOAT16, types.BOOL)
]
CASES += [
    OpCase("one_hot", make=classes(2, 0), args={"num_classes": 3}),
    OpCase("one_hot", make=classes([2], [0]), args={"num_classes": 3}),  # as scalars
    OpCase("one_hot", make=classes([2], [0]), args={"num_classes": 3, "axis": 0}),
    OpCase("one_hot", make=classes([2], [0]), args={"num_classes": 3, "axis": -1}),
    OpCase("one_hot", make=classes(2, 0), args={"num_classes": 3, "axis_name": "C"}),
    OpCase("one_hot", make=classes([[1, 0]], [[2, 1]]), args={"num_classes": 3, "axis": 1}),
    OpCase("one_hot", "HW", (2, 3), {"num_classes": 99, "axis_name": "C"}),
    OpCase("one_hot", "HW", (2, 3), {"num_classes": 99, "axis": 0, "axis_name": "C"}),
    OpCase("one_hot", make=classes([1.5, -0.5, -1.5, 3.0], dtype=torch.float32)).replace(
        args={"num_classes": 3}
    ),
    OpCase("one_hot", make=classes([2], [0, 1]), args={"num_classes": 3}, sees_batch=True),
    OpCase("one_hot", make=classes([-1, 1, -(2**31)]), args={"num_classes": 3}),
]


@given(
    numbers=st.lists(st.integers(-2, 6), min_size=2, max_size=8),
    count=st.integers(0, 6),
    axis=st.sampled_from([-1, 0, 1]),
)
def test_matches_torch(numbers, count, axis):
    x = torch.tensor(numbers, dtype=torch.int32)
    out = run_op("one_hot", x, num_classes=count, axis=axis, dtype=types.INT32)
    expected = (x[:, None] == torch.arange(count)[None]).int()
    assert torch.equal(out, expected.T if axis == 0 else expected)


def test_one_element_keeps_its_axis_in_a_mixed_batch():
    out = run_op("one_hot", [ramp((1,)), ramp((2,))], num_classes=3)
    assert [tuple(s.shape) for s in out] == [(1, 3), (2, 3)]


def test_nan_and_infinity_are_no_classes():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30])
    assert not run_op("one_hot", x, num_classes=2).any()
    assert not run_op("one_hot", torch.tensor([2**64 - 1, 2**63], dtype=torch.uint64)).any()
    # Truncated they are 0, which is no class either.
    assert run_op("one_hot", torch.tensor([-0.5, 0.5]), num_classes=0).shape == (2, 0)
    x = torch.tensor([[-0.5], [0.25]])
    assert run_op("one_hot", x, num_classes=1).tolist() == [[[1]], [[1]]]


def test_values_saturate():
    args = {"num_classes": 2, "on_value": 300.7, "off_value": -2.5, "dtype": types.UINT8}
    assert run_op("one_hot", torch.tensor(1), **args).tolist() == [0, 255]


@for_each(
    ("args", "message"),
    [
        ({"num_classes": -1}, "`num_classes` is -1"),
        ({"axis": -2}, "`axis` is -2"),
        ({"axis": 3}, "`axis` is 3, and the input has 2 dimensions"),
        ({"axis_name": "CX"}, "expected one letter"),
        ({"axis_name": "C"}, "needs an input with a layout"),
        ({"num_classes": 2**31 - 1, "dtype": types.INT64, "axis": 0}, "too large|out of memory"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises((ValueError, IndexError, RuntimeError), match=message) as caught:
        run_op("one_hot", ramp((200, 300)), **args)
    assert str(caught.value).startswith("fn.one_hot: ")
