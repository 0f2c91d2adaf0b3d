# SPDX-License-Identifier: Apache-2.0
"""fn.spectrogram: frequencies of the frames of a signal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op

from torchdali.errors import ArgumentError

OP = "spectrogram"
Array = npt.NDArray[Any]


def signal(samples: int, seed: int = 0) -> torch.Tensor:
    """Returns noise in [-1, 1]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(samples, generator=generator) * 2 - 1


def case(samples=2000, args=None, shape=None, **more):
    def make(index):
        x = signal(samples + 37 * index, index)
        return x.reshape(shape) if shape else x

    return OpCase(OP, args=args or {}, make=make, algorithm="spectrum", **more)


TRIANGLE = [1.0 - abs(i - 50) / 50 for i in range(100)]
CASES = [
    case(args=args)
    for args in [
        {},
        {"layout": "tf"},
        {"window_length": 320, "window_step": 160, "nfft": 512},
        {"window_length": 400, "window_step": 160, "layout": "tf"},
        {"window_length": 16, "window_step": 4},
        {"window_length": 37, "window_step": 100, "nfft": 60},
        {"window_length": 100, "window_step": 7, "window_fn": TRIANGLE},
        {"window_fn": []},
        {"power": 1},
        {"center_windows": False},
        {"center_windows": False, "reflect_padding": False, "nfft": 1000},
        {"reflect_padding": False, "window_step": 300},
        {"window_length": 13, "window_step": 3000, "nfft": 13},
        {"window_length": 3, "window_step": 1, "nfft": 3},
        {"window_length": 128, "nfft": 251, "power": 1, "layout": "tf"},
        {"window_length": 200, "nfft": 1538},
    ]
]
CASES += [
    case(samples, args)
    for samples in (1, 2, 9, 15, 16, 17)
    for args in [
        {"window_length": 16, "window_step": 4},
        {"window_length": 17, "window_step": 20, "reflect_padding": False},
    ]
]
CASES += [
    # Frames that lack less than a step are padded with zeros.
    case(14, {"window_length": 16, "window_step": 4, "center_windows": False}),
    case(shape=(-1, 1)),
    case(shape=(1, -1, 1)),
    case(0, {"reflect_padding": False}),
    case(0, no_parity="DALI crashes on an empty signal if it is to be mirrored"),
    case(args={"window_length": 1, "window_step": 30}, no_parity="DALI takes no nfft below 3"),
    case(args={"window_length": 2, "window_step": 30}, no_parity="DALI takes no nfft below 3"),
]


def reference(x: Array, args: dict[str, Any]) -> Array:
    length, step = args.get("window_length", 512), args.get("window_step", 256)
    nfft, centred = args.get("nfft", length), args.get("center_windows", True)
    k = np.arange(length)
    window = args.get("window_fn") or np.sin(np.pi * (k + 0.5) / length) ** 2
    first = length // 2 if centred else 0
    count = len(x) // step + 1 if centred else max(len(x) - length, 0) // step + 1
    padding = (first, count * step + length)
    # A mirror image of one sample, or of none, is what "edge" makes of it.
    mode = "reflect" if centred and args.get("reflect_padding", True) else "constant"
    if mode == "reflect" and len(x) < 2:
        x = np.repeat(x if len(x) else np.zeros(1), 2)
    padded = np.pad(x, padding, mode=mode)
    frames = np.stack([padded[i * step : i * step + length] for i in range(count)])
    spectra = np.abs(np.fft.rfft(frames * window, nfft)) ** args.get("power", 2)
    return spectra if args.get("layout") == "tf" else spectra.T


def assert_close(actual: torch.Tensor, expected: Array, error: float = 2e-6) -> None:
    """Compares spectra; errors are relative to the greatest value."""
    assert actual.dtype == torch.float32
    assert tuple(actual.shape) == expected.shape
    assert np.abs(actual.numpy() - expected).max() <= error * expected.max(initial=1e-30)


@for_each("case", CASES)
def test_matches_reference(case):
    run = run_case(case)
    assert run.layouts == [case.args.get("layout", "ft")]
    for index, actual in enumerate(run.samples()[0]):
        x = case.input(index).double().numpy().reshape(-1)
        assert_close(actual, reference(x, case.args))


def test_every_length_of_a_transform():
    """Powers of two, products of 2, 3 and 5, primes, and twice a prime."""
    x = signal(1000)
    for nfft in [*range(1, 70), 97, 194, 225, 240, 243, 256, 375, 400, 480, 625, 1024, 2048, 4099]:
        args = {"window_length": min(nfft, 300), "window_step": 450, "nfft": nfft}
        assert_close(run_op(OP, x, **args), reference(x.double().numpy(), args))


def test_energy_is_that_of_the_frames():
    """Parseval: the mean of the powers is the sum of the squares."""
    x = signal(4096)
    args = {"window_length": 256, "window_step": 256, "center_windows": False}
    powers = run_op(OP, x, **args, window_fn=[1.0] * 256).double()
    inner = powers[1:-1].sum(0) * 2 + powers[0] + powers[-1]
    energy = (x.double() ** 2).reshape(16, 256).sum(1)
    torch.testing.assert_close(inner / 256, energy, rtol=1e-6, atol=0)


def test_a_factor_of_the_signal_is_one_of_the_magnitudes():
    x = signal(3000)
    once, eight_times = (run_op(OP, factor * x, power=1) for factor in (1, 8))
    assert torch.equal(eight_times, once * 8)  # a power of two: exact


def test_a_shift_by_steps_shifts_the_frames():
    """Whatever the lane of a frame, the bits are the same."""
    x = signal(6000)
    args = {"window_length": 200, "window_step": 50, "center_windows": False}
    whole = run_op(OP, x, **args)
    for steps in (1, 5, 16):
        assert torch.equal(run_op(OP, x[50 * steps :], **args), whole[:, steps:])


def test_a_tone_is_one_frequency():
    tone = torch.sin(2 * torch.pi * 20 / 256 * torch.arange(4096, dtype=torch.float64)).float()
    args = {"window_length": 256, "window_step": 128, "center_windows": False}
    powers = run_op(OP, tone, **args, window_fn=[1.0] * 256)
    assert torch.allclose(powers[20], torch.tensor(128.0**2), rtol=1e-5)
    powers[20] = 0
    assert powers.max() < 1e-4


def test_layouts_are_transposes():
    transposed = run_case(case(5000, {"layout": "tf"})).samples()[0]
    for ft, tf in zip(run_case(case(5000)).samples()[0], transposed, strict=True):
        assert torch.equal(tf, ft.T)


@for_each(
    "case",
    [
        ({"window_step": 0}, "`window_step` is 0, expected a positive number"),
        ({"window_length": -3}, "`window_length` is -3, expected a positive number"),
        ({"nfft": 100}, "`nfft` is 100, expected at least `window_length`, which is 512"),
        ({"nfft": 2**40}, "and at most 16777216"),
        ({"power": 3}, "`power` is 3, expected 1 (magnitude) or 2 (power)"),
        ({"layout": "FT"}, '`layout` is "FT", expected "ft" or "tf"'),
        ({"window_fn": [1.0] * 9}, "`window_fn` has 9 values, expected `window_length`, which is"),
    ],
)
def test_wrong_arguments(case):
    args, text = case
    with pytest.raises(ArgumentError) as error:
        run_case(OpCase(OP, args=args, make=signal))
    assert text in str(error.value)


def test_short_signals_have_no_frame_of_their_own():
    with pytest.raises(ArgumentError, match="256 samples, which is too short for a window of 512"):
        run_op(OP, signal(256), center_windows=False)
    assert run_op(OP, signal(257), center_windows=False).shape == (257, 1)


def test_several_channels_are_refused():
    with pytest.raises(ArgumentError, match=r"shape \[500, 2\], expected one channel"):
        run_op(OP, torch.zeros(500, 2))


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="input `data` is int16, expected float"):
        run_op(OP, torch.zeros(1000, dtype=torch.int16))
