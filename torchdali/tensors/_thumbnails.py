# SPDX-License-Identifier: Apache-2.0
"""Small PNG pictures of images and clips, for notebooks. Source: the PNG specification (W3C)."""

from __future__ import annotations

import base64
import html as escaping
import struct
import zlib
from collections.abc import Sequence

import torch
from torch.nn.functional import interpolate, pad

__all__ = ["html", "png", "thumbnail"]

_LONGEST = 128  # pixels
_LEAST = 96  # to which smaller pictures are enlarged, by a whole factor
_MOST = 16  # pictures
_FRAMES = 8  # of a clip
_FRAME_PIXELS = 96
_GAP, _WHITE = 2, 255  # between frames
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> gray, gray + alpha, RGB, RGBA


def png(image: torch.Tensor) -> bytes:
    """Returns an image as a PNG file.

    Args:
        image: uint8, (height, width, 1 to 4 channels).
    """
    height, width, channels = image.shape
    # Differences to the pixel on the left (filter 1) compress better than pixels.
    differences = image.clone()
    differences[:, 1:] -= image[:, :-1]
    filters = torch.ones(height, 1, dtype=torch.uint8)
    rows = torch.cat([filters, differences.reshape(height, -1)], dim=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    pixels = zlib.compress(rows.numpy().tobytes(), 6)
    start = b"\x89PNG\r\n\x1a\n"
    return start + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def thumbnail(sample: torch.Tensor, layout: str, longest: int = _LONGEST) -> torch.Tensor | None:
    """Returns a small uint8 HWC copy of an image, or None for other data.

    The values of other types than uint8 are stretched from their least to their greatest.

    Args:
        sample: of any type.
        layout: letters of its axes.
        longest: the most pixels of a side.
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
    return _bytes(_smaller(sample.cpu(), longest))


def _smaller(image: torch.Tensor, longest: int) -> torch.Tensor:
    """Returns an image whose sides are at most so long; HWC, uint8 stays uint8."""
    height, width, _ = image.shape
    side = max(height, width)
    if side <= longest:
        return image
    size = [max(height * longest // side, 1), max(width * longest // side, 1)]
    planes = image.permute(2, 0, 1).unsqueeze(0)
    if image.dtype != torch.uint8:
        planes = planes.float()
    small = interpolate(planes, size, mode="bilinear", antialias=True)
    return small[0].permute(1, 2, 0)


def _bytes(image: torch.Tensor) -> torch.Tensor:
    if image.dtype != torch.uint8:
        values = image.double()
        low, high = values.min(), values.max()
        image = ((values - low) * (255 / (high - low) if high > low else 0)).to(torch.uint8)
    return image.contiguous()


def _strip(clip: torch.Tensor, layout: str) -> torch.Tensor | None:
    """Returns frames from all over a clip side by side, or None for other data."""
    if layout not in ("FHWC", "FCHW") or not len(clip):
        return None
    count = min(len(clip), _FRAMES)
    places = [i * (len(clip) - 1) // max(count - 1, 1) for i in range(count)]
    frames = [thumbnail(f, layout[1:], _FRAME_PIXELS) for f in _bytes(clip[places].cpu())]
    shown = [pad(f, (0, 0, 0, _GAP), value=_WHITE) for f in frames if f is not None]
    return torch.cat(shown, dim=1)[:, :-_GAP].contiguous() if shown else None


def html(samples: Sequence[torch.Tensor], layout: str, text: str) -> str:
    """Returns images and clips as pictures with their shapes, below a text; of others the text."""
    parts = [f"<div><code>{escaping.escape(text)}</code></div>"]
    for index, sample in enumerate(samples[:_MOST]):
        small = thumbnail(sample, layout)
        small = _strip(sample, layout) if small is None else small
        if small is None:
            break
        data = base64.b64encode(png(small)).decode()
        shape = " x ".join(map(str, sample.shape))
        height, width, _ = small.shape
        enlarged = width * max(_LEAST // max(height, width), 1)
        parts.append(
            '<figure style="display:inline-block;margin:4px">'
            f'<img src="data:image/png;base64,{data}" alt="sample {index}" '
            f'style="width:{enlarged}px;max-width:100%;image-rendering:pixelated"/>'
            f"<figcaption>{index}: {shape}</figcaption></figure>"
        )
    else:
        if len(samples) > _MOST:
            parts.append(f"<div>... {len(samples) - _MOST} more samples</div>")
    return "".join(parts)
