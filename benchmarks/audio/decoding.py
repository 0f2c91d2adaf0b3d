# SPDX-License-Identifier: Apache-2.0
"""Decoding files in memory to float32 on one thread.

Axes: ``work``, a name of WORK; ``threads``; ``data`` (folder of real clips); ``seed``. DALI 1.35
cannot decode a part of a file: it decodes all and slices.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audio import clips
from benchmarks.peers import api

PEERS = ["torchdali", "dali", "soundfile"]


@dataclass(frozen=True)
class Work:
    """What is decoded.

    Args:
        kind: format of the real clips, or of those that are made.
        count, seconds, rate, channels: of the clips that are made; 0: real clips.
        slice_s: decode that much, from a random position; 0: whole files.
    """

    kind: str
    count: int = 0
    seconds: float = 0.0
    rate: int = 16000
    channels: int = 1
    slice_s: float = 0.0

    @property
    def is_real(self) -> bool:
        """Whether it needs real clips."""
        return self.count == 0


WORK = {
    "WAV, 5 s of 60 s at 16 kHz": Work("wav", 8, 60.0, slice_s=5.0),
    "WAV, 5 s of 60 s at 44.1 kHz, stereo": Work("wav", 4, 60.0, 44100, 2, slice_s=5.0),
    "WAV, 10 s at 16 kHz": Work("wav", 32, 10.0),
    "WAV, LibriSpeech": Work("wav"),
    "FLAC, LibriSpeech": Work("flac"),
    "Ogg Vorbis, LibriSpeech": Work("ogg"),
}


def _positions(work: Work, seed: int) -> Any:
    random = np.random.default_rng(seed)
    while True:
        yield random.uniform(0, work.seconds - work.slice_s, (clips.BATCH, 1)).astype(np.float32)


def _slices(peer: str, work: Work, axes: dict[str, Any], files: list[bytes]) -> Callable[[], int]:
    lasting = [round(work.slice_s * clips.UNITS_PER_S)]
    positions = _positions(work, axes["seed"])
    if peer == "soundfile":
        import soundfile

        fed, length = clips.batches(files), round(work.slice_s * work.rate)

        def read(data: bytes, position: float) -> Any:
            with soundfile.SoundFile(io.BytesIO(data)) as file:
                file.seek(round(float(position[0]) * work.rate))
                return file.read(length, dtype="float32")

        def run() -> Any:
            return [read(*each) for each in zip(next(fed), next(positions), strict=True)]

        return clips.counted(run, lasting)
    dali = api(peer)

    def define(encoded: Any) -> Any:
        start = dali.fn.external_source(source=lambda: next(positions), batch=True)
        if peer == "torchdali":
            return dali.fn.decoders.audio(encoded, start=start, duration=work.slice_s)[0]
        signal, _ = dali.fn.decoders.audio(encoded)
        length = round(work.slice_s * work.rate)
        start = dali.fn.cast(start * float(work.rate), dtype=dali.types.INT32)
        return dali.fn.slice(signal, start=start, shape=[length], axes=[0])

    return clips.pipeline_step(dali, axes, clips.as_arrays(files), define, lasting)


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that decodes one batch and returns its duration."""
    work = WORK[axes["work"]]
    if work.is_real:
        files = [Path(path).read_bytes() for path in clips.find(axes["data"], work.kind)]
    else:
        files = clips.made(work.count, work.seconds, work.rate, work.channels)
    if work.slice_s:
        return _slices(peer, work, axes, files)
    lasting = clips.durations(files)
    if peer == "soundfile":
        return clips.loop_step(files, clips.read_with_soundfile, lasting)
    dali = api(peer)
    arrays = clips.as_arrays(files)
    return clips.pipeline_step(
        dali, axes, arrays, lambda encoded: dali.fn.decoders.audio(encoded)[0], lasting
    )
