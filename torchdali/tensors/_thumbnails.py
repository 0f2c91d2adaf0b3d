# SPDX-License-Identifier: Apache-2.0
"""Small PNG pictures of images, for notebooks. Source: the PNG specification (W3C, 3rd edition)."""

from __future__ import annotations

import base64
import html as escaping
import struct
import zlib
from collections.abc import Sequence

import torch

__all__ = ["html", "png", "thumbnail"]

_LONGEST = 128  # pixels
_MOST = 16  # pictures
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> gray, gray + alpha, RGB, RGBA


def png(image: torch.Tensor) -> bytes:
    """Returns an image as a PNG file.

    Args:
        image: uint8, (height, width, 1 to 4 channels).
    """
    height, width, channels = image.shape
    rows = torch.cat([torch.zeros(height, 1, dtype=torch.uint8), image.reshape(height, -1)], dim=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    pixels = zlib.compress(rows.numpy().tobytes(), 6)
    start = b"\x89PNG\r\n\x1a\n"
    return start + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def thumbnail(sample: torch.Tensor, layout: str) -> torch.Tensor | None:
    """Returns a small uint8 HWC copy of an image, or None for other data.

    The values of other types than uint8 are stretched from their least to their greatest.

    Args:
        sample: of any type.
        layout: letters of its axes.
    """
    if layout == "CHW":
        sample = sample.permute(1, 2, 0)
    elif layout == "HW":
        sample = sample.unsqueeze(-1)
    elif layout != "HWC":
        return None
    height, width, channels = sample.shape
    if channels not in _COLOR_TYPES or not height or not width:
        return None
    longest = max(height, width, _LONGEST)
    rows = torch.arange(max(height * _LONGEST // longest, 1)) * longest // _LONGEST
    columns = torch.arange(max(width * _LONGEST // longest, 1)) * longest // _LONGEST
    small = sample[rows][:, columns].cpu()
    if small.dtype != torch.uint8:
        values = small.double()
        low, high = values.min(), values.max()
        small = ((values - low) * (255 / (high - low) if high > low else 0)).to(torch.uint8)
    return small.contiguous()


def html(samples: Sequence[torch.Tensor], layout: str, text: str) -> str:
    """Returns samples as pictures with their shapes, below a text; only the text for other data."""
    parts = [f"<div><code>{escaping.escape(text)}</code></div>"]
    for index, sample in enumerate(samples[:_MOST]):
        small = thumbnail(sample, layout)
        if small is None:
            break
        data = base64.b64encode(png(small)).decode()
        shape = " x ".join(map(str, sample.shape))
        parts.append(
            '<figure style="display:inline-block;margin:4px">'
            f'<img src="data:image/png;base64,{data}" alt="sample {index}"/>'
            f"<figcaption>{index}: {shape}</figcaption></figure>"
        )
    else:
        if len(samples) > _MOST:
            parts.append(f"<div>... {len(samples) - _MOST} more samples</div>")
    return "".join(parts)
