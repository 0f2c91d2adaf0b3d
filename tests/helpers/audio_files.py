# SPDX-License-Identifier: Apache-2.0
"""Encoded audio: a writer of WAV files, of wrong ones too, and libsndfile's encoder."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
import torch

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
_GUID_END = bytes.fromhex("000000001000800000aa00389b71")


def sound(frames: int = 1000, channels: int = 1, seed: int = 0, noise: float = 0.1) -> np.ndarray:
    """Returns slow tones with noise, float64 [frames, channels] in [-1, 1]."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None]
    tones = np.sin(t * (0.02 + 0.01 * np.arange(channels)) + seed)
    return np.clip(0.8 * tones + rng.normal(0, noise, (frames, channels)), -1, 1 - 2**-16)


def to_pcm(x: np.ndarray, bits: int) -> np.ndarray:
    """Returns signals as int32 of ``bits`` bits."""
    return np.round(x * (2 ** (bits - 1) - 1)).astype(np.int32)


def chunk(name: bytes, data: bytes, size: int | None = None) -> bytes:
    """Returns a chunk of a RIFF file; ``size`` is what it claims."""
    return (
        name + struct.pack("<I", len(data) if size is None else size) + data + bytes(len(data) % 2)
    )


def samples(data: np.ndarray, bits: int) -> bytes:
    """Returns integers, of 8 bits unsigned, or floats as WAV files have them."""
    if data.dtype.kind == "f":
        return data.astype(f"<f{bits // 8}").tobytes()
    if bits == 8:
        return (data + 128).astype(np.uint8).tobytes()
    return data.astype("<i4").reshape(-1, 1).view(np.uint8)[:, : bits // 8].tobytes()


def wav(
    data: np.ndarray,
    bits: int = 16,
    rate: int = 16000,
    *,
    extensible: bool = False,
    before: bytes = b"",
    size: int | None = None,
    riff: bytes = b"RIFF",
    **fields: int,
) -> bytes:
    """Returns a WAV file of [frames, channels].

    Args:
        data: integers of ``bits`` bits, or floats.
        bits: of a sample.
        rate: frames per second.
        extensible: has the long form of the header.
        before: chunks before that of the samples.
        size: what the chunk of the samples claims.
        riff: the first four bytes.
        fields: other values of the header: tag, channels, align, bits_claimed.
    """
    tag = fields.get("tag", FLOAT if data.dtype.kind == "f" else PCM)
    channels = fields.get("channels", data.shape[1])
    align = fields.get("align", data.shape[1] * bits // 8)
    claimed = fields.get("bits_claimed", bits)
    code = EXTENSIBLE if extensible else tag
    form = struct.pack("<HHIIHH", code, channels, rate, rate * align, align, claimed)
    if extensible:
        form += struct.pack("<HHIH", 22, claimed, 0, tag) + _GUID_END
    body = b"WAVE" + before + chunk(b"fmt ", form) + chunk(b"data", samples(data, bits), size)
    return riff + struct.pack("<I", len(body) % 2**32) + body


def encoded(x: np.ndarray, container: str, encoding: str, rate: int = 16000) -> bytes:
    """Returns a file that libsndfile has encoded; skips the test without the package."""
    soundfile = pytest.importorskip("soundfile")
    file = io.BytesIO()
    soundfile.write(file, x, rate, format=container, subtype=encoding)
    return file.getvalue()


def as_tensor(file: bytes) -> torch.Tensor:
    """Returns a file as an operator takes it."""
    return torch.from_numpy(np.frombuffer(file, np.uint8).copy())
