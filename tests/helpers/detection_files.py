# SPDX-License-Identifier: Apache-2.0
"""Writes small datasets in the formats of COCO, Pascal VOC and the Oxford pets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from helpers.transforms import photos
from PIL import Image

COUNT = 12
_BLACK, _WHITE = 16, 235


def rectangles(number: int, height: int, width: int) -> list[list[int]]:
    """Returns left, top, width and height of what is on an image: 1 to 3 objects."""
    rng = np.random.default_rng(number)
    found = []
    for _ in range(1 + number % 3):
        w, h = int(rng.integers(8, width // 2)), int(rng.integers(8, height // 2))
        found.append([int(rng.integers(0, width - w)), int(rng.integers(0, height - h)), w, h])
    return found


def write_coco(folder: Path, plain: bool = False) -> Path:
    """Writes images and their annotations; returns the file of annotations.

    Args:
        folder: to write to.
        plain: whether images are black, with one white object.
    """
    images, objects = [], []
    for number, pixels in enumerate(photos(COUNT)):
        height, width = pixels.shape[:2]
        boxes = rectangles(number, height, width)[: 1 if plain else 3]
        if plain:
            pixels[:] = _BLACK
            x, y, w, h = boxes[0]
            pixels[y : y + h, x : x + w] = _WHITE
        Image.fromarray(pixels).save(folder / f"{number}.png")
        size = {"width": width, "height": height}
        images.append({"id": number, "file_name": f"{number}.png", **size})
        for x, y, w, h in boxes:
            part = 0.0 if plain else 0.25
            objects.append(
                {
                    "id": len(objects) + 1,
                    "image_id": number,
                    "category_id": len(objects) % 5,
                    "bbox": [x + part, y, w, h + part],
                    "segmentation": [[x, y, x + w, y, x + w, y + h, x, y + h]],
                }
            )
    file = folder / "all.json"
    categories = [{"id": number, "name": str(number)} for number in range(5)]
    document = {"images": images, "annotations": objects, "categories": categories}
    file.write_text(json.dumps(document))
    return file


def write_voc(folder: Path) -> None:
    """Writes a folder for VOCDetection and VOCSegmentation, year 2012, set "train"."""
    base = folder / "VOCdevkit" / "VOC2012"
    parts = ("JPEGImages", "Annotations", "SegmentationClass")
    for part in (*parts, "ImageSets/Main", "ImageSets/Segmentation"):
        (base / part).mkdir(parents=True)
    for number, pixels in enumerate(photos(COUNT)):
        height, width = pixels.shape[:2]
        Image.fromarray(pixels).save(base / parts[0] / f"{number}.jpg", quality=95)
        classes = np.zeros((height, width), np.uint8)
        objects = ""
        for x, y, w, h in rectangles(number, height, width):
            classes[y : y + h, x : x + w] = number % 21
            ends = zip(("xmin", "ymin", "xmax", "ymax"), (x, y, x + w, y + h), strict=True)
            inner = "".join(f"<{name}>{value}</{name}>" for name, value in ends)
            objects += f"<object><name>cat</name><bndbox>{inner}</bndbox></object>"
        (base / parts[1] / f"{number}.xml").write_text(f"<annotation>{objects}</annotation>")
        mask = Image.fromarray(classes, "P")
        mask.putpalette(list(range(256)) * 3)
        mask.save(base / parts[2] / f"{number}.png")
    for part in ("Main", "Segmentation"):
        (base / "ImageSets" / part / "train.txt").write_text("\n".join(map(str, range(COUNT))))


def write_pets(folder: Path) -> None:
    """Writes a folder for OxfordIIITPet."""
    base = folder / "oxford-iiit-pet"
    for part in ("images", "annotations/trimaps"):
        (base / part).mkdir(parents=True)
    lines = []
    for number, pixels in enumerate(photos(COUNT)):
        Image.fromarray(pixels).save(base / "images" / f"pet_{number}.jpg")
        trimap = Image.fromarray((pixels[..., 0] // 86 + 1).astype(np.uint8))
        trimap.save(base / "annotations" / "trimaps" / f"pet_{number}.png")
        lines.append(f"pet_{number} {number % 3 + 1} {number % 2 + 1} 1")
    (base / "annotations" / "trainval.txt").write_text("\n".join(lines))
