# SPDX-License-Identifier: Apache-2.0
"""Pixels of Pillow's images, which is not imported for it."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from torchdali._engine.extension import _C
from torchdali.errors import ArgumentError, _make
from torchdali.tensors._input import as_tensor

__all__ = ["IMAGE_MODES", "is_pillow", "pixels_of", "to_image"]

# Modes whose pixels Pillow exports by the Arrow C interface, and their channels.
IMAGE_MODES = {"L": 1, "RGB": 3}
# Modes whose pixels are what they show: gray, colors, and one channel of numbers.
_MODES = (*IMAGE_MODES, "RGBA", "I;16", "I", "F", "LA", "YCbCr", "CMYK")


def is_pillow(value: Any) -> bool:
    """Returns whether a value is an image of Pillow's."""
    return hasattr(value, "getbands") and hasattr(value, "mode")


def pixels_of(image: Any, planar: bool = False) -> torch.Tensor:
    """Returns the pixels of an image as a tensor of its own: "HWC", or "CHW" if planar.

    Raises:
        ArgumentError: it has a palette.
    """
    mode = image.mode
    channels = IMAGE_MODES.get(mode)
    if channels is not None:
        exported = _export(image)
        if exported is not None:
            width, height = image.size
            return _C.read_pillow_image(*exported, height, width, channels, planar)
    if mode not in _MODES:
        raise _make(
            ArgumentError,
            f"a PIL image of mode {mode!r} holds no colors",
            fix='pass image.convert("RGB")',
        )
    tensor, _ = as_tensor(image)
    tensor = tensor if tensor.dim() == 3 else tensor.unsqueeze(-1)
    return tensor.permute(2, 0, 1).contiguous() if planar else tensor


def to_image(pixels: torch.Tensor) -> Any:
    """Returns an image with the pixels of a uint8 tensor [H, W, C] of 1 to 4 channels."""
    module = importlib.import_module("PIL.Image")
    height, width, channels = pixels.shape
    mode = next((mode for mode, count in IMAGE_MODES.items() if count == channels), None)
    made = exported = None
    if mode is not None:
        made = module.new(mode, (width, height), None)
        exported = _export(made)
    if exported is None:
        array = pixels.numpy()
        return module.fromarray(array[..., 0] if channels == 1 else array)
    _C.write_pillow_image(*exported, pixels)
    return made


def _export(image: Any) -> tuple[Any, Any] | None:
    """Returns the memory of an image; None if Pillow is older, or has it in several blocks."""
    export = getattr(image, "__arrow_c_array__", None)
    if export is None:
        return None
    try:
        schema, array = export()
        return schema, array
    except ValueError:  # raised for several blocks, which images of more than 16 MiB have
        return None
