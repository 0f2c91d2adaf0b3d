# SPDX-License-Identifier: Apache-2.0
"""Augmentations of images, those that AutoAugment, RandAugment and TrivialAugment draw from.

Each takes uint8 images, "HWC", or sequences, "FHWC", and a magnitude bin instead of its
parameter; see torchdali.auto_aug.core.augmentation(). ``one.augmentation(mag_range=...)`` returns
the same with other magnitudes.

Source: https://arxiv.org/abs/1805.09501 and https://arxiv.org/abs/1909.13719 (which operations,
with which magnitudes), the documentation of Pillow's ImageEnhance (the formulas), and
nvidia.dali.auto_aug 1.35 (names, parameters).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchdali import fn, types
from torchdali.auto_aug.core import augmentation
from torchdali.data_node import DataNode

__all__ = [
    "auto_contrast",
    "brightness",
    "color",
    "contrast",
    "equalize",
    "identity",
    "invert",
    "poster_mask_uint8",
    "posterize",
    "rotate",
    "sharpness",
    "sharpness_kernel",
    "sharpness_kernel_shifted",
    "shear_x",
    "shear_y",
    "shift_enhance_range",
    "solarize",
    "solarize_add",
    "solarize_add_shift",
    "translate_x",
    "translate_x_no_shape",
    "translate_y",
    "translate_y_no_shape",
    "warp_x_param",
    "warp_y_param",
]

# Weights of the channels in luma, ITU-R BT.601.
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
# Pillow's SMOOTH filter.
_SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13
_UNCHANGED = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], np.float32)
_BITS = 8
_MIDDLE = 128  # solarize_add leaves brighter values as they are


def warp_x_param(magnitude: float) -> list[float]:
    """Returns the parameter of a shear or a translation along the x axis."""
    return [magnitude, 0]


def warp_y_param(magnitude: float) -> list[float]:
    """Returns the parameter of a shear or a translation along the y axis."""
    return [0, magnitude]


def shift_enhance_range(magnitude: float) -> float:
    """Returns the factor of brightness, contrast, color or sharpness: 1 changes nothing."""
    return 1 + magnitude


def sharpness_kernel(magnitude: float) -> NDArray[Any]:
    """Returns a 3 x 3 kernel that sharpens for magnitudes above 0 and smooths below, to -1."""
    return -magnitude * _SMOOTH + (1 + magnitude) * _UNCHANGED


def sharpness_kernel_shifted(magnitude: float) -> NDArray[Any]:
    """Returns the kernel of sharpness_kernel() for magnitudes where 1 changes nothing."""
    return sharpness_kernel(magnitude - 1)


def poster_mask_uint8(magnitude: float) -> NDArray[Any]:
    """Returns a mask of as many high bits as the magnitude says, at least 1 and at most 8."""
    kept = min(max(round(float(magnitude)), 1), _BITS)
    return np.array(256 - (1 << (_BITS - kept)), np.uint8)


def solarize_add_shift(shift: float) -> NDArray[Any]:
    """Returns what solarize_add() adds, as uint8.

    Raises:
        ValueError: it is outside 0 to 127, so that a sum could pass 255.
    """
    if not 0 <= shift < _MIDDLE:
        raise ValueError(f"solarize_add takes shifts of 0 to {_MIDDLE - 1}, got {shift}")
    return np.array(shift, np.uint8)


def _warp(data: DataNode, matrix: DataNode, fill_value: Any, interp_type: Any) -> Any:
    return fn.warp_affine(
        data, matrix=matrix, fill_value=fill_value, interp_type=interp_type, inverse_map=False
    )


def _shear(data: DataNode, shear: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    return _warp(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


def _translate(data: DataNode, offset: Any, fill_value: Any, interp_type: Any) -> Any:
    return _warp(data, fn.transforms.translation(offset=offset), fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_x_param)
def shear_x(data: DataNode, shear: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    """Shears along the x axis: the magnitude is the tangent of the angle."""
    return _shear(data, shear, fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_y_param)
def shear_y(data: DataNode, shear: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    """Shears along the y axis: the magnitude is the tangent of the angle."""
    return _shear(data, shear, fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_x_param)
def translate_x(
    data: DataNode, rel_offset: Any, shape: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Moves along the x axis, by the magnitude times the width; `shape` is (height, width)."""
    return _translate(data, rel_offset * shape[1], fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_x_param, name="translate_x"
)
def translate_x_no_shape(
    data: DataNode, offset: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Moves along the x axis, by as many pixels as the magnitude says."""
    return _translate(data, offset, fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_y_param)
def translate_y(
    data: DataNode, rel_offset: Any, shape: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Moves along the y axis, by the magnitude times the height; `shape` is (height, width)."""
    return _translate(data, rel_offset * shape[0], fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_y_param, name="translate_y"
)
def translate_y_no_shape(
    data: DataNode, offset: Any, fill_value: Any = 128, interp_type: Any = None
) -> Any:
    """Moves along the y axis, by as many pixels as the magnitude says."""
    return _translate(data, offset, fill_value, interp_type)


@augmentation(mag_range=(0, 30), randomly_negate=True)
def rotate(
    data: DataNode,
    angle: Any,
    fill_value: Any = 128,
    interp_type: Any = None,
    rotate_keep_size: bool = True,
) -> Any:
    """Rotates about the center, by as many degrees as the magnitude says."""
    return fn.rotate(
        data,
        angle=angle,
        fill_value=fill_value,
        interp_type=interp_type,
        keep_size=rotate_keep_size,
    )


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def brightness(data: DataNode, parameter: Any) -> Any:
    """Multiplies by a factor."""
    return fn.brightness(data, brightness=parameter)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def contrast(data: DataNode, parameter: Any) -> Any:
    """Multiplies the distance from the mean luma of the image by a factor."""
    mean = fn.reductions.mean(data, axis_names="HW", keep_dims=True)
    center = fn.reductions.sum(mean * types.Constant(_LUMA), axis_names="C", keep_dims=True)
    return fn.cast_like(center + (data - center) * parameter, data)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def color(data: DataNode, parameter: Any) -> Any:
    """Multiplies the saturation by a factor."""
    return fn.saturation(data, saturation=parameter)


# fn.filter takes its kernel on the host.
@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=sharpness_kernel)
def sharpness(data: DataNode, kernel: Any) -> Any:
    """Moves away from a smoothed image, or towards it; Pillow leaves the outermost pixels."""
    return fn.filter(data, kernel)


@augmentation(mag_range=(0, 4), mag_to_param=poster_mask_uint8, param_device="auto")
def posterize(data: DataNode, mask: Any) -> Any:
    """Keeps as many high bits as the magnitude says, at least one."""
    return data & mask


@augmentation(mag_range=(256, 0), param_device="auto")
def solarize(data: DataNode, threshold: Any) -> Any:
    """Inverts values that are not below the threshold."""
    below = data < threshold
    inverted = types.Constant(255, dtype=types.UINT8) - data
    return below * data + (below ^ True) * inverted


@augmentation(mag_range=(0, 110), param_device="auto", mag_to_param=solarize_add_shift)
def solarize_add(data: DataNode, shift: Any) -> Any:
    """Adds to values below 128."""
    below = data < types.Constant(_MIDDLE, dtype=types.UINT8)
    return below * (data + shift) + (below ^ True) * data


@augmentation
def invert(data: DataNode, _: Any) -> Any:
    """Takes values from 255."""
    return types.Constant(255, dtype=types.UINT8) - data


@augmentation
def equalize(data: DataNode, _: Any) -> Any:
    """Spreads the histogram of each channel evenly, as OpenCV does; Pillow rounds otherwise."""
    return fn.equalize(data)


@augmentation
def auto_contrast(data: DataNode, _: Any) -> Any:
    """Stretches each channel so that its values go from 0 to 255; one value alone stays."""
    low = fn.reductions.min(data, axis_names="HW", keep_dims=True)
    span = fn.reductions.max(data, axis_names="HW", keep_dims=True) - low
    varies = span > 0
    scale = 255 / (span * varies + types.Constant(255, dtype=types.UINT8) * (varies ^ True))
    return fn.cast_like((data - low * varies) * scale, data)


@augmentation
def identity(data: DataNode, _: Any) -> Any:
    """Changes nothing."""
    return data
