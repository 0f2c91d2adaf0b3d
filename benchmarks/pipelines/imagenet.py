# SPDX-License-Identifier: Apache-2.0
"""File reader, decode, random resized crop to 224, flip, normalise to float CHW.

The preprocessing of ImageNet training. ``plain`` decodes whole images and crops them afterwards,
``fused`` uses the operator that decodes only the crop; torch's DataLoader runs the same steps in
torchvision where that imports, else in Pillow. Axes: ``threads`` (or worker processes), ``batch``,
``data`` (folder), ``seed``, ``scheme`` (see auto_augment.py).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers import api

PEERS = ["torchdali-plain", "torchdali-fused", "dali-plain", "dali-fused", "dataloader"]
SIZE = 224
# Statistics of ImageNet's training set that everybody normalises with, in units of 255.
MEAN = [255 * m for m in (0.485, 0.456, 0.406)]
STD = [255 * s for s in (0.229, 0.224, 0.225)]
SUFFIXES = {".jpg", ".jpeg"}


@functools.cache
def find_files(data: str) -> list[str]:
    """Returns the JPEG files below a folder, sorted."""
    files = sorted(str(p) for p in Path(data).rglob("*") if p.suffix.lower() in SUFFIXES)
    if not files:
        raise FileNotFoundError(f"no JPEG files below {data}")
    return files


def _augmentation(dali: Any, scheme: str) -> Callable[[Any], Any]:
    """Returns what a scheme does; it is looked up outside of definitions, which DALI rewrites."""
    family = importlib.import_module(f"{dali.__name__}.auto_aug.{scheme}_augment")
    if scheme == "rand":
        return functools.partial(family.rand_augment, n=2, m=9)
    trivial: Callable[[Any], Any] = family.trivial_augment_wide
    return trivial


def _pipeline(dali: Any, axes: dict[str, Any], fused: bool) -> Any:
    fn, types = dali.fn, dali.types
    augmented = _augmentation(dali, axes["scheme"]) if "scheme" in axes else None

    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
        enable_conditionals=augmented is not None,
    )
    def training() -> tuple[Any, Any]:
        jpegs, labels = fn.readers.file(
            files=find_files(axes["data"]), random_shuffle=True, name="Reader"
        )
        resampling = types.INTERP_TRIANGULAR
        if fused:
            crops = fn.decoders.image_random_crop(jpegs, output_type=types.RGB)
            images = fn.resize(crops, size=[SIZE, SIZE], interp_type=resampling)
        else:
            decoded = fn.decoders.image(jpegs, output_type=types.RGB)
            images = fn.random_resized_crop(decoded, size=[SIZE, SIZE], interp_type=resampling)
        if augmented is not None:
            images = augmented(images)
        normalised = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mirror=fn.random.coin_flip(),
            mean=MEAN,
            std=STD,
        )
        return normalised, labels

    pipeline = training()
    pipeline.build()
    return pipeline


def _dataloader(axes: dict[str, Any]) -> Callable[[], int]:
    import numpy as np
    import torch
    from PIL import Image

    def random_window(width: int, height: int, rng: torch.Generator) -> tuple[int, int, int, int]:
        """Returns x, y, width, height: 8 to 100 % of the area, aspect ratio 3/4 to 4/3."""
        area = width * height
        for _ in range(10):
            draws = torch.rand(4, generator=rng).tolist()
            target = area * (0.08 + 0.92 * draws[0])
            ratio = (3 / 4) * (16 / 9) ** draws[1]
            w, h = round((target * ratio) ** 0.5), round((target / ratio) ** 0.5)
            if 0 < w <= width and 0 < h <= height:
                return int(draws[2] * (width - w + 1)), int(draws[3] * (height - h + 1)), w, h
        return 0, 0, width, height

    class Images(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
        def __init__(self) -> None:
            self.files = find_files(axes["data"])
            self.rng = torch.Generator().manual_seed(axes["seed"])
            self.scale = (1 / np.array(STD, np.float32))[:, None, None]
            self.offset = (np.array(MEAN, np.float32) / np.array(STD, np.float32))[:, None, None]

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            with open(self.files[index], "rb") as file:
                image = Image.open(file).convert("RGB")
            x, y, w, h = random_window(image.width, image.height, self.rng)
            box = (x, y, x + w, y + h)
            small = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box)
            if torch.rand(1, generator=self.rng).item() < 0.5:
                small = small.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            planes = np.asarray(small).transpose(2, 0, 1)
            return torch.from_numpy(planes * self.scale - self.offset), 0

        def __len__(self) -> int:
            return len(self.files)

    dataset: Any = Images()
    if importlib.util.find_spec("torchvision"):
        from torchvision.datasets.folder import default_loader
        from torchvision.transforms import v2

        transform = v2.Compose(
            [
                v2.RandomResizedCrop(SIZE, antialias=True),
                v2.RandomHorizontalFlip(),
                v2.PILToTensor(),
                v2.ToDtype(torch.float32),
                v2.Normalize(MEAN, STD),
            ]
        )

        class TorchvisionImages(Images):
            def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
                return transform(default_loader(self.files[index])), 0

        dataset = TorchvisionImages()

    loader = torch.utils.data.DataLoader(
        dataset,
        batch_size=axes["batch"],
        num_workers=axes["threads"],
        # An epoch without end: the start of workers is not what is measured.
        sampler=torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=10**9),
        generator=torch.Generator().manual_seed(axes["seed"]),
        prefetch_factor=2,
    )
    batches = iter(loader)
    return lambda: len(next(batches)[0])


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    if peer == "dataloader":
        return _dataloader(axes)
    pipeline = _pipeline(api(peer), axes, fused=peer.endswith("fused"))
    counter = itertools.count()

    def step() -> int:
        images, _ = pipeline.run()
        # Each layout and size once: a peer that makes something else is not a peer.
        if next(counter) == 0:
            assert tuple(images.at(0).shape) == (3, SIZE, SIZE), images.at(0).shape
        return len(images)

    return step
