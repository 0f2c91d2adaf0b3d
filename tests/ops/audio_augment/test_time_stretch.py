# SPDX-License-Identifier: Apache-2.0
"""fn.time_stretch: changes the length of signals, but not their pitch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_op

OP = "time_stretch"
TINY = {"window_length": 20, "search": 7}


def signal(index: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(index))


def case(shape: tuple[int, ...], args, **options) -> OpCase:
    layout = options.pop("layout", "tc" if len(shape) == 2 else "t")
    options.setdefault("make", lambda index: signal(index, *shape))
    return OpCase(OP, layout, None, args, no_parity="DALI has no such operator", **options)


CASES = [
    case((3000,), {"rate": 1.3}),
    case((3000,), {"rate": 0.6}, layout=""),
    case((500,), {"rate": 0.5, **TINY}),
    case((500,), {"rate": 1.0, **TINY}),
    case((500,), {"rate": 8.0, **TINY}),
    case((500,), {"rate": 0.1, **TINY}),
    case((500,), {"rate": 1.7, "window_length": 3, "search": 0}),
    case((500,), {"rate": 0.7, "window_length": 2, "search": 100}),
    case((300,), {"rate": 0.9, "window_length": 900, "search": 200}),
    case((300, 2), {"rate": 1.2, **TINY}),
    case((300, 3), {"rate": 0.8, **TINY}),
    case((1,), {"rate": 0.3}),
    case((1,), {"rate": 3.0}),
    case((0,), {"rate": 2.0}),
    case((50, 0), {"rate": 2.0}),
    case((400,), {"rate": 0.8, **TINY}, make=lambda _: torch.zeros(400)),
    case(
        (400,),
        {
            "rate": PerSample([0.8, 1.25, 2.0]),
            "window_length": PerSample([10, 40]),
            "search": PerSample([3, 9]),
        },
    ),
]


def reference(x: np.ndarray, rate: float, window: int = 512, search: int | None = None):
    """WSOLA as documented, with distances in float64."""
    length, overlap = len(x), window // 2
    search = window // 4 if search is None else search
    size = math.floor(length / rate + 0.5)
    padded = np.concatenate([x, np.zeros((4 * overlap + 2 * search + 2 * window, *x.shape[1:]))])
    padded = np.concatenate([padded, np.zeros((int(10 * overlap) + 10, *x.shape[1:]))])
    mono = padded.reshape(len(padded), -1).sum(1)
    fade = 0.5 - 0.5 * np.cos(np.pi * (np.arange(overlap) + 0.5) / overlap)
    fade = fade.reshape(-1, *[1] * (x.ndim - 1))
    segments, follows = [], 0
    for k in range(-(-size // overlap)):
        nominal = max(math.floor((k + 1) * overlap * rate + 0.5) - overlap, 0)
        last = max(nominal, min(nominal + search, length - overlap))
        wanted = mono[follows : follows + overlap]
        choices = [
            (((mono[q : q + overlap] - wanted) ** 2).sum(), abs(q - nominal), q)
            for q in range(max(nominal - search, 0), last + 1)
        ]
        chosen = min(choices)[2]
        old, new = padded[follows : follows + overlap], padded[chosen : chosen + overlap]
        segments.append(old + fade * (new - old))
        follows = chosen + overlap
    return np.concatenate([*segments, np.zeros((0, *x.shape[1:]))])[:size]


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {
            n: a.at(index).item() if isinstance(a, PerSample) else a for n, a in case.args.items()
        }
        x = case.input(index).double().numpy()
        expected = reference(x, args["rate"], args.get("window_length", 512), args.get("search"))
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=1e-5)


@for_each("shape", [(5000,), (700, 2)])
def test_rate_one_changes_nothing(shape):
    x = signal(5, *shape)
    assert torch.equal(run_op(OP, x, layout="t" if len(shape) == 1 else "tc", rate=1.0), x)


@for_each("rate", [0.5, 0.75, 1.1, 1.5, 2.0])
@for_each("frequency", [110.0, 440.0, 3000.0])
def test_pure_tones_keep_their_frequency(rate, frequency):
    length = 48_000
    t = torch.arange(length, dtype=torch.float64) / 16_000
    x = torch.sin(2 * math.pi * frequency * t).float()
    y = run_op(OP, x, layout="t", rate=rate).double().numpy()
    assert len(y) == round(length / rate)
    power = np.abs(np.fft.rfft(y * np.hanning(len(y)))) ** 2
    at = np.fft.rfftfreq(len(y), 1 / 16_000)
    assert at[power.argmax()] == pytest.approx(frequency, abs=1.0)
    # What the change of speed adds is 30 dB below the tone.
    assert power[np.abs(at - frequency) > 20].sum() < 1e-3 * power.sum()


@for_each("rate", [0.5, 0.8, 2.0])
def test_events_move_with_the_rate(rate):
    x = 0.01 * signal(1, 16_000)
    x[10_000:12_000] *= 100
    power = run_op(OP, x, layout="t", rate=rate).double().square().numpy()
    center = (power * np.arange(len(power))).sum() / power.sum()
    assert center == pytest.approx(11_000 / rate, abs=300)


@for_each(
    ("args", "message"),
    [
        ({"rate": 0.05}, "`rate` is 0.05, expected 0.1 to 10"),
        ({"rate": math.nan}, "`rate` is nan"),
        ({"rate": 1.0, "window_length": 1}, "`window_length` is 1, expected 2 to 65536"),
        ({"rate": 1.0, "search": -1}, "`search` is -1, expected 0 to 65536"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, signal(1, 50), layout="t", **args)


def test_samples_are_not_taken_for_channels():
    with pytest.raises(ValueError, match="input `audio` has 5000 channels, at most 1024"):
        run_op(OP, signal(1, 2, 5000), layout="tc", rate=1.0)


def test_values_that_are_no_numbers_do_no_harm():
    x = signal(1, 5000)
    x[2000:2100] = math.nan
    y = run_op(OP, x, layout="t", rate=1.5)
    assert y[-500:].isfinite().all()
    assert y.isnan().any()
