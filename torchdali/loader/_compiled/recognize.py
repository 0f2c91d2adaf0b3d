# SPDX-License-Identifier: Apache-2.0
"""Recognizes datasets of torchvision, torch and Hugging Face, and those that name their images.

No package is imported for it. A dataset is recognized by the function that returns its samples: a
subclass that inherits `__getitem__` is recognized, one that overrides it is not.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch.utils.data import IterableDataset

from torchdali.loader._compiled import hugging_face, torchvision_datasets
from torchdali.loader._compiled.recognized import Recognized, defined_in, full_name, unknown
from torchdali.transforms import takes_targets

__all__ = ["recognize"]


def recognize(dataset: Any) -> Recognized:
    """Returns what is known about a dataset.

    Raises:
        UnsupportedError: its samples may be anything.
    """
    kind = type(dataset)
    name = full_name(kind)
    if _names_its_images(kind):
        return _by_protocol(dataset)
    if isinstance(dataset, IterableDataset):
        raise unknown(name, "it is iterable")
    if hasattr(dataset, "state_dict"):
        raise unknown(name, "a dataset with a state is read by its own __getitem__")
    if "__getitems__" in dir(kind) and defined_in(kind, "__getitems__") not in _WITH_LISTS:
        raise unknown(name, "it has __getitems__")
    function = _DATASETS.get(defined_in(kind, "__getitem__"))
    if function is None:
        raise unknown(name, f"__getitem__ is {defined_in(kind, '__getitem__')}, which is unknown")
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

    transform, both = (getattr(dataset, name, None) for name in ("transform", "transforms"))
    is_joint = transform is None and both is not None
    name = type(dataset).__qualname__
    if is_joint and not takes_targets(both):
        raise unknown(name, "`transforms` is not of torchvision.transforms.v2")
    python = (f"{name}.encoded_sample",)
    return Recognized(
        name, read, both if is_joint else transform, True, 3, python, is_joint=is_joint
    )


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
            raise unknown("ConcatDataset", "its parts differ in their transforms or images")

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
    return part.is_encoded, part.channels, part.image, part.is_upright, part.is_joint


_SUBSET = "torch.utils.data.dataset.Subset"
# What reads a list of samples as it reads them one by one.
_WITH_LISTS = (_SUBSET + ".__getitems__", hugging_face.DATASET + ".__getitems__")
# Where __getitem__ was defined -> what reads the dataset.
_DATASETS: dict[str, Callable[[Any], Recognized]] = {
    **torchvision_datasets.DATASETS,
    torchvision_datasets.WRAPPED: lambda dataset: torchvision_datasets.recognize_wrapped(
        dataset, recognize
    ),
    hugging_face.DATASET + ".__getitem__": hugging_face.recognize_dataset,
    _SUBSET + ".__getitem__": _subset,
    "torch.utils.data.dataset.ConcatDataset.__getitem__": _concat,
}
