# SPDX-License-Identifier: Apache-2.0
"""Writes inputs for the fuzzer of videos to start from: indices, and packets of each codec.

``python tests/fuzz/video_seeds.py FOLDER``; video_fuzz.cpp says what an input is. Indices are those
that torchdali makes of the committed videos.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

VIDEOS = Path(__file__).resolve().parents[1] / "data" / "videos"
_INDEX, _DAMAGED_INDEX, _PACKET, _BOTH_FORMS = range(4)
_H264, _HEVC, _VP8, _VP9, _AV1, _MPEG4, _MPEG2 = range(7)
_CODE = b"\0\0\0\1"


def _indices() -> Iterator[bytes]:
    from torchdali import Pipeline, fn

    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(VIDEOS.iterdir()):
            copy = Path(shutil.copy(path, folder))
            pipe = Pipeline(1, 1, device_id=None)
            with pipe:
                pipe.set_outputs(fn.readers.video(filenames=[str(copy)], sequence_length=1))
            pipe.build()
            text = copy.with_name(copy.name + ".tdvi").read_bytes()
            yield bytes([_DAMAGED_INDEX]) + text
            version = text[16]  # its length, less than 128
            size = copy.stat().st_size
            yield bytes([_INDEX, size >> 8, size & 255]) + text[17 + version :]


def _units(codec: int) -> Iterator[bytes]:
    """Yields packets with start codes: what may come before a slice, and kinds of slices."""
    if codec == _H264:
        before = [b"", b"\x09\xf0", b"\x67\x64\0\x0a\xac", b"\x06\x06\x01\xc4\x80"]
        before += [b"\x06\x05\x03abc\x06\x01\x40\x80", b"\x06\xff\x02\x00\0\0\3\x01\x80"]
        kinds = [b"\x65\x88\x84", b"\x41\x9a", b"\x01\x9e", b"\x21"]
    else:
        before = [b"", b"\x40\x01\x0c", b"\x42\x01\x01", b"\x4e\x01\x05"]
        kinds = [bytes([kind << 1, 1, 0xAF]) for kind in (1, 16, 19, 20, 21, 32)]
        kinds += [b"\0\1\xaf", b"\x10\2\xaf"]  # no references of their layers
    for first in before:
        for kind in kinds:
            yield _CODE + first + _CODE + kind


def _lengths(packet: bytes) -> bytes:
    units = packet.split(_CODE)[1:]
    return b"".join(len(unit).to_bytes(2, "big") + unit for unit in units)


def _bits(text: str) -> bytes:
    text = text.replace(" ", "")
    return int(text.ljust(-(-len(text) // 8) * 8, "0"), 2).to_bytes(-(-len(text) // 8), "big")


def _av1_unit(kind: int, contents: bytes) -> bytes:
    return bytes([kind << 3 | 2, len(contents)]) + contents


def _av1() -> Iterator[bytes]:
    """Yields a sequence header and a packet: frames that others need or not, alone and together."""
    for timing, ids in itertools.product(
        ("0", "1" + 66 * "0", "1" + 64 * "0" + "1 1 0"), ("0", "10000000")
    ):
        header = f"00000{timing} 0 {17 * '0'}00000 00000000 11 {ids} 0000000 100 11 110 {13 * '0'}"
        sequence = _av1_unit(1, _bits(header))
        number = "" if ids == "0" else "101"
        shown, hidden = (
            _av1_unit(6, _bits(f"{head} {number} 0 0000011 010 {stored} 11110000"))
            for head, stored in (("0011000", "00000000"), ("00101000", "00010000"))
        )
        existing, tiles = _av1_unit(3, b"\x80"), _av1_unit(4, b"\x07")
        for packet in (
            shown, hidden, existing, hidden + shown, sequence + shown, shown + hidden,
            b"\x12\0" + shown, b"\x1a" + shown[1:] + tiles, b"\x30" + shown[2:],
            b"\x36\0" + shown[1:],
        ):  # fmt: skip
            yield bytes([len(sequence) + 4, 0x81, 0, 0, 0]) + sequence + packet


def _mpeg4() -> Iterator[bytes]:
    """Yields a layer, progressive or interlaced, and a packet of MPEG-4 part 2."""
    start, b, p, group = b"\0\0\1", b"\xb6\x80", b"\xb6\x40", b"\xb3\1"
    for begin, interlaced in itertools.product(
        ("0 00000001 0 0001 0", f"0 00000001 1 0001000 1111 {16 * '1'} 1 011 1 {79 * '1'}"), "01"
    ):
        size = "1 0000001100000 1 0000001000000 1"
        layer = start + b"\x20" + _bits(f"{begin} 00 1 {25:016b} 1 1 00001 {size} {interlaced} 11")
        for packet in (start + b, start + p, start + p + start + b, start + group + start + b):
            yield bytes([len(layer)]) + layer + packet
        yield bytes([len(layer)]) + layer + layer


def _mpeg2() -> Iterator[bytes]:
    """Yields packets of MPEG-2: pictures of frames and fields, and what may come before them."""
    start = b"\0\0\1"
    frame, matrix = start + b"\xb5\x81\x11\x13", start + b"\xb5\x31\x11\x13"
    for kind in (b"\0\0\x18", b"\0\0\x10"):
        picture = start + kind
        for extension in (b"", frame, start + b"\xb5\x81\x11\x12", frame + matrix):
            yield picture + extension + start + b"\1\x12"
    yield start + b"\xb3\1" + start + b"\xb8\1" + start + b"\0\0\x18"


def seeds() -> Iterator[bytes]:
    """Yields the inputs."""
    yield from _indices()
    for codec, size, at in ((_H264, 7, 4), (_HEVC, 23, 21)):
        configuration = bytearray(size)
        configuration[0], configuration[at] = 1, 1  # lengths of 2 bytes
        for packet in _units(codec):
            yield bytes([_BOTH_FORMS, codec]) + packet
            yield bytes([_PACKET, codec, 0]) + packet
            yield bytes([_PACKET, codec, size, *configuration]) + _lengths(packet)
    for frame in (b"\x82\x49\x83\x42", b"\x86\x00", b"\x84\x00\x10", b"\x88", b"\xb0\x00"):
        yield bytes([_PACKET, _VP9, 0]) + frame
        yield bytes([_PACKET, _VP9, 0]) + frame + frame + bytes([0xC1, *[len(frame)] * 2, 0xC1])
    for inputs in _av1():
        yield bytes([_PACKET, _AV1]) + inputs
    for inputs in _mpeg4():
        yield bytes([_PACKET, _MPEG4]) + inputs
    for inputs in _mpeg2():
        yield bytes([_PACKET, _MPEG2, 0]) + inputs
    for codec in range(_VP8, 9):
        yield bytes([_PACKET, codec, 0, 0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A])


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()):
        (folder / str(number)).write_bytes(data)
