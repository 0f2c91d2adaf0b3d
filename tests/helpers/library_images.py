# SPDX-License-Identifier: Apache-2.0
"""Small TIFF, WebP and JPEG 2000 files of every kind.

TIFF is written here, from its definition. Pillow writes WebP, JPEG 2000 and some compressions of
TIFF; the boxes of JP2 that it does not write are added to its files.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

from .encoded_images import ramp

TIFF_WHITE, TIFF_BLACK, TIFF_RGB, TIFF_PALETTE, TIFF_CMYK = 0, 1, 2, 3, 5
NONE, DEFLATE, PACKBITS = 1, 8, 32773
ORIENTATION, EXTRA_SAMPLES, SAMPLE_FORMAT = 274, 338, 339


def _pack(samples: np.ndarray, depth: int, order: str) -> bytes:
    """Returns rows of samples, most significant bit first, each padded to a byte."""
    rows = samples.reshape(len(samples), -1)
    if depth in (8, 16, 32):
        return rows.astype(f"{order}u{depth // 8}").tobytes()
    bits = (rows[..., None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.reshape(len(rows), -1).astype(np.uint8), axis=1).tobytes()


def _compress(data: bytes, compression: int) -> bytes:
    if compression == DEFLATE:
        return zlib.compress(data)
    if compression == PACKBITS:  # literal runs only
        parts = [data[i : i + 128] for i in range(0, len(data), 128)]
        return b"".join(bytes([len(p) - 1]) + p for p in parts)
    return data


def _blocks(samples: np.ndarray, separate: bool, height: int, width: int) -> list[np.ndarray]:
    """Returns strips or tiles of the image, or of each of its planes."""
    planes = np.split(samples, samples.shape[2], axis=2) if separate else [samples]
    return [
        plane[y : y + height, x : x + width]
        for plane in planes
        for y in range(0, samples.shape[0], height)
        for x in range(0, samples.shape[1], width)
    ]


def tiff(
    samples: np.ndarray,
    depth: int = 8,
    photometric: int = TIFF_RGB,
    *,
    compression: int = NONE,
    separate: bool = False,
    tile: int = 0,
    rows_per_strip: int = 10,
    big: bool = False,
    order: str = "<",
    palette: np.ndarray | None = None,
    tags: dict[int, int] | None = None,
) -> bytes:
    """Returns a TIFF of [height, width, channels] integers.

    Args:
        samples: the stored integers.
        depth: bits of a sample.
        photometric: TIFF_RGB, ...
        compression: NONE, DEFLATE or PACKBITS.
        separate: store a plane for each channel.
        tile: extent of square tiles; 0 for strips.
        rows_per_strip: height of strips.
        big: write a BigTIFF.
        order: "<" or ">", the byte order.
        palette: [2**depth, 3] integers of 16 bits.
        tags: more tags, or values to replace.
    """
    height, width, channels = samples.shape
    blocks = _blocks(samples, separate, tile or rows_per_strip, tile or width)
    if tile:
        blocks = [
            np.pad(b, [(0, tile - b.shape[0]), (0, tile - b.shape[1]), (0, 0)]) for b in blocks
        ]
    data = [_compress(_pack(b, depth, order), compression) for b in blocks]
    offsets, counts = (324, 325) if tile else (273, 279)
    values: dict[int, list[int]] = {
        256: [width],
        257: [height],
        258: [depth] * channels,
        259: [compression],
        262: [photometric],
        277: [channels],
        284: [2 if separate else 1],
        offsets: [0] * len(data),
        counts: [len(d) for d in data],
        **({322: [tile], 323: [tile]} if tile else {278: [rows_per_strip]}),
    }
    if palette is not None:
        values[320] = palette.T.ravel().tolist()
    values |= {tag: [value] for tag, value in (tags or {}).items()}

    # Values are numbers of 16 bits; sizes and positions have the size of a position.
    position, inline = ("Q", 8) if big else ("I", 4)
    wide = {256, 257, 278, 322, 323, offsets, counts}
    form = {tag: position if tag in wide else "H" for tag in values}
    kind = {"H": 3, "I": 4, "Q": 16}
    size = {tag: struct.calcsize(f"={len(values[tag])}{form[tag]}") for tag in values}
    directory_at = 16 if big else 8
    entry = f"{order}HH{position}"
    directory_size = 2 + (6 if big else 0) + len(values) * (struct.calcsize(entry) + inline)
    outside_at = directory_at + directory_size + inline
    data_at = outside_at + sum(n for n in size.values() if n > inline)
    starts = np.cumsum([data_at] + [len(d) for d in data]).tolist()
    values[offsets] = starts[:-1]

    out = {"<": b"II", ">": b"MM"}[order]
    out += struct.pack(f"{order}HHHQ", 43, 8, 0, 16) if big else struct.pack(f"{order}HI", 42, 8)
    out += struct.pack(f"{order}{'Q' if big else 'H'}", len(values))
    outside = b""
    for tag in sorted(values):
        stored = struct.pack(f"{order}{len(values[tag])}{form[tag]}", *values[tag])
        out += struct.pack(entry, tag, kind[form[tag]], len(values[tag]))
        if len(stored) > inline:
            out += struct.pack(order + position, outside_at + len(outside))
            outside += stored
        else:
            out += stored.ljust(inline, b"\0")
    return out + bytes(inline) + outside + b"".join(data)


def saved(pixels: np.ndarray, form: str, mode: str | None = None, **options: Any) -> bytes:
    """Returns a file that Pillow writes, "TIFF", "WEBP" or "JPEG2000"."""
    if pixels.dtype != bool:
        pixels = pixels.astype(np.uint16 if pixels.max() > 255 else np.uint8)
    array = pixels.squeeze()
    image = Image.fromarray(array)
    if mode:
        image = Image.frombytes(mode, image.size, array.tobytes())
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def with_orientation(orientation: int) -> bytes:
    """Returns an EXIF structure for Pillow."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def _box(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", 8 + len(data)) + name + data


def with_jp2_boxes(data: bytes, colors: int | None = None, more: bytes = b"") -> bytes:
    """Returns a JP2 with another enumerated color space, and with more boxes in its header."""
    header = data.index(b"jp2h") - 4
    (size,) = struct.unpack_from(">I", data, header)
    inside = data[header + 8 : header + size] + more
    if colors is not None:
        at = inside.index(b"colr") + 4 + 3
        inside = inside[:at] + struct.pack(">I", colors) + inside[at + 4 :]
    return data[:header] + _box(b"jp2h", inside) + data[header + size :]


def jp2_palette(indices: np.ndarray, palette: np.ndarray) -> bytes:
    """Returns a JP2 of indices with a palette of [n, 3] colors."""
    colors = struct.pack(">HB3B", len(palette), 3, 7, 7, 7) + palette.astype(np.uint8).tobytes()
    mapping = b"".join(struct.pack(">HBB", 0, 1, column) for column in range(3))
    more = _box(b"pclr", colors) + _box(b"cmap", mapping)
    return with_jp2_boxes(saved(indices, "JPEG2000"), colors=16, more=more)


RGB, SYCC, CMYK = 16, 18, 12  # enumerated color spaces


def library_files(height: int = 37, width: int = 51) -> dict[str, bytes]:
    """Returns one small file of every kind, by name."""
    rgb, rgba = ramp(height, width, 3), ramp(height, width, 4)
    wide = ramp(height, width, 4, peak=65535)
    palette = np.random.default_rng(5).integers(0, 65536, (256, 3))
    gray_alpha = {"photometric": TIFF_BLACK, "tags": {EXTRA_SAMPLES: 2}}
    files = {
        "tiff_rgb8": tiff(rgb),
        "tiff_rgb8_big_endian": tiff(rgb, order=">"),
        "tiff_rgb8_big": tiff(rgb, big=True),
        "tiff_rgb8_one_strip": tiff(rgb, rows_per_strip=1000),
        "tiff_rgb8_separate": tiff(rgb, separate=True),
        "tiff_rgb8_tiles": tiff(rgb, tile=32, compression=DEFLATE),
        "tiff_rgb8_separate_tiles": tiff(rgb, tile=32, separate=True),
        "tiff_rgb8_packbits": tiff(rgb, compression=PACKBITS),
        "tiff_rgb8_lzw": saved(rgb, "TIFF", compression="tiff_lzw"),
        "tiff_rgb8_jpeg": saved(rgb, "TIFF", compression="jpeg"),
        "tiff_lab": saved(rgb, "TIFF", mode="LAB"),
        "tiff_ycbcr": saved(rgb, "TIFF", mode="YCbCr"),
        "tiff_rgba8": tiff(rgba, tags={EXTRA_SAMPLES: 2}),
        "tiff_rgba8_premultiplied": tiff(rgba, tags={EXTRA_SAMPLES: 1}),
        "tiff_gray_alpha8": tiff(rgba[..., :2], **gray_alpha),
        "tiff_rgb16": tiff(wide[..., :3], 16),
        "tiff_rgb16_big_endian": tiff(wide[..., :3], 16, order=">", tile=32),
        "tiff_rgba16": tiff(wide, 16, tags={EXTRA_SAMPLES: 2}),
        "tiff_gray16_white_is_zero": tiff(wide[..., :1], 16, TIFF_WHITE),
        "tiff_gray8_white_is_zero": tiff(rgb[..., :1], 8, TIFF_WHITE),
        "tiff_fax": saved(rgb[..., 0] > 128, "TIFF", compression="group4"),
        "tiff_palette8": tiff(rgb[..., :1], 8, TIFF_PALETTE, palette=palette),
        "tiff_palette4": tiff(rgb[..., :1] // 16, 4, TIFF_PALETTE, palette=palette[:16]),
        "tiff_cmyk8": tiff(rgba, 8, TIFF_CMYK),
        "tiff_cmyk16": tiff(wide, 16, TIFF_CMYK),
        "webp_lossy": saved(rgb, "WEBP", quality=80),
        "webp_lossy_alpha": saved(rgba, "WEBP", quality=80),
        "webp_lossless": saved(rgb, "WEBP", lossless=True),
        "webp_lossless_alpha": saved(rgba, "WEBP", lossless=True, exact=True),
        "jp2_rgb8": saved(rgb, "JPEG2000"),
        "jp2_rgb8_lossy": saved(
            rgb, "JPEG2000", irreversible=True, quality_mode="rates", quality_layers=[8]
        ),
        "jp2_rgba8": saved(rgba, "JPEG2000"),
        "jp2_gray8": saved(rgb[..., :1], "JPEG2000"),
        "jp2_gray16": saved(wide[..., :1], "JPEG2000"),
        "jp2_gray_alpha8": saved(rgba[..., :2], "JPEG2000", mode="LA"),
        "jp2_tiles": saved(rgb, "JPEG2000", tile_size=(16, 16)),
        "jp2_offset": saved(
            rgb, "JPEG2000", tile_size=(20, 20), tile_offset=(3, 5), offset=(9, 11)
        ),
        "jp2_codestream": saved(rgb, "JPEG2000", no_jp2=True),
        "jp2_sycc": with_jp2_boxes(saved(rgb, "JPEG2000", mct=0), colors=SYCC),
        "jp2_cmyk": with_jp2_boxes(saved(rgba, "JPEG2000", mct=0), colors=CMYK),
        "jp2_palette": jp2_palette(rgb[..., :1], palette >> 8),
    }
    for depth in (1, 2, 4, 8, 12, 16):
        files[f"tiff_gray{depth}"] = tiff(wide[..., :1] % 2**depth, depth, TIFF_BLACK)
    return files
