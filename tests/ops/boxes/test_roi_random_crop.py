# SPDX-License-Identifier: Apache-2.0
"""fn.roi_random_crop: the start of a random window around a region."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.distributions import same_distribution
from helpers.ops import OpCase, PerSample, run_case, run_dali, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "roi_random_crop"
NO_PARITY = "random positions: distributions are compared here"


def case(args, **more):
    more.setdefault("no_parity", NO_PARITY)
    return OpCase(OP, args=args, **more)


CASES = [
    case(args)
    for args in [
        {"crop_shape": [4, 4], "roi_start": [2, 3], "roi_shape": [6, 9]},
        {"crop_shape": [4, 4], "roi_start": [2, 3], "roi_end": [8, 9]},
        {"crop_shape": [10, 8], "roi_start": [2, 3], "roi_shape": [3, 3]},
        {"crop_shape": [10, 8], "roi_start": [2, 3], "roi_shape": [3, 3], "in_shape": [12, 12]},
        {"crop_shape": 5, "roi_start": -2, "roi_shape": 3},
        {
            "crop_shape": PerSample([[3, 4], [5, 5]]),
            "roi_start": PerSample([[3, 4]]),
            "roi_end": PerSample([[6, 8], [4, 9]]),
            "in_shape": PerSample([[10, 20], [30, 9]]),
        },
    ]
]
CASES += [
    case(
        {"crop_shape": [3, 3], "roi_start": [2, 3], "roi_shape": [5, 1]},
        layout="HWC",
        shape=[(9, 12, 3), (8, 5, 1)],
    ),
    # There is one possible start.
    case({"crop_shape": [3, 5], "roi_start": [2, 3], "roi_shape": [3, 5]}, no_parity=""),
    case({"crop_shape": [4, 4], "roi_start": 2, "roi_shape": [4]}, no_parity=""),
    case({"crop_shape": [4, 4], "roi_start": [2], "roi_end": 6, "in_shape": 9}, no_parity=""),
    case(
        {"crop_shape": [9, 12], "roi_start": [2, 3], "roi_shape": [3, 5]},
        shape=(9, 12),
        no_parity="",
    ),
]


@pytest.mark.parametrize("index", [0, 2, 3, 5], ids=str)
@pytest.mark.dali
def test_starts_are_distributed_like_dalis(index):
    many = CASES[index].replace(batch=2000)
    (ours,) = run_case(many).samples()
    theirs = run_dali(many)[0].samples
    for axis in range(2):
        assert same_distribution(*(torch.stack(list(s))[:, axis] for s in (ours, theirs)))


@given(
    crop=st.integers(0, 30),
    start=st.integers(0, 20),
    extent=st.integers(0, 20),
    room=st.integers(0, 20),
    seed=st.integers(0, 100),
)
def test_windows_contain_as_much_of_the_region_as_possible(crop, start, extent, room, seed):
    bounds = max(start + extent + room, crop)
    args = {"crop_shape": [crop], "roi_start": [start], "roi_shape": [extent], "in_shape": [bounds]}
    at = run_op(OP, seed=seed, **args).item()
    assert at >= 0
    assert at + crop <= bounds
    inside = min(at + crop, start + extent) - max(at, start)
    assert inside == min(crop, extent) or crop == 0 or extent == 0


def test_starts_of_a_seed_equal_the_golden_values():
    args = {"crop_shape": [40, 4], "roi_start": [20, 3], "roi_shape": [6, 90]}
    starts = run_op(OP, batch_size=4, seed=1234, **args)
    assert [s.tolist() for s in starts] == GOLDEN


GOLDEN = [[15, 72], [-11, 9], [20, 49], [-10, 82]]
BASE = {"crop_shape": [3, 3], "roi_start": [2, 3], "roi_shape": [3, 3]}


@for_each(
    ("args", "message"),
    [
        ({"roi_end": [8, 9]}, "`roi_end` excludes `roi_shape`"),
        ({"in_shape": [2, 9]}, "`crop_shape` is 3 in axis 0, where the input has 2"),
        ({"in_shape": [9, 5]}, r"the region of interest is \[3, 6\) in axis 1"),
        ({"roi_start": [-2, 3], "in_shape": [9, 9]}, r"the region of interest is \[-2, 1\)"),
        ({"roi_start": [1, 2, 3]}, "`roi_start` has 3 values, and `crop_shape` 2"),
        ({"crop_shape": [-3, 3]}, "`crop_shape` is -3"),
        ({"roi_shape": [-3, 3]}, "it ends before it starts"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, **{**BASE, **args})


def test_unsuitable_inputs_are_errors():
    with pytest.raises(ValueError, match="`in_shape` excludes an input"):
        run_op(OP, torch.zeros(9, 9), in_shape=[9, 9], **BASE)
    with pytest.raises(ValueError, match=r"the input has shape \[9\]"):
        run_op(OP, torch.zeros(9), **BASE)
