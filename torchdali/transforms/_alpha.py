# SPDX-License-Identifier: Apache-2.0
"""Resampling of Pillow images with alpha: colors are premultiplied by it, as Pillow does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchdali import fn, math, types
from torchdali.data_node import DataNode
from torchdali.transforms._sample import Sample

__all__ = ["premultiplies", "resampled"]


def premultiplies(sample: Sample, interp_type: Any) -> bool:
    """Returns whether Pillow premultiplies the colors of an image by alpha to resample it."""
    has_alpha = sample.kind == "pil" and sample.channels in (2, 4)
    return has_alpha and interp_type is not types.INTERP_NN


def resampled(
    sample: Sample, interp_type: Any, function: Callable[[DataNode], Any], image: Any = None
) -> DataNode:
    """Returns what a function that resamples makes of an image, as Pillow does it.

    Args:
        sample: where the image is.
        interp_type: the filter.
        function: of the node of the image.
        image: the node; None: that of the sample.
    """
    image = sample.image if image is None else image
    plain = function(image)
    assert isinstance(plain, DataNode)
    if not premultiplies(sample, interp_type):
        return plain
    colors, alpha = _parts(image, sample.channels)
    product = colors * alpha + 128
    weighted = _joined((product // 256 + product) // 256, alpha)
    colors, alpha = _parts(function(weighted), sample.channels)
    is_clear = alpha == 0
    divided = math.min(colors * 255 // (alpha + is_clear), 255)
    result = _joined(colors * is_clear + divided * (alpha != 0), alpha)
    # Pillow copies an image that has the size already, also the colors of clear pixels.
    sizes: Any = [node.shape(dtype=types.INT32) for node in (plain, image)]
    is_same = (sizes[0][0] == sizes[1][0]) * (sizes[0][1] == sizes[1][1])
    made = fn.cast(plain * is_same + result * (1 - is_same), dtype=types.UINT8)
    assert isinstance(made, DataNode)
    return made


def _parts(image: Any, channels: int) -> tuple[Any, Any]:
    """Returns the colors and the alpha of an image "HWC" as int32."""
    node = fn.cast(image, dtype=types.INT32)
    at = channels - 1
    return (
        fn.slice(node, start=[0], end=[at], axes=[2]),
        fn.slice(node, start=[at], end=[channels], axes=[2]),
    )


def _joined(colors: Any, alpha: Any) -> Any:
    return fn.cast(fn.cat(colors, alpha, axis=2), dtype=types.UINT8)
