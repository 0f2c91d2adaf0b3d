# SPDX-License-Identifier: Apache-2.0
"""fn.cast_like: the element type of another input."""

from __future__ import annotations

import pytest
import torch
from helpers.ops import Input, OpCase, run_case, run_op

from torchdali import types

VALUES = torch.tensor([1.5, 300.2, -3.7, 0.0, 254.6])
DTYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32]
DTYPES += [torch.float64, torch.uint16, torch.bool]


def like(dtype, shape=(2,)) -> tuple[Input, ...]:
    return (Input(lambda _: torch.zeros(shape, dtype=dtype)),)


CASES = [
    OpCase("cast_like", "X", make=lambda i: VALUES + i, more_inputs=like(dtype)) for dtype in DTYPES
]
CASES += [
    OpCase("cast_like", "HWC", (2, 3, 1), more_inputs=like(torch.uint8, ())),
    OpCase("cast_like", "FHWC", (2, 2, 3, 1), more_inputs=like(torch.float32, (1, 1))),
    OpCase("cast_like", "", [(2,), (3,)], more_inputs=like(torch.int8)),
]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float64"])
def test_the_type_is_that_of_the_second_input(dtype):
    other = torch.zeros(1, dtype=getattr(torch, dtype))
    number = {"uint8": types.UINT8, "int16": types.INT16, "float16": types.FLOAT16}
    expected = run_op("cast", VALUES, dtype=number.get(dtype, types.FLOAT64))
    assert torch.equal(run_op("cast_like", VALUES, other), expected)


def test_the_layout_is_that_of_the_first_input():
    assert run_case(CASES[0]).layouts == ["X"]
