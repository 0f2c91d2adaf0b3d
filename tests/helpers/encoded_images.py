# SPDX-License-Identifier: Apache-2.0
"""Encoded images of every kind, written from the formats' definitions, and the decoders under test.

Pillow writes JPEG. PNG, BMP and PNM are written here, because no library writes all their kinds.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from torchdali import fn, pipeline_def, types

from .dali_oracle import run_graph

PNG_GRAY, PNG_RGB, PNG_PALETTE, PNG_GRAY_ALPHA, PNG_RGBA = 0, 2, 3, 4, 6


def decode(
    op: str, files: Sequence[bytes], *inputs: Sequence[np.ndarray], **args: Any
) -> list[np.ndarray]:
    """Runs ``fn.<op>`` on encoded files, one batch.

    Args:
        op: for example ``"decoders.image_crop"``.
        files: one encoded image a sample.
        inputs: further inputs, one array a sample.
        args: arguments; a list of arrays stands for one value per sample.
    """
    per_sample = {
        k: v for k, v in args.items() if isinstance(v, list) and isinstance(v[0], np.ndarray)
    }
    constants = {k: v for k, v in args.items() if k not in per_sample}

    @pipeline_def(batch_size=len(files), num_threads=2, device_id=None, seed=17)
    def pipeline() -> Any:
        function = fn
        for name in op.split("."):
            function = getattr(function, name)
        data = [fn.external_source(name="files")]
        data += [fn.external_source(name=f"input_{i}") for i in range(len(inputs))]
        tensors = {k: fn.external_source(name=f"argument_{k}") for k in per_sample}
        return function(*data, **constants, **tensors)

    pipe = pipeline()
    pipe.build()
    pipe.feed_input("files", [np.frombuffer(f, np.uint8) for f in files])
    for i, values in enumerate(inputs):
        pipe.feed_input(f"input_{i}", list(values))
    for name, values in per_sample.items():
        pipe.feed_input(f"argument_{name}", values)
    (output,) = pipe.run()
    return [np.array(output.at(i)) for i in range(len(files))]


def decode_one(data: bytes, **args: Any) -> np.ndarray:
    """Returns what ``fn.decoders.image`` makes of one file."""
    return decode("decoders.image", [data], **args)[0]


def decode_in_dali(
    files: Sequence[bytes], op: str = "experimental.decoders.image", **args: Any
) -> list[np.ndarray]:
    """Does what `decode` does in real DALI."""
    node = {"op": op, "inputs": ["files"], "args": args, "outputs": ["images"]}
    batch = [np.frombuffer(f, np.uint8) for f in files]
    result = run_graph([node], ["images"], {"files": {"batches": [batch]}}, batch_size=len(files))
    return [np.asarray(sample) for sample in result[0][0].samples]


def decode_with_pillow(data: bytes) -> np.ndarray:
    """Returns the RGB image."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def ramp(height: int, width: int, channels: int, seed: int = 0, peak: int = 255) -> np.ndarray:
    """Returns [height, width, channels] integers in [0, peak]: ramps with noise."""
    rng = np.random.default_rng(seed)
    y, x, c = np.mgrid[:height, :width, :channels]
    values = (y * 6 + x * 4 + c * 40) % 256 + rng.integers(0, 32, y.shape)
    return (values * peak // 287).astype(np.int64)


def jpeg(pixels: np.ndarray, orientation: int = 1, **options: Any) -> bytes:
    """Returns a JPEG; 4 channels are CMYK, 0 for no ink."""
    if orientation != 1:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif.tobytes()
    out = io.BytesIO()
    squeezed = pixels.astype(np.uint8).squeeze()
    mode = "CMYK" if squeezed.ndim == 3 and squeezed.shape[2] == 4 else None
    image = Image.fromarray(squeezed)
    if mode:
        image = Image.frombytes("CMYK", image.size, squeezed.tobytes())
    image.save(out, "JPEG", **options)
    return out.getvalue()


def without_segment(data: bytes, marker: int) -> bytes:
    """Removes the first segment with this marker from a JPEG."""
    start = data.index(bytes([0xFF, marker]))
    length = struct.unpack(">H", data[start + 2 : start + 4])[0]
    return data[:start] + data[start + 2 + length :]


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(
    samples: np.ndarray,
    depth: int,
    color_type: int,
    palette: np.ndarray | None = None,
    transparency: bytes | None = None,
    extra: Sequence[bytes] = (),
) -> bytes:
    """Returns a PNG of [height, width, channels] integers, not interlaced, no filters."""
    height, width, channels = samples.shape
    rows = []
    for row in samples:
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            shifts = np.arange(depth - 1, -1, -1)
            data = np.packbits((row.reshape(width * channels, 1) >> shifts) & 1).tobytes()
        rows.append(b"\0" + data)
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 0)
    out = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + b"".join(extra)
    if palette is not None:
        out += png_chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if transparency is not None:
        out += png_chunk(b"tRNS", transparency)
    return out + png_chunk(b"IDAT", zlib.compress(b"".join(rows))) + png_chunk(b"IEND", b"")


def bmp(
    rows: Sequence[bytes],
    width: int,
    bits: int,
    *,
    top_down: bool = False,
    compression: int = 0,
    palette: np.ndarray | None = None,
    masks: Sequence[int] = (),
    core_header: bool = False,
    stored: bytes | None = None,
) -> bytes:
    """Returns a BMP.

    Args:
        rows: packed pixels of each row, from the top, without padding.
        stored: what stands for the rows in the file, where they are compressed.
    """
    height = len(rows)
    ordered = list(rows) if top_down else list(reversed(rows))
    pixels = b"".join(row + bytes(-len(row) % 4) for row in ordered) if stored is None else stored
    colors = b""
    for red, green, blue in [] if palette is None else palette.tolist():
        colors += bytes([blue, green, red]) + (b"" if core_header else b"\0")
    if core_header:
        header = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        count = 0 if palette is None else len(palette)
        size = -height if top_down else height
        header = struct.pack(
            "<IiiHHIIiiII", 40, width, size, 1, bits, compression, len(pixels), 0, 0, count, 0
        )
        header += struct.pack(f"<{len(masks)}I", *masks)
    start = 14 + len(header) + len(colors)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + colors + pixels


def pnm(kind: int, samples: np.ndarray, peak: int = 255, comment: bool = False) -> bytes:
    """Returns a PNM, ``kind`` 1 to 6. Bitmaps take 1 for black."""
    height, width, _ = samples.shape
    text = f"P{kind}\n" + ("# a comment\n" if comment else "") + f"{width} {height}\n"
    if kind not in (1, 4):
        text += f"{peak}\n"
    if kind <= 3:
        return (text + " ".join(map(str, samples.ravel().tolist())) + "\n").encode()
    if kind == 4:
        return text.encode() + np.packbits(samples[..., 0].astype(np.uint8), axis=1).tobytes()
    return text.encode() + samples.astype(">u2" if peak > 255 else np.uint8).tobytes()


IMAGE_TYPES = {
    "RGB": types.RGB,
    "BGR": types.BGR,
    "GRAY": types.GRAY,
    "YCbCr": types.YCbCr,
    "ANY_DATA": types.ANY_DATA,
}


def sample_files(height: int = 37, width: int = 51) -> dict[str, bytes]:
    """Returns one small file of every kind that the decoders take, by name."""
    rgb, rgba = ramp(height, width, 3), ramp(height, width, 4)
    wide = ramp(height, width, 4, peak=65535)
    rng = np.random.default_rng(5)
    indices = rng.integers(0, 16, (height, width, 1))
    palette = rng.integers(0, 256, (16, 3))
    files = {
        "jpeg_444": jpeg(rgb, subsampling=0, quality=90),
        "jpeg_422": jpeg(rgb, subsampling=1, quality=90),
        "jpeg_420": jpeg(rgb, subsampling=2, quality=90),
        "jpeg_progressive": jpeg(rgb, progressive=True, subsampling=2),
        "jpeg_gray": jpeg(rgb[..., :1]),
        "jpeg_cmyk": jpeg(rgba, quality=90),
        "png_rgb8": png(rgb, 8, PNG_RGB),
        "png_rgba8": png(rgba, 8, PNG_RGBA),
        "png_gray_alpha8": png(rgba[..., :2], 8, PNG_GRAY_ALPHA),
        "png_rgb16": png(wide[..., :3], 16, PNG_RGB),
        "png_rgba16": png(wide, 16, PNG_RGBA),
        "png_gray_alpha16": png(wide[..., :2], 16, PNG_GRAY_ALPHA),
        "png_palette4": png(indices, 4, PNG_PALETTE, palette),
        "png_palette_transparent": png(indices, 8, PNG_PALETTE, palette, bytes(range(0, 240, 16))),
        "png_rgb_transparent": png(
            rgb, 8, PNG_RGB, transparency=struct.pack(">3H", *rgb[0, 0].tolist())
        ),
        "bmp_24": bmp([r[:, ::-1].astype(np.uint8).tobytes() for r in rgb], width, 24),
        "bmp_24_top_down": bmp(
            [r[:, ::-1].astype(np.uint8).tobytes() for r in rgb], width, 24, top_down=True
        ),
        "bmp_24_core_header": bmp(
            [r[:, ::-1].astype(np.uint8).tobytes() for r in rgb], width, 24, core_header=True
        ),
        "bmp_32": bmp([r[:, [2, 1, 0, 3]].astype(np.uint8).tobytes() for r in rgba], width, 32),
        "bmp_16_565": bmp(
            [r.astype("<u2").tobytes() for r in wide[..., 0]],
            width,
            16,
            compression=3,
            masks=(0xF800, 0x07E0, 0x001F),
        ),
        "bmp_8": bmp([r.astype(np.uint8).tobytes() for r in indices], width, 8, palette=palette),
        "bmp_4": bmp(
            [np.packbits((r >> [3, 2, 1, 0]) & 1).tobytes() for r in indices],
            width,
            4,
            palette=palette,
        ),
        "bmp_1": bmp(
            [np.packbits(r & 1).tobytes() for r in indices], width, 1, palette=palette[:2]
        ),
        "bmp_8_run_lengths": bmp(
            [b""] * height,
            width,
            8,
            compression=1,
            palette=palette,
            stored=b"".join(
                b"".join(bytes([1, v]) for v in r[:20, 0])
                + bytes([0, width - 20])
                + r[20:].astype(np.uint8).tobytes()
                + bytes((width - 20) % 2)
                + b"\0\0"
                for r in indices[::-1]
            )
            + b"\0\1",
        ),
        "pnm_1": pnm(1, indices & 1),
        "pnm_2": pnm(2, rgb[..., :1]),
        "pnm_3": pnm(3, rgb),
        "pnm_4": pnm(4, indices & 1),
        "pnm_5": pnm(5, rgb[..., :1]),
        "pnm_6": pnm(6, rgb),
        "pnm_6_16_bit": pnm(6, wide[..., :3], peak=65535),
    }
    for depth in (1, 2, 4, 8, 16):
        files[f"png_gray{depth}"] = png(ramp(height, width, 1, peak=2**depth - 1), depth, PNG_GRAY)
    return files


def as_tensor(data: bytes) -> torch.Tensor:
    """Returns encoded bytes as an operator takes them: uint8, one dimension."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
