# SPDX-License-Identifier: Apache-2.0
"""fn.cast: another element type, rounded and saturated."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op
from helpers.reference import convert
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

DALI_TYPES = {
    torch.uint8: types.UINT8,
    torch.uint16: types.UINT16,
    torch.uint32: types.UINT32,
    torch.uint64: types.UINT64,
    torch.int8: types.INT8,
    torch.int16: types.INT16,
    torch.int32: types.INT32,
    torch.int64: types.INT64,
    torch.float16: types.FLOAT16,
    torch.float32: types.FLOAT,
    torch.float64: types.FLOAT64,
    torch.bool: types.BOOL,
}
# Values that are hard to convert: halves, limits of every type, what binary16 cannot hold.
EDGES = [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.3, 127.5, 254.5, 255.5, 300.0, -300.0]
EDGES += [32767.5, -32768.5, 65504.0, 65519.0, 65520.0, 1e10, -1e10, 2147483648.0, -2147483904.0]
EDGES += [4294967296.0, 9.3e18, -9.3e18, 2e19, 1e30, -1e30, math.inf, -math.inf, 8388607.5]


def edges(dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.tensor([False, True])
    if dtype.is_floating_point:
        return torch.tensor(EDGES, dtype=torch.float64).to(dtype)
    limits = torch.iinfo(dtype)
    wanted = [limits.min, limits.max, limits.max // 2, 0, 1, 2, -1, 100, 255, 256, 65519, 2**24 + 1]
    return torch.tensor([v for v in wanted if limits.min <= v <= limits.max], dtype=dtype)


CASES = [
    OpCase(
        "cast",
        args={"dtype": DALI_TYPES[to]},
        dtype=source,
        make=lambda _, source=source: edges(source),
        algorithm="float16_ties" if to == torch.float16 else "exact",
        batch=1,
    )
    for source, to in itertools.product(DALI_TYPES, DALI_TYPES)
]
CASES += [
    OpCase("cast", "HWC", (40, 31, 3), {"dtype": DALI_TYPES[to]}, dtype=source, algorithm=algorithm)
    for source, to, algorithm in [
        (torch.uint8, torch.float32, "exact"),
        (torch.float32, torch.uint8, "exact"),
        (torch.float32, torch.float16, "float16_ties"),
        (torch.float16, torch.float32, "exact"),
        (torch.float32, torch.int32, "exact"),
    ]
]
CASES += [
    OpCase("cast", "", (), {"dtype": types.INT32}, dtype=torch.float32),
    OpCase("cast", "AB", [(2, 0), (3, 1)], {"dtype": types.FLOAT}),
]


@for_each("case", CASES, ids=lambda c: f"{c}-{c.dtype}")
def test_matches_reference(case):
    to = {value: key for key, value in DALI_TYPES.items()}[case.args["dtype"]]
    run = run_case(case)
    assert run.layouts == [case.layout]
    for index, actual in enumerate(run.samples()[0]):
        expected = convert(case.input(index), to)
        assert actual.dtype == to
        assert torch.equal(actual, expected)


@for_each("to", [t for t in DALI_TYPES if not t.is_floating_point])
@for_each("source", [torch.float16, torch.float32, torch.float64])
def test_nan_becomes_zero_in_every_integer_type(source, to):
    actual = run_op("cast", torch.full((20,), math.nan, dtype=source), dtype=DALI_TYPES[to])
    # For bool, everything that does not round to 0 is true, and NaN does not.
    assert actual.tolist() == [to == torch.bool] * 20


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=70))
def test_uint8_is_the_nearest_value_and_saturates(values):
    actual = run_op("cast", torch.tensor(values, dtype=torch.float32), dtype=types.UINT8)
    for value, got in zip(values, actual.tolist(), strict=True):
        assert got == max(0, min(255, math.floor(max(min(value, 300.0), -1.0) + 0.5)))


@given(st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=50))
def test_float16_is_unchanged_by_float32_and_back(bits):
    x = torch.tensor(bits, dtype=torch.int32).to(torch.uint16).view(torch.float16)
    x = x[~x.isnan()]
    wide = run_op("cast", x, dtype=types.FLOAT)
    assert torch.equal(wide, x.float())
    assert torch.equal(run_op("cast", wide, dtype=types.FLOAT16), x)


def test_the_type_is_required():
    with pytest.raises(TypeError, match="dtype"):
        run_op("cast", torch.zeros(2))
