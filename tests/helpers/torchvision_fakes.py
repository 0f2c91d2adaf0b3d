# SPDX-License-Identifier: Apache-2.0
"""Classes with the names of torchvision's, for tests without torchvision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PIL import Image


def _renamed(module: str, qualname: str) -> Callable[[Any], Any]:
    def rename(value: Any) -> Any:
        value.__module__, value.__qualname__ = module, qualname
        return value

    return rename


@_renamed("torchvision.datasets.folder", "default_loader")
def default_loader(path: str) -> Any:
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


@_renamed("torchvision.datasets.folder", "DatasetFolder.__getitem__")
def _item_of_folder(self: Any, index: int) -> Any:
    path, target = self.samples[index]
    image = self.transform(self.loader(path))
    return image, target if self.target_transform is None else self.target_transform(target)


@_renamed("torchvision.datasets.folder", "ImageFolder")
class ImageFolder:
    """Images with labels."""

    def __init__(
        self,
        files: list[Any],
        transform: Any,
        loader: Any = default_loader,
        target_transform: Any = None,
    ) -> None:
        self.samples = [(str(file), number % 7) for number, file in enumerate(files)]
        self.transform, self.loader, self.target_transform = transform, loader, target_transform

    __getitem__ = _item_of_folder

    def __len__(self) -> int:
        return len(self.samples)


def transform(
    name: str,
    call: Callable[[Any], Any],
    module: str = "torchvision.transforms.v2._fake",
    **attributes: Any,
) -> Any:
    """Returns an object of a class of torchvision, or of another module, with attributes."""
    calling = _renamed(module, f"{name}.__call__")(lambda self, image: call(image))
    kind = type(name, (), {"__call__": calling, "__module__": module, "__qualname__": name})
    made = kind()
    vars(made).update(attributes)
    return made
