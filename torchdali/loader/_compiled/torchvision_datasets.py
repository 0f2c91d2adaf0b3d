# SPDX-License-Identifier: Apache-2.0
"""Recognizes datasets of torchvision, which is not imported for it."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from torchdali.loader._compiled.recognized import (
    Recognized,
    check_methods,
    defined_in,
    full_name,
    unknown,
)
from torchdali.transforms import takes_targets

__all__ = ["DATASETS", "WRAPPED", "recognize_wrapped"]

_ORIENTATION = 274  # the tag of EXIF
_PIL_LOADER = "torchvision.datasets.folder.pil_loader"
_STANDARD = "torchvision.datasets.vision.StandardTransform"
_WRAPPER = "torchvision.tv_tensors._dataset_wrapper"
WRAPPED = _WRAPPER + ".VisionDatasetTVTensorWrapper.__getitem__"


class _Applied(NamedTuple):
    """What a dataset applies to its samples.

    Attributes:
        transform: of the image, or of all if `is_joint`.
        convert: of the target.
        python: the name of that function, for the report.
        is_joint: see Recognized.
    """

    transform: Any
    convert: Callable[[Any], Any]
    python: tuple[str, ...] = ()
    is_joint: bool = False


def _same(target: Any) -> Any:
    return target


def _separate(owner: Any) -> _Applied:
    """Returns what the attributes `transform` and `target_transform` say."""
    transform = getattr(owner, "transform", None)
    convert = getattr(owner, "target_transform", None)
    if convert is None:
        return _Applied(transform, _same)
    called = getattr(convert, "__qualname__", type(convert).__qualname__)
    return _Applied(transform, convert, (f"target_transform {called}",))


def _together(dataset: Any) -> _Applied:
    """Returns what the attribute `transforms` says.

    Raises:
        UnsupportedError: it may be anything.
    """
    both = getattr(dataset, "transforms", None)
    if both is None:
        return _Applied(None, _same)
    if full_name(type(both)) == _STANDARD:
        return _separate(both)
    if not takes_targets(both):
        called = getattr(both, "__qualname__", type(both).__qualname__)
        raise unknown(
            full_name(type(dataset)),
            f"`transforms` ({called}) gets images with their targets; transforms of "
            "torchvision.transforms.v2 and of torchdali.transforms would be compiled",
        )
    return _Applied(both, _same, (), True)


def _made(dataset: Any, read: Callable[[int], Any], applied: _Applied, **more: Any) -> Recognized:
    """Returns a dataset of files.

    Raises:
        UnsupportedError: the transforms would change images in the targets.
    """
    name = type(dataset).__qualname__
    if applied.is_joint and more.get("has_images"):
        raise unknown(
            name,
            "`transforms` would change its targets, which are images; "
            "torchvision.datasets.wrap_dataset_for_transforms_v2() makes masks of them",
        )
    options = {"python": applied.python, "is_joint": applied.is_joint, **more}
    return Recognized(name, read, applied.transform, True, 3, **options)


def _file(path: Any) -> Any:
    """Returns a file whose image is not turned, as Pillow does not turn it.

    Pillow turns those of TIFF files only. If their tag asks for it, it decodes them.
    """
    path = str(path)
    if path[-5:].lower().endswith((".tif", ".tiff")):
        try:
            with importlib.import_module("PIL.Image").open(path) as image:
                if image.getexif().get(_ORIENTATION, 1) != 1:
                    pixels = np.asarray(image.convert("RGB"))
                    header = f"P6 {pixels.shape[1]} {pixels.shape[0]} 255\n"
                    return header.encode() + pixels.tobytes()
        except OSError:
            pass  # the engine says what is wrong with it
    return Path(path)


def _opened(path: Any) -> Any:
    """Returns an image that Pillow decodes when it is used."""
    return importlib.import_module("PIL.Image").open(path)


def _folder(dataset: Any) -> Recognized:
    loader = getattr(dataset, "loader", None)
    origin = f"{getattr(loader, '__module__', '')}.{getattr(loader, '__qualname__', '')}"
    name = full_name(type(dataset))
    if origin not in ("torchvision.datasets.folder.default_loader", _PIL_LOADER):
        raise unknown(name, f"`loader` is {origin}, which is unknown")
    torchvision = sys.modules.get("torchvision")
    backend = torchvision.get_image_backend() if torchvision is not None else "PIL"
    if origin != _PIL_LOADER and backend != "PIL":
        raise unknown(name, f'the image backend is "{backend}"')
    applied = _separate(dataset)

    def read(index: int) -> tuple[Any, ...]:
        path, target = dataset.samples[index]
        return _file(path), applied.convert(target)

    return _made(dataset, read, applied)


def _cifar(dataset: Any) -> Recognized:
    transform, convert, python, _ = _separate(dataset)

    def read(index: int) -> tuple[Any, ...]:
        return dataset.data[index], convert(dataset.targets[index])

    return Recognized(type(dataset).__qualname__, read, transform, False, 3, python)


def _mnist(dataset: Any) -> Recognized:
    transform, convert, python, _ = _separate(dataset)

    def read(index: int) -> tuple[Any, ...]:
        image = np.asarray(dataset.data[index])[..., None]
        return image, convert(int(dataset.targets[index]))

    return Recognized(type(dataset).__qualname__, read, transform, False, 1, python)


def _coco(dataset: Any) -> Recognized:
    base = "torchvision.datasets.coco."
    methods = {name: f"{base}CocoDetection.{name}" for name in ("_load_image", "_load_target")}
    if defined_in(type(dataset), "_load_target").endswith("CocoCaptions._load_target"):
        methods["_load_target"] = base + "CocoCaptions._load_target"
    check_methods(dataset, methods)
    applied = _together(dataset)

    def read(index: int) -> tuple[Any, ...]:
        number = dataset.ids[index]
        file = dataset.coco.loadImgs(number)[0]["file_name"]
        target = applied.convert(dataset._load_target(number))
        return _file(os.path.join(dataset.root, file)), target

    return _made(dataset, read, applied)


def _voc_detection(dataset: Any) -> Recognized:
    base = "torchvision.datasets.voc.VOCDetection."
    check_methods(dataset, {"parse_voc_xml": base + "parse_voc_xml"})
    applied = _together(dataset)
    parse = sys.modules["torchvision.datasets.voc"].ET_parse

    def read(index: int) -> tuple[Any, ...]:
        target = dataset.parse_voc_xml(parse(dataset.annotations[index]).getroot())
        return _file(dataset.images[index]), applied.convert(target)

    return _made(dataset, read, applied)


def _voc_segmentation(dataset: Any) -> Recognized:
    applied = _together(dataset)

    def read(index: int) -> tuple[Any, ...]:
        return _file(dataset.images[index]), applied.convert(_opened(dataset.masks[index]))

    return _made(dataset, read, applied, has_images=True)


def _pet(dataset: Any) -> Recognized:
    columns: dict[str, Callable[[int], Any]] = {
        "category": lambda index: dataset._labels[index],
        "binary-category": lambda index: dataset._bin_labels[index],
        "segmentation": lambda index: _opened(dataset._segs[index]),
    }
    applied = _together(dataset)

    def read(index: int) -> tuple[Any, ...]:
        target: Any = tuple(columns[kind](index) for kind in dataset._target_types)
        if len(target) < 2:
            target = target[0] if target else None
        return _file(dataset._images[index]), applied.convert(target)

    return _made(dataset, read, applied, has_images="segmentation" in dataset._target_types)


def recognize_wrapped(dataset: Any, recognize: Callable[[Any], Recognized]) -> Recognized:
    """Returns what is known about what wrap_dataset_for_transforms_v2() has returned.

    Args:
        dataset: see above.
        recognize: is called for what is wrapped.

    Raises:
        UnsupportedError: its samples may be anything.
    """
    wrap, name = dataset._wrapper, full_name(type(dataset))
    known = recognize(dataset._dataset)
    if getattr(wrap, "__module__", "") != _WRAPPER:
        raise unknown(name, "`_wrapper` was replaced")
    if known.transform is not None or known.python:
        raise unknown(name, "the dataset that is wrapped has got transforms of its own")
    if not known.is_encoded:
        raise unknown(name, "its images are not files")
    applied = _together(dataset)

    def read(index: int) -> tuple[Any, ...]:
        image, target = known.read(index)
        # For the size of the image. Of the file, only the header is read.
        with _opened(io.BytesIO(image) if isinstance(image, bytes) else image) as header:
            _, target = wrap(index, (header, target))
        return image, applied.convert(target)

    return replace(
        known,
        name=f"wrapped {known.name}",
        read=read,
        transform=applied.transform,
        python=applied.python,
        is_joint=applied.is_joint,
        has_images=False,
    )


# Where __getitem__ was defined -> what reads the dataset.
DATASETS: dict[str, Callable[[Any], Recognized]] = {
    "torchvision.datasets.folder.DatasetFolder.__getitem__": _folder,
    "torchvision.datasets.cifar.CIFAR10.__getitem__": _cifar,
    "torchvision.datasets.mnist.MNIST.__getitem__": _mnist,
    "torchvision.datasets.coco.CocoDetection.__getitem__": _coco,
    "torchvision.datasets.voc.VOCDetection.__getitem__": _voc_detection,
    "torchvision.datasets.voc.VOCSegmentation.__getitem__": _voc_segmentation,
    "torchvision.datasets.oxford_iiit_pet.OxfordIIITPet.__getitem__": _pet,
}
