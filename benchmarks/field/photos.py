# SPDX-License-Identifier: Apache-2.0
"""Writes the pictures of a folder again, in the size and the quality of another benchmark.

They are kept in the temporary folder of the machine, as the shards of containers.py are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.pipelines.files import find_files

__all__ = ["encoded_again"]


def encoded_again(data: str, longer_side: int, quality: int, *, enlarge: bool = False) -> str:
    """Returns a folder with the pictures as JPEG files.

    Args:
        data: folder with JPEG files.
        longer_side: no picture is larger.
        quality: that of libjpeg.
        enlarge: whether smaller pictures become as large.
    """
    import cv2  # not in the environments of all peers, which read what was written

    files = find_files(data)
    key = repr((files, longer_side, quality, enlarge))
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"torchdali-benchmarks-{os.getuid()}", name)
    if folder.exists():
        return str(folder)
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent))
    for number, file in enumerate(files):
        image = cv2.imread(file)  # BGR, also of gray files, as FFCV stores them
        if image is None:
            raise ValueError(f"OpenCV cannot read {file}")
        scale = longer_side / max(image.shape[:2])
        if scale < 1 or enlarge:
            size = [max(round(side * scale), 1) for side in (image.shape[1], image.shape[0])]
            how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
            image = cv2.resize(image, size, interpolation=how)
        path = str(part / f"{number:08}.jpg")
        if not cv2.imwrite(path, image, [cv2.IMWRITE_JPEG_QUALITY, quality]):
            raise OSError(f"OpenCV cannot write {path}")
    try:
        part.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(part)
    return str(folder)
