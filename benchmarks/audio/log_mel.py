# SPDX-License-Identifier: Apache-2.0
"""From encoded clips in memory to log-mel features: 80 filters, windows of 20 ms every 10 ms.

torchdali and DALI have the same pipeline. Other libraries decode with soundfile in the workers of
torch's DataLoader, which joins the features of a batch along the time. Axes: ``clips``: "wav" or
"flac" (real clips of ``data``) or "made" (WAV files of 10 s); ``threads``, for torch's DataLoader
the number of workers; ``seed``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audio import clips
from benchmarks.peers import api

PEERS = ["torchdali", "dali", "torchaudio", "librosa", "kaldi"]
RATE, NFFT, WINDOW, STEP, FILTERS = 16000, 512, 320, 160, 80
MADE, MADE_S = 32, 10.0


def _torchaudio() -> Callable[[Any], Any]:
    import torch
    import torchaudio

    mel = torchaudio.transforms.MelSpectrogram(
        RATE, n_fft=NFFT, win_length=WINDOW, hop_length=STEP, n_mels=FILTERS
    )
    decibels = torchaudio.transforms.AmplitudeToDB()
    return lambda signal: decibels(mel(torch.from_numpy(signal)))


def _librosa() -> Callable[[Any], Any]:
    import librosa
    import torch

    def features(signal: Any) -> Any:
        mel = librosa.feature.melspectrogram(
            y=signal, sr=RATE, n_fft=NFFT, win_length=WINDOW, hop_length=STEP, n_mels=FILTERS
        )
        return torch.from_numpy(librosa.power_to_db(mel))

    return features


def _kaldi() -> Callable[[Any], Any]:
    import kaldi_native_fbank
    import torch

    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.samp_freq = RATE
    options.frame_opts.dither = 0.0
    options.frame_opts.frame_length_ms = 1000 * WINDOW / RATE
    options.frame_opts.frame_shift_ms = 1000 * STEP / RATE
    options.frame_opts.preemph_coeff = 0.0
    options.frame_opts.remove_dc_offset = False
    options.frame_opts.window_type = "hanning"
    options.frame_opts.snip_edges = False
    options.mel_opts.num_bins = FILTERS

    def features(signal: Any) -> Any:
        bank = kaldi_native_fbank.OnlineFbank(options)
        bank.accept_waveform(RATE, signal.tolist())  # faster than an array
        bank.input_finished()
        frames = [bank.get_frame(i) for i in range(bank.num_frames_ready)]
        return torch.from_numpy(np.stack(frames, axis=1))

    return features


class Clips:
    """A dataset of features, for torch's DataLoader."""

    def __init__(self, files: list[bytes], features: Callable[[Any], Any]) -> None:
        self.files = files
        self.features = features

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: int) -> Any:
        return self.features(clips.read_with_soundfile(self.files[index % len(self.files)]))


def _one_thread(_: int) -> None:
    # Matrix products of NumPy; the loader does the same for torch.
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)


def _joined(batch: list[Any]) -> Any:
    import torch

    return torch.cat(batch, dim=1), torch.tensor([item.shape[1] for item in batch])


def files_of(axes: dict[str, Any]) -> list[bytes]:
    """Returns the encoded clips."""
    if axes["clips"] == "made":
        return clips.made(MADE, MADE_S, RATE)
    return [Path(path).read_bytes() for path in clips.find(axes["data"], axes["clips"])]


def define(dali: Any, encoded: Any) -> Any:
    """Returns the features of encoded clips."""
    signal, _ = dali.fn.decoders.audio(encoded, downmix=True, dtype=dali.types.FLOAT)
    spectrogram = dali.fn.spectrogram(signal, nfft=NFFT, window_length=WINDOW, window_step=STEP)
    mel = dali.fn.mel_filter_bank(spectrogram, sample_rate=float(RATE), nfilter=FILTERS)
    return dali.fn.to_decibels(mel, cutoff_db=-80.0)


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its duration."""
    files = files_of(axes)
    lasting = clips.durations(files)
    if peer in ("torchdali", "dali"):
        dali = api(peer)
        arrays = clips.as_arrays(files)
        return clips.pipeline_step(dali, axes, arrays, lambda x: define(dali, x), lasting)

    import torch

    features = {"torchaudio": _torchaudio, "librosa": _librosa, "kaldi": _kaldi}[peer]()
    torch.set_num_threads(1)
    shape = features(clips.read_with_soundfile(files[0])).shape
    # Every peer has to produce the same layout and, up to the padding, the same number of frames.
    frames = lasting[0] * RATE / clips.UNITS_PER_S / STEP
    assert shape[0] == FILTERS and abs(shape[1] - frames) < 4, shape  # noqa: PT018
    loader = torch.utils.data.DataLoader(
        Clips(files, features),  # type: ignore[arg-type]
        batch_size=clips.BATCH,
        sampler=range(1 << 40),  # type: ignore[arg-type]
        num_workers=axes["threads"],
        worker_init_fn=_one_thread,
        collate_fn=_joined,
    )
    made = iter(loader)
    return clips.counted(lambda: next(made), lasting)
