# SPDX-License-Identifier: Apache-2.0
"""Compresses tiles of FITS images by HCOMPRESS_1 and PLIO_1 (FITS Standard 4.0, section 10.4)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

# Codes of the four bits of a square, 0 to 15.
_SQUARES = ["111110", "000", "001", "1000", "010", "1001", "11010", "11011", "011", "11100", "1010",
            "11101", "1011", "11110", "111111", "1100"]  # fmt: skip


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    half = 1 << (bits - 1)
    return (values + np.where(values >= 0, half, half - 1)) >> bits << bits


def h_transform(image: np.ndarray) -> np.ndarray:
    """Returns sums in the first quarter, again and again, and differences in the others."""
    sums = image.astype("i8")
    result = np.zeros_like(sums)
    for level in range((max(image.shape) - 1).bit_length()):
        height, width = sums.shape
        padded = np.zeros((height + height % 2, width + width % 2), "i8")
        padded[:height, :width] = sums
        a, b, c, d = padded[::2, ::2], padded[::2, 1::2], padded[1::2, ::2], padded[1::2, 1::2]
        parts = np.stack([a + b + c + d, c + d - a - b, b + d - a - c, a + d - b - c])
        if width % 2:  # what is outside of the image has no differences
            parts[:2, :, -1] *= 2
        if height % 2:
            parts[::2, -1] *= 2
        parts = parts if level == 0 else parts >> 1
        top, left = (height + 1) // 2, (width + 1) // 2
        result[top:height, :left] = _rounded(parts[1], level + 1)[: height // 2]
        result[:top, left:width] = _rounded(parts[2], level + 1)[:, : width // 2]
        result[top:height, left:width] = parts[3][: height // 2, : width // 2]
        sums = _rounded(parts[0], level + 2)
    result[0, 0] = sums[0, 0]
    return result


def _squares(bits: np.ndarray) -> np.ndarray:
    height, width = bits.shape
    padded = np.zeros((height + height % 2, width + width % 2), "i8")
    padded[:height, :width] = bits
    return 8 * padded[::2, ::2] + 4 * padded[::2, 1::2] + 2 * padded[1::2, ::2] + padded[1::2, 1::2]


def _plane(bits: np.ndarray, plain: bool) -> str:
    if plain:
        return "0000" + "".join(f"{square:04b}" for square in _squares(bits).ravel())
    codes = []
    levels = max((max(bits.shape) - 1).bit_length(), 1)
    for _ in range(levels):
        squares = _squares(bits)
        codes.append([_SQUARES[square] for square in squares.ravel() if square])
        bits = squares != 0
    text = "".join("".join(reversed(level)) for level in reversed(codes))
    return "1111" + (text or _SQUARES[0])


def hcompress(
    tile: np.ndarray, scale: int = 0, plain: Callable[[int], bool] = lambda plane: plane % 3 == 1
) -> bytes:
    """Compresses integers.

    Args:
        tile: an image; leading axes of 1 are left out.
        scale: the differences are divided by it.
        plain: which planes of bits are stored without a tree.
    """
    image = tile.reshape(-1, tile.shape[-1])
    values = h_transform(image)
    if scale > 1:
        sizes = (np.abs(values) + (scale + 1) // 2 - 1) // scale
        values = np.sign(values) * sizes
    total, values[0, 0] = values[0, 0], 0
    top, left = (image.shape[0] + 1) // 2, (image.shape[1] + 1) // 2
    quarters = [values[:top, :left], values[:top, left:], values[top:, :left], values[top:, left:]]
    sizes = [int(np.abs(quarter).max(initial=0)).bit_length() for quarter in quarters]
    planes = [sizes[0], max(sizes[1:3]), max(sizes[1:3]), sizes[3]]
    text = ""
    for quarter, count in zip(quarters, planes, strict=True):
        for plane in reversed(range(count)):
            if quarter.size:
                text += _plane(np.abs(quarter) >> plane & 1, plain(plane))
            else:
                text += "1111" + _SQUARES[0]
    text += "0000"
    text += "0" * (-len(text) % 8)
    text += "".join("01"[int(value < 0)] for value in values.ravel() if value)
    text += "0" * (-len(text) % 8)
    head = struct.pack(">HiiiqBBB", 0xDD99, *image.shape, scale, int(total), *planes[:2], planes[3])
    return head + int(text, 2).to_bytes(len(text) // 8, "big")


def plio(values: Sequence[int], old: bool = False) -> bytes:
    """Compresses integers from 0 on, less than 2^27, with all instructions of line lists."""
    words, high, at = [], 1, 0
    runs = [i for i in range(len(values)) if i == 0 or values[i] != values[i - 1]]
    for begin, end in zip(runs, [*runs[1:], len(values)], strict=True):
        value, count = int(values[begin]), end - begin
        if value == 0:
            continue
        zeros, at = begin - at, end
        while zeros > 4094:
            words.append(4095)
            zeros -= 4095
        step = value - high
        high = value
        if abs(step) > 4095:
            words += [1 << 12 | value & 4095, value >> 12]
        elif step and not zeros and count == 1:
            words.append((6 if step > 0 else 7) << 12 | abs(step))
            count = 0
        elif step:
            words.append((2 if step > 0 else 3) << 12 | abs(step))
        if zeros and count == 1:
            words.append(5 << 12 | zeros + 1)
            count = 0
        elif zeros:
            words.append(zeros)
        while count:
            words.append(4 << 12 | min(count, 4095))
            count -= min(count, 4095)
    if old:
        words = [0, 0, len(words) + 3, *words]
    else:
        size = len(words) + 7
        words = [0, 7, -100, size % 32768, size // 32768, 0, 0, *words]
    return b"".join(struct.pack(">H", word & 0xFFFF) for word in words)
