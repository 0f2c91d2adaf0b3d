# SPDX-License-Identifier: Apache-2.0
"""fn.random.normal: values of a normal distribution."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.ops import OpCase, PerSample, run_op

from torchdali import types

OP = "random.normal"
NO_PARITY = "random values: DALI draws others; its laws are tested here"
DTYPES = [types.UINT8, types.INT8, types.INT16, types.INT32, types.INT64, types.FLOAT16]
DTYPES += [types.FLOAT64]
CASES = [
    OpCase(OP, args=args, no_parity=NO_PARITY, seed=11)
    for args in [
        {},
        {"shape": [4, 3]},
        {"shape": 5, "mean": 10.0, "stddev": 0.5},
        {"mean": PerSample([0.0, 100.0]), "stddev": PerSample([1.0, 0.0, 3.0])},
        {"shape": PerSample([[2, 1], [1, 3]])},
        *({"shape": [5], "dtype": dtype, "stddev": 50.0} for dtype in DTYPES),
    ]
]
CASES += [OpCase(OP, "HW", [(2, 3), (1, 2)], no_parity=NO_PARITY)]


def test_values_of_a_seed_equal_the_golden_values():
    # The last bits of doubles come from the C library's logarithm and cosine.
    values = run_op(OP, batch_size=2, shape=[4], seed=1234)
    assert [[round(v, 5) for v in sample.tolist()] for sample in values] == GOLDEN_FLOAT
    wide = run_op(OP, shape=[3], seed=1234, dtype=types.FLOAT64)
    assert [round(v, 12) for v in wide.tolist()] == GOLDEN_DOUBLE


GOLDEN_FLOAT = [
    [1.22916, -0.2859, 0.97841, -0.01587],
    [0.74337, -2.12178, 1.45771, 1.83007],
]
GOLDEN_DOUBLE = [0.559248947575, 0.825253097518, -0.117680222539]


@pytest.mark.parametrize("dtype", [types.FLOAT, types.FLOAT64], ids=lambda d: d.name)
def test_the_distribution_is_normal(dtype):
    values = run_op(OP, shape=[100000], mean=3.0, stddev=2.0, dtype=dtype).double()
    z = ((values - 3) / 2).sort().values
    expected = 0.5 * (1 + torch.erf(z / math.sqrt(2)))
    empirical = (torch.arange(100000) + 0.5) / 100000
    # Kolmogorov and Smirnov: 2.2 / sqrt(n) is exceeded by one seed in 10,000.
    assert (expected - empirical).abs().max() < 2.2 / math.sqrt(100000)


def test_a_standard_deviation_of_zero_returns_the_mean():
    assert run_op(OP, shape=[4], mean=5.0, stddev=0.0).tolist() == [5.0] * 4


def test_integers_are_rounded():
    values = run_op(OP, shape=[1000], mean=0.0, stddev=0.2, dtype=types.INT32)
    assert set(values.tolist()) <= {-1, 0, 1}
    assert values.tolist().count(0) > 950
