# SPDX-License-Identifier: Apache-2.0
"""fn.lookup_table: replaces integers by the entries of a table."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import OpCase, run_case, run_op
from helpers.reference import convert
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OP = "lookup_table"
INTEGERS = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]
INTEGERS += [torch.int8, torch.int16, torch.int32, torch.int64]
DTYPES = {
    types.UINT8: torch.uint8,
    types.UINT16: torch.uint16,
    types.UINT32: torch.uint32,
    types.UINT64: torch.uint64,
    types.INT8: torch.int8,
    types.INT16: torch.int16,
    types.INT32: torch.int32,
    types.INT64: torch.int64,
    types.FLOAT16: torch.float16,
    types.FLOAT: torch.float32,
    types.FLOAT64: torch.float64,
    types.BOOL: torch.bool,
}
KEYS = [0, 3, 200, 127, 30000, 65535]
VALUES = [1.5, -300.25, 7.0, 255.6, 0.3, 2.0]
TABLE = {"keys": KEYS, "values": VALUES, "default_value": 9.5}


def some(dtype: torch.dtype):
    """Makes samples whose elements alternate between keys and other values."""

    def make(index: int) -> torch.Tensor:
        x = random_tensor((5, 41), dtype, index).numpy()
        keys = [key for key in KEYS if key <= np.iinfo(x.dtype).max]
        x.flat[::2] = np.resize(keys, x.size // 2 + 1)
        return torch.from_numpy(x)

    return make


CASES = [OpCase(OP, "AB", args=TABLE, dtype=dtype, make=some(dtype)) for dtype in INTEGERS]
CASES += [
    OpCase(
        OP, "", (5, 41), TABLE | {"keys": [0, 1, 2, 3, 4, 5], "dtype": to}, make=some(torch.uint8)
    )
    for to in DTYPES
]
CASES += [
    OpCase(OP, "HWC", (5, 7, 3)),
    OpCase(OP, "HWC", (5, 7, 3), {"default_value": 3.0}),
    OpCase(OP, "FHWC", [(2, 5, 7, 3), (1, 30, 7, 3)], TABLE | {"dtype": types.UINT8}),
    OpCase(OP, "", (7,), {"keys": 3, "values": 4.0}, make=lambda _: ramp((7,), torch.int16)),
    OpCase(OP, "", (7,), {"keys": [3, 3], "values": [4.0, 5.0]}, make=lambda _: ramp((7,))),
    OpCase(OP, "", (), TABLE),
    OpCase(OP, "AB", (0, 3), TABLE),
    OpCase(OP, "", (40,), TABLE | {"output_dtype": types.UINT8}),
    OpCase(OP, "", (40,), TABLE, dtype=torch.bool, no_parity="DALI refuses bool"),
]


@for_each("case", [c for c in CASES if "output_dtype" not in c.args])
def test_matches_reference(case):
    args = case.args
    keys, values = args.get("keys", []), args.get("values", [])
    keys, values = ([keys], [values]) if isinstance(keys, int) else (keys, values)
    table = dict(zip(keys, values, strict=True))
    for index, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(index).numpy()
        found = [table.get(int(v), args.get("default_value", 0.0)) for v in x.ravel()]
        expected = torch.tensor(found, dtype=torch.float32).reshape(x.shape)
        assert torch.equal(actual, convert(expected, DTYPES[args.get("dtype", types.FLOAT)]))


@given(permutation=st.permutations(range(256)), length=st.integers(1, 200))
def test_the_inverse_table_restores_the_input(permutation, length):
    x = random_tensor((length,), torch.uint8, length)
    args = {"dtype": types.UINT8}
    there = run_op(OP, x, keys=list(range(256)), values=list(map(float, permutation)), **args)
    back = run_op(OP, there, keys=permutation, values=list(map(float, range(256))), **args)
    assert torch.equal(back, x)


@pytest.mark.parametrize(
    ("args", "x", "message"),
    [
        ({"keys": [1, 2], "values": [1.0]}, torch.zeros(2).int(), "`keys` has 2 elements and"),
        (
            {"keys": [-1], "values": [1.0]},
            torch.zeros(2).int(),
            "`keys` has -1, expected 0 to 65535",
        ),
        ({"keys": [65536], "values": [1.0]}, torch.zeros(2).int(), "`keys` has 65536"),
        ({}, torch.zeros(2), "input `data` is float32, expected integers"),
    ],
)
def test_unsuitable_inputs_are_errors(args, x, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run_op(OP, x, **args)
