# SPDX-License-Identifier: Apache-2.0
"""fn.random_erase; tests/transforms compares its draws with real torchvision."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, run_case, run_op

OPERATORS = ["random_erase"]
CASES = [
    OpCase("random_erase", layout, shape, args, dtype=dtype, no_parity="DALI has no such operator")
    for layout, shape, dtype in [
        ("HWC", [(20, 30, 3), (7, 5, 3)], torch.uint8),
        ("CHW", (3, 20, 30), torch.float32),
        ("", (9, 9, 3), torch.float32),
        ("HWC", (0, 9, 3), torch.uint8),
    ]
    for args in [{}, {"p": 1.0, "value": [1.0, 2.0, 300.5]}, {"p": 1.0, "noise": True}]
]


@for_each("case", CASES)
def test_one_rectangle_changes(case):
    value = torch.tensor(case.args.get("value", [0.0] * 3))
    for index, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(index)
        axis = case.layout.find("C") if case.layout else 2
        changed = (actual != x).any(axis)
        if not changed.any():
            assert case.args.get("p") != 1.0 or min(x.shape) < 10
            continue
        ys, xs = changed.any(1).nonzero(), changed.any(0).nonzero()
        inside = actual.movedim(axis, -1)[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
        if case.args.get("noise"):
            assert inside.float().std() > 0.5
        else:
            want = value.to(torch.int64).to(torch.uint8) if x.dtype == torch.uint8 else value
            assert (inside == want).all()


def test_nothing_is_erased_without_probability():
    x = random_tensor((9, 9, 3), torch.uint8, 1)
    assert torch.equal(run_op("random_erase", x, layout="HWC", p=0.0), x)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"p": 1.5}, "`p` is 1.5"),
        ({"scale": [0.5, 0.1]}, "`scale` is not a range"),
        ({"scale": [0.5, 1.1]}, "`scale` has 1.1"),
        ({"ratio": [0.0, 1.1]}, "`ratio` has 0"),
        ({"p": 1.0, "value": [1.0, 2.0]}, "`value` has 2 numbers, expected 1 or 3"),
    ],
)
def test_wrong_arguments(args, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        run_op("random_erase", torch.zeros(40, 40, 3), layout="HWC", **args)
