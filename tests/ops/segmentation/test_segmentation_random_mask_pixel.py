# SPDX-License-Identifier: Apache-2.0
"""fn.segmentation.random_mask_pixel: the position of a pixel of a mask."""

from __future__ import annotations

import pytest
import torch
from helpers.distributions import same_distribution
from helpers.ops import OpCase, PerSample, run_case, run_dali, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "segmentation.random_mask_pixel"
NO_PARITY = "random positions: distributions are compared here"
MASK = torch.tensor([[0, 0, 3, 0, 9], [1, 0, 0, 0, 9], [0, 7, 7, 0, 0]], dtype=torch.uint8)
DTYPES = [torch.bool, torch.int8, torch.uint16, torch.int32, torch.int64, torch.float16]
DTYPES += [torch.float32, torch.float64]


def case(args, dtype=torch.uint8, mask=MASK, **more):
    more.setdefault("no_parity", NO_PARITY)
    return OpCase(OP, args=args, make=lambda _: mask.to(dtype), **more)


CASES = [
    case(args)
    for args in [
        {},
        {"foreground": 1},
        {"foreground": -1, "threshold": 5.0},
        {"foreground": 1, "value": 9},
        {"foreground": PerSample([0, 1]), "value": PerSample([9, 7, 3])},
        {"foreground": 1, "threshold": PerSample([0.0, 5.0, 100.0])},
        {"value": 9},
    ]
]
CASES += [case({"foreground": 1}, dtype) for dtype in DTYPES]
# One pixel: the result is not random.
CASES += [
    case({"foreground": 1, "value": 3}, dtype, no_parity="")
    for dtype in (torch.uint8, torch.int64, torch.float32)
]
CASES += [
    case({"foreground": 1, "value": 3}, mask=MASK.reshape(3, 5, 1), no_parity=""),
    case({"foreground": 1, "threshold": 8.0}, mask=MASK[0], no_parity=""),
]


@pytest.mark.parametrize("args", [{}, {"foreground": 1}, {"foreground": 1, "value": 7}], ids=str)
@pytest.mark.dali
def test_positions_are_distributed_like_dalis(args):
    many = case(args, batch=2000)
    (ours,) = run_case(many).samples()
    theirs = run_dali(many)[0].samples
    flat = [torch.stack(list(one)) @ torch.tensor([5, 1]) for one in (ours, theirs)]
    assert same_distribution(*flat)


@given(
    args=st.sampled_from([{"threshold": 0.0}, {"threshold": 5.0}, {"value": 7}]),
    seed=st.integers(0, 1000),
)
def test_the_pixel_is_in_the_foreground(args, seed):
    y, x = run_op(OP, MASK, foreground=1, seed=seed, **args).tolist()
    pixel = MASK[y, x].item()
    assert pixel == 7 if "value" in args else pixel > args["threshold"]


def test_pixels_of_the_foreground_are_equally_likely():
    positions = run_op(OP, [MASK] * 6000, foreground=1)
    counts = torch.bincount(torch.stack(positions) @ torch.tensor([5, 1]), minlength=15)
    assert (counts > 0).tolist() == (MASK.flatten() > 0).tolist()
    assert (counts[counts > 0] - 1000).abs().max() < 140


def test_a_mask_without_foreground_returns_any_pixel():
    positions = torch.stack(run_op(OP, [MASK] * 300, foreground=1, value=77))
    assert len(positions.unique(dim=0)) == 15


def test_positions_of_a_seed_equal_the_golden_values():
    positions = run_op(OP, [MASK] * 6, seed=1234)
    assert [p.tolist() for p in positions] == GOLDEN


GOLDEN = [[2, 2], [0, 1], [2, 4], [0, 2], [2, 3], [0, 3]]


def test_wrong_arguments_are_errors_that_name_them():
    with pytest.raises(ValueError, match="`value` excludes `threshold`"):
        run_op(OP, MASK, value=1, threshold=2.0)
    with pytest.raises(ValueError, match=r"the mask is empty: its shape is \[0, 5\]"):
        run_op(OP, torch.zeros(0, 5))
