# SPDX-License-Identifier: Apache-2.0
"""fn.batch_permutation: a random order of the samples of a batch."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from helpers.ops import OpCase, run_batches

NO_PARITY = "random values: DALI draws others; its laws are tested here"
ARGS = [
    {},
    {"allow_repetitions": True},
    {"no_fixed_points": True},
    {"allow_repetitions": True, "no_fixed_points": True},
]
CASES = [
    OpCase("batch_permutation", args=args, batch=size, no_parity=NO_PARITY, sees_batch=True, seed=5)
    for args in ARGS
    for size in (1, 2, 7)
]


def draw(size: int, batches: int = 1, **args: object) -> list[tuple[int, ...]]:
    sizes = [size] * batches
    run = run_batches("batch_permutation", {}, 0, args, batch_sizes=sizes, seed=11)
    return [tuple(int(s) for s in batch[0]) for batch in run.batches]


def possible(size: int, allow_repetitions: bool = False, no_fixed_points: bool = False):
    orders = itertools.product(range(size), repeat=size)
    for order in orders:
        if not allow_repetitions and len(set(order)) < size:
            continue
        if no_fixed_points and any(i == value for i, value in enumerate(order)):
            continue
        yield order


@pytest.mark.parametrize("args", ARGS, ids=str)
def test_every_order_is_equally_likely(args):
    orders = list(possible(4 - ("allow_repetitions" in args), **args))
    count = 200 * len(orders)
    drawn = Counter(draw(len(orders[0]), count, **args))
    assert set(drawn) == set(orders)
    # Chi-squared: its mean is the number of degrees of freedom n, its variance 2 n.
    freedom = len(orders) - 1
    chi = sum((n - 200) ** 2 / 200 for n in drawn.values())
    assert abs(chi - freedom) < 4 * (2 * freedom) ** 0.5


def test_a_single_sample_keeps_its_position():
    for args in ARGS:
        assert draw(1, 3, **args) == [(0,)] * 3


@pytest.mark.parametrize("size", [2, 3, 64, 500])
def test_no_fixed_points_moves_every_sample(size):
    for order in draw(size, 5, no_fixed_points=True):
        assert sorted(order) == list(range(size))
        assert all(i != value for i, value in enumerate(order))


def test_orders_of_a_seed_equal_the_golden_values():
    assert [draw(6, 2, **args) for args in ARGS] == GOLDEN


GOLDEN = [
    [(0, 5, 1, 4, 2, 3), (4, 3, 1, 0, 2, 5)],
    [(3, 2, 4, 3, 5, 2), (5, 3, 1, 2, 2, 4)],
    [(5, 3, 4, 1, 0, 2), (1, 2, 3, 0, 5, 4)],
    [(4, 3, 4, 2, 5, 2), (5, 3, 1, 1, 2, 4)],
]
