# SPDX-License-Identifier: Apache-2.0
"""fn.audio_resample: changes the sampling rate of signals."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_dali, run_op

from torchdali import types
from torchdali.errors import LayoutError

NODES = 32  # of the table, between two samples


def lobes(quality: float) -> int:
    return max(3, math.floor(0.007 * quality**2 - 0.09 * quality + 3.5))


def reference(x, step: float, length: int, quality=50.0, antialias=False):
    """Resamples [time, channels] in float64, with weights interpolated as DALI's are."""
    x = np.asarray(x, np.float64)
    sides, cutoff = lobes(quality), min(1.0, 1 / step) if antialias else 1.0
    half = math.ceil(sides / cutoff)

    def weight(t):
        u = np.abs(t * cutoff)
        hann = 0.5 + 0.5 * np.cos(np.pi * u / (sides + 1 / 64))
        return np.where(u <= sides, cutoff * np.sinc(u) * hann, 0.0)

    position = np.arange(length) * step
    first = np.floor(position)
    node = np.floor((position - first) * NODES)
    part = (position - first) * NODES - node
    out = np.zeros((length, x.shape[1]))
    for k in range(1 - half, half + 1):
        low, high = weight(k - node / NODES), weight(k - (node + 1) / NODES)
        at = first.astype(np.int64) + k
        inside = (at >= 0) & (at < len(x))
        samples = x[np.clip(at, 0, max(0, len(x) - 1))] if len(x) else np.zeros_like(out)
        out += np.where(inside, low + part * (high - low), 0.0)[:, None] * samples
    return out


def noise(*shape: int, dtype=torch.float32) -> Callable[[int], torch.Tensor]:
    """Makes samples of white noise over the whole range of the type; longer ones later."""

    def make(i: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(i)
        extents = (shape[0] + 7 * i, *shape[1:])
        if dtype.is_floating_point:
            return torch.rand(extents, generator=generator) * 2 - 1
        limits = torch.iinfo(dtype)
        values = torch.randint(limits.min, limits.max + 1, extents, generator=generator)
        return values.to(dtype)

    return make


def waves(length: int) -> Callable[[int], torch.Tensor]:
    """Makes slow waves, where it matters less that DALI's positions are up to 1e-3 samples off."""

    def make(i: int) -> torch.Tensor:
        t = torch.arange(length + i, dtype=torch.float64)
        return ((torch.sin(t * 0.03) + torch.cos(t * 0.05 + i)) / 2).float()

    return make


def case(make=None, layout="", input_dtype=torch.float32, no_parity="", **args) -> OpCase:
    return OpCase(
        "audio_resample",
        layout,
        args=args,
        dtype=input_dtype,
        make=make or noise(70),
        algorithm="resample_signal",
        no_parity=no_parity,
    )


RATES = {"in_rate": 44100.0, "out_rate": 16000.0}
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32]
OURS = "DALI has no argument `antialias`"
PAST_ITS_ERRORS = "DALI's positions differ too much on noise"
CASES = [
    case(**RATES),
    case(noise(10), in_rate=16000.0, out_rate=44100.0),
    case(scale=2.0, layout="t"),
    case(scale=0.5),
    case(scale=1.0),
    case(scale=0.2517),
    case(scale=0.0),
    case(scale=0.0123),
    case(scale=PerSample([0.25, 1.5, 3.75])),
    case(in_rate=PerSample([8000.0, 48000.0, 1.0]), out_rate=PerSample([1e4, 12e3, 2.0])),
    case(out_length=100),
    case(out_length=PerSample([0, 1, 100], torch.int64)),
    *[case(scale=4.0, quality=q) for q in (0.0, 33.0, 75.0, 100.0)],
    *[case(waves(700), **RATES, quality=q) for q in (0.0, 100.0)],
    case(noise(70, 2), layout="tc", scale=1.5),
    case(noise(3000, 3), **RATES, no_parity=PAST_ITS_ERRORS),
    case(noise(9, 33), scale=0.5, quality=90.0),
    case(noise(9, 0), scale=2.0),
    case(noise(0), scale=2.0),
    case(noise(0), out_length=0, no_parity="DALI refuses the other samples, which have samples"),
    case(noise(1), scale=9.0),
    case(waves(60000), **RATES),
    case(waves(60000), in_rate=48000.0, out_rate=44100.0, quality=80.0),
    *[case(noise(8000), **RATES, antialias=True, quality=q, no_parity=OURS) for q in (0.0, 50.0)],
    case(noise(3000, 2), scale=0.1, antialias=True, no_parity=OURS),
    case(scale=3.0, antialias=True, no_parity=OURS),
    *[case(noise(90, dtype=d), input_dtype=d, scale=2.0) for d in INTEGERS],
    *[
        case(noise(90, dtype=d), input_dtype=d, scale=2.0, dtype=to)
        for d in [*INTEGERS, torch.float32]
        for to in (types.FLOAT, types.INT16, types.UINT8, types.UINT32)
    ],
]


def plan(one: OpCase, i: int) -> tuple[float, int]:
    """Returns the step between outputs and the length of the output of sample ``i``."""
    args = {n: a.at(i) if isinstance(a, PerSample) else a for n, a in one.args.items()}
    length = len(one.input(i))
    if "out_length" in args:
        return length / max(1, int(args["out_length"])), int(args["out_length"])
    number = np.float32(args["scale"] if "scale" in args else args["out_rate"])
    rate = float(np.float32(args.get("in_rate", 1.0)))
    step = rate / float(number) if number else 1.0
    return step, math.ceil(length * float(number) / rate)


def full_scale(dtype: torch.dtype) -> int:
    return 1 if dtype.is_floating_point else torch.iinfo(dtype).max


def is_unsigned(dtype: torch.dtype) -> bool:
    return dtype in (torch.uint8, torch.uint16, torch.uint32)


@for_each("one", CASES)
def test_matches_reference(one):
    run = run_case(one)
    assert run.layouts == [one.layout]
    for i, actual in enumerate(run.samples()[0]):
        x = one.input(i)
        step, length = plan(one, i)
        assert tuple(actual.shape) == (length, *x.shape[1:])
        data = (
            x.numpy()
            .astype(np.float64)
            .reshape(len(x), -1 if x.numel() else math.prod(x.shape[1:]))
        )
        data /= full_scale(x.dtype)
        if is_unsigned(actual.dtype) > is_unsigned(x.dtype):
            data = (data + 1) / 2
        elif is_unsigned(actual.dtype) < is_unsigned(x.dtype):
            data = data * 2 - 1
        quality = one.args.get("quality", 50.0)
        expected = reference(data, step, length, quality, one.args.get("antialias", False))
        expected = expected.reshape(actual.shape) * full_scale(actual.dtype)
        if actual.dtype.is_floating_point:
            np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=2e-6)
        else:
            limits = torch.iinfo(actual.dtype)
            rounding = 0.51 + 1e-6 * limits.max
            expected = expected.clip(limits.min, limits.max)
            np.testing.assert_allclose(
                actual.numpy().astype(np.float64), expected, rtol=0, atol=rounding
            )


# -- Laws


def resample(x: torch.Tensor, **args) -> torch.Tensor:
    return run_op("audio_resample", x, **args)


def test_equal_rates_change_nothing():
    x = noise(1000)(0)
    x[17] = math.inf
    assert torch.equal(resample(x, in_rate=0.3, out_rate=0.3), x)


def test_is_linear():
    x, y = noise(1000)(0), noise(1000)(1)[:1000]
    both = resample(3 * x - 2 * y, **RATES)
    torch.testing.assert_close(both, 3 * resample(x, **RATES) - 2 * resample(y, **RATES))


@for_each("quality", [0.0, 50.0, 100.0])
def test_a_shift_by_whole_periods_shifts_the_result(quality):
    # 441 samples become 160. The bits are the same wherever in the signal an output is.
    x = noise(9000)(3)
    before = resample(torch.cat([torch.zeros(4 * 441), x]), **RATES, quality=quality)
    assert torch.equal(before[4 * 160 :], resample(x, **RATES, quality=quality))


@for_each("scale", [1 / 7, 0.3628, 1.7, 3.0])
def test_channels_are_independent(scale):
    x = noise(3000, 3)(0)
    together = resample(x, scale=scale)
    for c in range(3):
        assert torch.equal(together[:, c], resample(x[:, c].contiguous(), scale=scale))


@for_each("antialias", [False, True])
@for_each("quality, ripple", [(0.0, 8e-3), (50.0, 1e-4), (100.0, 2e-5)])
def test_a_constant_stays_constant(quality, ripple, antialias):
    # Far from the ends: half of the filter is 64 * 44100 / 16000 samples at most.
    y = resample(torch.ones(2000), **RATES, quality=quality, antialias=antialias)[80:-80]
    assert (y - 1).abs().max() < ripple


# -- The filter. docs/design/audio.md has these figures.


def response(quality: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns frequencies, relative to half of the input's rate, and the gain in decibels."""
    fine, sides = 256, lobes(quality)
    impulse = torch.zeros(2 * sides + 5)
    impulse[sides + 2] = 1
    weights = resample(impulse, scale=float(fine), quality=quality).double().numpy()
    size = 1 << 19
    gain = np.abs(np.fft.rfft(weights, size)) / fine
    return np.arange(len(gain)) * (2 * fine / size), 20 * np.log10(np.maximum(gain, 1e-9))


@for_each("quality, edge", [(0.0, 2 / 3), (50.0, 1 / 8), (100.0, 1 / 32)])
def test_ripple_and_attenuation(quality, edge):
    frequency, gain = response(quality)
    assert np.abs(gain[frequency <= 1 - edge]).max() < 0.065
    assert gain[frequency >= 1 + edge].max() < -43.5
    # From where weights are interpolated.
    assert -79 < gain[frequency > 60].max() < -71


def test_frequencies_that_the_output_cannot_have():
    tone = torch.cos(torch.arange(20000) * (2 * math.pi * 12000 / 44100))  # 12 kHz
    mirrored = resample(tone, **RATES)[100:-100]
    assert mirrored.square().mean() == pytest.approx(0.5, rel=0.01)
    removed = resample(tone, **RATES, antialias=True)[100:-100]
    assert 10 * math.log10(removed.square().mean() / 0.5) < -60


# -- DALI


@pytest.mark.dali
@for_each("quality", [0.0, 20.0, 50.0, 60.0, 75.0, 100.0])
def test_weights_equal_those_of_dali(quality):
    # Positions in steps of 1/64 are exact in DALI, too.
    def impulse(i: int) -> torch.Tensor:
        x = torch.zeros(200)
        x[100 + i] = 1
        return x

    one = case(impulse, scale=64.0, quality=quality)
    dali = run_dali(one)[0].samples
    for ours, theirs in zip(run_case(one).samples()[0], dali, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-7)


@pytest.mark.dali
def test_differences_to_dali_are_its_positions():
    # DALI adds up float32 steps in blocks of 256 outputs.
    x, step = noise(3000)(0), 44100 / 16000
    position = np.empty(math.ceil(len(x) / step))
    for start in range(0, len(position), 256):
        first = math.floor(start * step)
        at = np.float32(start * step - first)
        for i in range(start, min(start + 256, len(position))):
            position[i] = first + float(at)
            at += np.float32(step)
    error = np.abs(position - np.arange(len(position)) * step)
    assert 3e-4 < error.max() < 2e-3
    one = OpCase("audio_resample", make=lambda _: x, args=RATES, batch=1)
    [theirs] = run_dali(one)[0].samples
    difference = (run_case(one).samples()[0][0] - theirs).abs().numpy()
    # The slope of noise within [-1, 1] is at most a few units a sample.
    assert (difference < 5 * error + 1e-5).all()


# -- Errors


@for_each(
    "args, message",
    [
        ({}, "no argument says how to change the sampling rate"),
        ({"in_rate": 2.0}, "`in_rate` was given without `out_rate`"),
        ({"out_rate": 2.0}, "`out_rate` was given without `in_rate`"),
        ({"scale": 2.0, "out_length": 3}, "exclude each other"),
        ({"scale": 2.0, "in_rate": 1.0, "out_rate": 2.0}, "exclude each other"),
        ({"out_length": 2, "in_rate": 1.0, "out_rate": 2.0}, "exclude each other"),
        ({"scale": -1.0}, "`scale` must not be negative or infinite, got -1"),
        ({"scale": math.nan}, "`scale` must not be negative or infinite, got nan"),
        ({"scale": math.inf}, "`scale` must not be negative or infinite, got inf"),
        ({"in_rate": 0.0, "out_rate": 1.0}, "of the input must be positive and finite, got 0"),
        ({"in_rate": -1.0, "out_rate": -2.0}, "of the input must be positive and finite, got -1"),
        ({"in_rate": 1.0, "out_rate": -2.0}, "of the output must not be negative or infinite"),
        ({"in_rate": 1.0, "out_rate": math.inf}, "of the output must not be negative or infinite"),
        ({"in_rate": 1e-30, "out_rate": 1e30}, "a signal of 10 samples would have 1e\\+61"),
        ({"out_length": -1}, "`out_length` must not be negative, got -1"),
        ({"scale": 2.0, "quality": -0.5}, "`quality` must be between 0 and 100, got -0.5"),
        ({"scale": 2.0, "quality": 101.0}, "`quality` must be between 0 and 100, got 101"),
        ({"scale": 2.0, "quality": math.nan}, "`quality` must be between 0 and 100, got nan"),
        ({"scale": 0.001, "antialias": True}, "1000 times without aliasing, at most 256"),
        ({"in_rate": 1e30, "out_rate": 1e-30}, "cannot reduce the rate of a signal 1e\\+60 times"),
    ],
)
def test_wrong_arguments(args, message):
    with pytest.raises(ValueError, match=message):
        run_op("audio_resample", torch.zeros(10), **args)


def test_results_that_are_too_large():
    with pytest.raises(RuntimeError, match="too large"):
        run_op("audio_resample", torch.zeros(10), scale=1e14)


def test_wrong_types():
    with pytest.raises(TypeError, match="input `data` is float64, expected one of int8, uint8"):
        run_op("audio_resample", torch.zeros(10, dtype=torch.float64), scale=2.0)
    with pytest.raises(TypeError, match="`dtype` is float16, expected one of int8, uint8"):
        run_op("audio_resample", torch.zeros(10), scale=2.0, dtype=types.FLOAT16)


@for_each("shape", [(), (2, 3, 4)])
def test_wrong_dimensions(shape):
    with pytest.raises(LayoutError, match="expected time, or time and channels"):
        run_op("audio_resample", torch.zeros(shape), scale=2.0)


def test_an_empty_signal_has_no_length():
    with pytest.raises(ValueError, match=r"cannot make 7 samples \(`out_length`\) from an empty"):
        run_op("audio_resample", torch.zeros(0), out_length=7)
