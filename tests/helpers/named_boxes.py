# SPDX-License-Identifier: Apache-2.0
"""A dataset that names its encoded images, with boxes and key points; needs torchvision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from helpers.detection_files import COUNT
from PIL import Image
from torchvision import tv_tensors as tv


class Boxes(torch.utils.data.Dataset[Any]):
    """Images that write_coco() has written; `beyond` is how much their boxes err about the size."""

    def __init__(
        self, folder: Path, transforms: Any, beyond: int = 0, more: tuple[Any, ...] = ()
    ) -> None:
        self.folder, self.transforms, self.beyond, self.more = folder, transforms, beyond, more

    def __len__(self) -> int:
        return COUNT

    def encoded_sample(self, index: int) -> Any:
        file = self.folder / f"{index}.png"
        with Image.open(file) as image:
            height, width = image.height + self.beyond, image.width
        boxes = tv.BoundingBoxes(
            torch.tensor([[1, 2, 30, 20]]), format="XYWH", canvas_size=(height, width)
        )
        points = tv.KeyPoints(
            torch.tensor([[2, 3], [30, 40], [50.5, 20]]), canvas_size=(height, width)
        )
        return (str(file), boxes, torch.tensor([index]), points, *self.more)

    def __getitem__(self, index: int) -> Any:
        file, *rest = self.encoded_sample(index)
        return self.transforms(Image.open(file).convert("RGB"), *rest)
