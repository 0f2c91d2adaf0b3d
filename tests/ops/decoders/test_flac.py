# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.audio: FLAC files of all codings, against their samples and libsndfile."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from helpers.audio_files import as_tensor, sound, to_pcm
from helpers.cases import for_each
from helpers.flac_files import (
    INDEPENDENT,
    LEFT_SIDE,
    MID_SIDE,
    SIDE_RIGHT,
    Coding,
    block,
    flac,
    frame,
    stream_info,
)
from helpers.ops import run_op

from torchdali import types
from torchdali.errors import DataError

OPERATORS = ["decoders.audio"]
RATE = 16000
LPC = {
    n: [
        int(1000 * (1.9 if n > 1 else 0.9)) if j == 0 else (-950 if j == 1 else 0) for j in range(n)
    ]
    for n in range(1, 33)
}


def decode(file: bytes, **args) -> np.ndarray:
    return np.asarray(run_op("decoders.audio", as_tensor(file), **args)[0])


def pcm(frames: int, channels: int, bits: int, seed: int = 0) -> np.ndarray:
    x = sound(frames, channels, seed=seed, noise=0.01)
    return np.round(x * (2 ** (bits - 1) - 1)).astype(np.int64)


def check(file: bytes, x: np.ndarray, bits: int) -> None:
    ints = decode(file, dtype=types.INT32)
    assert np.array_equal(ints.reshape(x.shape), (x << (32 - bits)).astype(np.int32))
    shorts = decode(file, dtype=types.INT16).reshape(x.shape)
    assert np.array_equal(shorts, (x << (32 - bits)) >> 16)
    floats = decode(file).reshape(x.shape)
    assert np.array_equal(floats, x.astype(np.float32) * np.float32(2.0 ** (1 - bits)))


@for_each(
    "coding",
    [
        Coding("verbatim"),
        *(Coding("fixed", order) for order in range(5)),
        *(Coding("lpc", coefficients=LPC[n], shift=10, rice=7) for n in (*range(1, 14), 20, 32)),
        *(Coding(rice=k) for k in (3, 11, 12, 14)),
        *(Coding(rice=k, wide_rice=True) for k in (5, 14, 15, 20, 30)),
        *(Coding(partitions=p) for p in (1, 3, 5)),
        Coding(partitions=2, rice=None),
        Coding(rice=None, wide_rice=True),
        *(Coding(stereo=stereo, rice=9) for stereo in (LEFT_SIDE, SIDE_RIGHT, MID_SIDE)),
        Coding("verbatim", stereo=MID_SIDE),
        Coding(block=1000, partitions=3),
    ],
)
def test_codings(coding):
    # A last block of 256 - 32, which all partitions divide.
    frames = 3 * coding.block if coding.block == 1000 else 992
    x = pcm(frames, 2, 16)
    check(flac(x, codings=[coding]), x, 16)


@for_each("bits", [4, 8, 12, 15, 16, 17, 20, 24, 31, 32])
@for_each("stereo", [INDEPENDENT, LEFT_SIDE, SIDE_RIGHT, MID_SIDE])
def test_bits_of_a_sample(bits, stereo):
    x = np.random.default_rng(bits).integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (300, 2))
    x[:4] = [[2 ** (bits - 1) - 1, -(2 ** (bits - 1))]] * 2 + [[-(2 ** (bits - 1))] * 2] * 2
    codings = [Coding("verbatim", stereo=stereo)]
    if bits <= 24:
        codings.append(Coding("fixed", 2, rice=None, stereo=stereo))
    check(flac(x, bits, codings=codings), x, bits)


@for_each("channels", range(1, 9))
def test_channels(channels):
    x = pcm(700, channels, 16)
    check(flac(x), x, 16)


@for_each("wasted", [1, 3, 15])
def test_wasted_bits(wasted):
    x = pcm(600, 2, 16) >> wasted << wasted
    check(flac(x, codings=[Coding("verbatim", wasted=wasted), Coding(wasted=wasted)]), x, 16)


def test_constants():
    x = np.repeat(pcm(5, 1, 16), 256, axis=0)
    check(flac(x, codings=[Coding("constant")]), x, 16)


MIXED = [Coding(block=b, order=b % 5) for b in (256, 100, 700, 17)]


@for_each("codings", [[Coding()], MIXED])
@for_each("seek_table", [False, True])
@for_each("claimed", [None, 0])
def test_slices(codings, seek_table, claimed):
    x = pcm(9000, 1, 16)
    file = flac(x, codings=codings, seek_table=seek_table, claimed=claimed)
    check(file, x, 16)
    for begin in (0, 1, 255, 256, 4000, 5120, 8999):
        for count in (1, 300, 9000):
            part = decode(file, dtype=types.INT16, start=begin / RATE, duration=count / RATE)
            assert np.array_equal(part.reshape(-1), x[begin : begin + count, 0])


def test_an_id3_tag_in_front():
    x = pcm(500, 1, 16)
    check(b"ID3\4\0\0\0\0\1\2" + bytes(130) + flac(x), x, 16)


def test_a_wrong_seek_table_is_ignored():
    x = pcm(9000, 1, 16)
    file = bytearray(flac(x, seek_table=True))
    for point in range(20):
        file[4 + 38 + 4 + 18 * point + 15] ^= 0x55
    part = decode(bytes(file), dtype=types.INT16, start=4500 / RATE)
    assert np.array_equal(part.reshape(-1), x[4500:, 0])


@for_each("subtype, bits", [("PCM_S8", 8), ("PCM_16", 16), ("PCM_24", 24)])
@for_each("channels", [1, 2, 5])
def test_files_of_libsndfile(subtype, bits, channels):
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    soundfile.write(buffer, sound(50000, channels), RATE, format="FLAC", subtype=subtype)
    file = buffer.getvalue()
    for begin, count in ((0, 50000), (12345, 10000), (4096, 4096), (49999, 1)):
        for dtype, name in (
            (types.FLOAT, "float32"),
            (types.INT16, "int16"),
            (types.INT32, "int32"),
        ):
            buffer.seek(0)
            with soundfile.SoundFile(buffer) as reference:
                reference.seek(begin)
                expected = reference.read(count, dtype=name, always_2d=True)
            part = decode(file, dtype=dtype, start=begin / RATE, duration=count / RATE)
            assert np.array_equal(part.reshape(expected.shape), expected), (name, begin)


X = to_pcm(sound(2000, 1), 16)
FILE = flac(X)
FIRST = 4 + 4 + 34  # the byte of the first frame
BROKEN_FRAME = frame(X[:16], 16, 0, Coding("verbatim"))[:-1] + b"\0"


def changed(at: int, value: int) -> bytes:
    return FILE[:at] + bytes([value]) + FILE[at + 1 :]


@for_each(
    "file, message",
    [
        (b"fLaC", "truncated: its metadata continue at byte 4, but it has 4 bytes"),
        (FILE[:30], "the metadata at byte 4 have 34 bytes, 22 are left"),
        (b"fLaC" + block(0, bytes(30), last=True), "STREAMINFO has 30 bytes, expected 34"),
        (b"fLaC" + block(1, bytes(34), last=True), "must begin with one STREAMINFO, got type 1"),
        (b"fLaC" + block(0, stream_info(9, 1, 16, 8000, 99, 99)) + block(127, b""), "type 127"),
        (b"fLaC" + block(0, stream_info(9, 1, 16, 0, 99, 99), last=True), "sample rate of 0"),
        (b"fLaC" + block(0, stream_info(9, 1, 3, 8000, 99, 99), last=True), "3 bits, expected 4"),
        (b"fLaC" + block(0, stream_info(9, 1, 16, 8000, 99, 9), last=True), "blocks of 99 to 9"),
        (changed(FIRST, 0), "decoding ends after 0: in the frame at byte 42, .* sync code"),
        (changed(FIRST + 2, 0), "block size has the reserved value"),
        (changed(FIRST + 3, 0xF8), "channels have a reserved value"),
        (changed(FIRST + 5, 77), "CRC-8 of its header"),
        (changed(FIRST + 60, FILE[FIRST + 60] ^ 1), "at byte 42, "),
        (changed(len(FILE) - 1, FILE[-1] ^ 1), "CRC-16 is wrong"),
        (FILE[: len(FILE) // 2], "claims 2000 frames, but decoding ends after .* truncated"),
        (flac(X, claimed=3000), "claims 3000 frames, but decoding ends after 2000"),
        (flac(X, claimed=2**36 - 1), "header claims 68719476735 frames, more than its"),
        (flac(X[:0], claimed=5), "the file ends before it"),
        (flac(X, claimed=0) + 300 * BROKEN_FRAME, "none of its last 256 frames is complete"),
    ],
)
def test_broken_files(file, message):
    with pytest.raises(DataError, match=message):
        decode(file)


def test_one_truncated_frame_at_the_end_is_left_out_of_an_unknown_length():
    x = pcm(2000, 1, 16)
    file = bytearray(flac(x, claimed=0))
    check(bytes(file[:-1]), x[:1792], 16)
    file[-1] ^= 1
    second_last = len(flac(x[:1792], claimed=0)) - 1
    file[second_last] ^= 1
    with pytest.raises(DataError, match="its frames from byte .* on cannot be decoded"):
        decode(bytes(file))


def test_a_part_after_a_broken_frame():
    x = pcm(9000, 1, 16)
    file = bytearray(flac(x))
    file[FIRST + 500] ^= 1
    part = decode(bytes(file), dtype=types.INT16, start=8000 / RATE)
    assert np.array_equal(torch.as_tensor(part).reshape(-1), torch.as_tensor(x[8000:, 0]))
