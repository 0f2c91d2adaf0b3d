# SPDX-License-Identifier: Apache-2.0
"""fn.add_noise: mixes recorded noise into signals, at a given ratio of their energies."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.distributions import fits
from helpers.ops import Input, OpCase, PerSample, run_case, run_op

OP = "add_noise"


def signal(index: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(index))


def case(shape: tuple[int, ...], noise: tuple[int, ...], args=None) -> OpCase:
    layout = "tc" if len(shape) == 2 else "t"
    made = Input(lambda index: 3 * signal(100 + index, *noise), layout)
    return OpCase(
        OP,
        layout,
        None,
        args or {},
        make=lambda index: signal(index, *shape),
        more_inputs=(made,),
        no_parity="DALI has no such operator",
    )


FIXED = {"random_start": False}
CASES = [
    case((1000,), (700,)),
    case((20_001,), (50_000,), {"snr": -3.0}),
    case((20_001,), (37,), {"snr": 0.0}),
    case((1000,), (1000,), FIXED),
    case((1000,), (300,), FIXED),
    case((1000,), (3000,), {"snr": PerSample([20.0, -5.0]), **FIXED}),
    case((700, 2), (99, 2), FIXED),
    case((700, 2), (990, 2)),
    case((0,), (10,)),
    case((10,), (0,)),
    case((10,), (5,), {"snr": math.inf}),
]


def segment(noise: np.ndarray, length: int, start: int) -> np.ndarray:
    return noise[(start + np.arange(length)) % len(noise)]


def reference(x: np.ndarray, noise: np.ndarray, snr: float) -> np.ndarray:
    wide, added = x.astype(np.float64), noise.astype(np.float64)
    factor = math.sqrt((wide**2).sum() / (added**2).sum()) * 10 ** (-snr / 20)
    return x + np.float32(factor) * noise


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        snr = case.args.get("snr", 10.0)
        snr = float(snr.at(index)) if isinstance(snr, PerSample) else snr
        x, noise = case.input(index).numpy(), case.more_inputs[0].make(index).numpy()
        if not x.size or not noise.size or snr == math.inf:
            np.testing.assert_array_equal(actual.numpy(), x)
            continue
        starts = range(1)
        if case.args.get("random_start", True):
            starts = range(max(len(noise) - len(x) + 1, 1) if len(noise) >= len(x) else len(noise))
        # Where the noise began follows from the first values.
        added = actual.numpy() - x
        products = [
            (segment(noise, min(50, len(x)), s) * added[:50]).sum()
            / np.linalg.norm(segment(noise, min(50, len(x)), s))
            for s in starts
        ]
        part = segment(noise, len(x), starts[int(np.argmax(products))])
        np.testing.assert_allclose(actual.numpy(), reference(x, part, snr), rtol=0, atol=2e-6)


@for_each("snr", [-10.0, 0.0, 15.0])
def test_ratio_of_energies_is_the_one_asked_for(snr):
    x, noise = signal(1, 30_000), 5 * signal(2, 8000)
    added = (run_op(OP, x, noise, layout="t", snr=snr) - x).double()
    ratio = x.double().square().sum() / added.square().sum()
    assert 10 * math.log10(ratio) == pytest.approx(snr, abs=1e-3)


@for_each(("length", "noise", "starts"), [(8, 30, 23), (30, 8, 8), (8, 8, 1)])
def test_start_is_uniform(length, noise, starts):
    count = 3000
    ramp = torch.arange(1.0, noise + 1)
    mixed = run_op(
        OP, [torch.ones(length)] * count, [ramp] * count, layout="t", pipeline_seed=4, snr=0.0
    )
    added = torch.stack(mixed)[:, :2] - 1
    step = (added[:, 1] / added[:, 0]).numpy()  # (s + 2) / (s + 1), or 1 / noise at the end
    begins = np.where(step < 1, noise - 1, np.rint(1 / np.maximum(step - 1, 1e-3)) - 1)
    assert fits(np.bincount(begins.astype(int), minlength=starts), np.ones(starts))


@pytest.mark.parametrize("silent", [0, 1])
def test_silence_gets_no_noise(silent):
    data = [signal(1, 500), signal(2, 300)]
    data[silent] = torch.zeros_like(data[silent])
    assert torch.equal(run_op(OP, *data, layout="t"), data[0])


def test_wrong_inputs_are_errors():
    x = signal(1, 50)
    with pytest.raises(ValueError, match="`snr` is nan"):
        run_op(OP, x, x, layout="t", snr=torch.tensor(math.nan))
    with pytest.raises(ValueError, match="input `audio` has 1 channels and input `noise` has 2"):
        run_op(OP, x.reshape(50, 1), signal(2, 50, 2), layout="tc")
    with pytest.raises(TypeError, match="input `noise` is float64, expected float32"):
        run_op(OP, x, x.double(), layout="t")
