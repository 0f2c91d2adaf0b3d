# SPDX-License-Identifier: Apache-2.0
"""Resampling of clips in memory, float32, 10 s, one channel, one thread.

Axes: ``rates``, a name of RATES; ``threads``; ``seed``. torchdali and DALI have ``quality=50``,
soxr "HQ", torchaudio its defaults, whose filter is shorter. DALI does not remove frequencies that
the lower rate cannot represent, as ``torchdali-antialias``, soxr and torchaudio do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.audio import clips
from benchmarks.peers import api

PEERS = ["torchdali", "dali", "torchdali-antialias", "soxr", "torchaudio"]
RATES = {
    "44.1 → 16 kHz": (44100, 16000),
    "48 → 16 kHz": (48000, 16000),
    "8 → 16 kHz": (8000, 16000),
}
COUNT, SECONDS = 16, 10.0


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that resamples one batch and returns its duration."""
    rate_in, rate_out = RATES[axes["rates"]]
    signals = [clips.speech(SECONDS, rate_in, seed) for seed in range(COUNT)]
    lasting = [round(SECONDS * clips.UNITS_PER_S)]
    if peer == "soxr":
        import soxr

        def resample(signal: Any) -> Any:
            return soxr.resample(signal, rate_in, rate_out, quality="HQ")

        return clips.loop_step(signals, resample, lasting)
    if peer == "torchaudio":
        import torch
        import torchaudio

        torch.set_num_threads(1)
        transform = torchaudio.transforms.Resample(rate_in, rate_out)
        return clips.loop_step([torch.from_numpy(s) for s in signals], transform, lasting)
    dali = api(peer)

    antialias = {"antialias": True} if peer == "torchdali-antialias" else {}

    def define(signal: Any) -> Any:
        return dali.fn.audio_resample(
            signal, in_rate=rate_in, out_rate=rate_out, quality=50.0, **antialias
        )

    return clips.pipeline_step(dali, axes, signals, define, lasting)
