# SPDX-License-Identifier: Apache-2.0
"""Transforms with the names, arguments and results of torchvision's transforms.v2.

Each is a function from its parameters to calls of operators, so that a pipeline can record it.
"""

from __future__ import annotations

from torchdali.transforms._auto_augment import (
    AugMix,
    AutoAugment,
    RandAugment,
    TrivialAugmentWide,
)
from torchdali.transforms._batches import (
    CutMix,
    MixUp,
)
from torchdali.transforms._choices import (
    Lambda,
    RandomApply,
    RandomChoice,
    RandomOrder,
)
from torchdali.transforms._color import (
    ColorJitter,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from torchdali.transforms._containers import (
    Compose,
)
from torchdali.transforms._detection import RandomIoUCrop, SanitizeBoundingBoxes
from torchdali.transforms._geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from torchdali.transforms._on_column import OnColumn
from torchdali.transforms._recognize import equivalent, parts, takes_targets
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform
from torchdali.transforms._values import (
    ConvertImageDtype,
    Normalize,
    PILToTensor,
    ToDtype,
    ToImage,
    ToPureTensor,
    ToTensor,
)
from torchdali.transforms._warps import (
    RandomAffine,
    RandomPerspective,
    RandomRotation,
)
from torchdali.transforms._windows import (
    GaussianBlur,
    Pad,
    RandomCrop,
    RandomErasing,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CutMix",
    "GaussianBlur",
    "Grayscale",
    "Lambda",
    "MixUp",
    "Normalize",
    "OnColumn",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "Sample",
    "SanitizeBoundingBoxes",
    "ToDtype",
    "ToImage",
    "ToPureTensor",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "equivalent",
    "parts",
    "takes_targets",
]
