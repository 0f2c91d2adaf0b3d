# SPDX-License-Identifier: Apache-2.0
"""The preprocessing of object detection, as for SSD, over a data set in COCO's format.

Axes: ``work``: "train" is ``readers.coco``, decode, ``random_bbox_crop``, crop, resize to 300, flip
of images and boxes, normalize to float CHW; "masks" is the reader alone, with pixelwise masks;
"start" builds the reader of 100,000 objects with polygons. ``threads``, ``batch``, ``data``
(folder), ``seed``. ``plain`` decodes whole images and slices them, ``slice`` uses
``decoders.image_slice``. The annotations are generated for the JPEG files of the folder, with about
as many objects and vertices as COCO's.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.peers import api
from benchmarks.pipelines.files import MEAN, STD, find_files

# Work -> its peers, and its metrics.
PEERS = {
    "train": ["torchdali-plain", "torchdali-slice", "dali-plain", "dali-slice"],
    "masks": ["torchdali", "dali"],
    "start": ["torchdali", "dali"],
}
WORK = {
    "train": harness.throughput,
    "masks": harness.throughput,
    "start": harness.iteration_time,
}
SIZE = 300
CATEGORIES = 80
OBJECTS, VERTICES = 7, 25  # of an image, and of a polygon, on average
START_IMAGES = 14_000
FRAME_HEADERS = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


@functools.cache
def image_size(path: str) -> tuple[int, int]:
    """Returns width and height of a JPEG file."""
    data = Path(path).read_bytes()
    at = 2
    while data[at + 1] not in FRAME_HEADERS:
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5 : at + 9])
    return width, height


def _polygon(draw: random.Random, box: list[float]) -> list[float]:
    """Returns the vertices of an outline around the middle of a box."""
    x, y, width, height = box
    points = []
    for i in range(draw.randint(VERTICES // 2, 3 * VERTICES // 2)):
        angle, radius = math.tau * i / VERTICES, draw.uniform(0.3, 0.5)
        points.append(round(x + width * (0.5 + radius * math.cos(angle)), 2))
        points.append(round(y + height * (0.5 + radius * math.sin(angle)), 2))
    return points


def write_annotations(path: Path, files: list[str], seed: int) -> None:
    """Writes a file in COCO's format with random objects of these images."""
    draw = random.Random(seed)
    images, objects = [], []
    for number, name in enumerate(files):
        width, height = image_size(name)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for _ in range(draw.randint(1, 2 * OBJECTS - 1)):
            w, h = draw.uniform(0.05, 0.6) * width, draw.uniform(0.05, 0.6) * height
            x, y = draw.uniform(0, width - w), draw.uniform(0, height - h)
            box = [round(value, 2) for value in (x, y, w, h)]
            objects.append(
                {
                    "segmentation": [_polygon(draw, box)],
                    "area": w * h,
                    "iscrowd": 0,
                    "image_id": number,
                    "bbox": box,
                    "category_id": draw.randint(1, CATEGORIES),
                    "id": len(objects) + 1,
                }
            )
    draw.shuffle(objects)
    categories = [{"id": number, "name": str(number)} for number in range(1, CATEGORIES + 1)]
    document = {"images": images, "annotations": objects, "categories": categories}
    path.write_text(json.dumps(document))


def _pipeline(dali: Any, axes: dict[str, Any], annotations: str, slices: bool) -> Any:
    fn, types = dali.fn, dali.types
    # The names are whole paths.
    reading = {"file_root": "/", "annotations_file": annotations, "name": "Reader"}

    def training() -> tuple[Any, ...]:
        jpegs, boxes, labels = fn.readers.coco(
            **reading, ratio=True, ltrb=True, skip_empty=True, random_shuffle=True
        )
        begin, extents, boxes, labels = fn.random_bbox_crop(
            boxes,
            labels,
            aspect_ratio=[0.5, 2.0],
            thresholds=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9],
            scaling=[0.3, 1.0],
            bbox_layout="xyXY",
            allow_no_crop=True,
            num_attempts=50,
        )
        if slices:
            images = fn.decoders.image_slice(jpegs, begin, extents, output_type=types.RGB)
        else:
            decoded = fn.decoders.image(jpegs, output_type=types.RGB)
            images = fn.slice(decoded, begin, extents)
        resized = fn.resize(images, size=[SIZE, SIZE], interp_type=types.INTERP_LINEAR)
        mirror = fn.random.coin_flip()
        normalized = fn.crop_mirror_normalize(
            resized, dtype=types.FLOAT, output_layout="CHW", mirror=mirror, mean=MEAN, std=STD
        )
        return normalized, fn.bb_flip(boxes, ltrb=True, horizontal=mirror), labels

    def masks() -> tuple[Any, ...]:
        return tuple(fn.readers.coco(**reading, pixelwise_masks=True))

    def start() -> tuple[Any, ...]:
        return tuple(fn.readers.coco(**reading, polygon_masks=True))

    define = {"train": training, "masks": masks, "start": start}[axes["work"]]
    pipeline = dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )(define)()
    pipeline.build()
    return pipeline


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int | tuple[int, float]]:
    """Returns a function that makes one batch and returns its size."""
    files = find_files(axes["data"])
    if axes["work"] == "start":
        files = list(itertools.islice(itertools.cycle(files), START_IMAGES))
    folder = tempfile.TemporaryDirectory()
    annotations = Path(folder.name, "annotations.json")
    write_annotations(annotations, files, axes["seed"])

    def build() -> Any:
        return _pipeline(api(peer), axes, str(annotations), slices=peer.endswith("slice"))

    if axes["work"] == "start":

        def start(_keep: Any = folder) -> tuple[int, float]:
            begin = time.perf_counter()
            build()
            return 1, time.perf_counter() - begin

        return start
    pipeline = build()
    counter = itertools.count()

    def step() -> int:
        images = pipeline.run()[0]
        if axes["work"] == "train" and next(counter) == 0:
            assert tuple(images.at(0).shape) == (3, SIZE, SIZE), images.at(0).shape
        return len(images)

    return step
