# SPDX-License-Identifier: Apache-2.0
"""fn.bb_flip: mirrors bounding boxes."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "bb_flip"


def boxes(count: int, seed: int) -> torch.Tensor:
    """Returns boxes as left, top, right, bottom, inside the image."""
    corners = torch.rand(count, 2, 2, generator=torch.Generator().manual_seed(seed))
    return corners.sort(dim=1).values.reshape(count, 4)


def case(args, layout="", count=5):
    return OpCase(OP, layout, args=args, make=lambda i: boxes(count + i, i))


CASES = [
    case({"ltrb": ltrb, "horizontal": horizontal, "vertical": vertical})
    for ltrb in (False, True)
    for horizontal in (0, 1)
    for vertical in (0, 2)
]
CASES += [
    case({}),
    case({}, "NX", count=0),
    case({"horizontal": PerSample([0, 1]), "vertical": PerSample([1, 0, 1]), "ltrb": True}),
    OpCase(OP, "", (4,), dtype=torch.float32),
    OpCase(OP, "", (8,), dtype=torch.float32),
    OpCase(OP, "", (3, 2, 4), dtype=torch.float32),
    OpCase(OP, "", (0,), dtype=torch.float32),
]


@for_each("case", [c for c in CASES if c.make is not None])
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {n: a.at(index) if isinstance(a, PerSample) else a for n, a in case.args.items()}
        x = case.input(index).clone()
        for axis, on in ((0, args.get("horizontal", 1)), (1, args.get("vertical", 0))):
            if not on:
                continue
            first, second = x[:, axis].clone(), x[:, axis + 2].clone()
            if args.get("ltrb"):
                x[:, axis], x[:, axis + 2] = 1 - second, 1 - first
            else:
                x[:, axis] = 1 - first - second
        torch.testing.assert_close(actual, x, rtol=0, atol=1e-6)


@given(seed=st.integers(0, 100), ltrb=st.booleans())
def test_flipping_twice_is_the_identity(seed, ltrb):
    x = boxes(4, seed)
    once = run_op(OP, x, vertical=1, ltrb=ltrb)
    torch.testing.assert_close(run_op(OP, once, vertical=1, ltrb=ltrb), x, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(3, 3), r"input `boxes` has shape \[3, 3\]"),
        (torch.zeros(4, 3), r"input `boxes` has shape \[4, 3\]"),
        (torch.zeros(2, 4, dtype=torch.int32), "input `boxes` is int32, expected float32"),
    ],
)
def test_wrong_boxes_are_errors(x, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, x)
