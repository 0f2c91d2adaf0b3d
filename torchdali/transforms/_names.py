# SPDX-License-Identifier: Apache-2.0
"""Names of torchvision's transforms.v2: its enumerations, and those that are not here, and why."""

from __future__ import annotations

import enum
from typing import NoReturn

from torchdali.errors import UnsupportedNameError, _make

__all__ = ["ABSENT", "AutoAugmentPolicy", "InterpolationMode", "absent"]

_HELPER = "it is for writing transforms by inheritance from torchvision's class"
_WRITE = "derive from torchvision's class, or write a function and use Lambda"
# For each name, the reason, and what to do.
ABSENT = {
    "UniformTemporalSubsample": (
        "it is of videos, which are not implemented",
        "use fn.sequence_rearrange or a slice of a sequence in a pipeline",
    ),
    "functional": (
        "functions of tensors have DALI's names here",
        "use torchdali.functional, or a transform with fixed arguments",
    ),
    **dict.fromkeys(
        (
            "check_type",
            "get_bounding_boxes",
            "get_keypoints",
            "has_all",
            "has_any",
            "query_chw",
            "query_size",
        ),
        (_HELPER, _WRITE),
    ),
}


class InterpolationMode(enum.Enum):
    """Interpolations. Transforms take their names and the numbers of Pillow, too."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class AutoAugmentPolicy(enum.Enum):
    """Policies of AutoAugment, by the dataset that they were found for."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def absent(name: str) -> NoReturn:
    """Raises the error for an attribute that torchdali.transforms does not have.

    Raises:
        AttributeError: it is no name of torchvision's.
        UnsupportedNameError: it is one.
    """
    if name not in ABSENT:
        raise AttributeError(f"module 'torchdali.transforms' has no attribute {name!r}")
    reason, fix = ABSENT[name]
    raise _make(UnsupportedNameError, f"transforms.{name} of torchvision: {reason}", fix=fix)
