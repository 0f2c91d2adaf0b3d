# SPDX-License-Identifier: Apache-2.0
"""Recognizes datasets of torchvision, torch and Hugging Face, and those that name their images.

No package is imported for it. A dataset is recognized by the function that returns its samples: a
subclass that inherits `__getitem__` is recognized, one that overrides it is not.
"""

from __future__ import annotations

import bisect
import importlib
import operator
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import IterableDataset

from torchdali.errors import UnsupportedError, _make
from torchdali.loader._compiled import hugging_face
from torchdali.loader._compiled.recognized import Recognized

__all__ = ["recognize"]


def _unknown(name: str, why: str) -> UnsupportedError:
    error = _make(UnsupportedError, f"{name}: {why}")
    assert isinstance(error, UnsupportedError)
    return error


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _origin(kind: type, method: str) -> str:
    """Returns where a method of a class was defined: "package.module.Class.method"."""
    function = getattr(kind, method, None)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"


def recognize(dataset: Any) -> Recognized:
    """Returns what is known about a dataset.

    Raises:
        UnsupportedError: its samples may be anything.
    """
    kind = type(dataset)
    name = _full_name(kind)
    if _names_its_images(kind):
        return _by_protocol(dataset)
    if isinstance(dataset, IterableDataset):
        raise _unknown(name, "it is iterable")
    if hasattr(dataset, "state_dict"):
        raise _unknown(name, "a dataset with a state is read by its own __getitem__")
    if "__getitems__" in dir(kind) and _origin(kind, "__getitems__") not in _WITH_LISTS:
        raise _unknown(name, "it has __getitems__")
    function = _DATASETS.get(_origin(kind, "__getitem__"))
    if function is None:
        raise _unknown(name, f"__getitem__ is {_origin(kind, '__getitem__')}, which is unknown")
    return function(dataset)


# -- the protocol


def _names_its_images(kind: type) -> bool:
    """Returns whether a class has encoded_sample(), and no newer __getitem__ in a subclass."""
    for base in kind.__mro__:
        if "encoded_sample" in vars(base):
            return True
        if "__getitem__" in vars(base):
            return False
    return False


def _by_protocol(dataset: Any) -> Recognized:
    def read(index: int) -> tuple[Any, ...]:
        sample = dataset.encoded_sample(index)
        image, *rest = sample if isinstance(sample, tuple) else (sample,)
        return (Path(image) if isinstance(image, str) else image, *rest)

    transform = getattr(dataset, "transform", None)
    name = type(dataset).__qualname__
    return Recognized(name, read, transform, True, 3, (f"{name}.encoded_sample",))


# -- torchvision


def _checked(dataset: Any, methods: dict[str, str]) -> tuple[Any, Callable[[Any], Any], list[str]]:
    """Returns the transform of the image, that of the target, and what runs in Python.

    Args:
        dataset: of torchvision.
        methods: that its __getitem__ calls, and where they have to be defined.

    Raises:
        UnsupportedError: the dataset does something else to its samples.
    """
    kind = type(dataset)
    for method, origin in methods.items():
        if method in vars(dataset) or _origin(kind, method) != origin:
            raise _unknown(_full_name(kind), f"`{method}` was replaced")
    transform = getattr(dataset, "transform", None)
    target_transform = getattr(dataset, "target_transform", None)
    if target_transform is None:
        return transform, lambda target: target, []
    called = getattr(target_transform, "__qualname__", type(target_transform).__qualname__)
    return transform, target_transform, [f"target_transform {called}"]


def _file(path: str) -> Any:
    """Returns a file whose image is not turned, as Pillow does not turn it.

    Pillow turns those of TIFF files only. If their tag asks for it, it decodes them.
    """
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


def _folder(dataset: Any) -> Recognized:
    loader = getattr(dataset, "loader", None)
    origin = f"{getattr(loader, '__module__', '')}.{getattr(loader, '__qualname__', '')}"
    name = _full_name(type(dataset))
    if origin not in ("torchvision.datasets.folder.default_loader", _PIL_LOADER):
        raise _unknown(name, f"`loader` is {origin}, which is unknown")
    torchvision = sys.modules.get("torchvision")
    backend = torchvision.get_image_backend() if torchvision is not None else "PIL"
    if origin != _PIL_LOADER and backend != "PIL":
        raise _unknown(name, f'the image backend is "{backend}"')
    transform, convert, python = _checked(dataset, {})

    def read(index: int) -> tuple[Any, ...]:
        path, target = dataset.samples[index]
        return _file(path), convert(target)

    return Recognized(type(dataset).__qualname__, read, transform, True, 3, tuple(python))


def _cifar(dataset: Any) -> Recognized:
    transform, convert, python = _checked(dataset, {})

    def read(index: int) -> tuple[Any, ...]:
        return dataset.data[index], convert(dataset.targets[index])

    return Recognized(type(dataset).__qualname__, read, transform, False, 3, tuple(python))


def _mnist(dataset: Any) -> Recognized:
    transform, convert, python = _checked(dataset, {})

    def read(index: int) -> tuple[Any, ...]:
        image = np.asarray(dataset.data[index])[..., None]
        return image, convert(int(dataset.targets[index]))

    return Recognized(type(dataset).__qualname__, read, transform, False, 1, tuple(python))


def _coco(dataset: Any) -> Recognized:
    base = "torchvision.datasets.coco.CocoDetection."
    methods = {name: base + name for name in ("_load_image", "_load_target")}
    if _origin(type(dataset), "_load_target").endswith("CocoCaptions._load_target"):
        methods["_load_target"] = "torchvision.datasets.coco.CocoCaptions._load_target"
    transform, convert, python = _checked(dataset, methods)
    both = getattr(dataset, "transforms", None)
    if both is not None and type(both).__qualname__ != "StandardTransform":
        called = getattr(both, "__qualname__", type(both).__qualname__)
        raise _unknown(
            _full_name(type(dataset)),
            f"`transforms` ({called}) gets images with their targets, which is not compiled; "
            "`transform` of images is",
        )

    def read(index: int) -> tuple[Any, ...]:
        number = dataset.ids[index]
        file = dataset.coco.loadImgs(number)[0]["file_name"]
        target = convert(operator.methodcaller("_load_target", number)(dataset))
        return _file(os.path.join(dataset.root, file)), target

    return Recognized(type(dataset).__qualname__, read, transform, True, 3, tuple(python))


# -- torch


def _subset(dataset: Any) -> Recognized:
    inner = recognize(dataset.dataset)

    def read(index: int) -> Any:
        return inner.read(dataset.indices[index])

    return replace(inner, name=f"Subset of {inner.name}", read=read)


def _concat(dataset: Any) -> Recognized:
    parts = [recognize(part) for part in dataset.datasets]
    first = parts[0]
    for part in parts[1:]:
        if part.transform is not first.transform or _form(part) != _form(first):
            raise _unknown("ConcatDataset", "its parts differ in their transforms or images")

    def read(index: int) -> Any:
        if index < 0:
            index += len(dataset)
        number = bisect.bisect_right(dataset.cumulative_sizes, index)
        before = dataset.cumulative_sizes[number - 1] if number else 0
        return parts[number].read(index - before)

    return replace(
        first,
        name="ConcatDataset of " + ", ".join(part.name for part in parts),
        read=read,
        python=tuple(dict.fromkeys(text for part in parts for text in part.python)),
    )


def _form(part: Recognized) -> tuple[Any, ...]:
    return part.is_encoded, part.channels, part.image, part.is_upright


_ORIENTATION = 274  # the tag of EXIF
_PIL_LOADER = "torchvision.datasets.folder.pil_loader"
_SUBSET = "torch.utils.data.dataset.Subset"
# What reads a list of samples as it reads them one by one.
_WITH_LISTS = (_SUBSET + ".__getitems__", hugging_face.DATASET + ".__getitems__")
# Where __getitem__ was defined -> what reads the dataset.
_DATASETS: dict[str, Callable[[Any], Recognized]] = {
    "torchvision.datasets.folder.DatasetFolder.__getitem__": _folder,
    "torchvision.datasets.cifar.CIFAR10.__getitem__": _cifar,
    "torchvision.datasets.mnist.MNIST.__getitem__": _mnist,
    "torchvision.datasets.coco.CocoDetection.__getitem__": _coco,
    hugging_face.DATASET + ".__getitem__": hugging_face.recognize_dataset,
    _SUBSET + ".__getitem__": _subset,
    "torch.utils.data.dataset.ConcatDataset.__getitem__": _concat,
}
