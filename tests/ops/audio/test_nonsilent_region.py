# SPDX-License-Identifier: Apache-2.0
"""fn.nonsilent_region: from the first to the last window that is not silent."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op

NO_RESET = {"reset_interval": -1}


def bursts(length, *loud, scale=1.0, dtype=torch.float32):
    """Quiet noise with louder parts: (begin, end, amplitude)."""

    def make(i):
        generator = torch.Generator().manual_seed(i)
        x = torch.randn(length, generator=generator) * 1e-4
        for begin, end, amplitude in loud:
            x[begin + i : end] = amplitude * torch.randn(end - begin - i, generator=generator)
        return (x * scale).to(dtype)

    return make


SPEECH = bursts(20000, (5000, 9000, 0.5), (12000, 13000, 0.01))


def step(length=100, begin=30, end=60, value=1.0):
    def make(_):
        x = torch.zeros(length)
        x[begin:end] = value
        return x

    return make


CASES = [
    OpCase("nonsilent_region", "t", make=make, args=args)
    for make, args in [
        (SPEECH, {}),
        (SPEECH, {"cutoff_db": -20.0}),
        (SPEECH, {"cutoff_db": -50.0, "window_length": 256, "reset_interval": 1024}),
        (SPEECH, {"cutoff_db": -30.0, "reference_power": 0.3}),
        (SPEECH, {"cutoff_db": 20.0}),  # all is silent
        (bursts(1000, (0, 300, 1.0)), {"window_length": 100, **NO_RESET}),
        (bursts(1000, (500, 1000, 1.0)), {"window_length": 7, **NO_RESET}),
        (bursts(3000, (500, 2000, 1.0)), {"window_length": 31, **NO_RESET}),
        (bursts(3000, (500, 2000, 1.0)), {"window_length": 32, **NO_RESET}),
        (bursts(3000, (500, 2000, 1.0)), {"window_length": 999, **NO_RESET}),
        *(
            (step(), {"window_length": w, "cutoff_db": c, **NO_RESET})
            for w in (1, 2, 10, 50, 100, 200)
            for c in (-60.0, -3.1, 0.0)
        ),
        (step(end=100), {"window_length": 40, "cutoff_db": -1.0, **NO_RESET}),
        (step(begin=0, value=0.0), {}),  # all is as loud as the loudest
        (step(begin=0, value=0.0), {"reference_power": 1.0}),
        (step(length=1, begin=0), {}),
        *(
            (bursts(3000, (500, 2000, 0.2), scale=s, dtype=t), {"window_length": 128})
            for t, s in [(torch.int16, 2.0**15), (torch.int32, 2.0**28), (torch.int8, 127.0)]
        ),
    ]
]
CASES += [
    OpCase("nonsilent_region", "t", make=lambda _: torch.zeros(0), no_parity="DALI crashes"),
    OpCase(
        "nonsilent_region",
        "t",
        make=SPEECH,
        args={"window_length": 1000},
        no_parity="DALI wants a multiple for `reset_interval`",
    ),
]


def reference(x: np.ndarray, window: int, cutoff: float, power: float) -> tuple[int, int]:
    if not x.size:
        return 0, 0
    window = min(window, x.size)
    means = np.convolve(x.astype(np.float64) ** 2, np.ones(window))[: x.size] / window
    power = power or means.max()
    # Far less than the rounding of DALI's sums.
    loud = np.flatnonzero(means >= power * 10 ** (cutoff / 10) * (1 - 1e-12))
    if not loud.size:
        return 0, 0
    begin = max(loud[0] - window + 1, 0)
    return begin, loud[-1] - begin + 1


@for_each("case", CASES)
def test_matches_reference(case):
    args = case.args
    begins, lengths = run_case(case).samples()
    for i, (begin, length) in enumerate(zip(begins, lengths, strict=True)):
        assert begin.dtype == length.dtype == torch.int32
        assert begin.shape == length.shape == ()
        expected = reference(
            case.input(i).numpy(),
            args.get("window_length", 2048),
            args.get("cutoff_db", -60.0),
            args.get("reference_power", 0.0),
        )
        assert (begin.item(), length.item()) == expected


@for_each("window", [1, 16, 33, 160, 5000])
def test_quiet_windows_after_loud_ones_are_exact(window):
    x = torch.zeros(30000)
    x[10000:10100] = 1e6
    x[20000:20010] = 1e-6
    begin, length = run_op("nonsilent_region", x, window_length=window, cutoff_db=-280.0)
    assert begin == 10000 - window + 1
    assert begin + length == 20010 + window - 1


@for_each(
    "args, text",
    [
        ({"window_length": 0}, "`window_length` is 0, expected a positive number"),
        ({"reset_interval": -2}, "`reset_interval` is -2, expected -1 or"),
        ({"reference_power": -1.0}, "`reference_power` is -1, expected a positive number"),
    ],
)
def test_wrong_arguments(args, text):
    with pytest.raises(ValueError, match=text):
        run_op("nonsilent_region", torch.ones(9), **args)


def test_wrong_inputs():
    with pytest.raises(ValueError, match=r"has shape \[10, 2\], expected one dimension"):
        run_op("nonsilent_region", torch.ones(10, 2))
    with pytest.raises(TypeError, match="is float64, expected float32 or an integer type"):
        run_op("nonsilent_region", torch.ones(10, dtype=torch.float64))
