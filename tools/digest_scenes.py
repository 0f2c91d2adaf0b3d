# SPDX-License-Identifier: Apache-2.0
"""Pipelines whose output tools/digests.py records. They use public names of torchdali only.

A scene is a generator of pairs: the name of a part and what it gave. It is registered by `scene`
and runs once for each variant in `VARIANTS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import digest_data as data
import numpy as np

from torchdali import Pipeline, fn, math, pipeline_def, types
from torchdali.auto_aug import auto_augment, rand_augment, trivial_augment
from torchdali.plugin.pytorch import fn as torch_fn


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a scene runs with."""

    images: Path  # made by digest_data.write_images
    real: Path | None  # a folder of JPEG files
    threads: int
    gpu: bool

    def options(self, **more: Any) -> dict[str, Any]:
        """Returns arguments of a pipeline."""
        defaults = {"batch_size": 4, "num_threads": self.threads, "device_id": None, "seed": 11}
        return {**defaults, **more}

    def place(self, node: Any) -> Any:
        """Returns the node on the device of the setting."""
        return node.gpu() if self.gpu else node


Scene = Callable[[Setting], Iterator[tuple[str, Any]]]
SCENES: dict[str, Scene] = {}


def scene(function: Scene) -> Scene:
    """Registers a scene under the function's name."""
    SCENES[function.__name__] = function
    return function


def batches(pipe: Pipeline, count: int = 3) -> list[Any]:
    """Runs a pipeline and closes it; returns copies of its outputs."""
    result: list[Any] = []
    try:
        for _ in range(count):
            outputs = pipe.run()
            result.append(copied(outputs))
    except StopIteration:
        result.append("end")
    finally:
        pipe.close()
    return result


def copied(outputs: Any) -> list[Any]:
    """Returns layout and samples of each output of one run."""
    return [(out.layout(), [s.clone() for s in out.as_torch_list()]) for out in outputs]


@pipeline_def
def training(setting: Setting, reader: dict[str, Any]) -> Any:
    """The usual training pipeline."""
    encoded, label = fn.readers.file(
        file_root=str(setting.images), random_shuffle=True, name="Reader", **reader
    )
    images = fn.decoders.image(encoded)
    images = fn.random_resized_crop(setting.place(images), size=[32, 40])
    images = fn.crop_mirror_normalize(
        images, mirror=fn.random.coin_flip(), mean=[124, 116, 104], std=[58.0, 57.0, 57.0]
    )
    return images, label


@scene
def inputs(setting: Setting) -> Iterator[tuple[str, Any]]:
    """The bytes of the files: other versions of Pillow may write others."""
    for path in sorted(setting.images.rglob("*.*")):
        yield path.name, path.read_bytes()


@scene
def readers(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Training pipelines over the reader's options."""
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "shard": {"shard_id": 1, "num_shards": 3},
        "stick": {"shard_id": 2, "num_shards": 3, "stick_to_shard": True},
        "padded": {"shard_id": 0, "num_shards": 3, "pad_last_batch": True},
        "each_epoch": {"random_shuffle": False, "shuffle_after_epoch": True},
        "fill": {"initial_fill": 5, "seed": 3},
    }
    for name, reader in options.items():
        if "random_shuffle" not in reader:
            yield name, batches(training(setting, reader, **setting.options()), 8)
            continue
        pipe = Pipeline(**setting.options())
        with pipe:
            pipe.set_outputs(*fn.readers.file(file_root=str(setting.images), **reader))
        yield name, batches(pipe, 8)


@scene
def decoders(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Every decoder over every file."""

    @pipeline_def(**setting.options(batch_size=10))
    def decoded(device: str) -> Any:
        encoded, _ = fn.readers.file(file_root=str(setting.images))
        window = {"crop": [30, 33], "crop_pos_x": fn.random.uniform(range=[0.0, 1.0])}
        return (
            fn.decoders.image(encoded, device=device),
            fn.decoders.image(encoded, device=device, output_type=types.GRAY),
            fn.decoders.image(encoded, device=device, output_type=types.YCbCr),
            fn.decoders.image_crop(encoded, device=device, **window),
            fn.decoders.image_random_crop(encoded, device=device),
            fn.decoders.image_slice(encoded, [0.1, 0.2], [0.5, 0.6], device=device),
            fn.peek_image_shape(encoded),
        )

    yield "all", batches(decoded("mixed" if setting.gpu else "cpu"), 2)


@scene
def real_images(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Photographs, where there are some: decoded as a whole, and in the usual pipeline."""
    files = sorted(map(str, setting.real.glob("*.JPEG"))) if setting.real else []
    if not files:
        return

    @pipeline_def(**setting.options(batch_size=20))
    def usual(names: list[str]) -> Any:
        encoded, label = fn.readers.file(files=names, random_shuffle=True)
        images = setting.place(fn.decoders.image(encoded))
        cropped = fn.random_resized_crop(images, size=[96, 96], interp_type=types.INTERP_TRIANGULAR)
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(cropped, mirror=mirror, std=[255.0]), label

    @pipeline_def(**setting.options(batch_size=10))
    def whole(names: list[str]) -> Any:
        encoded, label = fn.readers.file(files=names)
        images = setting.place(fn.decoders.image(encoded))
        return images, fn.resize(images, size=[64, 80]), label

    yield "usual", batches(usual(files), len(files) // 20)
    yield "whole", batches(whole(files[::10]), len(files[::10]) // 10)


@scene
def augmentation(setting: Setting) -> Iterator[tuple[str, Any]]:
    """The three policies, and every named policy of AutoAugment."""

    @pipeline_def(**setting.options(enable_conditionals=True))
    def augmented() -> Any:
        images = setting.place(fn.external_source(data.photo_batch, layout="HWC"))
        policies = ["image_net", "reduced_cifar10", "svhn", "reduced_image_net"]
        return (
            rand_augment.rand_augment(images, n=3, m=15),
            rand_augment.rand_augment(images, n=1, m=7, monotonic_mag=False, fill_value=0),
            trivial_augment.trivial_augment_wide(images, num_magnitude_bins=20),
            *(auto_augment.auto_augment(images, policy) for policy in policies),
        )

    yield "policies", batches(augmented(), 6)


@pipeline_def(enable_conditionals=True)
def branching(place: Any) -> Any:
    """Nested conditions over drawn values."""
    images = place(fn.external_source(data.photo_batch, layout="HWC"))
    strong = fn.random.coin_flip(probability=0.6, dtype=types.BOOL)
    amount = fn.random.uniform(range=[0.0, 1.0])
    kept = images
    if strong and amount > 0.4:
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        tag = fn.cast(amount, dtype=types.FLOAT16)
    elif amount < 0.2 or not strong:
        images = fn.brightness(images, brightness=1.0 + amount)
        tag = fn.cast(amount * 0.5, dtype=types.FLOAT16)
    else:
        tag = types.Constant(-1.0, dtype=types.FLOAT16)
    return images, tag, strong, kept if strong else fn.flip(kept)


@scene
def conditionals(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Branches for each sample."""
    yield "nested", batches(branching(setting.place, **setting.options()), 5)


@scene
def external_sources(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Callbacks of batches and samples, iterables, worker processes and feed_input."""
    sources: dict[str, dict[str, Any]] = {
        "batch": {"source": data.photo_batch},
        "sample": {"source": data.photo_of_sample, "batch": False, "num_outputs": 2},
        "iterable": {"source": list(data.photo_batches()), "cycle": "raise"},
        "parallel_sample": {
            "source": data.photo_of_sample,
            "batch": False,
            "num_outputs": 2,
            "parallel": True,
        },
        "parallel_batch": {"source": data.photo_batch, "parallel": True},
        "fed": {"name": "fed"},
    }
    for name, arguments in sources.items():
        parallel = "parallel" in arguments
        pipe = Pipeline(**setting.options(py_num_workers=2 if parallel else 1))
        with pipe:
            fed = fn.external_source(**arguments)
            fed = fed if isinstance(fed, list) else [fed]
            first = fn.resize(fn.reinterpret(fed[0], layout="HWC"), size=[24, 20])
            pipe.set_outputs(first, *fed)
        if name == "fed":
            pipe.build()
            for index in range(4):
                pipe.feed_input("fed", data.photo_batch(index))
        yield name, batches(pipe, 4)


@scene
def random_values(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Random operators, with and without seeds of their own."""

    @pipeline_def(**setting.options())
    def drawn() -> Any:
        images = setting.place(fn.external_source(data.photo_batch, layout="HWC"))
        return (
            fn.random.uniform(range=[-2.0, 3.0], shape=[5]),
            fn.random.uniform(values=[1.0, 2.0, 5.0], seed=9),
            fn.random.normal(mean=1.0, stddev=2.0, shape=[3, 2]),
            fn.random.coin_flip(probability=0.3, shape=[7]),
            fn.random.beta(alpha=0.5, beta=2.0),
            fn.random.choice([5, 7, 9], shape=[4]),
            fn.batch_permutation(),
            fn.noise.gaussian(images, stddev=20.0),
            fn.noise.salt_and_pepper(images, prob=0.2),
            fn.noise.shot(images, factor=4.0, seed=77),
            fn.jitter(images) if setting.gpu else images,
            fn.random_resized_crop(images, size=[20, 22]),
            fn.jpeg_compression_distortion(images, quality=fn.random.uniform(range=[20, 80])),
        )

    yield "all", batches(drawn(), 4)


@scene
def expressions(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Arithmetic, functions, subscripts and constants."""

    @pipeline_def(**setting.options())
    def computed() -> Any:
        images = setting.place(fn.external_source(data.photo_batch, layout="HWC"))
        x = (images / 255.0 - 0.5) * np.array([1.0, 0.9, 0.8], np.float32)
        y = math.clamp(math.sin(x) * 2 + math.abs(x) ** 0.5, -0.5, 1.25)
        whole = fn.cast(images, dtype=types.INT32) // 7 - (images & 15)
        start = fn.random.uniform(range=[0, 5], dtype=types.INT32)
        return x, y, whole, images[2:30, ::3, 1], images[start:20], (images > 100) ^ (x < 0)

    yield "all", batches(computed())


def halved(image: np.ndarray) -> np.ndarray:
    """Returns every other row."""
    return image[::2].copy()


@scene
def functions(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Python functions on arrays and tensors, for samples and for batches."""

    @pipeline_def(**setting.options())
    def called() -> Any:
        images = fn.external_source(data.photo_batch, layout="HWC")
        return (
            fn.python_function(images, function=halved, output_layouts="HWC"),
            torch_fn.torch_python_function(images, function=lambda image: image.float() * 0.5),
            fn.python_function(
                images, function=lambda all_: [a[:, :3] for a in all_], batch_processing=True
            ),
        )

    yield "all", batches(called())


@scene
def chains(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Operators over one image that the engine fuses, with sequences too."""

    @pipeline_def(**setting.options())
    def chained() -> Any:
        images = setting.place(fn.external_source(data.photo_batch, layout="HWC"))
        mirror = fn.random.coin_flip()
        x = fn.crop(images, crop=[30, 32], crop_pos_y=fn.random.uniform(range=[0.0, 1.0]))
        x = fn.color_twist(x, hue=fn.random.uniform(range=[-60.0, 60.0]), saturation=0.8)
        x = fn.flip(x, horizontal=mirror, vertical=1)
        planar = fn.crop_mirror_normalize(x, dtype=types.FLOAT16, mirror=mirror, std=[50.0])
        small = fn.resize(images, resize_shorter=20, interp_type=types.INTERP_CUBIC)
        small = fn.brightness_contrast(small, brightness=1.2, contrast=0.9)
        warped = fn.warp_affine(images, matrix=[1.0, 0.2, -3.0, 0.1, 0.9, 2.0], fill_value=9)
        frames = fn.stack(small, fn.flip(small), axis=0)
        frames = fn.gaussian_blur(fn.reinterpret(frames, layout="FHWC"), sigma=1.5)
        return x, planar, small, fn.cast(warped, dtype=types.FLOAT), frames

    yield "all", batches(chained())
