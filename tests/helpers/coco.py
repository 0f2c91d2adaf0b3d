# SPDX-License-Identifier: Apache-2.0
"""Data sets in COCO's format, and fn.readers.coco over them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .coco_programs import read

CATEGORIES = [18, 3, 77, 1, 44]


def image(number: int, **fields: Any) -> dict[str, Any]:
    """Returns an image of 20 x 10 pixels, whose id is a number."""
    return {"id": number, "file_name": f"{number}.jpg", "width": 20, "height": 10} | fields


def annotation(image_id: int, **fields: Any) -> dict[str, Any]:
    """Returns an object of an image: a triangle of category 3."""
    triangle = [[1, 1, 5, 1, 5, 5]]
    return {
        "id": 1,
        "image_id": image_id,
        "category_id": 3,
        "iscrowd": 0,
        "bbox": [1, 2, 3, 4],
        "segmentation": triangle,
    } | fields


def write(
    folder: Path, images: Sequence[dict[str, Any]], annotations: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Writes a data set whose images are files with their names; returns the reader's arguments."""
    root = folder / "images"
    for entry in images:
        path = root / entry["file_name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(entry["file_name"])
    document = {
        "info": {"year": 2017, "text": 'é "\\'},
        "images": list(images),
        "annotations": list(annotations),
        "categories": [{"id": number, "name": str(number)} for number in CATEGORIES],
    }
    path = folder / "annotations.json"
    path.write_text(json.dumps(document))
    return {"file_root": str(root), "annotations_file": str(path)}


def _polygon(draw: random.Random, width: int, height: int, step: float) -> list[float]:
    corners = draw.randint(3, 7)
    extents = [width, height] * corners
    return [round(draw.randint(-2, int(extent / step) + 2) * step, 2) for extent in extents]


def _runs(draw: random.Random, width: int, height: int) -> dict[str, Any]:
    counts, left = [], width * height
    while left:
        counts.append(min(left, draw.randint(0, 200)))
        left -= counts[-1]
    return {"counts": counts, "size": [height, width]}


def make(seed: int, images: int = 30, step: float = 0.01) -> tuple[list[Any], list[Any]]:
    """Returns random images, in random order, and random objects of them, mixed.

    Coordinates of polygons are multiples of ``step``. An image has at most one object with run
    lengths, with a category of its own.
    """
    draw = random.Random(seed)
    entries, objects = [], []
    for number in draw.sample(range(1, 1000), images):
        width, height = draw.randint(20, 60), draw.randint(20, 60)
        name = f"{draw.choice(['', 'a/', 'b/'])}{number:04}.jpg"
        entries.append(image(number, file_name=name, width=width, height=height))
        for index in range(draw.randint(0, 4)):
            x, y = draw.uniform(0, width - 5), draw.uniform(0, height - 5)
            box = [x, y, draw.uniform(0.01, width - x), draw.uniform(0.01, height - y)]
            crowd = index == 0 and draw.random() < 0.5
            polygons = [_polygon(draw, width, height, step) for _ in range(draw.randint(1, 3))]
            objects.append(
                annotation(
                    number,
                    id=len(objects),
                    category_id=CATEGORIES[0] if crowd else draw.choice(CATEGORIES[1:]),
                    iscrowd=int(crowd),
                    bbox=[round(value, 2) for value in box],
                    segmentation=_runs(draw, width, height) if crowd else polygons,
                )
            )
    draw.shuffle(objects)
    return entries, objects


def epoch(**args: Any) -> list[Any]:
    """Returns the samples of one epoch."""
    [(_, samples)] = read("torchdali", [args])
    return samples  # type: ignore[no-any-return]
