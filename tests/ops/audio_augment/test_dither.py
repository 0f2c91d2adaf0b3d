# SPDX-License-Identifier: Apache-2.0
"""fn.dither: the noise of fn.noise.gaussian, by another name and default."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op

OP = "dither"
CASES = [
    OpCase(OP, layout, shape, args, dtype, no_parity="DALI has no such operator")
    for layout, shape, args, dtype in [
        ("t", (1000,), {}, torch.float32),
        ("t", (0,), {}, torch.float32),
        ("tc", (300, 2), {"amount": 0.5}, torch.float32),
        ("t", [(900,), (30,)], {"amount": PerSample([1.0, 0.0])}, torch.float32),
        ("t", (1000,), {"amount": 1.0}, torch.int16),
    ]
]


@for_each("dtype", [torch.float32, torch.int16])
def test_equals_gaussian_noise(dtype):
    x = torch.arange(1000).to(dtype)
    ours = run_op(OP, x, layout="t", amount=2.0, seed=4)
    assert torch.equal(ours, run_op("noise.gaussian", x, layout="t", stddev=2.0, seed=4))


def test_default_is_for_signals_of_at_most_one():
    noise = run_op(OP, torch.zeros(100_000), layout="t")
    assert noise.double().std().item() == pytest.approx(1e-5, rel=0.01)
    assert noise.abs().max() < 7e-5
