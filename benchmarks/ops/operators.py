# SPDX-License-Identifier: Apache-2.0
"""One operator on a batch in memory, on one thread.

Axes: ``operator``, a name of CASES; ``threads``. The batch holds 64 images of 640 x 480 x 3 bytes
unless the case names other inputs, clips of 10 s for operators of audio. The other peers process
one sample after the other and allocate their results. The peer "memcpy" copies the inputs of
operators that only copy, to memory that it has: no operator is much faster than that.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.ops.audio_operators import AUDIO_CASES, AUDIO_INPUTS
from benchmarks.ops.box_operators import BOX_CASES, BOX_INPUTS, HEIGHT, WIDTH
from benchmarks.ops.case import Case
from benchmarks.ops.neighborhood_operators import NEIGHBORHOOD_CASES
from benchmarks.peers import api

PEERS = ["torchdali", "dali", "opencv", "numpy", "torchaudio", "librosa", "memcpy"]
SAMPLES = 64
# 10 degrees about the center, scaled by 0.9, as [x_in, y_in] = matrix @ [x_out, y_out, 1].
MATRIX = (0.886, 0.156, -1.0, -0.156, 0.886, 77.0)


def _image(random: np.random.Generator) -> np.ndarray:
    # Smooth like a photograph, because the speed of some operators depends on the values.
    small = random.integers(0, 255, (HEIGHT // 16, WIDTH // 16, 3))
    image = np.kron(small, np.ones((16, 16, 1))) + random.integers(-9, 9, (HEIGHT, WIDTH, 3))
    return image.clip(0, 255).astype(np.uint8)


INPUTS: Mapping[str, tuple[Callable[[np.random.Generator], np.ndarray], str]] = {
    "image": (_image, "HWC"),
    "sensor": (lambda random: np.ascontiguousarray(_image(random)[..., 1]), "HW"),
    "label": (lambda random: np.int32(random.integers(0, 10)).reshape(()), ""),
    "points": (lambda random: random.random((10_000, 2), np.float32), ""),
    "kernel": (lambda _: np.full((5, 5), 0.04, np.float32), ""),
    "map_x": (lambda _: np.tile(np.arange(WIDTH, dtype=np.float32)[::-1], (HEIGHT, 1)), "HW"),
    "map_y": (lambda _: np.tile(np.arange(HEIGHT, dtype=np.float32)[:, None], (1, WIDTH)), "HW"),
    "clip": (lambda random: np.stack([_image(random)[::4, ::4] for _ in range(16)]), "FHWC"),
    **BOX_INPUTS,
    **AUDIO_INPUTS,
}


def _cv() -> Any:
    import cv2

    cv2.setNumThreads(1)
    return cv2


def _warp(cv: Any, x: np.ndarray) -> Any:
    matrix = np.array(MATRIX).reshape(2, 3)
    return cv.warpAffine(x, matrix, (WIDTH, HEIGHT), flags=cv.INTER_LINEAR | cv.WARP_INVERSE_MAP)


def _rotate(cv: Any, x: np.ndarray) -> Any:
    matrix = cv.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), 30, 1)
    return cv.warpAffine(x, matrix, (WIDTH, HEIGHT))


def _hsv(cv: Any, x: np.ndarray) -> Any:
    hsv = cv.cvtColor(x, cv.COLOR_RGB2HSV)
    hsv[..., 0] += 15
    hsv[..., 1] = cv.multiply(hsv[..., 1], 1.2)
    return cv.cvtColor(hsv, cv.COLOR_HSV2RGB)


def _clahe(cv: Any, x: np.ndarray) -> Any:
    lab = cv.cvtColor(x, cv.COLOR_RGB2LAB)
    lab[..., 0] = cv.createCLAHE(2.0, (8, 8)).apply(np.ascontiguousarray(lab[..., 0]))
    return cv.cvtColor(lab, cv.COLOR_LAB2RGB)


def _jpeg(cv: Any, x: np.ndarray) -> Any:
    return cv.imdecode(cv.imencode(".jpg", x, [cv.IMWRITE_JPEG_QUALITY, 50])[1], cv.IMREAD_COLOR)


def _erased(_: Any, x: np.ndarray) -> Any:
    x = x.copy()
    x[100:300, 100:400] = 0
    return x


def _normalized(x: np.ndarray) -> Any:
    x = x.astype(np.float32)
    return (x - x.mean((0, 1))) / x.std((0, 1))


def _remap(d: Any, x: Any, map_x: Any, map_y: Any) -> Any:
    return d.fn.experimental.remap(x, map_x, map_y, pixel_origin="center")


def _tensor_resize(d: Any, x: Any) -> Any:
    function = getattr(d.fn, "tensor_resize", None) or d.fn.experimental.tensor_resize
    return function(x, sizes=(8, 60, 80), axis_names="FHW")


def _filter(d: Any, x: Any, kernel: Any) -> Any:
    function = getattr(d.fn, "filter", None) or d.fn.experimental.filter
    return function(x, kernel)


def _reduced(name: str, *, axes: tuple[int, ...] = (0, 1)) -> Case:
    numpy: dict[str, Callable[..., Any]] = {
        "sum": lambda x: x.sum(axes, dtype=np.uint64),
        "mean": lambda x: x.mean(axes, dtype=np.float32),
        "min": lambda x: x.min(axes),
        "max": lambda x: x.max(axes),
    }
    return Case(lambda d, x: getattr(d.fn.reductions, name)(x, axes=axes), numpy=numpy.get(name))


CASES: dict[str, Case] = {
    # Geometry.
    "slice": Case(
        lambda d, x: d.fn.slice(x, start=(40, 60), shape=(400, 500), axes=(0, 1)),
        numpy=lambda x: x[40:440, 60:560].copy(),
    ),
    "crop": Case(
        lambda d, x: d.fn.crop(x, crop=(400, 500)),
        numpy=lambda x: x[40:440, 70:570].copy(),
    ),
    "pad": Case(
        lambda d, x: d.fn.pad(x, axes=(0, 1), shape=(512, 672)),
        opencv=lambda cv, x: cv.copyMakeBorder(x, 0, 32, 0, 32, cv.BORDER_CONSTANT),
        numpy=lambda x: np.pad(x, ((0, 32), (0, 32), (0, 0))),
    ),
    "transpose": Case(
        lambda d, x: d.fn.transpose(x, perm=(2, 0, 1)),
        opencv=lambda cv, x: cv.split(x),
        numpy=lambda x: np.ascontiguousarray(x.transpose(2, 0, 1)),
    ),
    "transpose HW": Case(
        lambda d, x: d.fn.transpose(x, perm=(1, 0, 2)),
        opencv=lambda cv, x: cv.transpose(x),
        numpy=lambda x: np.ascontiguousarray(x.transpose(1, 0, 2)),
    ),
    "flip": Case(lambda d, x: d.fn.flip(x), opencv=lambda cv, x: cv.flip(x, 1)),
    "cat": Case(
        lambda d, x, y: d.fn.cat(x, y, axis=1),
        inputs=("image", "image"),
        opencv=lambda cv, x, y: cv.hconcat([x, y]),
        numpy=lambda x, y: np.concatenate([x, y], 1),
    ),
    "stack": Case(
        lambda d, x, y: d.fn.stack(x, y), ("image", "image"), numpy=lambda x, y: np.stack([x, y])
    ),
    "warp_affine": Case(
        lambda d, x: d.fn.warp_affine(x, matrix=MATRIX, fill_value=0), opencv=_warp
    ),
    "warp_affine nearest": Case(
        lambda d, x: d.fn.warp_affine(x, matrix=MATRIX, fill_value=0, interp_type=d.types.INTERP_NN)
    ),
    "rotate": Case(
        lambda d, x: d.fn.rotate(x, angle=30, keep_size=True, fill_value=0), opencv=_rotate
    ),
    "paste": Case(lambda d, x: d.fn.paste(x, ratio=1.5, fill_value=(69, 96, 40))),
    "experimental.warp_perspective": Case(
        lambda d, x: d.fn.experimental.warp_perspective(
            x, matrix=(*MATRIX, 0.0001, 0.0, 1.0), fill_value=0
        )
    ),
    "experimental.remap": Case(
        _remap,
        ("image", "map_x", "map_y"),
        opencv=lambda cv, x, u, v: cv.remap(x, u, v, cv.INTER_LINEAR),
    ),
    "coord_transform": Case(
        lambda d, x: d.fn.coord_transform(x, M=(0.9, 0.1, -0.1, 0.9), T=(1.0, 2.0)),
        ("points",),
        numpy=lambda x: x @ np.array([[0.9, -0.1], [0.1, 0.9]], np.float32) + np.float32(1),
    ),
    "coord_flip": Case(lambda d, x: d.fn.coord_flip(x), ("points",)),
    "resize": Case(
        lambda d, x: d.fn.resize(x, size=(240, 320), antialias=False),
        opencv=lambda cv, x: cv.resize(x, (320, 240)),
    ),
    "experimental.resize": Case(
        lambda d, x: d.fn.experimental.resize(x, size=(360, 480), antialias=False),
        opencv=lambda cv, x: cv.resize(x, (480, 360)),
    ),
    # Color and filters.
    "brightness": Case(lambda d, x: d.fn.brightness(x, brightness=1.2)),
    "contrast": Case(lambda d, x: d.fn.contrast(x, contrast=1.2)),
    "brightness_contrast": Case(
        lambda d, x: d.fn.brightness_contrast(x, brightness=1.1, contrast=1.2),
        opencv=lambda cv, x: cv.convertScaleAbs(x, alpha=1.32, beta=-28),
    ),
    "hue": Case(lambda d, x: d.fn.hue(x, hue=30.0)),
    "saturation": Case(lambda d, x: d.fn.saturation(x, saturation=1.2)),
    "hsv": Case(lambda d, x: d.fn.hsv(x, hue=30.0, saturation=1.2, value=0.9), opencv=_hsv),
    "color_twist": Case(
        lambda d, x: d.fn.color_twist(x, hue=30.0, saturation=1.2, brightness=1.1, contrast=0.9)
    ),
    "color_space_conversion": Case(
        lambda d, x: d.fn.color_space_conversion(
            x, image_type=d.types.RGB, output_type=d.types.YCbCr
        ),
        opencv=lambda cv, x: cv.cvtColor(x, cv.COLOR_RGB2YCrCb),
    ),
    "color_space_conversion gray": Case(
        lambda d, x: d.fn.color_space_conversion(
            x, image_type=d.types.RGB, output_type=d.types.GRAY
        ),
        opencv=lambda cv, x: cv.cvtColor(x, cv.COLOR_RGB2GRAY),
    ),
    "equalize": Case(
        lambda d, x: (getattr(d.fn, "equalize", None) or d.fn.experimental.equalize)(x),
        opencv=lambda cv, x: cv.merge([cv.equalizeHist(c) for c in cv.split(x)]),
    ),
    "clahe": Case(lambda d, x: d.fn.clahe(x, tiles_x=8, tiles_y=8, clip_limit=2.0), opencv=_clahe),
    "gaussian_blur": Case(
        lambda d, x: d.fn.gaussian_blur(x, window_size=5),
        opencv=lambda cv, x: cv.GaussianBlur(x, (5, 5), 0),
    ),
    "gaussian_blur 15": Case(
        lambda d, x: d.fn.gaussian_blur(x, sigma=2.5, window_size=15),
        opencv=lambda cv, x: cv.GaussianBlur(x, (15, 15), 2.5),
    ),
    "laplacian": Case(
        lambda d, x: d.fn.laplacian(x, window_size=3, dtype=d.types.UINT8),
        opencv=lambda cv, x: cv.Laplacian(x, cv.CV_8U, ksize=3),
    ),
    "filter": Case(
        _filter,
        ("image", "kernel"),
        opencv=lambda cv, x, k: cv.filter2D(x, -1, k),
    ),
    "erase": Case(
        lambda d, x: d.fn.erase(x, anchor=(100, 100), shape=(200, 300), axes=(0, 1)),
        opencv=_erased,
    ),
    "grid_mask": Case(lambda d, x: d.fn.grid_mask(x, tile=50, ratio=0.5, angle=0.3)),
    "jitter": Case(lambda d, x: d.fn.jitter(x, nDegree=3)),
    "lookup_table": Case(
        lambda d, x: d.fn.lookup_table(
            x, keys=list(range(256)), values=list(range(255, -1, -1)), dtype=d.types.UINT8
        ),
        opencv=lambda cv, x: cv.LUT(x, np.arange(255, -1, -1, np.uint8)),
    ),
    "jpeg_compression_distortion": Case(
        lambda d, x: d.fn.jpeg_compression_distortion(x, quality=50), opencv=_jpeg
    ),
    "noise.gaussian": Case(lambda d, x: d.fn.noise.gaussian(x, stddev=10.0)),
    "noise.salt_and_pepper": Case(lambda d, x: d.fn.noise.salt_and_pepper(x, prob=0.05)),
    "noise.shot": Case(lambda d, x: d.fn.noise.shot(x, factor=10.0)),
    "sphere": Case(lambda d, x: d.fn.sphere(x)),
    "water": Case(lambda d, x: d.fn.water(x)),
    "multi_paste": Case(
        lambda d, x: d.fn.multi_paste(
            x,
            in_ids=np.array([0, 1, 2, 3], np.int32),
            out_anchors=np.array([[0, 0], [0, 320], [240, 0], [240, 320]], np.int32),
            shapes=np.array([[240, 320]] * 4, np.int32),
            output_size=(HEIGHT, WIDTH),
        )
    ),
    # Generic.
    "cast": Case(
        lambda d, x: d.fn.cast(x, dtype=d.types.FLOAT), numpy=lambda x: x.astype(np.float32)
    ),
    "normalize": Case(lambda d, x: d.fn.normalize(x, axes=(0, 1)), numpy=_normalized),
    "normalize given": Case(
        lambda d, x: d.fn.normalize(
            x,
            axes=(0, 1),
            mean=np.array([[[123.0, 116.0, 103.0]]], np.float32),
            stddev=np.array([[[58.0, 57.0, 57.0]]], np.float32),
        ),
        numpy=lambda x: (x - np.float32(116)) / np.float32(57),
    ),
    "normalize batch": Case(lambda d, x: d.fn.normalize(x, axes=(0, 1), batch=True)),
    **{
        f"reductions.{name}": _reduced(name)
        for name in ("sum", "mean", "mean_square", "rms", "min", "max")
    },
    "reductions.mean C": _reduced("mean", axes=(2,)),
    "reductions.max all": _reduced("max", axes=(0, 1, 2)),
    **{
        f"reductions.{name}": Case(
            lambda d, x, name=name: getattr(d.fn.reductions, name)(
                x, d.fn.reductions.mean(x, axes=(0, 1), keep_dims=True), axes=(0, 1)
            ),
            numpy=lambda x, name=name: getattr(x, {"std_dev": "std", "variance": "var"}[name])(
                (0, 1), dtype=np.float32
            ),
        )
        for name in ("std_dev", "variance")
    },
    "one_hot": Case(lambda d, x: d.fn.one_hot(x, num_classes=1000), ("label",)),
    "permute_batch": Case(
        lambda d, x: d.fn.permute_batch(x, indices=d.fn.batch_permutation()), copies=True
    ),
    "sequence_rearrange": Case(
        lambda d, x: d.fn.sequence_rearrange(x, new_order=list(range(15, -1, -1))),
        ("clip",),
        copies=True,
    ),
    "tensor_resize": Case(_tensor_resize, ("clip",)),
    **BOX_CASES,
    **NEIGHBORHOOD_CASES,
    **AUDIO_CASES,
}


def _always(batch: list[np.ndarray]) -> Callable[[], list[np.ndarray]]:
    return lambda: batch


def _copying(batch: list[np.ndarray]) -> Callable[[], int]:
    # As many batches as a pipeline with this depth has in memory.
    kept = itertools.cycle([np.zeros((SAMPLES, *batch[0].shape), batch[0].dtype) for _ in range(3)])

    def step() -> int:
        for to, array in zip(next(kept), batch, strict=True):
            np.copyto(to, array)
        return SAMPLES

    return step


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its number of samples."""
    case = CASES[axes["operator"]]
    random = np.random.default_rng(1)
    batches = [[INPUTS[name][0](random) for _ in range(SAMPLES)] for name in case.inputs]
    if peer == "memcpy":
        if not case.copies:
            raise ValueError("the operator does more than copying")
        return _copying(batches[0])
    if peer not in ("torchdali", "dali"):
        function = getattr(case, peer)
        if function is None:
            raise ValueError("nothing does the same")
        first = [_cv()] if peer == "opencv" else []
        if peer in ("torchaudio", "librosa"):
            first = [importlib.import_module(peer)]
        if peer == "torchaudio":
            torch = importlib.import_module("torch")
            torch.set_num_threads(axes["threads"])
            batches = [[torch.from_numpy(array) for array in batch] for batch in batches]
        return lambda: len([function(*first, *sample) for sample in zip(*batches, strict=True)])

    dali = api(peer)

    @dali.pipeline_def(
        batch_size=SAMPLES, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def definition() -> Any:
        fed = [
            dali.fn.external_source(
                source=_always(batch),
                batch=True,
                no_copy=True,
                layout=INPUTS[name][1] or None,
            )
            for name, batch in zip(case.inputs, batches, strict=True)
        ]
        made = case.define(dali, *fed)
        return tuple(made) if isinstance(made, (list, tuple)) else made

    pipeline = definition()
    pipeline.build()
    return lambda: len(pipeline.run()[0])
