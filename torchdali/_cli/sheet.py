# SPDX-License-Identifier: Apache-2.0
"""Sheets of small pictures, as PNG and as HTML pages that need no other file."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from torchdali.errors import ArgumentError, _make
from torchdali.tensors._thumbnails import png, thumbnail

__all__ = ["PIXELS", "Picture", "Section", "picture", "sheet", "write"]

_COLUMNS = 8
_GAP = 4
PIXELS = 128  # the longest side that thumbnail() gives
_BACKGROUND = 255
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 72rem;
       padding: 0 1rem }
h1 { font-size: 1.5rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin: 1.6em 0 .4em }
pre { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.35 }
.sheet { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fill, minmax(130px, 1fr)) }
figure { margin: 0 } img { max-width: 100%; display: block; margin-bottom: 2px }
figcaption { font-size: .78rem; overflow-wrap: anywhere }
"""


@dataclass(frozen=True)
class Picture:
    """A small picture.

    Attributes:
        pixels: uint8 [height, width, 1 to 4].
        caption: below it.
        before: what it was made of, to be shown above it.
    """

    pixels: torch.Tensor
    caption: str
    before: torch.Tensor | None = None


@dataclass(frozen=True)
class Section:
    """A part of a page: a title, text that keeps its columns, and pictures."""

    title: str
    text: str = ""
    pictures: Sequence[Picture] = ()


def picture(sample: torch.Tensor, layout: str, caption: str) -> Picture | None:
    """Returns a small picture of an image; None for other data."""
    small = thumbnail(sample, layout)
    return None if small is None else Picture(small, caption)


def sheet(pictures: Sequence[Picture]) -> bytes:
    """Returns a PNG file with all pictures in rows."""
    columns = max(1, min(_COLUMNS, len(pictures)))
    each = 1 + any(one.before is not None for one in pictures)  # rows of pixels of a row
    rows = math.ceil(len(pictures) / columns) * each
    size = PIXELS + _GAP
    canvas = torch.full((rows * size, columns * size, 3), _BACKGROUND, dtype=torch.uint8)
    for index, one in enumerate(pictures):
        top, left = index // columns * each * size, index % columns * size
        if one.before is not None:
            _paste(canvas, one.before, top, left)
        _paste(canvas, one.pixels, top + (each - 1) * size, left)
    return png(canvas)


def _paste(canvas: torch.Tensor, pixels: torch.Tensor, top: int, left: int) -> None:
    """Writes a picture of 1 to 4 channels into one of 3; alpha is left out."""
    color = pixels[..., :3] if pixels.shape[-1] > 2 else pixels[..., :1].expand(-1, -1, 3)
    canvas[top : top + pixels.shape[0], left : left + pixels.shape[1]] = color


def _figure(one: Picture) -> str:
    caption = html.escape(one.caption)
    shown = [one.pixels] if one.before is None else [one.before, one.pixels]
    images = "".join(
        f'<img src="data:image/png;base64,{base64.b64encode(png(pixels)).decode()}" '
        f'alt="{caption}">'
        for pixels in shown
    )
    return f"<figure>{images}<figcaption>{caption}</figcaption></figure>"


def _page(title: str, sections: Sequence[Section]) -> str:
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1>"
    ]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        if section.text:
            parts.append(f"<pre>{html.escape(section.text)}</pre>")
        if section.pictures:
            parts += ['<div class="sheet">', *map(_figure, section.pictures), "</div>"]
    return "\n".join(parts) + "\n"


def write(path: str, title: str, sections: Sequence[Section]) -> None:
    """Writes a page, or the pictures of all sections as one PNG file.

    Args:
        path: ends in .html or .png.
        title: of the page.
        sections: what is in it.

    Raises:
        ArgumentError: the path ends in something else, or there are no pictures for a PNG file.
        OSError: the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        Path(path).write_text(_page(title, sections), encoding="utf-8")
        return
    pictures = [one for section in sections for one in section.pictures]
    if suffix != ".png" or not pictures:
        problem = "ends in neither .html nor .png" if suffix != ".png" else "would have no pictures"
        raise _make(ArgumentError, f"{path} {problem}", fix="write a page: NAME.html")
    Path(path).write_bytes(sheet(pictures))
