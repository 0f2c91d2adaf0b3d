# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.audio: files that the tests write, with their samples as the reference."""

from __future__ import annotations

import io
import math
import struct

import numpy as np
import pytest
import torch
from helpers.audio_files import as_tensor, chunk, encoded, samples, sound, to_pcm, wav
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_dali, run_op

from torchdali import types

OP = "decoders.audio"
INTEGERS = {types.INT16: 16, types.INT32: 32}
NOT_IN_DALI = "DALI has no such argument"


def pcm_file(i: int, bits: int = 16, channels: int = 1) -> torch.Tensor:
    return as_tensor(wav(to_pcm(sound(700 + 100 * i, channels, seed=i), bits), bits))


def tones(i: int, channels: int, rate: int) -> torch.Tensor:
    """Without noise, where it matters less that DALI's positions are not exact."""
    x = sound(700 + 100 * i, channels, seed=i, noise=0)
    return as_tensor(wav(to_pcm(x, 16), rate=rate))


def float_file(i: int, bits: int = 32, channels: int = 1) -> torch.Tensor:
    return as_tensor(wav(sound(700, channels, seed=i), bits))


def case(make, algorithm="exact", no_parity="", **args) -> OpCase:
    return OpCase(OP, make=make, args=args, algorithm=algorithm, no_parity=no_parity)


CASES = [
    *(
        case(lambda i, b=bits, c=channels: pcm_file(i, b, c), dtype=dtype, downmix=downmix)
        for bits in (8, 16, 24, 32)
        for channels, downmix in ((1, False), (2, False), (2, True), (3, True))
        for dtype in (types.FLOAT, *INTEGERS)
    ),
    *(
        case(lambda i, b=bits: float_file(i, b, 2), downmix=downmix)
        for bits in (32, 64)
        for downmix in (False, True)
    ),
    case(
        lambda i: float_file(i),
        dtype=types.INT16,
        no_parity="DALI makes all samples 0 or 1: it does not scale them",
    ),
    *(
        case(
            lambda i, c=channels, r=rate: tones(i, c, r),
            "resample_signal",
            dtype=dtype,
            downmix=downmix,
            sample_rate=PerSample([16000.0, float(rate), 8000.0]),
        )
        for channels, downmix in ((1, False), (2, False), (2, True))
        for dtype, rate in ((types.FLOAT, 22050), *((dtype, 32000) for dtype in INTEGERS))
    ),
    case(lambda i: pcm_file(i), no_parity=NOT_IN_DALI, start=0.01, duration=0.02),
    case(
        lambda i: pcm_file(i, 16, 2),
        no_parity=NOT_IN_DALI,
        downmix=True,
        start=PerSample([0.0, 0.02, 0.03]),
        duration=PerSample([1.0, 0.01, 0.0]),
    ),
]


def decode(file: bytes, **args) -> np.ndarray:
    return run_op(OP, as_tensor(file), **args)[0].numpy()


def rounded(x: np.ndarray, bits: int) -> np.ndarray:
    """Floats as integers: halves are rounded away from 0, and values saturate."""
    limit = 2 ** (bits - 1)
    with np.errstate(over="ignore"):
        scaled = (np.asarray(x, np.float32) * np.float32(limit - 1)).astype(np.float64)
    away = np.trunc(scaled + np.copysign(0.5, scaled))
    return np.clip(np.nan_to_num(away), -limit, limit - 1).astype(np.int64)


@for_each("bits", [8, 16, 24, 32])
def test_integers_are_scaled_by_powers_of_two(bits):
    limit = 2 ** (bits - 1)
    x = np.array([0, 1, -1, 2, limit - 1, -limit, limit // 3, -limit // 3])[:, None]
    for extensible in (False, True):
        file = wav(x, bits, extensible=extensible)
        assert np.array_equal(decode(file), (x / limit).astype(np.float32))
        for dtype, to in INTEGERS.items():
            wide = x.astype(np.int64) << (32 - bits)
            assert np.array_equal(decode(file, dtype=dtype), wide >> (32 - to))


@for_each("bits", [32, 64])
def test_floats_are_unchanged_and_saturate_as_integers(bits):
    x = np.array([0, 1, -1, 1.5, -1e30, 0.5, 0.5 / 32767, -2.5 / 32767, np.inf, np.nan])[:, None]
    file = wav(x, bits)
    with np.errstate(over="ignore"):
        assert np.array_equal(decode(file), x.astype(np.float32), equal_nan=True)
    for dtype, to in INTEGERS.items():
        assert np.array_equal(decode(file, dtype=dtype), rounded(x, to))


@for_each("channels", [1, 2, 3, 7])
def test_downmix_is_the_mean(channels):
    x = to_pcm(sound(5000, channels), 16)
    mean = decode(wav(x), downmix=True)
    assert mean.shape == (5000,)
    np.testing.assert_allclose(mean, x.mean(1) / 32768, atol=2e-7)


def test_the_sample_rate_is_that_of_the_result():
    file = as_tensor(wav(to_pcm(sound(441), 16), rate=44100))
    for args, rate, frames in (({}, 44100, 441), ({"sample_rate": 16000.0}, 16000, 160)):
        audio, out_rate = run_op(OP, file, **args)
        assert (audio.shape, out_rate.shape, out_rate.dtype) == ((frames, 1), (), torch.float32)
        assert out_rate == rate


def test_resampling_is_that_of_audio_resample():
    x = to_pcm(sound(4000, 2), 16)
    for downmix, antialias in ((False, True), (True, True), (True, False)):
        args = {"quality": 20.0, "antialias": antialias}
        whole = run_op(OP, as_tensor(wav(x)), downmix=downmix)[0]
        expected = run_op("audio_resample", whole, in_rate=22050.0, out_rate=16000.0, **args)
        actual = decode(wav(x, rate=22050), downmix=downmix, sample_rate=16000.0, **args)
        assert np.array_equal(actual, expected.numpy())


PARTS = [(0.0, 0.1), (0.05, 0.1), (0.1, math.inf), (0.123456, 0.0314), (0.25, 0.0), (0.24, 0.1)]


@for_each("container, encoding", [("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS")])
def test_a_part_is_a_slice_of_the_whole(container, encoding):
    file = encoded(sound(4000, 2), container, encoding)
    for dtype in (types.FLOAT, types.INT16):
        whole = decode(file, dtype=dtype)
        for start, duration in PARTS:
            begin = round(start * 16000)
            end = min(4000, begin + round(min(duration, 1) * 16000))
            part = decode(file, dtype=dtype, start=start, duration=duration)
            assert np.array_equal(part, whole[begin:end])


@for_each(
    "container, encoding",
    [
        *(("FLAC", name) for name in ("PCM_S8", "PCM_16", "PCM_24")),
        *(("WAV", name) for name in ("ULAW", "ALAW")),
        *(("AIFF", name) for name in ("PCM_16", "FLOAT")),
        ("OGG", "VORBIS"),
        ("OGG", "OPUS"),
        ("MP3", "MPEG_LAYER_III"),
    ],
)
def test_other_files_are_decoded_by_libsndfile(container, encoding):
    soundfile = pytest.importorskip("soundfile")
    x = sound(9600, 2)
    file = encoded(x, container, encoding, 48000)
    expected, rate = soundfile.read(io.BytesIO(file), dtype="float32", always_2d=True)
    assert rate == 48000
    assert np.array_equal(decode(file), expected)
    if encoding in ("VORBIS", "OPUS", "MPEG_LAYER_III", "FLOAT"):
        assert np.array_equal(decode(file, dtype=types.INT16), rounded(expected, 16))
    else:
        integers, _ = soundfile.read(io.BytesIO(file), dtype="int16", always_2d=True)
        assert np.array_equal(decode(file, dtype=types.INT16), integers)


def test_a_part_of_the_last_page_of_a_vorbis_file():
    # 99,999 is in the middle of the last page, where libsndfile's own positions are wrong.
    file = encoded(sound(100000, 2), "OGG", "VORBIS")
    whole = decode(file)
    for begin in (94000, 97000, 99999):
        part = decode(file, start=begin / 16000, duration=0.01)
        assert np.array_equal(part, whole[begin : begin + 160])


@for_each("encoding", ["GSM610", "NMS_ADPCM_16"])
def test_a_part_of_a_file_in_which_libsndfile_cannot_seek(encoding):
    file = encoded(sound(4000), "WAV", encoding)
    assert np.array_equal(decode(file, start=0.0123, duration=0.1), decode(file)[197:1797])


@for_each("rate", [16000, 44100])
def test_mp3_files_that_do_not_say_their_length(rate):
    x = sound(50000) * np.linspace(1, 0, 50000)[:, None] ** 4  # fewer and fewer bits
    file = encoded(x, "MP3", "MPEG_LAYER_III", rate)
    whole = decode(file)
    assert len(whole) == 50000
    tag = max(file.find(b"Xing"), file.find(b"Info"))
    assert tag > 0
    counted = decode(file[file.index(b"\xff" + file[1:2], tag) :])
    assert len(counted) % 576 == 0
    delay = 576 + 529  # of the encoder and the decoder
    assert np.allclose(counted[delay : delay + 50000], whole, atol=1e-6)


def test_wav_files_of_unusual_form():
    x = to_pcm(sound(500, 2), 16)
    plain = wav(x)
    expected = decode(plain)
    size = len(samples(x, 16))
    ds64 = chunk(b"ds64", struct.pack("<QQQI", size + 80, size, 500, 0))
    for file in (
        wav(x, before=chunk(b"LIST", b"of odd size")),
        wav(x, before=ds64, size=2**32 - 1, riff=b"RF64"),
        wav(x, before=ds64, size=2**32 - 1, riff=b"BW64"),
        wav(x, size=2**32 - 1),  # written to a pipe
        wav(x, size=2**31),
        plain + chunk(b"LIST", b"after the samples"),
        plain[:4] + b"\x08\0\0\0" + plain[8:40] + bytes(4) + plain[44:],  # never closed
        wav(x, align=0),
        wav(x, bits_claimed=13),
    ):
        assert np.array_equal(decode(file), expected)
    # 20 bits in 3 and in 4 bytes: the upper ones
    y = to_pcm(sound(500), 20)
    for bits in (24, 32):
        file = wav(y << (bits - 20), bits, bits_claimed=20)
        assert np.array_equal(decode(file), (y / 2**19).astype(np.float32))


def test_a_truncated_wav_file_ends_with_its_last_complete_frame():
    x = to_pcm(sound(500, 2), 16)
    whole = decode(wav(x))
    for cut in (1, 4, 5, 1999, 2000):
        assert np.array_equal(decode(wav(x)[:-cut]), whole[: (2000 - cut) // 4])


@pytest.mark.dali
@for_each("dtype", [types.FLOAT, *INTEGERS])
@for_each("kind", ["flac", "wav", "ogg"])
def test_real_files_are_those_of_dali(real_data, kind, dtype):
    if kind != "wav":
        pytest.importorskip("soundfile")
    files = [
        as_tensor(path.read_bytes()) for path in sorted((real_data / "audio" / kind).iterdir())
    ]
    assert files
    for downmix in (False, True):
        args = {"dtype": dtype, "downmix": downmix}
        real = case(lambda i: files[i], **args).replace(batch=len(files))
        ours = run_case(real).samples()
        dalis = [output.samples for output in run_dali(real, 2)]
        for a, b in zip(ours[0], dalis[0], strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if kind == "ogg":  # another version of libvorbis
                difference = (a.double() - b.double()).abs()
                if dtype != types.FLOAT:  # what saturates here overflows in DALI
                    limits = torch.iinfo(a.dtype)
                    difference[(a == limits.min) | (a == limits.max)] = 0
                assert (
                    difference.max().item()
                    <= {types.FLOAT: 1e-6, types.INT16: 1, types.INT32: 2**12}[dtype]
                )
            else:
                assert torch.equal(a, b)
        assert all(map(torch.equal, ours[1], dalis[1]))
