# SPDX-License-Identifier: Apache-2.0
"""Clips that the benchmarks of audio make, and real ones."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Batches are counted in milliseconds of audio.
UNITS_PER_S = 1000
BATCH = 32


def speech(seconds: float, rate: int, seed: int) -> np.ndarray:
    """Returns a signal like speech: harmonics of a wandering pitch in syllables, with noise."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    knots = np.linspace(0, max(seconds, 0.1), 2 + round(seconds * 4))
    pitch = np.interp(time, knots, random.uniform(90, 220, len(knots)))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    loudness = np.interp(time, knots, random.uniform(0, 1, len(knots)))
    signal = sum(np.sin(k * phase) / k for k in range(1, 20))
    signal = 0.2 * loudness * signal + 0.003 * random.standard_normal(len(time))
    return signal.clip(-1, 1).astype(np.float32)


def wav(signal: np.ndarray, rate: int) -> bytes:
    """Returns a WAV file with 16-bit PCM; ``signal``: [frames] or [frames, channels]."""
    channels = 1 if signal.ndim == 1 else signal.shape[1]
    data = np.round(signal * 32767).astype("<i2").tobytes()
    head = struct.pack("<HHIIHH", 1, channels, rate, 2 * channels * rate, 2 * channels, 16)
    body = b"WAVEfmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", len(data))
    return b"RIFF" + struct.pack("<I", len(body) + len(data)) + body + data


def made(count: int, seconds: float, rate: int, channels: int = 1) -> list[bytes]:
    """Returns WAV files, each with other contents."""
    if channels == 1:
        return [wav(speech(seconds, rate, seed), rate) for seed in range(count)]
    return [
        wav(np.stack([speech(seconds, rate, 97 * seed + c) for c in range(channels)], 1), rate)
        for seed in range(count)
    ]


def find(data: str | None, kind: str) -> list[str]:
    """Returns the files DATA/KIND/*.KIND, sorted; none if there is no such folder."""
    return sorted(map(str, Path(data, kind).glob(f"*.{kind}"))) if data else []


def durations(files: Sequence[bytes]) -> list[int]:
    """Returns the duration of WAV, FLAC and Ogg Vorbis files in units."""
    return [round(UNITS_PER_S * _seconds(data)) for data in files]


def _seconds(data: bytes) -> float:
    if data[:4] == b"RIFF":
        per_second = struct.unpack_from("<I", data, 28)[0]
        at = data.index(b"data")
        return float(struct.unpack_from("<I", data, at + 4)[0] / per_second)
    if data[:4] == b"fLaC":  # RFC 9639: STREAMINFO is first; 20 bits are the rate, 36 the length
        bits = int.from_bytes(data[18:26], "big")
        return float((bits & (1 << 36) - 1) / (bits >> 44))
    # RFC 3533: a page has its last position at byte 6. The header of Vorbis has the rate at 12.
    rate = struct.unpack_from("<I", data, data.index(b"\x01vorbis") + 12)[0]
    return float(struct.unpack_from("<q", data, data.rindex(b"OggS") + 6)[0] / rate)


def batches(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Returns endless batches of the values, one after the other."""
    endless = itertools.cycle(values)
    while True:
        yield list(itertools.islice(endless, BATCH))


def counted(run: Callable[[], Any], lasting: Sequence[int]) -> Callable[[], int]:
    """Returns a step of a pipeline whose batches hold files with these durations, in order."""
    lengths = batches(lasting)

    def step() -> int:
        run()
        return sum(next(lengths))

    return step


def pipeline_step(
    dali: Any,
    axes: dict[str, Any],
    values: Sequence[np.ndarray],
    define: Callable[[Any], Any],
    lasting: Sequence[int],
) -> Callable[[], int]:
    """Returns a step of the pipeline that ``define`` defines from values in memory."""
    fed = batches(values)

    @dali.pipeline_def(
        batch_size=BATCH,
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def definition() -> Any:
        source = dali.fn.external_source(source=lambda: next(fed), batch=True, no_copy=True)
        return define(source)

    pipeline = definition()
    pipeline.build()
    return counted(pipeline.run, lasting)


def loop_step(
    values: Sequence[Any], function: Callable[[Any], Any], lasting: Sequence[int]
) -> Callable[[], int]:
    """Returns a step that calls a function for each value of a batch."""
    fed = batches(values)
    return counted(lambda: [function(value) for value in next(fed)], lasting)


def as_arrays(files: Sequence[bytes]) -> list[np.ndarray]:
    """Returns files as a pipeline takes them."""
    return [np.frombuffer(data, np.uint8) for data in files]


def read_with_soundfile(data: bytes) -> Any:
    """Returns the samples of a file as float32."""
    import soundfile

    return soundfile.read(io.BytesIO(data), dtype="float32")[0]
