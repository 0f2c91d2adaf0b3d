# SPDX-License-Identifier: Apache-2.0
"""One call of a transform's object on one image of 224 x 224 in memory, on one thread.

Axes: ``transform``, a name of TRANSFORMS; ``image``, one of IMAGES: a uint8 tensor, CHW, or an RGB
image of Pillow. The peers call torchdali.transforms and torchvision's transforms.v2, whose classes
have the same names and arguments. Transforms that chance decides on are applied to every image.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

PEERS = ["torchdali", "torchvision"]
IMAGES = ("tensor", "pillow")
SIZE = 224
REPEATS = 10  # calls of one step, whose own time is then small
_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def _train(t: Any) -> Any:
    flipped = [t.RandomResizedCrop(160), t.RandomHorizontalFlip()]
    floats = [t.ToImage(), t.ToDtype(torch.float32, scale=True), t.Normalize(_MEAN, _STD)]
    return t.Compose([*flipped, *floats])


def _moved_or_inverted(t: Any) -> list[Any]:
    return [t.RandomHorizontalFlip(1.0), t.RandomInvert(1.0)]


# All classes but those for batches of images, and those that need boxes of torchvision's.
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "AugMix": lambda t: t.AugMix(),
    "AutoAugment": lambda t: t.AutoAugment(),
    "CenterCrop": lambda t: t.CenterCrop(160),
    "ColorJitter": lambda t: t.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "Compose": _train,
    "ConvertImageDtype": lambda t: t.ConvertImageDtype(torch.float32),
    "GaussianBlur": lambda t: t.GaussianBlur(5),
    "Grayscale": lambda t: t.Grayscale(),
    "Lambda": lambda t: t.Lambda(lambda image: image),
    "Normalize": lambda t: t.Normalize(_MEAN, _STD),
    "PILToTensor": lambda t: t.PILToTensor(),
    "Pad": lambda t: t.Pad(8),
    "RandAugment": lambda t: t.RandAugment(),
    "RandomAdjustSharpness": lambda t: t.RandomAdjustSharpness(2, 1.0),
    "RandomAffine": lambda t: t.RandomAffine(15, (0.1, 0.1), (0.9, 1.1)),
    "RandomApply": lambda t: t.RandomApply([t.RandomHorizontalFlip(1.0)], 1.0),
    "RandomAutocontrast": lambda t: t.RandomAutocontrast(1.0),
    "RandomChoice": lambda t: t.RandomChoice(_moved_or_inverted(t)),
    "RandomCrop": lambda t: t.RandomCrop(SIZE, padding=8),
    "RandomEqualize": lambda t: t.RandomEqualize(1.0),
    "RandomErasing": lambda t: t.RandomErasing(1.0),
    "RandomGrayscale": lambda t: t.RandomGrayscale(1.0),
    "RandomHorizontalFlip": lambda t: t.RandomHorizontalFlip(1.0),
    "RandomInvert": lambda t: t.RandomInvert(1.0),
    "RandomOrder": lambda t: t.RandomOrder(_moved_or_inverted(t)),
    "RandomPerspective": lambda t: t.RandomPerspective(p=1.0),
    "RandomPosterize": lambda t: t.RandomPosterize(4, 1.0),
    "RandomResizedCrop": lambda t: t.RandomResizedCrop(160),
    "RandomRotation": lambda t: t.RandomRotation(15),
    "RandomSolarize": lambda t: t.RandomSolarize(128, 1.0),
    "RandomVerticalFlip": lambda t: t.RandomVerticalFlip(1.0),
    "Resize": lambda t: t.Resize(160),
    "ToDtype": lambda t: t.ToDtype(torch.float32, scale=True),
    "ToImage": lambda t: t.ToImage(),
    "ToPureTensor": lambda t: t.ToPureTensor(),
    "ToTensor": lambda t: t.ToTensor(),
    "TrivialAugmentWide": lambda t: t.TrivialAugmentWide(),
}
_TENSORS_ONLY = ("Normalize", "RandomErasing")


def cases() -> list[dict[str, str]]:
    """Returns the axes of all calls."""
    return [
        {"transform": name, "image": image}
        for name in TRANSFORMS
        for image in IMAGES
        if image == "tensor" or name not in _TENSORS_ONLY
    ]


def _package(peer: str) -> Any:
    if peer == "torchdali":
        from torchdali import transforms

        return transforms
    with contextlib.suppress(ImportError):  # of `make torchvision`
        import helpers.torchvision_import  # noqa: F401
    from torchvision.transforms import v2

    return v2


def _image(kind: str) -> Any:
    generator = torch.Generator().manual_seed(0)
    image = torch.randint(0, 256, (3, SIZE, SIZE), dtype=torch.uint8, generator=generator)
    if kind == "tensor":
        return image
    from PIL import Image

    return Image.fromarray(image.permute(1, 2, 0).numpy())


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes REPEATS calls and returns their number."""
    torch.set_num_threads(axes["threads"])
    torch.manual_seed(0)
    image = _image(axes["image"])
    if axes["transform"] == "Normalize":
        image = image.float().div_(255)
    call = TRANSFORMS[axes["transform"]](_package(peer))

    def step() -> int:
        for _ in range(REPEATS):
            call(image)
        return REPEATS

    return step
