# SPDX-License-Identifier: Apache-2.0
"""RandAugment (https://arxiv.org/abs/1909.13719): operations in a row, all of one magnitude."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from torchdali import fn, types
from torchdali._common.location import user_stack_level
from torchdali.auto_aug import _suites
from torchdali.auto_aug.core import _Augmentation, select, signed_bin
from torchdali.auto_aug.core._augmentation import check_all_used
from torchdali.auto_aug.core._bins import seed_of
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError

__all__ = [
    "apply_rand_augment",
    "get_rand_augment_non_monotonic_suite",
    "get_rand_augment_suite",
    "rand_augment",
]

# Of the greatest translation: pixels, and the same as a part of ImageNet's usual crop.
_PIXELS, _PART = 100, 100 / 224


def rand_augment(
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    shape: DataNode | tuple[int, int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
    monotonic_mag: bool = True,
    excluded: list[str] | None = None,
) -> DataNode:
    """Applies `n` operations in a row to each sample, drawn from RandAugment's suite.

    Args:
        data: uint8 images, "HWC", or sequences, "FHWC".
        n: how many operations.
        m: magnitude bin of all of them, 0 to ``num_magnitude_bins - 1``.
        num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
        shape: (height, width) of the images, for translations relative to it, such as
            ``fn.peek_image_shape(encoded)``. None: translations are in pixels.
        fill_value: of pixels that come in from outside; None repeats those at the border.
        interp_type: types.INTERP_LINEAR (by default) or types.INTERP_NN.
        max_translate_abs: without `shape`: greatest translation in pixels, or (vertical,
            horizontal); 100 by default.
        max_translate_rel: with `shape`: greatest translation as a part of height and width, or one
            for each; 100/224 by default.
        seed: of all draws; by default it follows from the pipeline's.
        monotonic_mag: whether larger magnitudes are stronger for all operations; see
            get_rand_augment_non_monotonic_suite().
        excluded: names of operations to leave out.

    Returns:
        As `data`.

    Raises:
        ArgumentError, ArgumentTypeError: a value is out of its range, or of another type.

    Example:
        >>> from torchdali import fn, pipeline_def, types
        >>> from torchdali.auto_aug import rand_augment
        >>> @pipeline_def(batch_size=2, num_threads=1, device_id=None)
        ... def images():
        ...     noise = fn.random.uniform(range=(0, 255), shape=(8, 9, 3))
        ...     images = fn.reshape(fn.cast(noise, dtype=types.UINT8), layout="HWC")
        ...     return rand_augment.rand_augment(images, n=2, m=9)
        >>> batch, = images().run()
        >>> tuple(batch[0].shape())
        (8, 9, 3)
    """
    suite = get_rand_augment_suite if monotonic_mag else get_rand_augment_non_monotonic_suite
    augmentations = _suites.including(
        suite(shape is not None, max_translate_abs, max_translate_rel), excluded, "rand_augment"
    )
    return apply_rand_augment(
        augmentations,
        data,
        n,
        m,
        num_magnitude_bins,
        seed,
        **_suites.arguments(augmentations, shape, fill_value, interp_type),
    )


def apply_rand_augment(
    augmentations: Sequence[_Augmentation],
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> DataNode:
    """Applies `n` operations in a row to each sample, drawn from a list.

    Args:
        augmentations: the list.
        data: what they take.
        n: how many operations.
        m: magnitude bin of all of them, 0 to ``num_magnitude_bins - 1``.
        num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
        seed: of all draws; by default it follows from the pipeline's.
        kwargs: for the augmentations, each of which gets those that it takes.

    Returns:
        As `data`.

    Raises:
        ArgumentError, ArgumentTypeError: a value is out of its range, or of another type.
    """
    caller = "apply_rand_augment"
    _suites.check_bins(num_magnitude_bins, caller)
    if not isinstance(n, int) or n < 0:
        raise _suites.error(
            ArgumentError, caller, f"`n` takes an int that is not negative, got {n!r}"
        )
    if not isinstance(m, int) or not 0 <= m < num_magnitude_bins:
        raise _suites.error(
            ArgumentError, caller, f"`m` takes an int from 0 to {num_magnitude_bins - 1}, got {m!r}"
        )
    if n == 0:
        warnings.warn(
            f"{caller} was called with n=0: nothing is applied", stacklevel=user_stack_level()
        )
        return data
    if not augmentations:
        raise _suites.error(ArgumentError, caller, "`augmentations` is empty")
    check_all_used(augmentations, kwargs, caller)
    shape = (n,)
    chosen = fn.random.uniform(
        values=list(range(len(augmentations))),
        shape=shape,
        dtype=types.INT32,
        seed=seed_of(seed, 0),
    )
    signed = None
    if any(one.randomly_negate for one in augmentations):
        signed = signed_bin(m, seed=seed_of(seed, 1), shape=shape)
    for step in range(n):
        data = select(
            augmentations,
            chosen[step],
            data,
            magnitude_bin=m if signed is None else signed[step],
            num_magnitude_bins=num_magnitude_bins,
            **kwargs,
        )
    return data


def get_rand_augment_suite(
    use_shape: bool = False,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
) -> list[_Augmentation]:
    """Returns the augmentations of RandAugment; larger magnitudes are stronger.

    Args:
        use_shape: whether translations are relative to the shape of images, which is then passed as
            `shape` where they are applied.
        max_translate_abs: see rand_augment().
        max_translate_rel: see rand_augment().
    """
    moves = _suites.translations(
        use_shape, max_translate_abs, max_translate_rel, _PIXELS, _PART, "rand_augment"
    )
    return _suites.operations(
        moves, shear=0.3, angle=30, posterize=(8, 4), solarize=(256, 0), enhance=(0, 0.9)
    )


def get_rand_augment_non_monotonic_suite(
    use_shape: bool = False,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
) -> list[_Augmentation]:
    """Returns the augmentations of RandAugment with the magnitudes of AutoAugment.

    Posterizing and solarizing grow weaker with larger magnitudes, and brightness, contrast, color
    and sharpness are weakest in the middle of the range.

    Args:
        use_shape: as get_rand_augment_suite().
        max_translate_abs: see rand_augment().
        max_translate_rel: see rand_augment().
    """
    moves = _suites.translations(
        use_shape, max_translate_abs, max_translate_rel, _PIXELS, _PART, "rand_augment"
    )
    return _suites.as_auto_augment(moves)
