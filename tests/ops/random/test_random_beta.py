# SPDX-License-Identifier: Apache-2.0
"""fn.random.beta: values of a beta distribution."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op

from torchdali import types

OP = "random.beta"
NO_PARITY = "random values, and DALI 1.35 has no such operator; its laws are tested here"
CASES = [
    OpCase(OP, args=args, no_parity=NO_PARITY, seed=11)
    for args in [
        {},
        {"shape": [4, 3]},
        {"shape": 5, "alpha": 0.5, "beta": 2.0},
        {"alpha": PerSample([0.5, 2.0]), "beta": PerSample([1.0, 0.1, 30.0])},
        {"shape": PerSample([[2, 1], [1, 3]])},
        {"shape": [5], "dtype": types.FLOAT64},
        {"shape": [5], "dtype": types.FLOAT16},
    ]
]
CASES += [OpCase(OP, "HW", [(2, 3), (1, 2)], no_parity=NO_PARITY)]
COUNT = 40000


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5), (0.1, 3.0), (50.0, 20.0)]
)
def test_the_moments_are_those_of_the_distribution(alpha, beta):
    values = run_op(OP, shape=[COUNT], alpha=alpha, beta=beta, dtype=types.FLOAT64)
    mean = alpha / (alpha + beta)
    variance = mean * (1 - mean) / (alpha + beta + 1)
    assert abs(values.mean() - mean) < 5 * math.sqrt(variance / COUNT)
    assert math.isclose(values.var(), variance, rel_tol=0.05)
    assert values.min() >= 0
    assert values.max() <= 1


@pytest.mark.parametrize(
    ("alpha", "beta", "cumulative"),
    [
        (1.0, 1.0, lambda x: x),
        (3.0, 1.0, lambda x: x**3),
        (1.0, 0.25, lambda x: 1 - (1 - x) ** 0.25),
        (0.5, 0.5, lambda x: 2 / math.pi * torch.asin(x.sqrt())),
        (2.0, 2.0, lambda x: 3 * x**2 - 2 * x**3),
    ],
    ids=["uniform", "cube", "power", "arcsine", "parabola"],
)
def test_the_distribution_is_beta(alpha, beta, cumulative):
    values = run_op(OP, shape=[COUNT], alpha=alpha, beta=beta, dtype=types.FLOAT64).sort().values
    empirical = (torch.arange(COUNT) + 0.5) / COUNT
    # Kolmogorov and Smirnov: 2.2 / sqrt(n) is exceeded by one seed in 10,000.
    assert (cumulative(values) - empirical).abs().max() < 2.2 / math.sqrt(COUNT)


def test_small_parameters_return_0_or_1_and_no_nan():
    values = run_op(OP, shape=[1000], alpha=1e-4, beta=1e-4)
    assert not values.isnan().any()
    assert 350 < (values > 0.5).sum() < 650
    assert ((values < 1e-6) | (values > 1 - 1e-6)).float().mean() > 0.95


def test_values_of_a_seed_equal_the_golden_values():
    # Rounded: the last bits come from the C library's logarithm and cosine.
    values = run_op(OP, shape=[4], seed=1234, alpha=2.0, beta=0.5)
    assert [round(v, 5) for v in values.tolist()] == GOLDEN


GOLDEN = [0.72983, 0.8577, 0.74528, 0.73472]


@for_each(
    ("args", "message"),
    [
        ({"alpha": 0.0}, "`alpha` is 0, expected a number above 0"),
        ({"beta": -1.0}, "`beta` is -1"),
        ({"alpha": float("nan")}, "`alpha` is nan"),
        ({"beta": float("inf")}, "`beta` is inf"),
        ({"dtype": types.INT32}, "`dtype` is int32, expected float16"),
        ({"shape": [-1]}, "`shape` has a negative extent"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, **args)
