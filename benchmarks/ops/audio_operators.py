# SPDX-License-Identifier: Apache-2.0
"""Operators of audio, for the benchmark of single operators: clips of 10 s at 16 kHz, float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.audio.clips import speech
from benchmarks.ops.case import Case

RATE, SECONDS = 16000, 10.0
NFFT, WINDOW, STEP, FILTERS = 512, 320, 160, 80
FRAMES = round(RATE * SECONDS) // STEP + 1
RANDOM = np.random.default_rng(7)


def _signal(random: np.random.Generator) -> np.ndarray:
    return speech(SECONDS, RATE, int(random.integers(1 << 30)))


def _positive(rows: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda random: random.random((rows, FRAMES), np.float32) ** 4


def _spectrogram(x: np.ndarray) -> np.ndarray:
    window = np.zeros(NFFT, np.float32)
    first = (NFFT - WINDOW) // 2
    window[first : first + WINDOW] = np.hanning(WINDOW + 1)[:-1]
    padded = np.pad(x, NFFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, NFFT)[::STEP]
    return np.square(np.abs(np.fft.rfft(frames * window))).T


def _decibels(x: np.ndarray) -> np.ndarray:
    return 10 * np.log10(np.maximum(x, np.float32(1e-8)))


AUDIO_INPUTS: Mapping[str, tuple[Callable[[np.random.Generator], np.ndarray], str]] = {
    "signal": (_signal, ""),
    "powers": (_positive(NFFT // 2 + 1), "ft"),
    "mel": (_positive(FILTERS), "ft"),
    "frames": (lambda random: random.standard_normal((FRAMES, NFFT), np.float32), ""),
}


def _masked(torchaudio: Any, x: Any) -> Any:
    functional = torchaudio.functional
    for axis, width in ((1, 27), (1, 27), (2, 100), (2, 100)):
        x = functional.mask_along_axis(x[None], width, 0.0, axis)[0]
    return x


def _torchaudio_noisy(torchaudio: Any, x: Any, noise: Any) -> Any:
    return torchaudio.functional.add_noise(x, noise, x.new_tensor(10.0))


def _noisy(x: np.ndarray, noise: np.ndarray) -> np.ndarray:
    ratio = np.dot(x, x) / np.dot(noise, noise)
    return x + noise * np.sqrt(ratio / np.float32(10))


AUDIO_CASES: dict[str, Case] = {
    "spec_augment": Case(lambda d, x: d.fn.spec_augment(x), ("mel",), torchaudio=_masked),
    "gain": Case(
        lambda d, x: d.fn.gain(x, db=6.0),
        ("signal",),
        numpy=lambda x: x * np.float32(10 ** (6 / 20)),
        torchaudio=lambda torchaudio, x: torchaudio.functional.gain(x, 6.0),
    ),
    "gain, peak": Case(
        lambda d, x: d.fn.gain(x, normalize="peak"),
        ("signal",),
        numpy=lambda x: x / np.abs(x).max(),
        librosa=lambda librosa, x: librosa.util.normalize(x),
    ),
    "dither": Case(
        lambda d, x: d.fn.dither(x),
        ("signal",),
        numpy=lambda x: x + np.float32(1e-5) * RANDOM.standard_normal(x.shape, np.float32),
    ),
    "add_noise": Case(
        lambda d, x, noise: d.fn.add_noise(x, noise, snr=10.0),
        ("signal", "signal"),
        numpy=_noisy,
        torchaudio=_torchaudio_noisy,
    ),
    # librosa has a phase vocoder, another method.
    "time_stretch": Case(
        lambda d, x: d.fn.time_stretch(x, rate=1.1),
        ("signal",),
        librosa=lambda librosa, x: librosa.effects.time_stretch(x, rate=1.1),
    ),
    "audio_resample": Case(
        lambda d, x: d.fn.audio_resample(x, in_rate=16000.0, out_rate=22050.0), ("signal",)
    ),
    "preemphasis_filter": Case(
        lambda d, x: d.fn.preemphasis_filter(x),
        ("signal",),
        numpy=lambda x: x - np.float32(0.97) * np.concatenate([x[:1], x[:-1]]),
    ),
    "nonsilent_region": Case(lambda d, x: d.fn.nonsilent_region(x, cutoff_db=-40.0), ("signal",)),
    "spectrogram": Case(
        lambda d, x: d.fn.spectrogram(x, nfft=NFFT, window_length=WINDOW, window_step=STEP),
        ("signal",),
        numpy=_spectrogram,
    ),
    "spectrogram tf": Case(
        lambda d, x: d.fn.spectrogram(
            x, nfft=NFFT, window_length=WINDOW, window_step=STEP, layout="tf"
        ),
        ("signal",),
    ),
    "spectrogram 400": Case(
        lambda d, x: d.fn.spectrogram(x, nfft=400, window_length=400, window_step=STEP),
        ("signal",),
    ),
    "power_spectrum": Case(
        lambda d, x: d.fn.power_spectrum(x),
        ("frames",),
        numpy=lambda x: np.square(np.abs(np.fft.rfft(x))),
    ),
    "mel_filter_bank": Case(
        lambda d, x: d.fn.mel_filter_bank(x, sample_rate=float(RATE), nfilter=FILTERS),
        ("powers",),
    ),
    "to_decibels": Case(
        lambda d, x: d.fn.to_decibels(x, cutoff_db=-80.0), ("mel",), numpy=_decibels
    ),
    "to_decibels, reference 1": Case(
        lambda d, x: d.fn.to_decibels(x, cutoff_db=-80.0, reference=1.0), ("mel",), numpy=_decibels
    ),
    "mfcc": Case(lambda d, x: d.fn.mfcc(x, n_mfcc=20, lifter=22.0), ("mel",)),
}
