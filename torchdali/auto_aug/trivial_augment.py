# SPDX-License-Identifier: Apache-2.0
"""TrivialAugment (https://arxiv.org/abs/2103.10158): one operation of any magnitude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali import fn, types
from torchdali.auto_aug import _suites
from torchdali.auto_aug.core import _Augmentation, select, signed_bin
from torchdali.auto_aug.core._augmentation import check_all_used
from torchdali.auto_aug.core._bins import seed_of
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError

__all__ = ["apply_trivial_augment", "get_trivial_augment_wide_suite", "trivial_augment_wide"]

_PIXELS, _PART = 32, 1.0  # of the greatest translation
_ENHANCED = (0.01, 0.99)


def trivial_augment_wide(
    data: DataNode,
    num_magnitude_bins: int = 31,
    shape: DataNode | tuple[int, int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
    excluded: list[str] | None = None,
) -> DataNode:
    """Applies one operation to each sample, drawn with its magnitude from the wide suite.

    Args:
        data: uint8 images, "HWC", or sequences, "FHWC".
        num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
        shape: (height, width) of the images, for translations relative to it. None: translations
            are in pixels.
        fill_value: of pixels that come in from outside; None repeats those at the border.
        interp_type: types.INTERP_LINEAR (by default) or types.INTERP_NN.
        max_translate_abs: without `shape`: greatest translation in pixels, or (vertical,
            horizontal); 32 by default.
        max_translate_rel: with `shape`: greatest translation as a part of height and width, or one
            for each; 1 by default, which moves all out of sight.
        seed: of all draws; by default it follows from the pipeline's.
        excluded: names of operations to leave out.

    Returns:
        As `data`.

    Raises:
        ArgumentError, ArgumentTypeError: a value is out of its range, or of another type.
    """
    augmentations = _suites.including(
        get_trivial_augment_wide_suite(shape is not None, max_translate_abs, max_translate_rel),
        excluded,
        "trivial_augment_wide",
    )
    return apply_trivial_augment(
        augmentations,
        data,
        num_magnitude_bins,
        seed,
        **_suites.arguments(augmentations, shape, fill_value, interp_type),
    )


def apply_trivial_augment(
    augmentations: Sequence[_Augmentation],
    data: DataNode,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> DataNode:
    """Applies one operation to each sample, drawn with its magnitude from a list.

    Args:
        augmentations: the list.
        data: what they take.
        num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
        seed: of all draws; by default it follows from the pipeline's.
        kwargs: for the augmentations, each of which gets those that it takes.

    Returns:
        As `data`.

    Raises:
        ArgumentError, ArgumentTypeError: a value is out of its range, or of another type.
    """
    caller = "apply_trivial_augment"
    _suites.check_bins(num_magnitude_bins, caller)
    if not augmentations:
        raise _suites.error(ArgumentError, caller, "`augmentations` is empty")
    check_all_used(augmentations, kwargs, caller)
    magnitude: Any = fn.random.uniform(
        values=list(range(num_magnitude_bins)), dtype=types.INT32, seed=seed_of(seed, 0)
    )
    if any(one.randomly_negate for one in augmentations):
        magnitude = signed_bin(magnitude, seed=seed_of(seed, 1))
    chosen = fn.random.uniform(
        values=list(range(len(augmentations))), dtype=types.INT32, seed=seed_of(seed, 2)
    )
    made: DataNode = select(
        augmentations,
        chosen,
        data,
        magnitude_bin=magnitude,
        num_magnitude_bins=num_magnitude_bins,
        **kwargs,
    )
    return made


def get_trivial_augment_wide_suite(
    use_shape: bool = False,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
) -> list[_Augmentation]:
    """Returns the 14 augmentations of TrivialAugment's wide space.

    Args:
        use_shape: whether translations are relative to the shape of images, which is then passed as
            `shape` where they are applied.
        max_translate_abs: see trivial_augment_wide().
        max_translate_rel: see trivial_augment_wide().
    """
    moves = _suites.translations(
        use_shape, max_translate_abs, max_translate_rel, _PIXELS, _PART, "trivial_augment_wide"
    )
    return _suites.operations(
        moves, shear=0.99, angle=135, posterize=(8, 2), solarize=(256, 0), enhance=_ENHANCED
    )
