# SPDX-License-Identifier: Apache-2.0
"""The loaders of s3_epochs.py: each returns what makes the epochs of a data set in a bucket.

All decode, crop at random to 224, flip and normalize to float32 CHW; the packages without decoders
of their own use torchvision's in the workers of torch's DataLoader.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.field.s3_server import BUCKET, ENVIRONMENT
from benchmarks.pipelines.files import MEAN, SIZE, STD

__all__ = ["LOADERS"]

Axes = dict[str, Any]
# Takes the axes and a folder for the cache; returns an iterator over sizes of batches.
Epochs = Callable[[], Iterator[int]]


def torchdali(axes: Axes, cache: str) -> Epochs:
    """torchdali: tar shards, with a cache."""
    import torchdali
    from benchmarks.pipelines.containers import read_tar
    from benchmarks.pipelines.imagenet import decode_and_crop, flip_and_normalize
    from torchdali import pipeline_def, storage

    options = {
        "endpoint": axes["endpoint"],
        "access_key_id": ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        "secret_access_key": ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        "region": ENVIRONMENT["AWS_DEFAULT_REGION"],
    }
    storage.configure(backend="obstore", cache_dir=cache, options={f"s3://{BUCKET}": options})

    @pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def training() -> tuple[Any, Any]:
        paths = [f"s3://{BUCKET}/{name}" for name in axes["shards"]]
        jpegs, labels = read_tar(torchdali, paths)
        return flip_and_normalize(torchdali, decode_and_crop(torchdali, jpegs)), labels

    pipeline = training()
    pipeline.build()

    def epoch() -> Iterator[int]:
        for _ in range(axes["files"] // axes["batch"]):
            yield len(pipeline.run()[0])

    return epoch


def _transform() -> Callable[[bytes], Any]:
    import numpy as np
    import torch
    from torchvision.io import ImageReadMode, decode_image
    from torchvision.transforms import v2

    augment = v2.Compose(
        [
            v2.RandomResizedCrop(SIZE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32),
            v2.Normalize(MEAN, STD),
        ]
    )

    def transform(encoded: bytes) -> Any:
        data = torch.from_numpy(np.frombuffer(encoded, np.uint8).copy())
        return augment(decode_image(data, ImageReadMode.RGB))

    return transform


def _sizes(loader: Any) -> Epochs:
    return lambda: (len(images) for images, _ in loader)


def litdata(axes: Axes, cache: str) -> Epochs:
    """LitData: StreamingDataset and StreamingDataLoader."""
    from litdata import StreamingDataLoader, StreamingDataset
    from litdata.streaming import downloader

    # The server here has no certificate, and LitData has no option for that.
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
    transform = _transform()

    class Images(StreamingDataset):  # type: ignore[misc]  # an untyped package
        def __getitem__(self, index: Any) -> tuple[Any, int]:
            sample = super().__getitem__(index)
            return transform(sample["image"]), sample["class"]

    dataset = Images(
        f"s3://{BUCKET}/litdata",
        cache_dir=cache,
        shuffle=True,
        seed=axes["seed"],
        storage_options={"endpoint_url": axes["endpoint"]},
    )
    return _sizes(
        StreamingDataLoader(dataset, batch_size=axes["batch"], num_workers=axes["threads"])
    )


def mosaicml(axes: Axes, cache: str) -> Epochs:
    """MosaicML Streaming: StreamingDataset in torch's DataLoader."""
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory
    from torch.utils.data import DataLoader

    transform = _transform()

    class Images(StreamingDataset):  # type: ignore[misc]  # an untyped package
        def __getitem__(self, index: Any) -> tuple[Any, int]:
            sample = super().__getitem__(index)
            return transform(sample["image"]), sample["class"]

    os.environ["S3_ENDPOINT_URL"] = axes["endpoint"]
    clean_stale_shared_memory()  # of the epochs before
    dataset = Images(
        remote=f"s3://{BUCKET}/mosaicml",
        local=cache,
        shuffle=True,
        shuffle_seed=axes["seed"],
        batch_size=axes["batch"],
    )
    return _sizes(DataLoader(dataset, batch_size=axes["batch"], num_workers=axes["threads"]))


def webdataset(axes: Axes, cache: str) -> Epochs:
    """The webdataset package in torch's DataLoader: tar shards, with a cache."""
    import webdataset as wds
    from torch.utils.data import DataLoader

    transform = _transform()
    urls = [f"{axes['endpoint']}/{BUCKET}/{name}" for name in axes["shards"]]
    dataset = (
        wds.WebDataset(urls, shardshuffle=len(urls), seed=axes["seed"], cache_dir=cache)
        .shuffle(100)
        .to_tuple("jpg", "cls")
        .map_tuple(transform, int)
        .batched(axes["batch"])
    )
    return _sizes(DataLoader(dataset, batch_size=None, num_workers=axes["threads"]))


LOADERS: dict[str, Callable[[Axes, str], Epochs]] = {
    "torchdali": torchdali,
    "litdata": litdata,
    "mosaicml": mosaicml,
    "webdataset-s3": webdataset,
}
