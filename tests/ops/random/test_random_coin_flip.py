# SPDX-License-Identifier: Apache-2.0
"""fn.random.coin_flip: 0 or 1 with a probability."""

from __future__ import annotations

import pytest
import torch
from helpers.ops import OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OP = "random.coin_flip"
NO_PARITY = "random values: DALI draws others; its laws are tested here"
CASES = [
    OpCase(OP, args=args, no_parity=NO_PARITY, seed=11)
    for args in [
        {},
        {"shape": [4, 3]},
        {"shape": 5, "probability": 0.25},
        {"shape": [], "dtype": types.BOOL},
        {"shape": [0]},
        {"shape": [7], "dtype": types.UINT8},
        {"shape": [7], "dtype": types.FLOAT},
        {"probability": PerSample([0.0, 1.0, 0.5])},
        {"shape": PerSample([[2, 1], [1, 3]])},
    ]
]
CASES += [OpCase(OP, "HW", [(2, 3), (1, 2)], no_parity=NO_PARITY)]


def test_values_of_a_seed_equal_the_golden_values():
    values = run_op(OP, batch_size=3, shape=[12], pipeline_seed=5, seed=1234)
    assert torch.stack(values).tolist() == GOLDEN


GOLDEN = [
    [1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1],
    [0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1],
    [1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0],
]


def test_the_default_is_a_scalar_int32():
    value = run_op(OP)
    assert value.shape == ()
    assert value.dtype == torch.int32


def test_the_output_has_the_shape_of_the_input():
    shapes = [tuple(x.shape) for x in run_case(CASES[-1]).samples()[0]]
    assert shapes == [(2, 3), (1, 2), (2, 3)]


def test_probabilities_zero_and_one_are_exact():
    never, always = run_op(OP, batch_size=2, shape=[1000], probability=PerSample([0.0, 1.0]))
    assert never.sum() == 0
    assert always.sum() == 1000


@given(st.floats(0, 1))
def test_the_mean_is_the_probability(probability):
    values = run_op(OP, shape=[20000], probability=probability).double()
    # Five standard deviations of the mean: one failure in two million.
    assert abs(values.mean() - probability) <= 5 * (0.25 / 20000) ** 0.5


def test_samples_and_operators_are_independent():
    a, b = run_op(OP, batch_size=2, shape=[20000])
    assert abs((a == b).double().mean() - 0.5) < 0.02


def test_a_shape_and_an_input_exclude_each_other():
    with pytest.raises(ValueError, match="`shape` excludes the input `shape_like`"):
        run_op(OP, torch.zeros(3), shape=[2])


def test_a_negative_extent_is_an_error():
    with pytest.raises(ValueError, match="negative extent"):
        run_op(OP, shape=[2, -1])
