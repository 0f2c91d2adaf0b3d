# SPDX-License-Identifier: Apache-2.0
"""Fused operators and the same operators one after the other are bit-identical."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers import chains
from helpers.chains import INTERPOLATIONS, uniform
from helpers.image_files import encode, photo_like

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.errors import TorchdaliError

BATCH = 6
Definition = Callable[[Any], Any]


@functools.cache
def encoded_batch(
    seed: int = 0, low: int = 20, high: int = 200, scale: int = 1
) -> list[np.ndarray]:
    """Returns JPEG and PNG files of different sizes, as arrays of bytes."""
    rng = np.random.default_rng(seed)
    batch = []
    for i in range(BATCH):
        height, width = (int(x) for x in rng.integers(low, high, 2))
        pixels = np.tile(photo_like(height, width, seed=10 * seed + i), (scale, scale, 1))
        file_format = "PNG" if i == BATCH - 1 else "JPEG"
        options = {} if file_format == "PNG" else {"subsampling": i % 3, "quality": 85}
        batch.append(np.frombuffer(encode(pixels, file_format, **options), np.uint8))
    return batch


@functools.cache
def image_batch(channels: int = 3, scale: int = 1) -> list[np.ndarray]:
    images = [photo_like(60 + 9 * i, 150 - 8 * i, seed=i, channels=channels) for i in range(BATCH)]
    return [np.tile(image, (scale, scale, 1)) for image in images]


def run(define: Definition, batch: list[np.ndarray], layout: str | None) -> list[torch.Tensor]:
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=17)
    def definition() -> Any:
        return define(fn.external_source(source=lambda: batch, layout=layout, batch=True))

    pipe = definition()
    pipe.build()
    outputs = [output for _ in range(2) for output in pipe.run()]  # other draws, used memory
    return [torch.as_tensor(o.at(i)).clone() for o in outputs for i in range(len(o))]


def check(
    define: Definition, batch: list[np.ndarray], monkeypatch: Any, layout: str | None = None
) -> None:
    results: list[Any] = []
    for fused in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", fused)
        try:
            results.append(run(define, batch, layout))
        except TorchdaliError as error:  # such as a window outside
            results.append(str(error))
    fused_result, plain = results
    if isinstance(plain, str):
        assert fused_result == plain
        return
    assert len(fused_result) == len(plain)
    for f, p in zip(fused_result, plain, strict=True):
        assert f.dtype == p.dtype
        assert f.shape == p.shape
        # As bytes: NaN equals NaN.
        assert f.contiguous().numpy().tobytes() == p.contiguous().numpy().tobytes()


def resampled(x: Any, draw: random.Random, scale: int) -> Any:
    options: dict[str, Any] = {"interp_type": draw.choice(INTERPOLATIONS)}
    if draw.random() < 0.3:
        options["antialias"] = False
    if draw.random() < 0.2:
        options["dtype"] = types.FLOAT
    match draw.randrange(5):
        case 0:
            return fn.random_resized_crop(x, size=[48 * scale, 40 * scale], **options)
        case 1:
            return fn.resize(x, resize_shorter=56 * scale, **options)
        case 2:
            return fn.resize(x, size=[70 * scale, 0], roi_start=[0.2, 0.1], roi_end=[0.9, 0.7],
                             roi_relative=True, **options)  # fmt: skip
        case 3:
            return fn.resize_crop_mirror(
                x, resize_shorter=60 * scale, crop=[50 * scale, 44 * scale],
                mirror=draw.randrange(4), crop_pos_x=uniform(0, 1), **options,
            )  # fmt: skip
        case _:
            return fn.resize(
                x, resize_x=uniform(45 * scale, 90 * scale), resize_y=64.0 * scale, **options
            )


def computed(x: Any, draw: random.Random, scale: int) -> Any:
    match draw.randrange(9):
        case 0:
            return x * 0.5 + fn.random.uniform(range=[-20, 20], shape=[1])
        case 1:
            return (x - types.Constant(np.array([100.0, 110.0, 90.0], np.float32))) / 64.0
        case 2:
            return uniform(0.5, 1.0) * x
        case _:
            return chains.pixelwise(x, draw, scale)


STEPS = {**chains.STEPS, "R": resampled, "P": computed}
# D: decode the image. The letters are steps, in order.
CHAINS = [
    "DR", "DW", "DN", "DWR", "DRN", "DRFN", "DRWN", "DRPN", "DRPPP", "DRPFWPN", "DRFF", "DWP",
    "DFPN", "DPPN", "DPW", "DWPN", "DRWF", "DFR", "DRR", "DRRN", "DPR", "DF", "DWWN",
    "RN", "RP", "RPN", "RFPN", "RWWF", "WPN", "PN", "PPP", "FPN", "WN", "FW", "PFP", "MR", "RMP",
]  # fmt: skip


# Larger images pass through the chain in several bands.
@pytest.mark.parametrize(("seed", "scale"), [(0, 1), (1, 1), (2, 7)])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_fused_chain_equals_its_single_operators(chain, seed, scale, monkeypatch):
    def define(x: Any) -> Any:
        draw = random.Random(f"{chain} {seed}")
        for letter in chain:
            x = fn.decoders.image(x) if letter == "D" else STEPS[letter](x, draw, scale)
        return x

    encoded = chain[0] == "D"
    batch = encoded_batch(seed, low=60, scale=scale) if encoded else image_batch(scale=scale)
    check(define, batch, monkeypatch, layout=None if encoded else "HWC")


def typical(x: Any) -> Any:
    x = fn.resize(x, size=[40, 50])
    x = fn.flip(x, horizontal=fn.random.coin_flip())
    x = fn.brightness_contrast(x, brightness=uniform(0.5, 1.5))
    return fn.crop_mirror_normalize(x, crop=[30, 30], mean=[100.0], std=[50.0], output_layout="")


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_images_may_have_any_number_of_channels(channels, monkeypatch):
    check(typical, image_batch(channels), monkeypatch, layout="HWC")


@pytest.mark.parametrize(
    ("layout", "shape"), [("FHWC", (3, 44, 55, 3)), ("DHWC", (4, 30, 44, 3)), (None, (44, 55, 3))]
)
def test_sequences_volumes_and_unknown_layouts_are_not_fused_but_equal(layout, shape, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.resize(x, size=[4, 40, 50] if layout == "DHWC" else [40, 50])
        return fn.cast(fn.brightness_contrast(x, brightness=uniform(0.5, 1.5)), dtype=types.FLOAT)

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, shape).astype(np.uint8) for _ in range(BATCH)]
    check(define, batch, monkeypatch, layout=layout)


def test_chains_with_arguments_per_frame_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        x = fn.resize(x, size=[40, 50])
        factors = fn.per_frame(fn.random.uniform(range=[0.5, 1.5], shape=[3]))
        return fn.crop_mirror_normalize(
            fn.brightness_contrast(x, brightness=factors), output_layout="FCHW"
        )

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, (3, 44, 55, 3)).astype(np.uint8) for _ in range(BATCH)]
    check(define, batch, monkeypatch, layout="FHWC")


@pytest.mark.parametrize("size", [[1, 1], [1, 300], [300, 1], [700, 640]])
def test_small_and_large_results_are_equal(size, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.color_twist(fn.resize(fn.decoders.image(x), size=size), hue=20.0)
        return fn.crop_mirror_normalize(x, mirror=1), fn.random.coin_flip()

    check(define, encoded_batch(), monkeypatch)


def test_operands_of_the_size_of_the_image_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        small = fn.resize(x, size=[40, 50])
        noise = fn.random.normal(shape=[40, 50, 1])
        rows = fn.random.normal(shape=[40, 1, 1])
        return fn.cast(small * 0.5 + noise, dtype=types.UINT8), fn.resize(x, size=[40, 50]) * rows

    check(define, image_batch(), monkeypatch, layout="HWC")


def test_empty_images_stay_empty(monkeypatch):
    def define(x: Any) -> Any:
        x = fn.resize(x, size=[40, 50])
        return fn.cast(fn.flip(fn.brightness(x, brightness=0.5)), dtype=types.FLOAT)

    empty = [np.zeros((0, 5, 3), np.uint8), np.zeros((5, 0, 3), np.uint8)] * (BATCH // 2)
    check(define, empty, monkeypatch, layout="HWC")


def test_values_inside_a_chain_stay_available_to_others(monkeypatch):
    def define(x: Any) -> Any:
        images = fn.decoders.image(x)
        small = fn.resize(images, size=[40, 50])
        bright = fn.brightness(small, brightness=1.5)
        # `images` are used twice, `small` is an output as well.
        return small, fn.cast(bright, dtype=types.FLOAT), fn.crop(images, crop=[9, 9])

    check(define, encoded_batch(), monkeypatch)


def test_chains_in_branches_are_equal(monkeypatch):
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=3, enable_conditionals=True)
    def definition(batch: Any) -> Any:
        encoded = fn.external_source(source=lambda: batch, batch=True)
        images = fn.decoders.image(encoded)
        small = fn.resize(images, size=[48, 40])
        if fn.random.coin_flip(dtype=types.BOOL):
            small = fn.color_twist(small, hue=uniform(0, 90))
            if fn.random.coin_flip(dtype=types.BOOL):
                result = fn.crop_mirror_normalize(fn.flip(small), std=[50.0])
            else:
                result = fn.crop_mirror_normalize(fn.flip(small, vertical=1), mean=[100.0])
        else:
            result = fn.crop_mirror_normalize(fn.cast(small, dtype=types.FLOAT))
        return result

    batch = encoded_batch()
    results = []
    for fused in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", fused)
        pipe = definition(batch)
        pipe.build()
        results.append([pipe.run()[0].as_torch().clone() for _ in range(4)])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def failing(
    fused: bool, monkeypatch: Any, batch: list[np.ndarray], crop: float = 30
) -> tuple[type[Exception], str]:
    monkeypatch.setenv("TORCHDALI_FUSION", "1" if fused else "0")

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=3)
    def definition() -> Any:
        encoded = fn.external_source(source=lambda: batch, batch=True)
        images = fn.decoders.image(encoded)
        small = fn.resize(images, size=[48, 40])
        bright = fn.color_twist(small, hue=30.0)
        scaled = (bright - 100.0) * fn.random.uniform(range=[0.5, 1], shape=[3])
        return fn.crop_mirror_normalize(scaled, crop=[crop, crop])

    pipe = definition()
    pipe.build()
    with pytest.raises(TorchdaliError) as caught:
        pipe.run()
    return type(caught.value), str(caught.value)


def broken(batch: list[np.ndarray], kind: str) -> list[np.ndarray]:
    file = batch[2]
    if kind == "cut off":
        file = file[: len(file) // 8]
    elif kind == "no image":
        file = np.frombuffer(b"not an image at all", np.uint8)
    elif kind == "gray":
        pixels = np.tile(photo_like(50, 50, 1)[..., :1], (1, 1, 1))
        file = np.frombuffer(encode(pixels), np.uint8)
    return [*batch[:2], file, *batch[3:]]


@pytest.mark.parametrize("kind", ["cut off", "no image", "gray"])
def test_errors_name_the_operator_that_failed(kind, monkeypatch):
    batch = broken(encoded_batch(low=60), kind)
    if kind == "gray":  # a window outside fails
        assert failing(True, monkeypatch, batch, 50) == failing(False, monkeypatch, batch, 50)
        return
    of_fused = failing(True, monkeypatch, batch)
    assert of_fused == failing(False, monkeypatch, batch)
    assert "decoders.image" in of_fused[1]
    assert "images = fn.decoders.image(encoded)" in of_fused[1]


def test_a_resumed_chain_continues_with_the_same_values(monkeypatch):
    batch = encoded_batch()

    @pipeline_def(
        batch_size=BATCH, num_threads=2, device_id=None, seed=3, enable_checkpointing=True
    )
    def definition() -> Any:
        x = fn.decoders.image(fn.external_source(source=lambda: batch, batch=True))
        x = fn.random_resized_crop(x, size=32)
        x = fn.color_twist(x, hue=uniform(0, 90))
        return fn.crop_mirror_normalize(x, mirror=fn.random.coin_flip())

    warnings.simplefilter("ignore")  # the source starts again, as it does with every batch
    whole = definition()
    whole.build()
    expected = [whole.run()[0].as_torch().clone() for _ in range(4)]
    first = definition()
    first.build()
    for _ in range(2):
        first.run()
    monkeypatch.setenv("TORCHDALI_FUSION", "0")  # the fused and the other chain continue equally
    second: Pipeline = definition(checkpoint=first.checkpoint())
    second.build()
    for want in expected[2:]:
        assert torch.equal(second.run()[0].as_torch(), want)
