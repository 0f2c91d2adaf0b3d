# SPDX-License-Identifier: Apache-2.0
"""The preprocessing of imagenet.py in other loaders: torch's with Pillow or torchvision, and SPDL.

Each follows the documentation of its library. All draw windows from the same distribution, use the
same filter (triangular, antialiased if the library can) and produce 224 x 224 float CHW tensors.
"""

from __future__ import annotations

import atexit
import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files

Step = Callable[[], int]


def random_window(width: int, height: int, rng: random.Random) -> tuple[int, int, int, int]:
    """Returns x, y, width, height: 8 to 100 % of the area, aspect ratio 3/4 to 4/3."""
    area = width * height
    for _ in range(10):
        target = area * rng.uniform(0.08, 1.0)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round((target * ratio) ** 0.5), round((target / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, width - w), rng.randint(0, height - h), w, h
    return 0, 0, width, height


def endless_batches(dataset: Any, axes: dict[str, Any]) -> Iterator[Any]:
    """Returns the batches of torch's DataLoader over a dataset, shuffled, without an end."""
    import torch

    loader = torch.utils.data.DataLoader(
        dataset,
        batch_size=axes["batch"],
        num_workers=axes["threads"],
        # An endless epoch, because the start of the workers is not to be measured.
        sampler=torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=10**9),
        generator=torch.Generator().manual_seed(axes["seed"]),
        prefetch_factor=axes.get("prefetch", 2),
    )
    return iter(loader)


def _loader(dataset: Any, axes: dict[str, Any]) -> Step:
    batches = endless_batches(dataset, axes)
    return lambda: len(next(batches)[0])


def pillow_transform(seed: int) -> Callable[[Any], Any]:
    """Returns the function from a file or an image to a tensor, with Pillow and NumPy.

    A file is a path, or open; an image is Pillow's.
    """
    import numpy as np
    import torch
    from PIL import Image

    rng = random.Random(seed)
    scale = (1 / np.array(STD, np.float32))[:, None, None]
    offset = (np.array(MEAN, np.float32) / np.array(STD, np.float32))[:, None, None]

    def transform(file: Any) -> Any:
        image = (file if isinstance(file, Image.Image) else Image.open(file)).convert("RGB")
        x, y, w, h = random_window(image.width, image.height, rng)
        box = (x, y, x + w, y + h)
        small = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box)
        if rng.random() < 0.5:
            small = small.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.asarray(small).transpose(2, 0, 1) * scale - offset)

    return transform


def pillow(axes: dict[str, Any]) -> Step:
    """Torch's DataLoader over a dataset that uses Pillow and NumPy."""
    import torch

    class Images(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
        def __init__(self) -> None:
            self.files = find_files(axes["data"])
            self.transform = pillow_transform(axes["seed"])

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            with open(self.files[index], "rb") as file:
                return self.transform(file), 0

        def __len__(self) -> int:
            return len(self.files)

    return _loader(Images(), axes)


def torchvision(axes: dict[str, Any]) -> Step:
    """Torch's DataLoader over torchvision: its JPEG decoder and its transforms on tensors."""
    import torch
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2

    transform = v2.Compose(
        [
            v2.RandomResizedCrop(SIZE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32),
            v2.Normalize(MEAN, STD),
        ]
    )

    class Images(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
        def __init__(self) -> None:
            self.files = find_files(axes["data"])

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            return transform(decode_image(read_file(self.files[index]), ImageReadMode.RGB)), 0

        def __len__(self) -> int:
            return len(self.files)

    return _loader(Images(), axes)


def spdl(axes: dict[str, Any]) -> Step:
    """SPDL: FFmpeg decodes, crops, resizes and flips in threads; torch normalizes the batch."""
    import spdl.io
    import torch
    from spdl.pipeline import PipelineBuilder

    files = find_files(axes["data"])
    rng = random.Random(axes["seed"])
    scale = 1 / torch.tensor(STD)[:, None, None]
    offset = torch.tensor(MEAN)[:, None, None] * scale
    spdl.io.load_image(files[0])  # raises here if FFmpeg's libraries are missing

    def paths() -> Iterator[str]:
        while True:
            yield rng.choice(files)

    def decode(path: str) -> Any:
        packets = spdl.io.demux_image(path)
        x, y, w, h = random_window(packets.width, packets.height, rng)
        flip = "hflip," if rng.random() < 0.5 else ""
        filters = (
            f"crop={w}:{h}:{x}:{y}:exact=1,scale={SIZE}:{SIZE}:flags=bilinear,{flip}format=rgb24"
        )
        return spdl.io.decode_packets(packets, filter_desc=filters)

    def convert(frames: list[Any]) -> torch.Tensor:
        pixels = spdl.io.to_torch(spdl.io.convert_frames(frames))
        return torch.addcmul(-offset, pixels.permute(0, 3, 1, 2).contiguous().float(), scale)

    torch.set_num_threads(1)  # for arithmetic on batches; decoding has its own threads
    pipeline = (
        PipelineBuilder()
        .add_source(paths())
        .pipe(decode, concurrency=axes["threads"])
        .aggregate(axes["batch"])
        .pipe(convert)
        .add_sink(axes.get("prefetch", 2))
        .build(num_threads=axes["threads"])
    )
    pipeline.start()
    atexit.register(pipeline.stop)
    batches = iter(pipeline)
    counter = itertools.count()

    def step() -> int:
        batch = next(batches)
        if next(counter) == 0:
            assert tuple(batch.shape[1:]) == (3, SIZE, SIZE), batch.shape
        return len(batch)

    return step


MAKERS: dict[str, Callable[[dict[str, Any]], Step]] = {
    "dataloader": pillow,
    "dataloader-torchvision": torchvision,
    "spdl": spdl,
}
