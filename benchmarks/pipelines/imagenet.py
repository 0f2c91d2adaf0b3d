# SPDX-License-Identifier: Apache-2.0
"""The preprocessing of ImageNet training.

File reader, decode, random resized crop to 224, flip, normalize to float CHW. ``plain`` is written
with ``decoders.image`` and ``random_resized_crop``; ``fused`` uses ``decoders.image_random_crop``.
The other loaders are in imagenet_peers.py. Axes: ``threads`` (or worker processes), ``batch``,
``data`` (folder), ``seed``, ``scheme`` (see auto_augment.py), ``jpeg_index``.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any

from benchmarks.peers import api
from benchmarks.pipelines import imagenet_peers
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files

PEERS = ["torchdali-plain", "torchdali-fused", "dali-plain", "dali-fused", *imagenet_peers.MAKERS]


def decode_and_crop(dali: Any, jpegs: Any, **decoding: Any) -> Any:
    """Returns random crops of pictures, resized."""
    fn, types = dali.fn, dali.types
    decoded = fn.decoders.image(jpegs, output_type=types.RGB, **decoding)
    return fn.random_resized_crop(decoded, size=[SIZE, SIZE], interp_type=types.INTERP_TRIANGULAR)


def flip_and_normalize(dali: Any, images: Any) -> Any:
    """Returns images as a training step takes them."""
    fn, types = dali.fn, dali.types
    return fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mirror=fn.random.coin_flip(),
        mean=MEAN,
        std=STD,
    )


def _augmentation(dali: Any, scheme: str) -> Callable[[Any], Any]:
    """Returns the augmentation of a scheme; imported here because DALI rewrites definitions."""
    family = importlib.import_module(f"{dali.__name__}.auto_aug.{scheme}_augment")
    if scheme == "rand":
        return functools.partial(family.rand_augment, n=2, m=9)
    trivial: Callable[[Any], Any] = family.trivial_augment_wide
    return trivial


def _pipeline(dali: Any, axes: dict[str, Any], fused: bool) -> Any:
    fn, types = dali.fn, dali.types
    index = {"jpeg_index": axes["jpeg_index"]} if "jpeg_index" in axes else {}
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
        if fused:
            crops = fn.decoders.image_random_crop(jpegs, output_type=types.RGB)
            images = fn.resize(crops, size=[SIZE, SIZE], interp_type=types.INTERP_TRIANGULAR)
        else:
            images = decode_and_crop(dali, jpegs, **index)
        if augmented is not None:
            images = augmented(images)
        return flip_and_normalize(dali, images), labels

    pipeline = training()
    pipeline.build()
    return pipeline


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    if peer in imagenet_peers.MAKERS:
        return imagenet_peers.MAKERS[peer](axes)
    pipeline = _pipeline(api(peer), axes, fused=peer.endswith("fused"))
    counter = itertools.count()

    def step() -> int:
        images, _ = pipeline.run()
        # Checked once: every peer has to produce the same layout and size.
        if next(counter) == 0:
            assert tuple(images.at(0).shape) == (3, SIZE, SIZE), images.at(0).shape
        return len(images)

    return step
