# SPDX-License-Identifier: Apache-2.0
"""What files are: by their names, and by their first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchdali._cli.progress import track

__all__ = ["HEAD_BYTES", "IMAGES", "format_of", "image_files", "kind_of_name", "walk"]

# Extension -> format, as format_of() names it.
IMAGES = {
    **dict.fromkeys((".jpg", ".jpeg", ".jpe"), "JPEG"),
    **dict.fromkeys((".tif", ".tiff"), "TIFF"),
    **dict.fromkeys((".pnm", ".ppm", ".pgm", ".pbm"), "PNM"),
    **dict.fromkeys((".jp2", ".j2k", ".jpx", ".j2c"), "JPEG 2000"),
    ".png": "PNG",
    ".bmp": "BMP",
    ".webp": "WebP",
    ".avif": "AVIF",
    ".jxl": "JPEG XL",
}
_OTHERS = {
    ".tar": "tar archive",
    ".tfrecord": "TFRecord",
    ".tfrecords": "TFRecord",
    ".rec": "RecordIO",
    ".npy": "NumPy",
    ".wav": "WAV",
    ".flac": "FLAC",
    ".ogg": "Ogg",
    ".mp3": "MP3",
    ".json": "JSON",
    **dict.fromkeys((".mp4", ".mov", ".mkv", ".webm", ".avi"), "video"),
}
# First bytes -> format. Sources: the specifications of the formats.
_MAGIC = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"),
    (b"\xff\x0a", "JPEG XL"),
    (b"fLaC", "FLAC"),
    (b"OggS", "Ogg"),
    (b"ID3", "MP3"),
    (b"\x93NUMPY", "NumPy"),
    (b"GIF8", "GIF"),
    *((b"P%d" % kind, "PNM") for kind in range(1, 7)),
)
HEAD_BYTES = 16


def format_of(head: bytes) -> str | None:
    """Returns the format of a file from its first HEAD_BYTES bytes; None: unknown."""
    if head[:4] == b"RIFF":
        return {b"WEBP": "WebP", b"WAVE": "WAV", b"AVI ": "video"}.get(head[8:12])
    if head[4:8] == b"ftyp":
        return "AVIF" if head[8:12] in (b"avif", b"avis") else "video"
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)


def kind_of_name(path: Path) -> str:
    """Returns what a file is by its extension, such as "JPEG"; its extension if it is unknown."""
    suffix = path.suffix.lower()
    return IMAGES.get(suffix) or _OTHERS.get(suffix) or suffix or "without extension"


def walk(paths: Iterable[str]) -> Iterator[Path]:
    """Yields the files in folders, sorted, and files that are named; hidden ones are left out.

    Raises:
        FileNotFoundError: there is no such file or folder.
    """
    for path in paths:
        if not os.path.isdir(path):
            os.stat(path)
            yield Path(path)
            continue
        for folder, folders, names in os.walk(path, followlinks=True):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def image_files(paths: Iterable[str]) -> list[Path]:
    """Returns the files in folders that are images by their extension."""
    found = track(walk(paths), "listing files")
    return [path for path in found if path.suffix.lower() in IMAGES]
