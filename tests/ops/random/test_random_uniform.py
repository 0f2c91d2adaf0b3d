# SPDX-License-Identifier: Apache-2.0
"""fn.random.uniform: values from an interval or a list."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OP = "random.uniform"
NO_PARITY = "random values: DALI draws others; its laws are tested here"
INTEGERS = [types.UINT8, types.INT8, types.UINT16, types.INT16, types.UINT32, types.INT32]
INTEGERS += [types.UINT64, types.INT64]
CASES = [
    OpCase(OP, args=args, no_parity=NO_PARITY, seed=11)
    for args in [
        {},
        {"shape": [4, 3]},
        {"range": [0.0, 1.0], "shape": 5},
        {"range": PerSample([[0.0, 1.0], [10.0, 11.0]])},
        {"values": [1.0, 2.5, 7.0], "shape": [9]},
        {"values": PerSample([[1.0, 2.0], [5.0, 6.0, 7.0]])},
        {"shape": PerSample([[2, 1], [1, 3]])},
        {"shape": [6], "dtype": types.FLOAT64},
        {"shape": [6], "dtype": types.FLOAT16},
        *({"shape": [5], "dtype": dtype, "range": [-300.0, 300.0]} for dtype in INTEGERS),
    ]
]
CASES += [OpCase(OP, "HW", [(2, 3), (1, 2)], no_parity=NO_PARITY)]


def test_values_of_a_seed_equal_the_golden_values():
    values = run_op(OP, batch_size=2, shape=[4], seed=1234)
    assert [[v.hex() for v in sample.tolist()] for sample in values] == GOLDEN_FLOAT
    wide = run_op(OP, shape=[3], seed=1234, dtype=types.FLOAT64)
    assert [v.hex() for v in wide.tolist()] == GOLDEN_DOUBLE
    chosen = run_op(OP, shape=[12], seed=1234, values=[1, 2, 3, 4, 5])
    assert chosen.tolist() == GOLDEN_VALUES


GOLDEN_FLOAT = [
    [
        "-0x1.7dbd340000000p-1",
        "0x1.69f3c00000000p-1",
        "-0x1.dff3800000000p-2",
        "0x1.2f291c0000000p-1",
    ],
    [
        "0x1.eeede00000000p-3",
        "-0x1.8d07b40000000p-1",
        "0x1.e89dc00000000p-1",
        "-0x1.ae048c0000000p-1",
    ],
]
GOLDEN_DOUBLE = ["0x1.69f3c2ac8242cp-1", "0x1.2f291c3910064p-1", "-0x1.681c1c5177530p-2"]
GOLDEN_VALUES = [5.0, 4.0, 2.0, 1.0, 5.0, 2.0, 4.0, 3.0, 4.0, 5.0, 4.0, 4.0]


@given(
    low=st.floats(-1e6, 1e6, width=32),
    width=st.floats(0.0625, 1e6, width=32),
    dtype=st.sampled_from([types.FLOAT, types.FLOAT64]),
)
def test_values_lie_in_the_half_open_interval(low, width, dtype):
    high = float(np.float32(low + width))
    values = run_op(OP, shape=[300], range=[low, high], dtype=dtype)
    assert values.min() >= low
    assert values.max() < high


def test_the_interval_is_filled_evenly():
    values = run_op(OP, shape=[40000], range=[0.0, 4.0])
    counts = np.histogram(values.numpy(), bins=16, range=(0, 4))[0]
    # Chi-squared with 15 degrees of freedom: one seed in 100,000 exceeds 50.
    assert (((counts - 2500) ** 2) / 2500).sum() < 50


@for_each("dtype", INTEGERS, ids=lambda d: d.name)
def test_integers_are_rounded_and_saturate(dtype):
    values = run_op(OP, shape=[5000], range=[-2.0, 2.0], dtype=dtype).long().tolist()
    low = 0 if dtype.name.startswith("U") else -2
    assert set(values) == set(range(low, 3))
    # The ends are half as frequent as the values between them.
    assert 450 < values.count(2) < 800
    assert 1050 < values.count(1) < 1450


def test_large_integers_use_more_bits_than_a_float_has():
    values = run_op(OP, shape=[1000], range=[0.0, 2.0**31], dtype=types.INT32)
    assert (values % 2).sum() > 300


def test_values_of_a_list_are_equally_frequent():
    values = run_op(OP, shape=[30000], values=[1.5, -2.0, 7.0])
    assert {v: abs(values.tolist().count(v) - 10000) < 500 for v in (1.5, -2.0, 7.0)} == {
        1.5: True,
        -2.0: True,
        7.0: True,
    }


@for_each(
    ("args", "message"),
    [
        ({"range": [5.0, 2.0]}, "which is empty"),
        ({"range": [1.0, 1.0]}, "which is empty"),
        ({"range": [1.0, 2.0, 3.0]}, "`range` takes"),
        ({"range": [float("nan"), 2.0]}, "which is empty"),
        ({"range": [0.0, float("inf")]}, "not finite"),
        ({"values": []}, "`values` is empty"),
        ({"values": [1.0], "range": [0.0, 1.0]}, "`values` excludes `range`"),
        ({"values": torch.zeros(0)}, "`values` is empty"),
        ({"shape": [1 << 30, 1 << 30]}, "too many values"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, **args)
