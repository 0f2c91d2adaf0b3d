# SPDX-License-Identifier: Apache-2.0
"""An encoder of FLAC by RFC 9639 whose caller chooses how each frame is coded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

INDEPENDENT, LEFT_SIDE, SIDE_RIGHT, MID_SIDE = "independent", "left/side", "side/right", "mid/side"
_BIT_CODES = {8: 1, 12: 2, 16: 4, 20: 5, 24: 6, 32: 7}
_FIXED = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]]


@dataclass
class Coding:
    """How the subframes of a frame are coded.

    ``kind`` is constant, verbatim, fixed or lpc; ``coefficients`` (latest sample first), ``shift``
    and ``precision`` are those of lpc. ``rice`` is the parameter of partitions, None for escapes.
    """

    kind: str = "fixed"
    order: int = 2
    coefficients: list[int] = field(default_factory=list)
    shift: int = 0
    precision: int = 15
    rice: int | None = 4
    wide_rice: bool = False
    partitions: int = 0
    wasted: int = 0
    stereo: str = INDEPENDENT
    block: int = 256


class Bits:
    """Bits, the most significant one first."""

    def __init__(self) -> None:
        self.text: list[str] = []

    def put(self, value: int, count: int) -> None:
        """Appends the lower bits of a number."""
        if count:
            self.text.append(format(value & ((1 << count) - 1), f"0{count}b"))

    def unary(self, zeros: int) -> None:
        """Appends zeros and a one."""
        self.text.append("0" * zeros + "1")

    def bytes(self) -> bytes:
        """Returns the bits, padded to whole bytes."""
        text = "".join(self.text)
        text += "0" * (-len(text) % 8)
        return int(text, 2).to_bytes(len(text) // 8, "big") if text else b""


def crc(data: bytes, polynomial: int, bits: int) -> int:
    """Returns the checksum of bytes."""
    value, top, mask = 0, 1 << (bits - 1), (1 << bits) - 1
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = ((value << 1) ^ polynomial if value & top else value << 1) & mask
    return value


def coded_number(value: int) -> bytes:
    """Returns a number as UTF-8 codes characters, of up to 36 bits."""
    if value < 0x80:
        return bytes([value])
    rest = []
    length = next(n for n in range(2, 8) if value < 1 << (5 * n + 1))
    for _ in range(length - 1):
        rest.append(0x80 | value & 0x3F)
        value >>= 6
    return bytes([(0xFF00 >> length) & 0xFF | value, *reversed(rest)])


def _residual(out: Bits, values: list[int], order: int, coding: Coding) -> None:
    out.put(int(coding.wide_rice), 2)
    out.put(coding.partitions, 4)
    size = (len(values) + order) >> coding.partitions
    parts = [values[: size - order]]
    parts += [values[i : i + size] for i in range(size - order, len(values), size)]
    width = 5 if coding.wide_rice else 4
    for part in parts[: 1 << coding.partitions]:
        if coding.rice is None:
            out.put(-1, width)
            bits = max((max(v, ~v).bit_length() + 1 for v in part if v), default=0)
            out.put(bits, 5)
            for v in part:
                out.put(v, bits)
            continue
        out.put(coding.rice, width)
        for v in part:
            folded = 2 * v if v >= 0 else -2 * v - 1
            out.unary(folded >> coding.rice)
            out.put(folded, coding.rice)


def _subframe(out: Bits, x: list[int], bits: int, coding: Coding) -> None:
    types = {
        "constant": 0,
        "verbatim": 1,
        "fixed": 8 + coding.order,
        "lpc": 31 + len(coding.coefficients),
    }
    out.put(0, 1)
    out.put(types[coding.kind], 6)
    out.put(coding.wasted > 0, 1)
    if coding.wasted:
        out.unary(coding.wasted - 1)
        x, bits = [v >> coding.wasted for v in x], bits - coding.wasted
    if coding.kind == "constant":
        return out.put(x[0], bits)
    coefficients = _FIXED[coding.order] if coding.kind == "fixed" else coding.coefficients
    order = len(x) if coding.kind == "verbatim" else len(coefficients)
    for v in x[:order]:
        out.put(v, bits)
    if coding.kind == "verbatim":
        return None
    shift = coding.shift if coding.kind == "lpc" else 0
    if coding.kind == "lpc":
        out.put(coding.precision - 1, 4)
        out.put(shift, 5)
        for c in coefficients:
            out.put(c, coding.precision)
    values = [
        x[i] - (sum(c * x[i - 1 - j] for j, c in enumerate(coefficients)) >> shift)
        for i in range(order, len(x))
    ]
    return _residual(out, values, order, coding)


def frame(x: np.ndarray, bits: int, number: int, coding: Coding, variable: bool = False) -> bytes:
    """Returns the frame of [samples, channels]."""
    channels = x.shape[1]
    codes = {INDEPENDENT: channels - 1, LEFT_SIDE: 8, SIDE_RIGHT: 9, MID_SIDE: 10}
    head = bytes([0xFF, 0xF8 | variable, 0x70, codes[coding.stereo] << 4])
    head = head[:3] + bytes([head[3] | _BIT_CODES.get(bits, 0) << 1])
    head += coded_number(number) + (len(x) - 1).to_bytes(2, "big")
    head += bytes([crc(head, 0x07, 8)])
    columns = [[int(v) for v in column] for column in x.T]
    widths = [bits] * channels
    if coding.stereo != INDEPENDENT:
        left, right = columns
        side = [a - b for a, b in zip(left, right, strict=True)]
        mid = [(a + b) >> 1 for a, b in zip(left, right, strict=True)]
        columns = {
            LEFT_SIDE: [left, side],
            SIDE_RIGHT: [side, right],
            MID_SIDE: [mid, side],
        }[coding.stereo]
        widths = [bits + (column is side) for column in columns]
    out = Bits()
    for column, width in zip(columns, widths, strict=True):
        _subframe(out, column, width, coding)
    body = head + out.bytes()
    return body + crc(body, 0x8005, 16).to_bytes(2, "big")


def block(kind: int, data: bytes, last: bool = False) -> bytes:
    """Returns a block of metadata."""
    return bytes([kind | last << 7]) + len(data).to_bytes(3, "big") + data


def stream_info(
    frames: int, channels: int, bits: int, rate: int, smallest: int, largest: int
) -> bytes:
    """Returns the contents of STREAMINFO, without sizes of frames and MD5."""
    packed = rate << 44 | (channels - 1) << 41 | (bits - 1) << 36 | frames
    sizes = smallest.to_bytes(2, "big") + largest.to_bytes(2, "big") + bytes(6)
    return sizes + packed.to_bytes(8, "big") + bytes(16)


def flac(
    x: np.ndarray,
    bits: int = 16,
    rate: int = 16000,
    codings: list[Coding] | None = None,
    *,
    claimed: int | None = None,
    seek_table: bool = False,
) -> bytes:
    """Returns a file of [samples, channels]; its frames take the codings in turn.

    ``claimed`` is the length in the header, 0 for an unknown one. Blocks of differing sizes make a
    file whose frames are numbered by samples.
    """
    codings = codings or [Coding()]
    sizes = {c.block for c in codings}
    frames, points, at = [], b"", 0
    while at < len(x):
        coding = codings[len(frames) % len(codings)]
        part = x[at : at + coding.block]
        points += at.to_bytes(8, "big") + sum(map(len, frames)).to_bytes(8, "big")
        points += len(part).to_bytes(2, "big")
        variable = len(sizes) > 1
        frames.append(frame(part, bits, at if variable else len(frames), coding, variable))
        at += len(part)
    length = len(x) if claimed is None else claimed
    info = stream_info(length, x.shape[1], bits, rate, min(sizes), max(sizes))
    table = block(3, points + b"\xff" * 8 + bytes(10), last=True)
    head = block(0, info, last=not seek_table) + (table if seek_table else b"")
    return b"fLaC" + head + b"".join(frames)
