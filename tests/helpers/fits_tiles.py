# SPDX-License-Identifier: Apache-2.0
"""Writes FITS files with compressed images (FITS Standard 4.0, section 10)."""

from __future__ import annotations

import gzip
import itertools
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .fits_integers import hcompress, plio

BITPIX = {"u1": 8, "i2": 16, "i4": 32, "i8": 64, "f4": -32, "f8": -64}
BLOCK = 2880
NAN, ZERO = -2147483648, -2147483646  # of quantized images: ZBLANK, and 0 of SUBTRACTIVE_DITHER_2
_CODE_BITS = {1: 3, 2: 4, 4: 5}
_PLAIN = {1: 7, 2: 15, 4: 26}


def card(keyword: str, value: Any) -> bytes:
    """Returns a card of a header."""
    text = {True: "T", False: "F"}.get(value, value) if isinstance(value, bool) else value
    text = f"'{text:<8}'" if isinstance(value, str) else f"{text:>20}"
    return f"{keyword:<8}= {text}".ljust(80).encode()


def pad(data: bytes, filler: bytes = b"\0") -> bytes:
    """Fills the last block."""
    return data + filler * (-len(data) % BLOCK)


def header(cards: Mapping[str, Any]) -> bytes:
    """Returns a header; cards of None are left out."""
    text = b"".join(card(k, v) for k, v in cards.items() if v is not None)
    return pad(text + b"COMMENT = 'no value'".ljust(80) + b"END".ljust(80), b" ")


def big_endian(array: np.ndarray) -> bytes:
    """Returns the elements in the byte order of files."""
    return array.astype(array.dtype.newbyteorder(">")).tobytes()


def rice(values: Sequence[int], width: int, block: int = 32) -> bytes:
    """Compresses integers of ``width`` bytes."""
    bits, code_bits, plain = 8 * width, _CODE_BITS[width], _PLAIN[width]
    mask, half = (1 << bits) - 1, 1 << (bits - 1)
    last = int(values[0])
    out = [f"{last & mask:0{bits}b}"]
    for begin in range(0, len(values), block):
        mapped = []
        for value in values[begin : begin + block]:
            step = ((int(value) - last + half) & mask) - half
            mapped.append(2 * step if step >= 0 else -2 * step - 1)
            last = int(value)
        sizes = {low + 1: sum((m >> low) + 1 + low for m in mapped) for low in range(plain - 1)}
        sizes[plain] = bits * len(mapped)
        code = min(sizes, key=sizes.__getitem__) if any(mapped) else 0
        out.append(f"{code:0{code_bits}b}")
        for m in mapped if code else []:
            low = code - 1
            if code == plain:
                out.append(f"{m:0{bits}b}")
            else:
                out.append("0" * (m >> low) + "1" + (f"{m % (1 << low):0{low}b}" if low else ""))
    text = "".join(out)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")


def encode(method: str, elements: np.ndarray, scale: int = 0, **rice_args: int) -> bytes:
    """Compresses a tile. ``scale``: of HCOMPRESS_1."""
    if method == "HCOMPRESS_1":
        return hcompress(elements, scale)
    if method == "PLIO_1":
        return plio(elements.ravel().tolist())
    if method == "RICE_1":
        return rice(elements.ravel().tolist(), **{"width": elements.itemsize, **rice_args})
    data = big_endian(elements)
    if method == "GZIP_2":
        data = np.frombuffer(data, "u1").reshape(-1, elements.itemsize).T.tobytes()
    return data if method == "NOCOMPRESS" else gzip.compress(data)


def tiles_of(shape: Sequence[int], tile: Sequence[int]) -> list[tuple[slice, ...]]:
    """Returns the places of the tiles, in the order of the table."""
    axes = [
        [slice(i, min(i + size, extent)) for i in range(0, extent, size)]
        for extent, size in zip(shape, tile, strict=True)
    ]
    return list(itertools.product(*axes))


def compressed_unit(
    elements: np.ndarray,
    method: str = "RICE_1",
    tile: Sequence[int] | None = None,
    *,
    originals: np.ndarray | None = None,
    scales: Sequence[tuple[float, float]] | None = None,
    forms: Mapping[int, str] | None = None,
    change: Callable[[int, bytes], bytes] = lambda _, data: data,
    place: Callable[[int, int, int], tuple[int, int]] = lambda _, size, offset: (size, offset),
    wide: bool = False,
    gap: int = 0,
    rice_args: Mapping[str, int] | None = None,
    scale: int = 0,
    smooth: int = 0,
    **cards: Any,
) -> bytes:
    """Returns an HDU with a compressed image.

    Args:
        elements: the image; if it is quantized, its integers.
        method: ZCMPTYPE.
        tile: extents of a tile in the order of C, by default those of a row.
        originals: a quantized image, for its tiles in other columns, and for its type.
        scales: scale and zero of each tile, if they are columns.
        forms: tiles by index that are in other columns: "gzip" or "plain".
        change: changes the bytes of a tile.
        place: changes what a row has: the number of bytes, and their offset in the heap.
        wide: with places of 64 bits.
        gap: bytes between the table and the heap.
        rice_args: ``width`` and ``block`` of RICE_1.
        scale: of HCOMPRESS_1.
        smooth: of HCOMPRESS_1.
        cards: further cards, or other values; None leaves one out.
    """
    tile = tile or (1,) * (elements.ndim - 1) + elements.shape[-1:]
    forms, rice_args = forms or {}, rice_args or {}
    original = elements if originals is None else originals
    places = tiles_of(elements.shape, tile)
    names = {"": "COMPRESSED_DATA", "gzip": "GZIP_COMPRESSED_DATA", "plain": "UNCOMPRESSED_DATA"}
    kept = [form for form in names if not form or form in forms.values()]
    columns = [names[form] for form in kept]
    letter = {"u1": "B", "i2": "I", "i4": "J", "i8": "K", "f4": "E", "f8": "D"}
    word = "I" if method == "PLIO_1" else "B"
    kinds = [letter[original.dtype.str[1:]] if form == "plain" else word for form in kept]
    sizes = {"": 2 if method == "PLIO_1" else 1, "gzip": 1, "plain": original.itemsize}
    kinds = ["B" if form == "gzip" else kind for form, kind in zip(kept, kinds, strict=True)]
    rows, heap = b"", b""
    for i, where in enumerate(places):
        form = forms.get(i, "")
        data = encode(method, elements[where], scale, **rice_args)
        if form:
            data = big_endian(original[where])
            data = gzip.compress(data) if form == "gzip" else data
        data = change(i, data)
        for column in kept:
            values = place(i, len(data) // sizes[form], len(heap)) if column == form else (0, 0)
            rows += struct.pack(">qq" if wide else ">ii", *values)
        if scales is not None:
            rows += struct.pack(">dd", *scales[i])
        heap += data
    forms_of = [f"1{'Q' if wide else 'P'}{kind}(9)" for kind in kinds]
    if scales is not None:
        columns, forms_of = [*columns, "ZSCALE", "ZZERO"], [*forms_of, "1D", "1D"]
    count = max(len(places), 1)
    first = {"XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": len(rows) // count or 8,
             "NAXIS2": len(places), "PCOUNT": gap + len(heap), "GCOUNT": 1,
             "TFIELDS": len(columns)}  # fmt: skip
    for i, (name, kind) in enumerate(zip(columns, forms_of, strict=True)):
        first |= {f"TTYPE{i + 1}": name, f"TFORM{i + 1}": kind}
    if gap:
        first["THEAP"] = len(rows) + gap
    first |= {"ZIMAGE": True, "ZCMPTYPE": method, "ZBITPIX": BITPIX[original.dtype.str[1:]]}
    first["ZNAXIS"] = elements.ndim
    for i, (extent, size) in enumerate(zip(elements.shape[::-1], tuple(tile)[::-1], strict=True)):
        first |= {f"ZNAXIS{i + 1}": extent, f"ZTILE{i + 1}": size}
    if method == "RICE_1":
        first |= {"ZNAME1": "BLOCKSIZE", "ZVAL1": rice_args.get("block", 32), "ZNAME2": "BYTEPIX",
                  "ZVAL2": rice_args.get("width", elements.itemsize)}  # fmt: skip
    if method == "HCOMPRESS_1":
        first |= {"ZNAME1": "SCALE", "ZVAL1": scale, "ZNAME2": "SMOOTH", "ZVAL2": smooth}
    return header({**first, **cards}) + pad(rows + bytes(gap) + heap)


def _random_numbers() -> np.ndarray:
    numbers, seed = [], 1
    for _ in range(10000):
        seed = 16807 * seed % 2147483647
        numbers.append(seed / 2147483647)
    assert seed == 1043618065  # Appendix I
    return np.array(numbers, "f4")


def unquantized(
    integers: np.ndarray,
    dtype: str,
    tile: Sequence[int],
    scales: Sequence[tuple[float, float]],
    dither: str | None = None,
    seed: int = 1,
) -> np.ndarray:
    """Returns the values of a quantized image, by the rules of the standard."""
    numbers, out = _random_numbers(), np.empty(integers.shape, dtype)
    for i, where in enumerate(tiles_of(integers.shape, tile)):
        values = integers[where].ravel().astype("f8")
        shifts = np.zeros(values.size)
        first = (i + seed - 1) % 10000
        at = int(numbers[first] * np.float32(500))
        for j in range(values.size if dither else 0):
            shifts[j] = 0.5 - float(numbers[at])
            at += 1
            if at == 10000:
                first = (first + 1) % 10000
                at = int(numbers[first] * np.float32(500))
        result = (values + shifts) * scales[i][0] + scales[i][1]
        if dither == "SUBTRACTIVE_DITHER_2":
            result[values == ZERO] = 0
        result[values == NAN] = np.nan
        out[where] = result.reshape(integers[where].shape)
    return out
