# SPDX-License-Identifier: Apache-2.0
"""What the three families have in common: translations, arguments of suites, their errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torchdali._common.location import find_user_location
from torchdali.auto_aug import augmentations as a
from torchdali.auto_aug.core import _Augmentation
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = [
    "arguments",
    "as_auto_augment",
    "check_bins",
    "error",
    "including",
    "operations",
    "translations",
]

# Factors of brightness, contrast, color and sharpness in AutoAugment; 1 changes nothing.
_FACTORS = (0.1, 1.9)


def error(kind: type[Any], caller: str, text: str, fix: str | None = None) -> Exception:
    """Returns the exception for a wrong argument of one of the functions."""
    made: Exception = _make(kind, text, operator=caller, location=find_user_location(), fix=fix)
    return made


def arguments(
    augmentations: Iterable[_Augmentation], shape: Any, fill_value: Any, interp_type: Any
) -> dict[str, Any]:
    """Returns what some augmentations of a suite are called with.

    Where all that would take an argument are excluded, it is left out.
    """
    given = {"fill_value": fill_value, "interp_type": interp_type}
    if shape is not None:
        given["shape"] = shape
    return {name: value for one in augmentations for name, value in one.accepted(given).items()}


def check_bins(num_magnitude_bins: Any, caller: str) -> None:
    """Raises ArgumentError if there is no positive number of bins."""
    if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
        raise error(
            ArgumentError,
            caller,
            f"`num_magnitude_bins` takes a positive int, got {num_magnitude_bins!r}",
        )


def translations(
    use_shape: bool,
    max_translate_abs: Any,
    max_translate_rel: Any,
    default_abs: float,
    default_rel: float,
    caller: str,
) -> list[_Augmentation]:
    """Returns translate_x and translate_y, relative to the shape of images or in pixels.

    Args:
        use_shape: whether they are relative.
        max_translate_abs: greatest offset in pixels, or (vertical, horizontal).
        max_translate_rel: greatest part of the height and width, or (of height, of width).
        default_abs: its value if it is None.
        default_rel: its value if it is None.
        caller: for errors.
    """
    if not isinstance(use_shape, bool):
        kind = "a DataNode" if isinstance(use_shape, DataNode) else repr(use_shape)
        raise error(
            ArgumentTypeError,
            caller,
            f"`use_shape` takes True or False, got {kind}",
            "pass the shape where the augmentations are applied, as shape=",
        )
    unused, name, other = (
        (max_translate_abs, "max_translate_abs", "max_translate_rel")
        if use_shape
        else (max_translate_rel, "max_translate_rel", "max_translate_abs")
    )
    if unused is not None:
        raise error(
            ArgumentError,
            caller,
            f"`{name}` has no use {'with' if use_shape else 'without'} the shapes of images",
            f"pass `{other}`",
        )
    given = max_translate_rel if use_shape else max_translate_abs
    if given is None:
        given = default_rel if use_shape else default_abs
    height, width = given if isinstance(given, (tuple, list)) else (given, given)
    x, y = (
        (a.translate_x, a.translate_y)
        if use_shape
        else (a.translate_x_no_shape, a.translate_y_no_shape)
    )
    return [x.augmentation((0, width), True), y.augmentation((0, height), True)]


def operations(
    moves: Sequence[_Augmentation],
    *,
    shear: float,
    angle: float,
    posterize: tuple[int, int],
    solarize: tuple[int, int],
    enhance: tuple[float, float] | None,
) -> list[_Augmentation]:
    """Returns the operations that all suites draw from, with the magnitudes of one of them.

    Args:
        moves: translations, which come first.
        shear: greatest tangent of the angle.
        angle: of rotations, the greatest, in degrees.
        posterize: bits that are kept, for the least and the greatest magnitude.
        solarize: thresholds, for the least and the greatest magnitude.
        enhance: how far the factors of brightness, contrast, color and sharpness are from 1, on
            either side; None: the factors of AutoAugment, where larger is not stronger.
    """
    stronger = enhance is not None
    factors = enhance or _FACTORS
    to_factor = a.shift_enhance_range if stronger else None
    to_kernel = a.sharpness_kernel if stronger else a.sharpness_kernel_shifted
    return [
        *moves,
        a.shear_x.augmentation((0, shear), True),
        a.shear_y.augmentation((0, shear), True),
        a.rotate.augmentation((0, angle), True),
        *(
            one.augmentation(factors, stronger, to_factor)
            for one in (a.brightness, a.contrast, a.color)
        ),
        a.sharpness.augmentation(factors, stronger, to_kernel),
        a.posterize.augmentation(posterize, False, a.poster_mask_uint8),
        a.solarize.augmentation(solarize, False, None),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]


def as_auto_augment(moves: Sequence[_Augmentation]) -> list[_Augmentation]:
    """Returns the operations with the magnitudes of AutoAugment."""
    return operations(moves, shear=0.3, angle=30, posterize=(0, 4), solarize=(0, 256), enhance=None)


def including(
    suite: Sequence[_Augmentation], excluded: Sequence[str] | None, caller: str
) -> list[_Augmentation]:
    """Returns a suite without the augmentations of some names."""
    names = [one.name for one in suite]
    for name in excluded or []:
        if name not in names:
            raise error(
                ArgumentError,
                caller,
                f"`excluded` has {name!r}, and the suite holds {', '.join(names)}",
            )
    return [one for one in suite if one.name not in (excluded or [])]
