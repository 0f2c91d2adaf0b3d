# SPDX-License-Identifier: Apache-2.0
"""FFCV's table of ImageNet: JPEG of at most 512 pixels and quality 90, from the page cache.

Random resized crop to 224, flip, normalize to float16. DALI and torchdali read the same files, FFCV
its own file of them; torch's DataLoader and SPDL make float32, as in imagenet_peers.py. Axes:
``threads``, ``batch``, ``seed``, ``data`` (folder).
"""

from __future__ import annotations

import atexit
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.field.photos import encoded_again
from benchmarks.peers import api
from benchmarks.pipelines import imagenet_peers
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files
from benchmarks.pipelines.imagenet import decode_and_crop

LONGER_SIDE = 512
QUALITY = 90
BATCH = 64
PEERS = ["torchdali", "dali", "ffcv", "dataloader-torchvision", "dataloader", "spdl"]


def _pipeline(dali: Any, axes: dict[str, Any]) -> Callable[[], int]:
    fn, types = dali.fn, dali.types

    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def training() -> tuple[Any, Any]:
        jpegs, labels = fn.readers.file(
            files=find_files(axes["data"]), random_shuffle=True, name="Reader"
        )
        images = fn.crop_mirror_normalize(
            decode_and_crop(dali, jpegs),
            dtype=types.FLOAT16,
            output_layout="CHW",
            mirror=fn.random.coin_flip(),
            mean=MEAN,
            std=STD,
        )
        return images, labels

    pipeline = training()
    pipeline.build()
    return lambda: len(pipeline.run()[0])


def _ffcv(axes: dict[str, Any]) -> Callable[[], int]:
    """FFCV, as its documentation has it, without a GPU."""
    import cv2
    import numpy as np
    from ffcv.fields import IntField, RGBImageField
    from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
    from ffcv.writer import DatasetWriter

    files = find_files(axes["data"])

    class Pictures:
        def __len__(self) -> int:
            return len(files)

        def __getitem__(self, index: int) -> tuple[Any, int]:
            return cv2.imread(files[index])[..., ::-1], index

    folder = tempfile.TemporaryDirectory(prefix="torchdali-ffcv-")
    atexit.register(folder.cleanup)
    path = str(Path(folder.name) / "train.beton")
    image = RGBImageField(write_mode="jpg", max_resolution=LONGER_SIDE, jpeg_quality=QUALITY)
    writer = DatasetWriter(path, {"image": image, "label": IntField()}, num_workers=1)
    writer.from_indexed_dataset(Pictures())
    mean, std = np.array(MEAN), np.array(STD)
    loader = Loader(
        path,
        batch_size=axes["batch"],
        num_workers=axes["threads"],
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=True,
        seed=axes["seed"],
        pipelines={
            "image": [
                RandomResizedCropRGBImageDecoder((SIZE, SIZE)),
                RandomHorizontalFlip(),
                NormalizeImage(mean, std, np.float16),
                ToTensor(),
                ToTorchImage(),
            ],
            "label": [IntDecoder(), ToTensor()],
        },
    )
    batches = itertools.chain.from_iterable(iter(lambda: loader, None))
    counter = itertools.count()

    def step() -> int:
        images = next(batches)[0]
        if next(counter) == 0:
            assert tuple(images.shape[1:]) == (3, SIZE, SIZE), images.shape
        return len(images)

    return step


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    if peer == "ffcv":
        return _ffcv(axes)
    if peer in imagenet_peers.MAKERS:
        return imagenet_peers.MAKERS[peer](axes)
    return _pipeline(api(peer), axes)


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all peers."""
    again = encoded_again(options.data, LONGER_SIDE, QUALITY)
    return harness.measure(
        __name__,
        options.chosen(PEERS),
        {**options.axes(batch=BATCH), "data": again},
        harness.throughput,
        rounds=options.rounds,
        seconds=options.seconds,
        warm_up=3,
    )
