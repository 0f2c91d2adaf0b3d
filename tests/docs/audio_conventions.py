# SPDX-License-Identifier: Apache-2.0
"""Prints the features of a signal as torchaudio, librosa, Whisper and NeMo compute them.

A program for the Python of `make peers`: audio_conventions.py SIGNAL.npy FOLDER. Whisper and NeMo
are not installed: their steps are written with torch, and the filters are librosa's, as theirs are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import librosa
import numpy as np
import torch
import torchaudio

signal = np.load(sys.argv[1])
samples = torch.from_numpy(signal)
RATE = 16000


def powers(x: torch.Tensor, nfft: int, length: int, *, periodic: bool, pad: str) -> torch.Tensor:
    """Returns a power spectrogram with steps of 10 ms."""
    window = torch.hann_window(length, periodic=periodic)
    spectrum = torch.stft(x, nfft, 160, length, window, pad_mode=pad, return_complex=True)
    return spectrum.abs() ** 2


def filters(nfft: int) -> torch.Tensor:
    """Returns 80 filters."""
    return torch.from_numpy(librosa.filters.mel(sr=RATE, n_fft=nfft, n_mels=80))


def whisper() -> torch.Tensor:
    """log_mel_spectrogram() of Whisper."""
    mel = filters(400) @ powers(samples, 400, 400, periodic=True, pad="reflect")[:, :-1]
    log = mel.clamp(min=1e-10).log10()
    return (torch.maximum(log, log.max() - 8.0) + 4.0) / 4.0


def nemo() -> torch.Tensor:
    """AudioToMelSpectrogramPreprocessor of NeMo, without dither."""
    emphasized = torch.cat([samples[:1], samples[1:] - 0.97 * samples[:-1]])
    mel = filters(512) @ powers(emphasized, 512, 320, periodic=False, pad="constant")
    log = torch.log(mel + 2**-24)
    return (log - log.mean(1, keepdim=True)) / (log.std(1, keepdim=True) + 1e-5)


to_decibels = torchaudio.transforms.AmplitudeToDB()
features = {
    "torchaudio_mel": to_decibels(torchaudio.transforms.MelSpectrogram(RATE)(samples)),
    "librosa_mel": librosa.power_to_db(
        librosa.feature.melspectrogram(y=signal, sr=RATE), ref=np.max
    ),
    "whisper_mel": whisper(),
    "nemo_mel": nemo(),
}
for name, values in features.items():
    np.save(Path(sys.argv[2], f"{name}.npy"), np.asarray(values))
