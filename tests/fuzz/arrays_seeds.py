# SPDX-License-Identifier: Apache-2.0
"""Writes inputs for the fuzzer of arrays to start from: compressed tiles and images.

``python tests/fuzz/arrays_seeds.py FOLDER``; arrays_fuzz.cpp says what an input is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers import fits_tiles
from helpers.fits_integers import hcompress, plio

_SETTINGS = 18  # bytes after the first, which chooses the parser
_FITS, _TILE = 2, 3


def _input(parser: int, settings: list[int], data: bytes) -> bytes:
    return bytes([parser, *settings, *bytes(_SETTINGS - len(settings))]) + data


def _tile(count: int, method: int, data: bytes, more: int = 0) -> bytes:
    return _input(_TILE, [count >> 8, count & 255, method, more], data)


def _unit(unit: bytes) -> bytes:
    """Returns an input for a unit: its header as lines, and its data without the filler."""
    end = next(i for i in range(0, len(unit), 80) if unit[i : i + 8] == b"END     ")
    cards = [unit[i : i + 80].decode() for i in range(0, end, 80)]
    values = {card[:8].strip(): card[10:].split("/")[0].strip() for card in cards}
    size = int(values["NAXIS1"]) * int(values["NAXIS2"]) + int(values["PCOUNT"])
    start = -(-(end + 80) // 2880) * 2880
    text = "".join(f"{card.rstrip()}\n" for card in cards)
    return _input(_FITS, [1, 1, 1], text.encode() + b"\n" + unit[start : start + size])


def seeds() -> Iterator[bytes]:
    """Yields the inputs."""
    draw = np.random.default_rng(1)
    for shape in ((1, 1), (2, 3), (5, 4), (9, 17), (16, 16)):
        for scale in (0, 4, 64):
            image = draw.integers(-40, 3000 >> scale % 3, shape).astype("i4")
            data = hcompress(image, scale)
            yield from (_tile(image.size, 2, data, smooth) for smooth in (0, 1))
    for size in (1, 7, 300):
        values = np.repeat(draw.integers(0, 9000, size), draw.integers(1, 9, size))
        values[draw.random(len(values)) < 0.4] = 0
        yield from (_tile(len(values), 3, plio(values.tolist(), old)) for old in (False, True))
    for method in ("RICE_1", "GZIP_1", "GZIP_2", "NOCOMPRESS", "HCOMPRESS_1", "PLIO_1"):
        for dtype in ("u1", "i2", "i4"):
            image = draw.integers(0, 200, (4, 6)).astype(dtype)
            unit = fits_tiles.compressed_unit(
                image, method, (3, 4), smooth=dtype == "i4", scale=2 * (dtype == "i2")
            )
            yield _unit(unit)
    floats = draw.normal(0, 3, (2, 8)).astype("f4")
    integers = np.round(floats / 0.5).astype("i4")
    for method in ("RICE_1", "GZIP_1"):
        for dither in ("NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2"):
            unit = fits_tiles.compressed_unit(
                integers,
                method,
                (1, 8),
                originals=floats,
                scales=[(0.5, 0.0), (0.5, 1.0)],
                forms={1: "gzip" if dither == "NO_DITHER" else "plain"},
                ZQUANTIZ=dither,
                ZDITHER0=1 if "SUB" in dither else None,
            )
            yield _unit(unit)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(seeds()):
        (folder / f"seed-{index}").write_bytes(data)
