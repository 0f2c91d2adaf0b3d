# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples, Values

__all__ = [
    "dilate",
    "erode",
    "median_blur",
    "remap",
    "warp_perspective",
]

@overload
def dilate(
    data: Sample,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Dilates bright regions of an image: each element becomes the largest one of a rectangle
    around it, for each channel.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of bool, uint8, uint16, int16, int32 or
            float32. Layouts: HW, HWC, FHWC, CHW, FCHW.
        mask_size: int or list of int or one value for each sample (tensor, Batch), default [3,
            3]. Width and height of the rectangle, or one number for both.
        anchor: int or list of int or one value for each sample (tensor, Batch), default [-1,
            -1]. The element of the rectangle, x and y, that is placed on the pixel. -1: the
            middle (size / 2).
        border_mode: str, default "constant". Values outside of the image: "constant" (they do
            not count), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        iterations: int, default 1. How often the operation is done, at once: by a rectangle
            that is larger by size - 1 for each iteration after the first, with its anchor at
            `anchor` * `iterations`. 0: not at all.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, element type and layout of the input.
    """

@overload
def dilate(
    data: Samples,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def erode(
    data: Sample,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Erodes bright regions of an image: each element becomes the smallest one of a rectangle
    around it, for each channel.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of bool, uint8, uint16, int16, int32 or
            float32. Layouts: HW, HWC, FHWC, CHW, FCHW.
        mask_size: int or list of int or one value for each sample (tensor, Batch), default [3,
            3]. Width and height of the rectangle, or one number for both.
        anchor: int or list of int or one value for each sample (tensor, Batch), default [-1,
            -1]. The element of the rectangle, x and y, that is placed on the pixel. -1: the
            middle (size / 2).
        border_mode: str, default "constant". Values outside of the image: "constant" (they do
            not count), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        iterations: int, default 1. How often the operation is done, at once: by a rectangle
            that is larger by size - 1 for each iteration after the first, with its anchor at
            `anchor` * `iterations`. 0: not at all.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, element type and layout of the input.
    """

@overload
def erode(
    data: Samples,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def median_blur(
    data: Sample,
    /,
    *,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Replaces each element by the median of a rectangle around it, for each channel. Elements
    outside of the image are those of its edge.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of uint8, uint16, int16, int32 or float32.
            Layouts: HW, HWC, FHWC, CHW, FCHW.
        window_size: int or list of int or one value for each sample (tensor, Batch), default
            [3, 3]. Width and height of the rectangle, or one number for both: odd, at most
            32767.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, element type and layout of the input.
    """

@overload
def median_blur(
    data: Samples,
    /,
    *,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def remap(
    input: Sample,
    mapx: Any,
    mapy: Any,
    /,
    *,
    interp: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Takes each pixel of the result from the position in two maps: result(x, y) = input(mapx(x,
    y), mapy(x, y)). What is outside the input, or not a number, is 0.

    Takes frame sequences (layouts with F).

    Args:
        input: Sample or batch. Images or sequences; any number of channels and element type.
            Layouts: HWC, FHWC.
        mapx: Sample or batch. Horizontal positions, in pixels: [height, width] of the result.
            Layouts: HWC, HW, FHWC, FHW, F***, F**.
        mapy: Sample or batch. Vertical positions, in pixels; shape of `mapx`. Layouts: HWC, HW,
            FHWC, FHW, F***, F**.
        interp: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR. Interpolation:
            INTERP_LINEAR, INTERP_NN, INTERP_CUBIC or INTERP_LANCZOS3.
        pixel_origin: str, default "corner". The meaning of position (0, 0): the "corner" of the
            first pixel, or its "center", as in OpenCV.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and element type of the input, extents of the maps.
    """

@overload
def remap(
    input: Samples,
    mapx: Any,
    mapy: Any,
    /,
    *,
    interp: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def warp_perspective(
    input: Sample,
    matrix_input: Any | None = None,
    /,
    *,
    matrix: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    inverse_map: bool | None = True,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    border_mode: str | os.PathLike[str] | None = "constant",
    fill_value: float | Sequence[float] | NDArray[Any] | None = ...,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Warps images by a perspective map: with (x', y', w') = matrix (x, y, 1), result(x, y) =
    input(x' / w', y' / w'). Linear interpolation is computed in float32; for uint8 in fixed
    point, which differs by at most 1.

    Takes frame sequences (layouts with F).

    Args:
        input: Sample or batch. Images or sequences; any element type. Layouts: HW, HWC, FHWC,
            CHW, FCHW.
        matrix_input: Sample or batch. Replaces the argument `matrix`: [3, 3]. Optional.
        matrix: float or list of float or one value for each sample (tensor, Batch), default [].
            The map from positions in the result to positions in the input: a 3 x 3 matrix, or
            its 9 numbers row by row.
        inverse_map: bool, default True. False where the matrix maps the input to the result; it
            is inverted then.
        size: float or list of float or one value for each sample (tensor, Batch), default [].
            Size of the result in pixels, without channels: (height, width), or (depth, height,
            width) of volumes; rounded to whole numbers.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR.
            Interpolation: INTERP_LINEAR, INTERP_NN, INTERP_CUBIC (Keys, a = -0.5) or
            INTERP_LANCZOS3.
        border_mode: str, default "constant". Values outside the input: "constant"
            (`fill_value`), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        fill_value: float or list of float, default []. Value of the constant border: one
            number, or one for each channel; 0 by default.
        pixel_origin: str, default "corner". The meaning of position (0, 0): the "corner" of the
            first pixel, or its "center", as in OpenCV.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and element type of the input, extents `size`.
    """

@overload
def warp_perspective(
    input: Samples,
    matrix_input: Any | None = None,
    /,
    *,
    matrix: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    inverse_map: bool | None = True,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    border_mode: str | os.PathLike[str] | None = "constant",
    fill_value: float | Sequence[float] | NDArray[Any] | None = ...,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
