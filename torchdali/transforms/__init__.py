# SPDX-License-Identifier: Apache-2.0
"""Transforms with the names, arguments and results of torchvision's transforms.v2.

Each is a function from its parameters to calls of operators, so that a pipeline can record it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from torchdali.transforms._channels import RGB, RandomChannelPermutation, RandomPhotometricDistort
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
from torchdali.transforms._crops import FiveCrop, TenCrop
from torchdali.transforms._detection import RandomIoUCrop, SanitizeBoundingBoxes
from torchdali.transforms._elastic import ElasticTransform
from torchdali.transforms._formats import (
    ClampBoundingBoxes,
    ClampKeyPoints,
    ConvertBoundingBoxFormat,
    SanitizeKeyPoints,
    SetClampingMode,
)
from torchdali.transforms._geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from torchdali.transforms._linear import LinearTransformation
from torchdali.transforms._names import AutoAugmentPolicy, InterpolationMode, absent
from torchdali.transforms._noise import JPEG, GaussianNoise
from torchdali.transforms._on_column import OnColumn
from torchdali.transforms._recognize import equivalent, parts, takes_targets
from torchdali.transforms._sample import Sample
from torchdali.transforms._scales import (
    RandomResize,
    RandomShortestSize,
    RandomZoomOut,
    ScaleJitter,
)
from torchdali.transforms._transform import Transform
from torchdali.transforms._values import (
    ConvertImageDtype,
    Identity,
    Normalize,
    PILToTensor,
    ToDtype,
    ToImage,
    ToPILImage,
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
    "JPEG",
    "RGB",
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ColorJitter",
    "Compose",
    "ConvertBoundingBoxFormat",
    "ConvertImageDtype",
    "CutMix",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "Identity",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
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
    "RandomChannelPermutation",
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
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "Sample",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "ScaleJitter",
    "SetClampingMode",
    "TenCrop",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "equivalent",
    "parts",
    "takes_targets",
]

if not TYPE_CHECKING:
    __getattr__ = absent
