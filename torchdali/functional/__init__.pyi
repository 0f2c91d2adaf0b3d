# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali._eager.batch import Batch as Batch
from torchdali._eager.program import release_unused_memory as release_unused_memory
from torchdali._eager.settings import deferred as deferred
from torchdali._eager.settings import get_default_layout as get_default_layout
from torchdali._eager.settings import get_num_threads as get_num_threads
from torchdali._eager.settings import set_default_layout as set_default_layout
from torchdali._eager.settings import set_num_threads as set_num_threads
from torchdali._eager.types import Sample, Samples, Values
from torchdali.functional import decoders as decoders
from torchdali.functional import experimental as experimental
from torchdali.functional import io as io
from torchdali.functional import noise as noise
from torchdali.functional import random as random
from torchdali.functional import reductions as reductions
from torchdali.functional import segmentation as segmentation
from torchdali.functional import transforms as transforms

__all__ = [
    "Batch",
    "add_noise",
    "affine",
    "audio_resample",
    "augment",
    "batch_permutation",
    "bb_flip",
    "bbox_paste",
    "bbox_rotate",
    "box_encoder",
    "brightness",
    "brightness_contrast",
    "cast",
    "cast_like",
    "cat",
    "clahe",
    "color_space_conversion",
    "color_twist",
    "contrast",
    "coord_flip",
    "coord_transform",
    "copy",
    "crop",
    "crop_mirror_normalize",
    "debayer",
    "decode",
    "decoders",
    "deferred",
    "dither",
    "dump_image",
    "element_extract",
    "equalize",
    "erase",
    "expand_dims",
    "experimental",
    "filter",
    "flip",
    "full",
    "full_like",
    "gain",
    "gaussian_blur",
    "get_default_layout",
    "get_num_threads",
    "get_property",
    "grid_mask",
    "hsv",
    "hue",
    "io",
    "jitter",
    "jpeg_compression_distortion",
    "laplacian",
    "lookup_table",
    "mel_filter_bank",
    "mfcc",
    "multi_paste",
    "noise",
    "nonsilent_region",
    "normalize",
    "one_hot",
    "ones",
    "ones_like",
    "optical_flow",
    "pad",
    "pad_crop",
    "paste",
    "peek_image_shape",
    "per_frame",
    "permute_batch",
    "perspective",
    "power_spectrum",
    "preemphasis_filter",
    "random",
    "random_bbox_crop",
    "random_crop_generator",
    "random_erase",
    "random_resized_crop",
    "reductions",
    "reinterpret",
    "release_unused_memory",
    "reshape",
    "resize",
    "resize_crop_mirror",
    "roi_random_crop",
    "rotate",
    "saturation",
    "segmentation",
    "sequence_rearrange",
    "set_default_layout",
    "set_num_threads",
    "shapes",
    "slice",
    "spec_augment",
    "spectrogram",
    "sphere",
    "squeeze",
    "ssd_random_crop",
    "stack",
    "subscript_dim_check",
    "tensor_resize",
    "tensor_subscript",
    "time_stretch",
    "to_decibels",
    "transforms",
    "transpose",
    "warp_affine",
    "water",
    "zeros",
    "zeros_like",
]

@overload
def add_noise(
    audio: Sample,
    noise: Any,
    /,
    *,
    snr: float | Values | None = 10.0,
    random_start: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adds noise from a second input, scaled so that the energy of the signal over that of the
    noise is `snr`, as torchaudio.functional.add_noise does. Longer noise is cut to the length
    of the signal, shorter noise is repeated. Where either is silent, no noise is added.
    fn.noise.gaussian adds white noise.

    Args:
        audio: Sample or batch. Signals; float32. Layouts: t, tc.
        noise: Sample or batch. Noise of the same number of channels and any length; float32.
            Layouts: t, tc.
        snr: float or one value for each sample (tensor, Batch), default 10.0. The ratio in
            decibels, of the energies of the mixed parts over all channels.
        random_start: bool, default True. The part of the noise begins at a random position;
            otherwise, at the first.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of `audio`. A view if no noise is added.
    """

@overload
def add_noise(
    audio: Samples,
    noise: Any,
    /,
    *,
    snr: float | Values | None = 10.0,
    random_start: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def affine(
    data: Sample,
    /,
    *,
    angle: float | Values | None = 0.0,
    translate: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    scale: float | Values | None = 1.0,
    shear: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    rotation: float | Values | None = 0.0,
    center: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    expand: bool | None = False,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    apply: bool | Values | None = True,
    arithmetic: str | os.PathLike[str] | None = "torch",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Rotates, scales, shears and moves an image, with the results of torchvision's affine(), or
    of its rotate() if `rotation` is given. fn.warp_affine takes a matrix and has DALI's
    borders.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences with 1 or 3 channels; uint8, or float32 with
            values from 0 to 1. Layouts: HWC, CHW, FHWC, FCHW.
        angle: float or one value for each sample (tensor, Batch), default 0.0. Rotation in
            degrees, clockwise.
        translate: float or list of float or one value for each sample (tensor, Batch), default
            [0.0, 0.0]. Move along x and y, in pixels.
        scale: float or one value for each sample (tensor, Batch), default 1.0. Factor of the
            size, above 0.
        shear: float or list of float or one value for each sample (tensor, Batch), default
            [0.0, 0.0]. Shears along x and y, in degrees.
        rotation: float or one value for each sample (tensor, Batch), default 0.0. Rotation in
            degrees, counterclockwise; excludes the arguments above.
        center: float or list of float or one value for each sample (tensor, Batch), optional.
            Position x, y that rotation, scale and shears keep, from the corner of the first
            pixel. Default: the center.
        expand: bool, default False. With `rotation`: the result contains the whole rotated
            image.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_NN.
            Interpolation: INTERP_NN or INTERP_LINEAR.
        fill_value: float or list of float or one value for each sample (tensor, Batch), default
            []. Values outside the input: one, or one for each channel. None: 0, to which linear
            interpolation blends.
        apply: bool or one value for each sample (tensor, Batch), default True. False for
            samples that stay as they are.
        arithmetic: str, default "torch". Whose rounding to follow: "torch", of torchvision's
            functions on tensors, or "pillow", of those on Pillow's images.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Element type and layout of the input; its shape, unless `expand`.
    """

@overload
def affine(
    data: Samples,
    /,
    *,
    angle: float | Values | None = 0.0,
    translate: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    scale: float | Values | None = 1.0,
    shear: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    rotation: float | Values | None = 0.0,
    center: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    expand: bool | None = False,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    apply: bool | Values | None = True,
    arithmetic: str | os.PathLike[str] | None = "torch",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def audio_resample(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    in_rate: float | Values | None = None,
    out_rate: float | Values | None = None,
    scale: float | Values | None = None,
    out_length: int | Values | None = None,
    quality: float | None = 50.0,
    antialias: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Changes the sampling rate of a signal, by a sinc function under a Hann window. The rate is
    given as `in_rate` and `out_rate`, as `scale`, or by `out_length`. Signals are silent before
    their start and after their end. The length is rounded up.

    Args:
        data: Sample or batch. Signals: time, or time and channels; 8, 16 or 32-bit integers or
            float32. Any layout.
        dtype: types.DALIDataType, optional. Element type of the output; by default that of the
            input. The range of one type becomes the range of the other: -1 to 1 of float, the
            whole range of unsigned integers, and minus to plus the largest value of signed
            integers.
        in_rate: float or one value for each sample (tensor, Batch), optional. Sampling rate of
            the input, in any unit; with `out_rate`.
        out_rate: float or one value for each sample (tensor, Batch), optional. Sampling rate of
            the output, in the same unit.
        scale: float or one value for each sample (tensor, Batch), optional. Sampling rate of
            the output, as a multiple of that of the input.
        out_length: int or one value for each sample (tensor, Batch), optional. Length of the
            output in samples. The rate is changed by its ratio to the length of the input.
        quality: float, default 50.0. From 0 to 100: 0 is a filter of 3 lobes, 50 of 16, 100 of
            64 lobes on each side.
        antialias: bool, default False. Whether to remove frequencies that a lower sampling rate
            cannot represent. They are mirrored otherwise, as by DALI, which has no such
            argument.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and channels of the input.
    """

@overload
def audio_resample(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    in_rate: float | Values | None = None,
    out_rate: float | Values | None = None,
    scale: float | Values | None = None,
    out_length: int | Values | None = None,
    quality: float | None = 50.0,
    antialias: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def augment(
    data: Sample,
    /,
    *,
    operations: int | Sequence[int] | NDArray[Any] | Values,
    magnitudes: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    order: int | Values | None = 0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    arithmetic: str | os.PathLike[str] | None = "torch",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Applies operations to an image, one after the other, with the results of torchvision's
    functions. Each sample may have its own operations, by number: 0 identity; 1 and 2 shears
    along x and y, by a tangent, about the first pixel; 3 and 4 moves along x and y, by whole
    pixels; 5 rotation about the center, counterclockwise, in degrees; 6 brightness, 7 color
    (saturation), 8 contrast and 9 sharpness, by a factor; 10 posterize, to a number of bits; 11
    solarize, from a part of full intensity on; 12 autocontrast; 13 equalize; 14 invert; 15 hue,
    in turns from -0.5 to 0.5; 16 gray; 17 and 18 moves along x and y, by a part of width and
    height that is rounded towards 0; 19 a permutation of three channels, by its number in
    lexicographic order. DALI has no such operator; its color operators use other color spaces
    and other rounding.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences with 1 or 3 channels; uint8, or float32 with
            values from 0 to 1. Layouts: HWC, CHW, FHWC, FCHW.
        operations: int or list of int or one value for each sample (tensor, Batch), required.
            Numbers of operations, at most 16.
        magnitudes: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. A magnitude for each operation, or one for all. Operations without one ignore
            it.
        order: int or one value for each sample (tensor, Batch), default 0. The number of the
            permutation, in lexicographic order, in which the operations run.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_NN. Interpolation
            of shears, moves and rotations: INTERP_NN or INTERP_LINEAR.
        fill_value: float or list of float or one value for each sample (tensor, Batch), default
            []. Values outside the input: one, or one for each channel. None: 0, to which linear
            interpolation blends.
        arithmetic: str, default "torch". Whose rounding to follow: "torch", of torchvision's
            functions on tensors, or "pillow", of those on Pillow's images.
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
def augment(
    data: Samples,
    /,
    *,
    operations: int | Sequence[int] | NDArray[Any] | Values,
    magnitudes: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    order: int | Values | None = 0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    arithmetic: str | os.PathLike[str] | None = "torch",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
def batch_permutation(
    *,
    allow_repetitions: bool | None = False,
    no_fixed_points: bool | None = False,
    batch_size: int | None = None,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws an order of the samples of a batch, for fn.permute_batch. Every order that the
    arguments permit is equally likely.

    Args:
        allow_repetitions: bool, default False. Indices may be repeated or missing.
        no_fixed_points: bool, default False. No sample keeps its position, unless it is the
            only one in its batch.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Index of a sample in the batch: an int32 scalar per sample.
    """

@overload
def bb_flip(
    boxes: Sample,
    /,
    *,
    ltrb: bool | None = False,
    horizontal: int | Values | None = 1,
    vertical: int | Values | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Mirrors bounding boxes in an image whose width and height are 1.

    Args:
        boxes: Sample or batch. Boxes, float32, shape (boxes, 4): left, top, width, height, or
            with `ltrb` left, top, right, bottom; fractions of the image's size.
        ltrb: bool, default False. Boxes are left, top, right, bottom.
        horizontal: int or one value for each sample (tensor, Batch), default 1. If not 0,
            mirrors left to right.
        vertical: int or one value for each sample (tensor, Batch), default 0. If not 0, mirrors
            top to bottom.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape of the input, float32; without layout.
    """

@overload
def bb_flip(
    boxes: Samples,
    /,
    *,
    ltrb: bool | None = False,
    horizontal: int | Values | None = 1,
    vertical: int | Values | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def bbox_paste(
    boxes: Sample,
    /,
    *,
    ratio: float | Values,
    ltrb: bool | None = False,
    paste_x: float | Values | None = 0.5,
    paste_y: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Moves and scales boxes as fn.paste moves and scales their image. A box has 4 values, in
    fractions of the image: left, top, width and height, or with `ltrb` left, top, right and
    bottom.

    Args:
        boxes: Sample or batch. float32, 4 values per box.
        ratio: float or one value for each sample (tensor, Batch), required. Size of the canvas
            over that of the image.
        ltrb: bool, default False. Boxes are two corners instead of a corner and a size.
        paste_x: float or one value for each sample (tensor, Batch), default 0.5. Horizontal
            position of the image, 0 (left) to 1 (right).
        paste_y: float or one value for each sample (tensor, Batch), default 0.5. Vertical
            position of the image, 0 (top) to 1 (bottom).
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: In fractions of the canvas; the shape of the input, without a layout.
    """

@overload
def bbox_paste(
    boxes: Samples,
    /,
    *,
    ratio: float | Values,
    ltrb: bool | None = False,
    paste_x: float | Values | None = 0.5,
    paste_y: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def bbox_rotate(
    bboxes: Sample,
    labels: Any | None = None,
    /,
    *,
    angle: float | Values,
    input_shape: int | Sequence[int] | NDArray[Any] | Values,
    bbox_layout: str | None = "xyXY",
    bbox_normalized: bool | None = True,
    keep_size: bool | None = False,
    mode: str | os.PathLike[str] | None = "expand",
    remove_threshold: float | None = 0.1,
    shape_layout: str | None = "HW",
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
) -> Any:
    """Moves the bounding boxes of an image that fn.rotate rotates, with the same `angle`,
    `keep_size` and `size`. Boxes end at the edge of the rotated image, and those of which too
    little remains are removed.

    Args:
        bboxes: Sample or batch. Boxes in the order of `bbox_layout`; float32, shape (boxes, 4).
        labels: Sample or batch. One for each box, any element type; further dimensions are
            kept. Optional.
        angle: float or one value for each sample (tensor, Batch), required. Angle in degrees;
            counterclockwise.
        input_shape: int or list of int or one value for each sample (tensor, Batch), required.
            Shape of the image before the rotation, in `shape_layout`.
        bbox_layout: layout str, default "xyXY". Order of the coordinates of a box: x, y for its
            start, X, Y for its end, or W, H for its extents.
        bbox_normalized: bool, default True. Coordinates are fractions of the image, before and
            after; otherwise pixels.
        keep_size: bool, default False. The rotated image has the size of the image, if there is
            no `size`.
        mode: str, default "expand". The extents of a rotated box: "expand" (of the smallest box
            around it), "fixed" (as before, about the rotated center), or "halfway" between the
            two.
        remove_threshold: float, default 0.1. Boxes are removed if less than this part of their
            rotated area is inside the rotated image.
        shape_layout: layout str, default "HW". Order of `input_shape` and `size`. Axes other
            than H and W are ignored: "HWC" takes the shape of an image.
        size: float or list of float or one value for each sample (tensor, Batch), default [].
            Height and width of the rotated image in pixels, in the order in which
            `shape_layout` has them, without further axes. By default, it contains the whole
            image.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        Sample or batch, or a list of them; the number depends on the arguments.
            rotated: The boxes that remain, in the units and the order of the input.
            rotated_labels: Their labels; only if labels are given.
    """

@overload
def bbox_rotate(
    bboxes: Samples,
    labels: Any | None = None,
    /,
    *,
    angle: float | Values,
    input_shape: int | Sequence[int] | NDArray[Any] | Values,
    bbox_layout: str | None = "xyXY",
    bbox_normalized: bool | None = True,
    keep_size: bool | None = False,
    mode: str | os.PathLike[str] | None = "expand",
    remove_threshold: float | None = 0.1,
    shape_layout: str | None = "HW",
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
) -> Any: ...
@overload
def box_encoder(
    boxes: Sample,
    labels: Any,
    /,
    *,
    anchors: float | Sequence[float] | NDArray[Any],
    criteria: float | None = 0.5,
    offset: bool | None = False,
    scale: float | None = 1.0,
    means: float | Sequence[float] | NDArray[Any] | None = ...,
    stds: float | Sequence[float] | NDArray[Any] | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> list[torch.Tensor]:
    """Assigns boxes and their labels to anchors (default boxes), as in SSD: each box gets the
    anchor that it overlaps most, and every other anchor gets the box that overlaps it most, if
    by more than `criteria`.

    Args:
        boxes: Sample or batch. Boxes: left, top, right, bottom; float32, shape (boxes, 4).
        labels: Sample or batch. One for each box; integers of any type.
        anchors: float or list of float, required. The anchors: left, top, right, bottom of
            each.
        criteria: float, default 0.5. Intersection over union that an anchor and a box must
            exceed, 0 to 1.
        offset: bool, default False. Return ((box - anchor) / anchor's size - means) / stds for
            centers, and (log(box's size / anchor's size) - means) / stds.
        scale: float, default 1.0. With `offset`, a factor of boxes and anchors.
        means: float or list of float, default [0.0, 0.0, 0.0, 0.0]. With `offset`, subtracted
            from x, y, width and height.
        stds: float or list of float, default [1.0, 1.0, 1.0, 1.0]. With `offset`, divisors of
            x, y, width and height.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        List of Sample or batch: `encoded`, `encoded_labels`.
            encoded: For each anchor its box, or the anchor itself if it has none: x and y of
                the center, width, height; float32, shape (anchors, 4). With `offset`, the
                difference of box and anchor, 0 without a box.
            encoded_labels: For each anchor the label of its box, 0 if it has none; int32.
    """

@overload
def box_encoder(
    boxes: Samples,
    labels: Any,
    /,
    *,
    anchors: float | Sequence[float] | NDArray[Any],
    criteria: float | None = 0.5,
    offset: bool | None = False,
    scale: float | None = 1.0,
    means: float | Sequence[float] | NDArray[Any] | None = ...,
    stds: float | Sequence[float] | NDArray[Any] | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> list[Batch]: ...
@overload
def brightness(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    brightness: float | Values | None = 1.0,
    brightness_shift: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adjusts brightness: brightness_shift * range + brightness * x, where range is the greatest
    value of the output's type, or 1 for floating types.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: FHWC,
            DHWC, HWC.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        brightness: float or one value for each sample (tensor, Batch), default 1.0. Factor of
            the brightness; 1 changes nothing, 0 gives black.
        brightness_shift: float or one value for each sample (tensor, Batch), default 0.0. Added
            to the result, in units of the greatest value of the output's type (1 for floating
            types).
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def brightness(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    brightness: float | Values | None = 1.0,
    brightness_shift: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def brightness_contrast(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    brightness: float | Values | None = 1.0,
    brightness_shift: float | Values | None = 0.0,
    contrast: float | Values | None = 1.0,
    contrast_center: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adjusts brightness and contrast: brightness_shift * range + brightness * (contrast_center +
    contrast * (x - contrast_center)), where range is the greatest value of the output's type,
    or 1 for floating types.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: FHWC,
            DHWC, HWC.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        brightness: float or one value for each sample (tensor, Batch), default 1.0. Factor of
            the brightness; 1 changes nothing, 0 gives black.
        brightness_shift: float or one value for each sample (tensor, Batch), default 0.0. Added
            to the result, in units of the greatest value of the output's type (1 for floating
            types).
        contrast: float or one value for each sample (tensor, Batch), default 1.0. Factor of the
            contrast; 1 changes nothing, 0 gives uniform gray.
        contrast_center: float or one value for each sample (tensor, Batch), default 0.5. The
            value that contrast does not change. By default half the range of the input's type:
            128 for uint8, 0.5 for floating types.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def brightness_contrast(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    brightness: float | Values | None = 1.0,
    brightness_shift: float | Values | None = 0.0,
    contrast: float | Values | None = 1.0,
    contrast_center: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def cast(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any],
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Converts the elements to another type. To an integer they are rounded to the nearest, halves
    away from zero, and saturate; NaN becomes 0. To bool, what rounds to 0 is false. To float16
    they are rounded to nearest even, and become infinite past 65504.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        dtype: types.DALIDataType, required. Element type of the output.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input.
    """

@overload
def cast(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any],
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def cast_like(
    data: Sample,
    like: Any,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Converts the elements to the type of another input, as fn.cast does.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        like: Sample or batch. Input with the element type of the output; its values are not
            used.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of `data`.
    """

@overload
def cast_like(
    data: Samples,
    like: Any,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def cat(
    input: Sample,
    /,
    *inputs: Any,
    axis: int | None = 0,
    axis_name: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Concatenates the inputs along an existing axis. Their shapes may differ along this axis
    only; an input without elements may have any shape, and is left out.

    Args:
        input: Sample or batch. Any layout, any element type.
        inputs: Sample or batch. Further inputs of the same type. Optional.
        axis: int, default 0. The axis; negative numbers count from the end. Excludes
            `axis_name`.
        axis_name: str, optional. The axis as a letter of the layout of the first input.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and element type of the first input.
    """

@overload
def cat(
    input: Samples,
    /,
    *inputs: Any,
    axis: int | None = 0,
    axis_name: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def clahe(
    data: Sample,
    /,
    *,
    tiles_x: int,
    tiles_y: int,
    clip_limit: float,
    bins: int | None = 256,
    luma_only: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Equalizes the histogram of each tile of an image with limited contrast, and blends between
    neighboring tiles (contrast limited adaptive histogram equalization).

    Args:
        data: Sample or batch. Images of uint8, with one or three (red, green, blue) channels.
            Layouts: HWC.
        tiles_x: int, required. Number of tiles along W, 1 or more.
        tiles_y: int, required. Number of tiles along H, 1 or more.
        clip_limit: float, required. The largest value of a histogram bin, as a multiple of the
            mean; the excess is spread over all bins. 0 or less: no limit.
        bins: int, default 256. Number of bins of a histogram, 1 to 256.
        luma_only: bool, default True. Equalize the luma of RGB images (ITU-R BT.601) and keep
            color differences, instead of each channel separately.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, uint8.
    """

@overload
def clahe(
    data: Samples,
    /,
    *,
    tiles_x: int,
    tiles_y: int,
    clip_limit: float,
    bins: int | None = 256,
    luma_only: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def color_space_conversion(
    data: Sample,
    /,
    *,
    image_type: types.DALIImageType,
    output_type: types.DALIImageType,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Converts images between color spaces. YCbCr is that of ITU-R BT.601 in its limited range
    (luma 16 to 235, color differences 16 to 240); gray is the luma of BT.601 in the full range
    0 to 255. Results are rounded to the nearest and saturate.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences of uint8, with the channels of
            `image_type`. Layouts: FDHWC, FHWC, DHWC, HWC.
        image_type: types.DALIImageType, required. Color space of the input.
        output_type: types.DALIImageType, required. Color space of the output; if equal to
            `image_type`, nothing changes.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout of the input, uint8, with the channels of `output_type`: one for
            GRAY, else three.
    """

@overload
def color_space_conversion(
    data: Samples,
    /,
    *,
    image_type: types.DALIImageType,
    output_type: types.DALIImageType,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def color_twist(
    data: Sample,
    /,
    *,
    hue: float | Values | None = 0.0,
    saturation: float | Values | None = 1.0,
    contrast: float | Values | None = 1.0,
    brightness: float | Values | None = 1.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adjusts hue, saturation, contrast and brightness at once: rotates and scales the color plane
    of YIQ, then brightness * (center + contrast * (x - center)), where center is 128 for
    integers and 0.5 for floating types.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. RGB images, volumes or sequences, with three channels; any
            element type. Layouts: HWC, FHWC, DHWC.
        hue: float or one value for each sample (tensor, Batch), default 0.0. Rotation of the
            hue, in degrees.
        saturation: float or one value for each sample (tensor, Batch), default 1.0. Factor of
            the saturation; 1 changes nothing, 0 gives shades of gray.
        contrast: float or one value for each sample (tensor, Batch), default 1.0. Factor of the
            contrast; 1 changes nothing, 0 gives uniform gray.
        brightness: float or one value for each sample (tensor, Batch), default 1.0. Factor of
            all channels; 1 changes nothing, 0 gives black.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Has no effect: the
            channels are red, green, blue.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def color_twist(
    data: Samples,
    /,
    *,
    hue: float | Values | None = 0.0,
    saturation: float | Values | None = 1.0,
    contrast: float | Values | None = 1.0,
    brightness: float | Values | None = 1.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def contrast(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    contrast: float | Values | None = 1.0,
    contrast_center: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adjusts contrast: contrast_center + contrast * (x - contrast_center).

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: FHWC,
            DHWC, HWC.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        contrast: float or one value for each sample (tensor, Batch), default 1.0. Factor of the
            contrast; 1 changes nothing, 0 gives uniform gray.
        contrast_center: float or one value for each sample (tensor, Batch), default 0.5. The
            value that contrast does not change. By default half the range of the input's type:
            128 for uint8, 0.5 for floating types.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def contrast(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    contrast: float | Values | None = 1.0,
    contrast_center: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def coord_flip(
    points: Sample,
    /,
    *,
    flip_x: int | Values | None = 1,
    flip_y: int | Values | None = 0,
    flip_z: int | Values | None = 0,
    center_x: float | Values | None = 0.5,
    center_y: float | Values | None = 0.5,
    center_z: float | Values | None = 0.5,
    layout: str | None = "",
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Mirrors the coordinates of points at a center: 2 * center - coordinate.

    Args:
        points: Sample or batch. Points, float32, shape (points, 1 to 3 coordinates).
        flip_x: int or one value for each sample (tensor, Batch), default 1. If not 0, mirrors
            x.
        flip_y: int or one value for each sample (tensor, Batch), default 0. If not 0, mirrors
            y.
        flip_z: int or one value for each sample (tensor, Batch), default 0. If not 0, mirrors
            z.
        center_x: float or one value for each sample (tensor, Batch), default 0.5. Center of the
            mirrored x.
        center_y: float or one value for each sample (tensor, Batch), default 0.5. Center of the
            mirrored y.
        center_z: float or one value for each sample (tensor, Batch), default 0.5. Center of the
            mirrored z.
        layout: layout str, default "". Order of the coordinates, e.g. "yx"; "x", "xy" or "xyz"
            by default.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape of the input, float32; without layout.
    """

@overload
def coord_flip(
    points: Samples,
    /,
    *,
    flip_x: int | Values | None = 1,
    flip_y: int | Values | None = 0,
    flip_z: int | Values | None = 0,
    center_x: float | Values | None = 0.5,
    center_y: float | Values | None = 0.5,
    center_z: float | Values | None = 0.5,
    layout: str | None = "",
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def coord_transform(
    points: Sample,
    /,
    *,
    M: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    T: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    MT: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """M * x + T for the vectors x along the last axis, computed in float: points, or the channels
    of pixels.

    Takes frame sequences (layouts with F).

    Args:
        points: Sample or batch. Vectors of n components, shape (..., n), any element type; with
            frames if the layout begins with F. Vectors without frames are used for each frame
            of the arguments.
        M: float or list of float or one value for each sample (tensor, Batch), optional. The
            matrix, m x n, as a tensor or a list of its rows; or one number, which multiplies
            all components. The identity by default.
        T: float or list of float or one value for each sample (tensor, Batch), optional. The
            offset: m numbers, or one for all. 0 by default.
        MT: float or list of float or one value for each sample (tensor, Batch), optional. M and
            T as one matrix [M T], m x (n + 1); or one number, as for `M`. Excludes them.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
            For integers results are rounded to the nearest, halves away from zero, and
            saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Vectors of m components, shape (..., m), element type `dtype`, layout
            of the input.
    """

@overload
def coord_transform(
    points: Samples,
    /,
    *,
    M: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    T: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    MT: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def copy(
    data: Sample,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Copies the input. Free if the copy cannot be distinguished from the original.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
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
def copy(
    data: Samples,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def crop(
    data: Sample,
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    """Crops a window of each sample. Without a size, the window is the whole sample. Fractions are
    cut off and values saturate where `dtype` asks for uint8 or float16 (fn.cast rounds).

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: HWC,
            CHW, DHWC, CDHW, FHWC, FCHW, CFHW, FDHWC, FCDHW, CFDHW.
        crop: float or list of float or one value for each sample (tensor, Batch), optional.
            Size of the window, in pixels: (height, width) or (depth, height, width); fractions
            are truncated. Less than 1 keeps the whole axis. Excludes `crop_h`, `crop_w` and
            `crop_d`.
        crop_d: float or one value for each sample (tensor, Batch), default 0.0. Depth of the
            window, in slices (or frames, if the sample has no depth); requires `crop_h` and
            `crop_w`. 0 keeps the whole axis.
        crop_h: float or one value for each sample (tensor, Batch), default 0.0. Height of the
            window, in pixels; requires `crop_w`. 0: all.
        crop_w: float or one value for each sample (tensor, Batch), default 0.0. Width of the
            window, in pixels; requires `crop_h`. 0: all.
        crop_pos_x: float or one value for each sample (tensor, Batch), default 0.5. Horizontal
            position of the window, 0 (left) to 1 (right): the first column is crop_pos_x *
            (width - crop_w), rounded by `rounding`.
        crop_pos_y: float or one value for each sample (tensor, Batch), default 0.5. Vertical
            position of the window, 0 (top) to 1 (bottom).
        crop_pos_z: float or one value for each sample (tensor, Batch), default 0.5. Position of
            the window along depth (or frames), 0 to 1.
        rounding: str, default "round". How the position of the first pixel is rounded: "round"
            (to the nearest, halves away from zero), "truncate" or, torchdali only,
            "torchvision": as its CenterCrop, halves to even, and toward zero if the window
            exceeds the sample.
        out_of_bounds_policy: str, default "error". What to do if the window extends outside the
            sample: "error", "pad" (fill with `fill_values`) or "trim_to_shape" (make the window
            smaller).
        fill_values: float or list of float, default [0.0]. Values outside the sample, with the
            policy "pad": one for all, or one per channel of the output. Integers are truncated
            and saturate.
        dtype: types.DALIDataType, optional. Element type of the output: uint8, float16, float32
            or the input's type, which is the default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        image_type: deprecated, without effect.
        output_dtype: deprecated; use `dtype`.

    Returns:
        Sample or batch: The window, in the input's layout.
    """

@overload
def crop(
    data: Samples,
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
    output_dtype: Any = None,
) -> Batch: ...
@overload
def crop_mirror_normalize(
    data: Sample,
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    mean: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    std: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    scale: float | None = 1.0,
    shift: float | None = 0.0,
    mirror: int | Values | None = 0,
    output_layout: str | None = "CHW",
    pad_output: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    """Crops, mirrors left to right, normalizes, converts and changes the layout in one pass: scale
    * (x - mean) / std + shift, computed in float. Results for integers are rounded to the
    nearest, halves away from zero, and saturate. Without a size the window is the whole sample.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: HWC,
            CHW, DHWC, CDHW, FHWC, FCHW, CFHW, FDHWC, FCDHW, CFDHW.
        crop: float or list of float or one value for each sample (tensor, Batch), optional.
            Size of the window, in pixels: (height, width) or (depth, height, width); fractions
            are truncated. Less than 1 keeps the whole axis. Excludes `crop_h`, `crop_w` and
            `crop_d`.
        crop_d: float or one value for each sample (tensor, Batch), default 0.0. Depth of the
            window, in slices (or frames, if the sample has no depth); requires `crop_h` and
            `crop_w`. 0 keeps the whole axis.
        crop_h: float or one value for each sample (tensor, Batch), default 0.0. Height of the
            window, in pixels; requires `crop_w`. 0: all.
        crop_w: float or one value for each sample (tensor, Batch), default 0.0. Width of the
            window, in pixels; requires `crop_h`. 0: all.
        crop_pos_x: float or one value for each sample (tensor, Batch), default 0.5. Horizontal
            position of the window, 0 (left) to 1 (right): the first column is crop_pos_x *
            (width - crop_w), rounded by `rounding`.
        crop_pos_y: float or one value for each sample (tensor, Batch), default 0.5. Vertical
            position of the window, 0 (top) to 1 (bottom).
        crop_pos_z: float or one value for each sample (tensor, Batch), default 0.5. Position of
            the window along depth (or frames), 0 to 1.
        rounding: str, default "round". How the position of the first pixel is rounded: "round"
            (to the nearest, halves away from zero), "truncate" or, torchdali only,
            "torchvision": as its CenterCrop, halves to even, and toward zero if the window
            exceeds the sample.
        out_of_bounds_policy: str, default "error". What to do if the window extends outside the
            sample: "error", "pad" (fill with `fill_values`) or "trim_to_shape" (make the window
            smaller).
        fill_values: float or list of float, default [0.0]. Values outside the sample, with the
            policy "pad": one for all, or one per channel of the output. Integers are truncated
            and saturate.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output:
            float32, float16, int8 or uint8.
        mean: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. Mean to subtract: one for all channels or one for each (of the input or, with
            `pad_output`, of the output).
        std: float or list of float or one value for each sample (tensor, Batch), default [1.0].
            Standard deviation to divide by: one for all channels or one for each.
        scale: float, default 1.0. Factor of the result.
        shift: float, default 0.0. Added to the result.
        mirror: int or one value for each sample (tensor, Batch), default 0. If not 0, mirrors
            the W axis.
        output_layout: layout str, default "CHW". Order of the axes of the output, a permutation
            of the layout of the input; empty: that of the input. Required for sequences and
            volumes, e.g. "FCHW".
        pad_output: bool, default False. Add channels up to a power of two, with `fill_values`
            for the policy "pad", else 0.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        image_type: deprecated, without effect.
        output_dtype: deprecated; use `dtype`.

    Returns:
        Sample or batch: The window, with `dtype` and `output_layout`.
    """

@overload
def crop_mirror_normalize(
    data: Samples,
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    mean: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    std: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    scale: float | None = 1.0,
    shift: float | None = 0.0,
    mirror: int | Values | None = 0,
    output_layout: str | None = "CHW",
    pad_output: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
    output_dtype: Any = None,
) -> Batch: ...
@overload
def debayer(
    data: Sample,
    /,
    *,
    blue_position: int | Sequence[int] | NDArray[Any] | Values,
    algorithm: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Makes color images of those of a sensor with a Bayer pattern, with OpenCV's results.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of uint8 or uint16, with one channel.
            Layouts: HW, HWC, FHW, FHWC.
        blue_position: int or list of int or one value for each sample (tensor, Batch),
            required. Where blue is, y and x, in the tile of 2 x 2 pixels that begins in the
            second row and column: (0, 0) is OpenCV's "BG", (0, 1) "GB", (1, 0) "GR", (1, 1)
            "RG".
        algorithm: str, optional. "bilinear_ocv" (the default on the CPU, also named
            "default_ocv"), "edgeaware_ocv", "vng_ocv" (uint8) or "gray_ocv". On the GPU it has
            to be given.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Red, green and blue, or gray with "gray_ocv"; layout "HWC" or "FHWC",
            element type of the input.
    """

@overload
def debayer(
    data: Samples,
    /,
    *,
    blue_position: int | Sequence[int] | NDArray[Any] | Values,
    algorithm: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def dither(
    audio: Sample,
    /,
    *,
    amount: float | Values | None = 1e-05,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adds a little Gaussian noise to a signal, so that the logarithm of its spectrum is finite in
    silence. The values are those of fn.noise.gaussian(audio, stddev=amount).

    Args:
        audio: Sample or batch. Signals of any shape, layout and element type.
        amount: float or one value for each sample (tensor, Batch), default 1e-05. Standard
            deviation of the noise. The default, of NeMo, is for signals in [-1, 1]; Kaldi adds
            1.0 to those in the range of int16.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, layout and element type of the input; integers are rounded and
            saturate.
    """

@overload
def dither(
    audio: Samples,
    /,
    *,
    amount: float | Values | None = 1e-05,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def dump_image(
    data: Sample,
    /,
    *,
    suffix: str | os.PathLike[str] | None = "",
    input_layout: str | None = "HWC",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Writes each image to a file in the working folder and passes the data on. Files are named
    "{index in the batch}-{suffix}-0.ppm", contain plain text (PPM, or PGM for one channel), and
    are overwritten by the next batch. With device="gpu" the data is copied to the host and
    back.

    Args:
        data: Sample or batch. Images [height, width, channels] of uint8, with one or three
            channels.
        suffix: str, default "". Part of the names of the files.
        input_layout: layout str, default "HWC". Layout of the images; only "HWC" is possible.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input, unchanged.
    """

@overload
def dump_image(
    data: Samples,
    /,
    *,
    suffix: str | os.PathLike[str] | None = "",
    input_layout: str | None = "HWC",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def element_extract(
    sequence: Sample,
    /,
    *,
    element_map: int | Sequence[int] | NDArray[Any],
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Returns frames of a sequence as separate outputs. Views: nothing is copied.

    Args:
        sequence: Sample or batch. A sequence: at least two axes, the first of which is the
            frames.
        element_map: int or list of int, required. Indices of the frames, from 0.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch, or a list of them; the number depends on the arguments.
            element: One output for each frame in `element_map`.
    """

@overload
def element_extract(
    sequence: Samples,
    /,
    *,
    element_map: int | Sequence[int] | NDArray[Any],
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Any: ...
@overload
def equalize(
    data: Sample,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Equalizes the histogram of each channel of an image: values are mapped so that all
    intensities from 0 to 255 occur about equally often. A channel of one value stays as it is.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of uint8, with any number of channels.
            Layouts: HW, HWC, CHW, FHW, FHWC, FCHW.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, uint8.
    """

@overload
def equalize(
    data: Samples,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def erase(
    data: Sample,
    /,
    *,
    anchor: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | os.PathLike[str] | None = "HW",
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    normalized: bool | None = False,
    normalized_anchor: bool | None = False,
    normalized_shape: bool | None = False,
    centered_anchor: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Fills regions of each sample. `anchor` and `shape` have a value for each axis of each
    region. Parts outside the sample are ignored. A region extends from the element that
    contains its anchor to the element before the one that contains its end. A view if there is
    nothing to erase.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        anchor: float or list of float or one value for each sample (tensor, Batch), default [].
            Start of the regions; empty: at the origin. Elements, or fractions of the extent
            with `normalized` or `normalized_anchor`.
        shape: float or list of float or one value for each sample (tensor, Batch), default [].
            Extents of the regions; empty: nothing is erased. Elements, or fractions of the
            extent with `normalized` or `normalized_shape`.
        axes: int or list of int, default [1, 0]. Axes of `anchor` and `shape`, as numbers;
            negative ones count from the end. Without this and `axis_names`, all axes except the
            channels.
        axis_names: str, default "HW". The axes as letters of the layout; if given, `axes` is
            ignored.
        fill_value: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. Value to fill with, one for all or one per channel; empty: 0. Integers are
            truncated and saturate.
        normalized: bool, default False. Coordinates are fractions of the extents; excludes the
            two arguments below.
        normalized_anchor: bool, default False. `anchor` is in fractions of the extents.
        normalized_shape: bool, default False. `shape` is in fractions of the extents.
        centered_anchor: bool, default False. `anchor` is the center of a region.
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
def erase(
    data: Samples,
    /,
    *,
    anchor: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | os.PathLike[str] | None = "HW",
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    normalized: bool | None = False,
    normalized_anchor: bool | None = False,
    normalized_shape: bool | None = False,
    centered_anchor: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def expand_dims(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any],
    new_axis_names: str | None = "",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Inserts axes of extent 1. A view: nothing is copied.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        axes: int or list of int, required. Positions of the new axes in the output; negative
            numbers count from the end.
        new_axis_names: layout str, default "". Letters of the new axes in the layout, in the
            order of `axes`; the input needs a layout then.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input with the new axes. It has a layout only if `new_axis_names`
            is given.
    """

@overload
def expand_dims(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any],
    new_axis_names: str | None = "",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def filter(
    data: Sample,
    filter: Any,
    fill_value: Any | None = None,
    /,
    *,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border: str | os.PathLike[str] | None = "reflect_101",
    mode: str | os.PathLike[str] | None = "same",
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Correlates with a filter: result(p) is the sum over k of filter(k) * data(p + k - anchor),
    for each channel. Computed in float32; integers are rounded and saturate.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences of numbers: one to three data axes,
            with frames (F) and channels (C) before them, or channels after them. Without a
            layout, all axes are data.
        filter: Sample or batch. As many axes as the data has; may differ from frame to frame.
        fill_value: Sample or batch. A scalar: the value outside the data with the constant
            border, 0 by default. May differ from frame to frame. Optional.
        anchor: int or list of int or one value for each sample (tensor, Batch), default [-1].
            Element of the filter that is placed on the pixel, one for all or one for each data
            axis. -1: the middle (extent / 2). Ignored with mode="valid".
        border: str, default "reflect_101". Values outside the data: "reflect_101"
            (dcb|abcd|cba), "reflect_1001" (cba|abcd|dcb), "wrap" (bcd|abcd|abc), "clamp"
            (aaa|abcd|ddd) or "constant" (`fill_value`). "101" and "1001" mean the first two.
        mode: str, default "same". "same": the result has the data's extents. "valid": only
            positions where the whole filter is inside the data.
        dtype: types.DALIDataType, optional. FLOAT, or the input's type, which is the default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout of the data, element type `dtype`.
    """

@overload
def filter(
    data: Samples,
    filter: Any,
    fill_value: Any | None = None,
    /,
    *,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border: str | os.PathLike[str] | None = "reflect_101",
    mode: str | os.PathLike[str] | None = "same",
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def flip(
    data: Sample,
    /,
    *,
    horizontal: int | Values | None = 1,
    vertical: int | Values | None = 0,
    depthwise: int | Values | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Mirrors each sample along the chosen spatial axes.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: FDHWC,
            FHWC, DHWC, HWC, FCDHW, FCHW, CDHW, CHW.
        horizontal: int or one value for each sample (tensor, Batch), default 1. If not 0,
            mirrors the W axis (left to right).
        vertical: int or one value for each sample (tensor, Batch), default 0. If not 0, mirrors
            the H axis (top to bottom).
        depthwise: int or one value for each sample (tensor, Batch), default 0. If not 0,
            mirrors the D axis; ignored if there is none.
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
def flip(
    data: Samples,
    /,
    *,
    horizontal: int | Values | None = 1,
    vertical: int | Values | None = 0,
    depthwise: int | Values | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def full(
    fill_value: Sample,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
) -> torch.Tensor:
    """Repeats a value until it fills a shape, by NumPy's rules for broadcasting.

    Args:
        fill_value: Sample or batch. A scalar or a tensor; extents that differ from those of
            `shape` are 1.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of the output; by default that of the fill value, or a scalar.
        layout: layout str, optional. Letters of the axes, one per dimension.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        Sample or batch: Of the type of `fill_value`.
    """

@overload
def full(
    fill_value: Samples,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
) -> Batch: ...
@overload
def full_like(
    data_like: Sample,
    fill_value: Any,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Repeats a value until it fills the shape of an input, by NumPy's rules for broadcasting.

    Args:
        data_like: Sample or batch. Input with the shape, layout and type of the output.
        fill_value: Sample or batch. A scalar or a tensor, converted to that type as by fn.cast.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, layout and type of `data_like`.
    """

@overload
def full_like(
    data_like: Samples,
    fill_value: Any,
    /,
    *,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def gain(
    audio: Sample,
    /,
    *,
    db: float | Values | None = 0.0,
    factor: float | Values | None = 1.0,
    normalize: str | os.PathLike[str] | None = "none",
    clip: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Multiplies a signal by `factor` and by 10^(db / 20), after an optional normalization, and
    clips it if asked to.

    Args:
        audio: Sample or batch. Signals of any shape and layout; float32.
        db: float or one value for each sample (tensor, Batch), default 0.0. The gain in
            decibels: 20 makes all values 10 times as large.
        factor: float or one value for each sample (tensor, Batch), default 1.0. The gain as a
            factor. Both gains are applied.
        normalize: str, default "none". Before the gain, the sample is scaled so that its
            largest absolute value ("peak") or its root mean square ("rms") is 1, over all
            channels. Silence stays as it is.
        clip: bool, default False. Clips the result to [-1, 1].
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
def gain(
    audio: Samples,
    /,
    *,
    db: float | Values | None = 0.0,
    factor: float | Values | None = 1.0,
    normalize: str | os.PathLike[str] | None = "none",
    clip: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def gaussian_blur(
    data: Sample,
    /,
    *,
    sigma: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Blurs with a Gaussian, by a convolution along each data axis. Borders are reflected
    (dcb|abcd|cba). Computed in float32; integers are rounded and saturate.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences of numbers: one to three data axes,
            with frames (F) and channels (C) before them, or channels after them. Without a
            layout, all axes are data.
        sigma: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. Standard deviation in pixels, one for all or one for each data axis,
            outermost first. 0: ((window_size - 1) / 2 - 1) * 0.3 + 0.8.
        window_size: int or list of int or one value for each sample (tensor, Batch), default
            [0]. Width of the window, one for all or one for each data axis: odd, at most 65535.
            0: 2 * ceil(3 * sigma) + 1.
        dtype: types.DALIDataType, optional. FLOAT, or the input's type, which is the default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, element type `dtype`.
    """

@overload
def gaussian_blur(
    data: Samples,
    /,
    *,
    sigma: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def get_property(
    data: Sample,
    /,
    *,
    key: str | os.PathLike[str],
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Returns a property of each sample other than its elements. `x.property(key)` creates it from
    `x`.

    Args:
        data: Sample or batch. Any layout, any element type.
        key: str, required. "source_info": the path or key that the sample was made from,
            relative to the root of the reader; "layout": the letters of its axes.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The text as bytes, uint8; of length 0 if there is none.
    """

@overload
def get_property(
    data: Samples,
    /,
    *,
    key: str | os.PathLike[str],
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def grid_mask(
    data: Sample,
    /,
    *,
    tile: int | Values | None = 100,
    ratio: float | Values | None = 0.5,
    angle: float | Values | None = 0.0,
    shift_x: float | Values | None = 0.0,
    shift_y: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Sets the squares of a grid to black (P. Chen et al., "GridMask Data Augmentation", 2020).
    The grid is rotated by `angle` around the upper left corner and then shifted.

    Args:
        data: Sample or batch. Images or sequences; any element type. Layouts: HWC, CHW, HW,
            FHWC, FCHW, FHW.
        tile: int or one value for each sample (tensor, Batch), default 100. Distance from
            square to square in pixels, 1 or more.
        ratio: float or one value for each sample (tensor, Batch), default 0.5. Side of a square
            in units of `tile`, 0 to 1.
        angle: float or one value for each sample (tensor, Batch), default 0.0. Angle of the
            grid, in radians.
        shift_x: float or one value for each sample (tensor, Batch), default 0.0. Shift of the
            rotated grid along its rows, in pixels.
        shift_y: float or one value for each sample (tensor, Batch), default 0.0. Shift of the
            rotated grid along its columns, in pixels.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, layout and element type of the input.
    """

@overload
def grid_mask(
    data: Samples,
    /,
    *,
    tile: int | Values | None = 100,
    ratio: float | Values | None = 0.5,
    angle: float | Values | None = 0.0,
    shift_x: float | Values | None = 0.0,
    shift_y: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def hsv(
    data: Sample,
    /,
    *,
    hue: float | Values | None = 0.0,
    saturation: float | Values | None = 1.0,
    value: float | Values | None = 1.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adjusts hue, saturation and value (brightness): rotates and scales the color plane of YIQ,
    then scales all channels. No conversion to HSV happens.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. RGB images, volumes or sequences, with three channels; any
            element type. Layouts: HWC, FHWC, DHWC.
        hue: float or one value for each sample (tensor, Batch), default 0.0. Rotation of the
            hue, in degrees.
        saturation: float or one value for each sample (tensor, Batch), default 1.0. Factor of
            the saturation; 1 changes nothing, 0 gives shades of gray.
        value: float or one value for each sample (tensor, Batch), default 1.0. Factor of all
            channels; 1 changes nothing, 0 gives black.
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Element type of the output,
            for any type of the input.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def hsv(
    data: Samples,
    /,
    *,
    hue: float | Values | None = 0.0,
    saturation: float | Values | None = 1.0,
    value: float | Values | None = 1.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def hue(
    data: Sample,
    /,
    *,
    hue: float | Values | None = 0.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Rotates the hue, in the color plane of YIQ.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. RGB images, volumes or sequences, with three channels; any
            element type. Layouts: HWC, FHWC, DHWC.
        hue: float or one value for each sample (tensor, Batch), default 0.0. Rotation of the
            hue, in degrees.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Has no effect: the
            channels are red, green, blue.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def hue(
    data: Samples,
    /,
    *,
    hue: float | Values | None = 0.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def jitter(
    input: Sample,
    /,
    *,
    fill_value: float | None = 0.0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    mask: int | Values | None = 1,
    nDegree: int | None = 2,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Takes each pixel from a random neighbor: moved by a whole number of pixels, each equally
    likely, along x and along y.

    Args:
        input: Sample or batch. Images; any number of channels and element type. Layouts: HWC.
        fill_value: float, default 0.0. Value outside the input; rounded and saturated to the
            type of the input.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_NN.
            Interpolation: INTERP_NN or INTERP_LINEAR.
        mask: int or one value for each sample (tensor, Batch), default 1. 0 keeps the image
            unchanged.
        nDegree: int, default 2. Each pixel moves by -(nDegree // 2) to nDegree // 2 pixels.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, element type and layout of the input.
    """

@overload
def jitter(
    input: Samples,
    /,
    *,
    fill_value: float | None = 0.0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    mask: int | Values | None = 1,
    nDegree: int | None = 2,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def jpeg_compression_distortion(
    data: Sample,
    /,
    *,
    quality: int | Values | None = 50,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adds the artifacts of JPEG compression: encodes images and decodes them again, with chroma
    at half the resolution.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. RGB images or sequences of uint8, with three channels. Layouts:
            HWC, FHWC.
        quality: int or one value for each sample (tensor, Batch), default 50. Quality of the
            compression, 1 (worst) to 100 (best); other values are clamped.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, uint8.
    """

@overload
def jpeg_compression_distortion(
    data: Samples,
    /,
    *,
    quality: int | Values | None = 50,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def laplacian(
    data: Sample,
    /,
    *,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    smoothing_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    scale: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    normalized_kernel: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The Laplacian: the sum over the data axes of second derivatives, each computed by a window
    along its axis and smoothed by windows along the others. Borders are reflected
    (dcb|abcd|cba). Computed in float32; integers are rounded and saturate.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences of numbers: one to three data axes,
            with frames (F) and channels (C) before them, or channels after them. Without a
            layout, all axes are data.
        window_size: int or list of int or one value for each sample (tensor, Batch), default
            [3]. Width of the derivative's window, one for all or one for each data axis,
            outermost first: odd, 3 to 31.
        smoothing_size: int or list of int or one value for each sample (tensor, Batch),
            optional. Width of the smoothing window along an axis, one for all or one for each
            data axis: odd, 1 (none) to 31. Default: that of the derivative's window.
        scale: float or list of float or one value for each sample (tensor, Batch), default
            [1.0]. Factor of each derivative, one for all or one for each data axis.
        normalized_kernel: bool, default False. Scale each derivative by 2^(n + 2 - s), with n
            data axes and s the sum of the widths of its windows. Excludes `scale`.
        dtype: types.DALIDataType, optional. FLOAT, or the input's type, which is the default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, element type `dtype`.
    """

@overload
def laplacian(
    data: Samples,
    /,
    *,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    smoothing_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    scale: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    normalized_kernel: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def lookup_table(
    data: Sample,
    /,
    *,
    keys: int | Sequence[int] | NDArray[Any] | None = ...,
    values: float | Sequence[float] | NDArray[Any] | None = ...,
    default_value: float | None = 0.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    """Replaces each element by the value of the equal key, or by `default_value`. If a key is
    listed twice, its last value counts.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Integers or bool, of any shape and layout.
        keys: int or list of int, default []. Keys, 0 to 65535.
        values: float or list of float, default []. Values, one per key, converted to `dtype` as
            fn.cast does: integers are rounded and saturate.
        default_value: float, default 0.0. Value of elements that are not in `keys`.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        output_dtype: deprecated; use `dtype`.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`.
    """

@overload
def lookup_table(
    data: Samples,
    /,
    *,
    keys: int | Sequence[int] | NDArray[Any] | None = ...,
    values: float | Sequence[float] | NDArray[Any] | None = ...,
    default_value: float | None = 0.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_dtype: Any = None,
) -> Batch: ...
@overload
def mel_filter_bank(
    spectrogram: Sample,
    /,
    *,
    nfilter: int | None = 128,
    sample_rate: float | None = 44100.0,
    freq_low: float | None = 0.0,
    freq_high: float | None = 0.0,
    normalize: bool | None = True,
    mel_formula: str | os.PathLike[str] | None = "slaney",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Converts spectrograms to the mel scale: sums of frequencies, weighted by triangular filters
    whose peaks have equal distances in mel.

    Args:
        spectrogram: Sample or batch. Spectrograms, float32. The frequencies, from 0 to half of
            the sample rate, are along axis "f" of the layout. Without a layout they are along
            the last but one axis.
        nfilter: int, default 128. The number of filters.
        sample_rate: float, default 44100.0. The sample rate of the signal, in Hz.
        freq_low: float, default 0.0. Where the first filter begins, in Hz.
        freq_high: float, default 0.0. Where the last filter ends, in Hz. 0: half of the sample
            rate.
        normalize: bool, default True. Divides each filter by half of its width in Hz, so that
            all have the same area.
        mel_formula: str, default "slaney". The mel scale: "slaney" (Auditory Toolbox: linear up
            to 1000 Hz, then logarithmic) or "htk" (2595 * log10(1 + f / 700)).
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input's layout and shape, with `nfilter` bands instead of
            frequencies.
    """

@overload
def mel_filter_bank(
    spectrogram: Samples,
    /,
    *,
    nfilter: int | None = 128,
    sample_rate: float | None = 44100.0,
    freq_low: float | None = 0.0,
    freq_high: float | None = 0.0,
    normalize: bool | None = True,
    mel_formula: str | os.PathLike[str] | None = "slaney",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def mfcc(
    mel: Sample,
    /,
    *,
    n_mfcc: int | None = 20,
    axis: int | None = 0,
    dct_type: int | None = 2,
    normalize: bool | None = False,
    lifter: float | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Computes mel-frequency cepstral coefficients (MFCCs) from mel spectrograms in decibels: a
    discrete cosine transform along an axis.

    Args:
        mel: Sample or batch. float32, at least one dimension, any layout.
        n_mfcc: int, default 20. The number of coefficients, the first ones.
        axis: int, default 0. The axis that is transformed; negative numbers count from the
            last.
        dct_type: int, default 2. The type of the transform: 1, 2, 3 or 4.
        normalize: bool, default False. Makes the transform orthonormal. Not for type 1.
        lifter: float, default 0.0. If not 0, coefficient k = 0, 1, ... is multiplied by 1 +
            lifter / 2 * sin(pi * (k + 1) / lifter).
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input's layout and shape, with min(n_mfcc, extent) coefficients
            along `axis`.
    """

@overload
def mfcc(
    mel: Samples,
    /,
    *,
    n_mfcc: int | None = 20,
    axis: int | None = 0,
    dct_type: int | None = 2,
    normalize: bool | None = False,
    lifter: float | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def multi_paste(
    images: Sample,
    /,
    *more_images: Any,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    in_ids: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    output_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    in_anchors: int | Values | None = None,
    in_anchors_rel: float | Values | None = None,
    shapes: int | Values | None = None,
    shapes_rel: float | Values | None = None,
    out_anchors: int | Values | None = None,
    out_anchors_rel: float | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Pastes regions of several images on a black canvas; later regions cover earlier ones. With
    `in_ids`, the images are samples of the batch of one input; otherwise, sample i of each
    input is pasted on canvas i. Anchors and shapes are tensors with two numbers, height and
    width, for each region: [regions, 2]. Sequences are pasted frame by frame; fn.per_frame
    provides numbers for each frame; an image is repeated in all frames.

    Takes frame sequences (layouts with F).

    Args:
        images: Sample or batch. Images or sequences; any element type. Layouts: HWC, FHWC.
        more_images: Sample or batch. Further images, of the same type. Optional.
        dtype: types.DALIDataType, optional. Element type of the output, by default that of the
            images. Values are converted as by fn.cast.
        in_ids: int or list of int or one value for each sample (tensor, Batch), optional.
            Indices of the pasted samples in the batch.
        output_size: int or list of int or one value for each sample (tensor, Batch), optional.
            Height and width of the canvas; by default those of the images, which must then be
            equal.
        in_anchors: int or one value for each sample (tensor, Batch), optional. First row and
            column of the regions in their images; by default 0.
        in_anchors_rel: float or one value for each sample (tensor, Batch), optional.
            `in_anchors` as fractions of the image, rounded to the nearest.
        shapes: int or one value for each sample (tensor, Batch), optional. Height and width of
            the regions; by default all of the image from the anchor.
        shapes_rel: float or one value for each sample (tensor, Batch), optional. `shapes` as
            fractions of the image; the end of a region is rounded to the nearest.
        out_anchors: int or one value for each sample (tensor, Batch), optional. Row and column
            of the canvas where the regions begin; by default 0.
        out_anchors_rel: float or one value for each sample (tensor, Batch), optional.
            `out_anchors` as fractions of the canvas, rounded to the nearest.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout "HWC" or "FHWC", of `dtype`.
    """

@overload
def multi_paste(
    images: Samples,
    /,
    *more_images: Any,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    in_ids: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    output_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    in_anchors: int | Values | None = None,
    in_anchors_rel: float | Values | None = None,
    shapes: int | Values | None = None,
    shapes_rel: float | Values | None = None,
    out_anchors: int | Values | None = None,
    out_anchors_rel: float | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def nonsilent_region(
    audio: Sample,
    /,
    *,
    cutoff_db: float | None = -60.0,
    window_length: int | None = 2048,
    reference_power: float | None = 0.0,
    reset_interval: int | None = 8192,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> list[torch.Tensor]:
    """Finds where a signal is not silent: from the first to the last window whose mean square is
    at least `cutoff_db` relative to a reference. Both windows belong to the region.

    Args:
        audio: Sample or batch. One channel, one dimension: float32 or integers.
        cutoff_db: float, default -60.0. The threshold, in dB: 10 * log10(mean square /
            reference).
        window_length: int, default 2048. The number of samples of a window. Samples before the
            signal are 0. No more than the signal has.
        reference_power: float, default 0.0. The mean square that is 0 dB. 0: the greatest one
            of the windows of the sample.
        reset_interval: int, default 8192. Without effect. In DALI, rounding errors of a running
            sum end after so many samples; here sums of windows have none that matter.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        List of Sample or batch: `begin`, `length`.
            begin: int32, no dimensions: the first sample of the region.
            length: int32, no dimensions: the number of its samples; 0 if all is silent.
    """

@overload
def nonsilent_region(
    audio: Samples,
    /,
    *,
    cutoff_db: float | None = -60.0,
    window_length: int | None = 2048,
    reference_power: float | None = 0.0,
    reset_interval: int | None = 8192,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> list[Batch]: ...
@overload
def normalize(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    batch: bool | None = False,
    mean: float | Values | None = None,
    stddev: float | Values | None = None,
    ddof: int | None = 0,
    epsilon: float | None = 0.0,
    scale: float | None = 1.0,
    shift: float | None = 0.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """scale * (x - mean) / stddev + shift, in float, with a mean and a standard deviation that are
    given or computed along axes, of each sample or of the batch. Where the standard deviation
    is 0, the result is `shift`.

    Args:
        data: Sample or batch. Samples; any element type and layout, also volumes and sequences.
        axes: int or list of int, optional. Axes along which mean and standard deviation are
            computed. By default those along which the tensors given for `mean` or `stddev` have
            extent 1, else all. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        batch: bool, default False. Compute mean and standard deviation over all samples of the
            batch, which must agree in the other axes.
        mean: float or one value for each sample (tensor, Batch), optional. The mean: a number,
            or a tensor per sample, which has extent 1 along `axes` and that of the input along
            the others, or a single value. Computed by default.
        stddev: float or one value for each sample (tensor, Batch), optional. The standard
            deviation, like `mean`. Computed by default, from `mean` if that is given.
        ddof: int, default 0. Delta degrees of freedom of the computed variance: divisor N -
            ddof.
        epsilon: float, default 0.0. Added to the variance (a given standard deviation's
            square).
        scale: float, default 1.0. Factor of the result.
        shift: float, default 0.0. Added to the result. The mean becomes this value.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
            For integers results are rounded to the nearest, halves away from zero, and
            saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, element type `dtype`.
    """

@overload
def normalize(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    batch: bool | None = False,
    mean: float | Values | None = None,
    stddev: float | Values | None = None,
    ddof: int | None = 0,
    epsilon: float | None = 0.0,
    scale: float | None = 1.0,
    shift: float | None = 0.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def one_hot(
    classes: Sample,
    /,
    *,
    axis: int | None = -1,
    axis_name: str | os.PathLike[str] | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    num_classes: int | None = 0,
    on_value: float | None = 1.0,
    off_value: float | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Makes of each class number a vector of `num_classes` values: `on_value` at the class,
    `off_value` elsewhere. Numbers that are no class are "off" everywhere, fractions are cut
    off. Where every sample of the batch has one element and `axis` is not given, samples are
    taken as scalars.

    Args:
        classes: Sample or batch. Class numbers, any layout, any element type.
        axis: int, default -1. Position of the axis of the classes in the output; -1: after all
            others.
        axis_name: str, optional. Letter of that axis in the layout; an input with dimensions
            then needs a layout. Without it, the output has no layout.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
        num_classes: int, default 0. Number of classes: the length of the axis.
        on_value: float, default 1.0. Value at the class. Integers are truncated and saturate.
        off_value: float, default 0.0. Value elsewhere.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes of the input and that of the classes.
    """

@overload
def one_hot(
    classes: Samples,
    /,
    *,
    axis: int | None = -1,
    axis_name: str | os.PathLike[str] | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    num_classes: int | None = 0,
    on_value: float | None = 1.0,
    off_value: float | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
def ones(
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT32,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Returns tensors of ones.

    Args:
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of the output; by default that of the fill value, or a scalar.
        layout: layout str, optional. Letters of the axes, one per dimension.
        dtype: types.DALIDataType, default types.DALIDataType.INT32. Element type of the output.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Ones of the given shape and type.
    """

@overload
def ones_like(
    data_like: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Returns ones in the shape of the input.

    Args:
        data_like: Sample or batch. Input with the shape, layout and type of the output.
        dtype: types.DALIDataType, optional. Element type of the output, by default the input's.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input.
    """

@overload
def ones_like(
    data_like: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def optical_flow(
    sequence: Sample,
    hints: Any | None = None,
    /,
    *,
    preset: float | None = 0.0,
    output_grid: int | None = 4,
    hint_grid: int | None = 4,
    enable_temporal_hints: bool | None = False,
    enable_external_hints: bool | None = False,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_format: Any = None,
) -> torch.Tensor:
    """The motion between consecutive frames, as DALI computes it with a part of NVIDIA's GPUs.

    Takes frame sequences (layouts with F).

    Args:
        sequence: Sample or batch. The frames of a video, in order. Layouts: FHWC.
        hints: Sample or batch. External hints, with `enable_external_hints`. Layouts: FHWC.
            Optional.
        preset: float, default 0.0. Speed and quality: 0 is slow and good, 1 fast.
        output_grid: int, default 4. Pixels that share a vector, along each axis: 1, 2 or 4.
        hint_grid: int, default 4. Pixels that share a hint, along each axis: 1, 2, 4 or 8.
        enable_temporal_hints: bool, default False. Use the vectors of the frame before as
            hints.
        enable_external_hints: bool, default False. Use the second input.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the frames.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        output_format: deprecated; use `output_grid`.

    Returns:
        Sample or batch: Vectors (x, y) in pixels, float32.
    """

@overload
def optical_flow(
    sequence: Samples,
    hints: Any | None = None,
    /,
    *,
    preset: float | None = 0.0,
    output_grid: int | None = 4,
    hint_grid: int | None = 4,
    enable_temporal_hints: bool | None = False,
    enable_external_hints: bool | None = False,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_format: Any = None,
) -> Batch: ...
@overload
def pad(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    axis_names: str | None = None,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    align: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    fill_value: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Pads samples at the end of their axes: to `shape`, to a multiple of `align`, or without
    `shape` to the largest sample of the batch. A view if there is nothing to pad.

    Takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        axes: int or list of int or one value for each sample (tensor, Batch), optional. Axes to
            pad, as numbers; negative ones count from the end. By default, or for an empty list,
            all. Excludes `axis_names`.
        axis_names: layout str, optional. Axes to pad, as letters of the layout.
        shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Extents to pad to, one for each axis or one for all; larger samples do not change. 0
            or less: the largest extent in the batch.
        align: int or list of int or one value for each sample (tensor, Batch), optional. The
            extents become multiples of these numbers (above 0), one for each axis or one for
            all.
        fill_value: float or one value for each sample (tensor, Batch), default 0.0. Value of
            added elements. Integers are truncated and saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and element type of the input.
    """

@overload
def pad(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    axis_names: str | None = None,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    align: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    fill_value: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def pad_crop(
    data: Sample,
    /,
    *,
    padding: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    pad_if_needed: bool | None = False,
    position: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    mode: str | os.PathLike[str] | None = "constant",
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Pads an image by numbers of pixels, and cuts a window out of the padded image, as
    torchvision's Pad and RandomCrop do. Beyond DALI, whose fn.pad pads to a shape with a
    constant.

    Args:
        data: Sample or batch. Images of any element type. Layouts: HWC, CHW, HW.
        padding: int or list of int or one value for each sample (tensor, Batch), default [0].
            Pixels that are added: left, top, right, bottom; two: left and right, top and
            bottom; or one for all.
        size: int or list of int or one value for each sample (tensor, Batch), optional. Height
            and width of the window. Default: the padded image.
        pad_if_needed: bool, default False. Pads images that are too small, on both sides by
            what is missing.
        position: float or list of float or one value for each sample (tensor, Batch), default
            [0.0, 0.0]. Where the window is, along y and x: 0 to 1, exclusive; all its places
            are equally long parts of this range.
        mode: str, default "constant". Values of added pixels: "constant", "edge" (the nearest
            pixel), "reflect" (mirrored at the last pixel) or "symmetric" (that repeats it).
        fill_value: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. The constant: one, or one for each channel. Integers are rounded and
            saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Element type and layout of the input.
    """

@overload
def pad_crop(
    data: Samples,
    /,
    *,
    padding: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    pad_if_needed: bool | None = False,
    position: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    mode: str | os.PathLike[str] | None = "constant",
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def paste(
    image: Sample,
    /,
    *,
    fill_value: int | Sequence[int] | NDArray[Any],
    ratio: float | Values,
    min_canvas_size: float | Values | None = 0.0,
    n_channels: int | None = 3,
    paste_x: float | Values | None = 0.5,
    paste_y: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Puts each image on a larger canvas of one color.

    Args:
        image: Sample or batch. Images; any element type. Layouts: HWC.
        fill_value: int or list of int, required. Color of the canvas: one value for all
            channels, or one for each. Saturates.
        ratio: float or one value for each sample (tensor, Batch), required. Size of the canvas
            over that of the image, 1 or more, along both axes; the product is truncated to
            whole pixels.
        min_canvas_size: float or one value for each sample (tensor, Batch), default 0.0. Least
            height and width of the canvas, in pixels.
        n_channels: int, default 3. Number of channels of the images.
        paste_x: float or one value for each sample (tensor, Batch), default 0.5. Horizontal
            position of the image, 0 (left) to 1 (right).
        paste_y: float or one value for each sample (tensor, Batch), default 0.5. Vertical
            position of the image, 0 (top) to 1 (bottom).
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Element type and layout of the input.
    """

@overload
def paste(
    image: Samples,
    /,
    *,
    fill_value: int | Sequence[int] | NDArray[Any],
    ratio: float | Values,
    min_canvas_size: float | Values | None = 0.0,
    n_channels: int | None = 3,
    paste_x: float | Values | None = 0.5,
    paste_y: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def peek_image_shape(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    adjust_orientation: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    type: Any = None,
) -> torch.Tensor:
    """Reads height, width and channels from the header of an encoded image, without decoding it.
    Equal to the shape of decoders.image.

    Args:
        data: Sample or batch. The bytes of one image file a sample, uint8.
        dtype: types.DALIDataType, default types.DALIDataType.INT64. Type of the output.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. The `output_type` that
            the image would be decoded to.
        adjust_orientation: bool, default True. Swap height and width if the EXIF orientation
            does.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        type: deprecated; use `dtype`.

    Returns:
        Sample or batch: Height, width and channels: 3 numbers of `dtype`.
    """

@overload
def peek_image_shape(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    adjust_orientation: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    type: Any = None,
) -> Batch: ...
@overload
def per_frame(
    data: Sample,
    /,
    *,
    replace: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Marks a tensor as a sequence: given as an argument of an operator that takes sequences, it
    has one value for each frame. A view: nothing is copied.

    Args:
        data: Sample or batch. One value per frame: at least one axis, the first of which is the
            frames.
        replace: bool, default False. Replace the first letter of the layout by "F" if it is a
            different letter; otherwise such an input is an error.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input with a layout that begins with "F"; axes without a letter
            become "*".
    """

@overload
def per_frame(
    data: Samples,
    /,
    *,
    replace: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def permute_batch(
    data: Sample,
    /,
    *,
    indices: int | Sequence[int] | NDArray[Any] | Values,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Reorders the samples of a batch: sample i of the output is sample indices[i] of the input.
    Indices may be repeated. Nothing is copied.

    Args:
        data: Sample or batch. Any layout, any element type.
        indices: int or list of int or one value for each sample (tensor, Batch), required.
            Indices of samples in the batch, from 0: a list as long as the batch, or a tensor
            with one number per sample, such as the result of fn.batch_permutation.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Samples of the input.
    """

@overload
def permute_batch(
    data: Samples,
    /,
    *,
    indices: int | Sequence[int] | NDArray[Any] | Values,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def perspective(
    data: Sample,
    /,
    *,
    corners: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    moves: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    distortion: float | Values | None = 0.5,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    apply: bool | Values | None = True,
    arithmetic: str | os.PathLike[str] | None = "torch",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Maps an image so that its corners move, with the results of torchvision's perspective().
    fn.experimental.warp_perspective takes a matrix and has DALI's borders.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences with 1 or 3 channels; uint8, or float32 with
            values from 0 to 1. Layouts: HWC, CHW, FHWC, FCHW.
        corners: float or list of float or one value for each sample (tensor, Batch), optional.
            Positions x, y of the first pixel, and clockwise of the other corners: eight
            numbers, in pixels.
        moves: float or list of float or one value for each sample (tensor, Batch), optional.
            Instead of `corners`: how far they move inwards, as parts (0 to 1, exclusive) of the
            pixels that `distortion` permits, rounded down.
        distortion: float or one value for each sample (tensor, Batch), default 0.5. The part of
            half an extent that corners may move by, with `moves`.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_NN.
            Interpolation: INTERP_NN or INTERP_LINEAR.
        fill_value: float or list of float or one value for each sample (tensor, Batch), default
            []. Values outside the input: one, or one for each channel. None: 0, to which linear
            interpolation blends.
        apply: bool or one value for each sample (tensor, Batch), default True. False for
            samples that stay as they are.
        arithmetic: str, default "torch". Whose rounding to follow: "torch", of torchvision's
            functions on tensors, or "pillow", of those on Pillow's images.
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
def perspective(
    data: Samples,
    /,
    *,
    corners: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    moves: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    distortion: float | Values | None = 0.5,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    fill_value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    apply: bool | Values | None = True,
    arithmetic: str | os.PathLike[str] | None = "torch",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def power_spectrum(
    data: Sample,
    /,
    *,
    nfft: int | None = None,
    power: int | None = 2,
    axis: int | None = -1,
    layout: str | None = None,
    batched: bool | None = False,
) -> torch.Tensor:
    """Computes magnitudes or powers of the frequencies of signals along an axis.

    Args:
        data: Sample or batch. Signals along one axis, of any other shape; float.
        nfft: int, optional. The length of the transform: shorter signals are padded with zeros,
            longer ones cut off. By default the extent of the axis. Any length is possible;
            those without prime factors above 7 are fastest.
        power: int, default 2. 1 for magnitudes, 2 for powers.
        axis: int, default -1. The axis that is transformed; negative numbers count from the
            last.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        Sample or batch: float: the extent of the axis is nfft / 2 + 1.
    """

@overload
def power_spectrum(
    data: Samples,
    /,
    *,
    nfft: int | None = None,
    power: int | None = 2,
    axis: int | None = -1,
    layout: str | None = None,
    batched: bool | None = False,
) -> Batch: ...
@overload
def preemphasis_filter(
    data: Sample,
    /,
    *,
    preemph_coeff: float | Values | None = 0.97,
    border: str | os.PathLike[str] | None = "clamp",
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Raises the high frequencies of a signal: y[i] = x[i] - preemph_coeff * x[i - 1]. Computed in
    float32 (float64 for float64).

    Args:
        data: Sample or batch. Signals: integers, float32 or float64. Samples of several
            dimensions are filtered as one row of their elements.
        preemph_coeff: float or one value for each sample (tensor, Batch), default 0.97. The
            coefficient.
        border: str, default "clamp". What comes before the first sample: "clamp" (the first
            sample), "zero" or "reflect" (the second sample; zero if there is only one).
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output;
            integers are rounded and saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input.
    """

@overload
def preemphasis_filter(
    data: Samples,
    /,
    *,
    preemph_coeff: float | Values | None = 0.97,
    border: str | os.PathLike[str] | None = "clamp",
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def random_bbox_crop(
    boxes: Sample,
    labels: Any | None = None,
    /,
    *,
    all_boxes_above_threshold: bool | None = True,
    allow_no_crop: bool | None = True,
    aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    bbox_layout: str | None = None,
    bbox_prune_threshold: float | None = None,
    crop_shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    input_shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    ltrb: bool | None = True,
    num_attempts: int | None = 1,
    output_bbox_indices: bool | None = False,
    quiet: bool | None = False,
    scaling: float | Sequence[float] | NDArray[Any] | None = ...,
    shape_layout: str | None = None,
    threshold_type: str | os.PathLike[str] | None = "iou",
    thresholds: float | Sequence[float] | NDArray[Any] | None = ...,
    total_num_attempts: int | None = -1,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Any:
    """Draws windows of an image until one keeps enough of its bounding boxes, and crops the boxes
    with it. A threshold is drawn from `thresholds` for every `num_attempts` windows, and after
    a window that meets it but keeps no box. A window has random extents in `scaling` with an
    aspect ratio in `aspect_ratio`, or the extents `crop_shape`.

    Args:
        boxes: Sample or batch. Boxes in the order of `bbox_layout`, fractions of the image, 0
            to 1; float32, shape (boxes, 4), or (boxes, 6) for volumes.
        labels: Sample or batch. One for each box, any element type; further dimensions are
            kept. Optional.
        all_boxes_above_threshold: bool, default True. All boxes must reach the threshold;
            otherwise one of them.
        allow_no_crop: bool, default True. The whole image is a further possible result, as
            likely as each threshold. Has no effect with `crop_shape`.
        aspect_ratio: float or list of float, default [1.0, 1.0]. Range of the window's width /
            height, in pixels if `input_shape` is given, else in fractions of the image. For
            volumes: one range for all, or x/y, x/z, y/z.
        bbox_layout: layout str, optional. Order of the coordinates of a box: x, y, z for its
            start, X, Y, Z for its end, or W, H, D for its extents; "xyXY" ("xyzXYZ") by
            default.
        bbox_prune_threshold: float, optional. Boxes of which at most this part is inside the
            window are dropped. By default, boxes whose center is outside are dropped.
        crop_shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Extents of the window in pixels, in `shape_layout`. Needs `input_shape`, excludes
            `scaling` and `aspect_ratio`.
        input_shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Extents of the image in pixels, in `shape_layout`.
        ltrb: bool, default True. Older form of `bbox_layout`: "xyXY" if true, "xyWH" if false.
            Excludes it.
        num_attempts: int, default 1. Number of windows that are tried with each threshold.
        output_bbox_indices: bool, default False. Return the indices of the boxes kept.
        quiet: bool, default False. Print no warning if no window was found.
        scaling: float or list of float, default [1.0, 1.0]. Range of the window's extents, as
            fractions of the image. A window that is larger than the image is placed around it.
        shape_layout: layout str, optional. Order of `crop_shape` and `input_shape`; "WH"
            ("WHD") by default.
        threshold_type: str, default "iou". The measure that thresholds are for: "iou", the
            intersection over union of box and window, or "overlap", the part of the box inside
            the window.
        thresholds: float or list of float, default [0.0]. Thresholds to draw from, 0 to 1.
        total_num_attempts: int, default -1. Total number of windows to try, at most 1,000,000;
            then the best one is used. Each drawn threshold counts as `num_attempts`. -1: the
            best of 100,000 is used.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.

    Returns:
        Sample or batch, or a list of them; the number depends on the arguments.
            anchor: Start of the window: x, y (, z); float32, fractions of the image, or pixels
                with `crop_shape`.
            shape: Extents of the window, like `anchor`.
            cropped_boxes: The boxes kept, as fractions of the window, in `bbox_layout`.
            cropped_labels: Their labels; only if labels are given.
            indices: Their indices in `boxes`, int32; only with `output_bbox_indices`.
    """

@overload
def random_bbox_crop(
    boxes: Samples,
    labels: Any | None = None,
    /,
    *,
    all_boxes_above_threshold: bool | None = True,
    allow_no_crop: bool | None = True,
    aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    bbox_layout: str | None = None,
    bbox_prune_threshold: float | None = None,
    crop_shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    input_shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    ltrb: bool | None = True,
    num_attempts: int | None = 1,
    output_bbox_indices: bool | None = False,
    quiet: bool | None = False,
    scaling: float | Sequence[float] | NDArray[Any] | None = ...,
    shape_layout: str | None = None,
    threshold_type: str | os.PathLike[str] | None = "iou",
    thresholds: float | Sequence[float] | NDArray[Any] | None = ...,
    total_num_attempts: int | None = -1,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Any: ...
@overload
def random_crop_generator(
    shape: Sample,
    /,
    *,
    random_area: float | Sequence[float] | NDArray[Any] | None = ...,
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    num_attempts: int | None = 10,
    window_rule: str | os.PathLike[str] | None = "dali",
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> list[torch.Tensor]:
    """Draws a window with random position, area and aspect ratio in an image of the given shape,
    for fn.slice or fn.decoders.image_slice with axis_names="HW". With the same seed, it is the
    window of fn.decoders.image_random_crop.

    Args:
        shape: Sample or batch. Shape of the image, integers: (height, width) or (height, width,
            channels).
        random_area: float or list of float, default [0.08, 1.0]. Range of the window's area, as
            a fraction of the image.
        random_aspect_ratio: float or list of float, default [0.75, 1.333333]. Range of the
            window's width over its height; drawn uniformly on a logarithmic scale.
        num_attempts: int, default 10. Draws of area and aspect ratio, a million at most, before
            the largest window with a permitted ratio is used, at a random position.
        window_rule: str, default "dali". How windows are drawn: "dali", or "torchvision": as
            its RandomResizedCrop does, which also takes windows whose ratio leaves the range by
            rounding, and in the end the largest one with a permitted ratio, in the center.
            torchdali only.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.

    Returns:
        List of Sample or batch: `crop_anchor`, `crop_shape`.
            crop_anchor: First row and column of the window, int32.
            crop_shape: Height and width of the window, int32.
    """

@overload
def random_crop_generator(
    shape: Samples,
    /,
    *,
    random_area: float | Sequence[float] | NDArray[Any] | None = ...,
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    num_attempts: int | None = 10,
    window_rule: str | os.PathLike[str] | None = "dali",
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> list[Batch]: ...
@overload
def random_erase(
    data: Sample,
    /,
    *,
    p: float | Values | None = 0.5,
    scale: float | Sequence[float] | NDArray[Any] | None = ...,
    ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    noise: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Fills a rectangle of random area, aspect ratio and position, as torchvision's RandomErasing
    does: of ten attempts, the first that is smaller than the image counts. fn.erase takes the
    rectangles.

    Args:
        data: Sample or batch. Images, uint8 or float32. Layouts: HWC, CHW.
        p: float or one value for each sample (tensor, Batch), default 0.5. The probability that
            a sample is changed.
        scale: float or list of float, default [0.02, 0.33]. Range of the area, as a part of the
            image.
        ratio: float or list of float, default [0.3, 3.3]. Range of the height over the width.
        value: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. Values to fill with: one, or one for each channel.
        noise: bool, default False. Fills with draws from the standard normal distribution.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, element type and layout of the input. A view if nothing is
            erased.
    """

@overload
def random_erase(
    data: Samples,
    /,
    *,
    p: float | Values | None = 0.5,
    scale: float | Sequence[float] | NDArray[Any] | None = ...,
    ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    value: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    noise: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def random_resized_crop(
    data: Sample,
    /,
    *,
    size: int | Sequence[int] | NDArray[Any],
    random_area: float | Sequence[float] | NDArray[Any] | None = ...,
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    num_attempts: int | None = 10,
    window_rule: str | os.PathLike[str] | None = "dali",
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Crops a window of random area, aspect ratio and position, and resizes it to a fixed size.
    Frames of a sequence share the window. Filters also read pixels of the input around the
    window.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences; uint8, int16, uint16 or float32. Layouts:
            HWC, CHW, FHWC, FCHW, CFHW.
        size: int or list of int, required. Size of the result in pixels: (height, width), or
            one number for both.
        random_area: float or list of float, default [0.08, 1.0]. Range of the window's area, as
            a fraction of the image.
        random_aspect_ratio: float or list of float, default [0.75, 1.333333]. Range of the
            window's width over its height; drawn uniformly on a logarithmic scale.
        num_attempts: int, default 10. Draws of area and aspect ratio, a million at most, before
            the largest window with a permitted ratio is used, at a random position.
        window_rule: str, default "dali". How windows are drawn: "dali", or "torchvision": as
            its RandomResizedCrop does, which also takes windows whose ratio leaves the range by
            rounding, and in the end the largest one with a permitted ratio, in the center.
            torchdali only.
        interp_type: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbor, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbor is never widened.
        filter_edges: str, default "extend". What filters read beyond the edges of the region.
            "extend": the input's pixels, or its border pixel. "cut": nothing, as if the region
            had been cut out before, and outside the input; this is what Pillow and torchvision
            do. torchdali only.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout of the input; element type `dtype`.
    """

@overload
def random_resized_crop(
    data: Samples,
    /,
    *,
    size: int | Sequence[int] | NDArray[Any],
    random_area: float | Sequence[float] | NDArray[Any] | None = ...,
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    num_attempts: int | None = 10,
    window_rule: str | os.PathLike[str] | None = "dali",
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def reinterpret(
    data: Sample,
    shape_input: Any | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    src_dims: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Reinterprets the bytes of the input as elements of another type, and changes the extents
    like fn.reshape. Without a shape, the last axis becomes longer or shorter. As bool, bytes of
    0 are false, others true. A view if the memory is aligned.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        shape_input: Sample or batch. Extents of the output, integers, as in `shape`. Optional.
        shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Extents of the output; one of them may be negative and follows from the rest.
        rel_shape: float or list of float or one value for each sample (tensor, Batch),
            optional. Extents of the output as multiples of those of the input (or of the axes
            that `src_dims` names), rounded to the nearest; one of them may be negative and
            follows from the rest.
        src_dims: int or list of int or one value for each sample (tensor, Batch), optional. For
            each axis of the output, the axis of the input whose extent it has; -1 is a new axis
            of extent 1. The elements keep their order. No effect if `shape` is given.
        layout: layout str, optional. Layout of the output, "" for none. By default that of the
            input if the number of dimensions does not change, else none.
        dtype: types.DALIDataType, optional. Element type of the output, by default the input's.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The bytes of the input.
    """

@overload
def reinterpret(
    data: Samples,
    shape_input: Any | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    src_dims: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def reshape(
    data: Sample,
    shape_input: Any | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    src_dims: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Changes the extents and keeps the order of the elements: by `shape`, by factors, or from
    another input. Can also change only the layout. A view: nothing is copied.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        shape_input: Sample or batch. Extents of the output, integers, as in `shape`. Optional.
        shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Extents of the output; one of them may be negative and follows from the rest.
        rel_shape: float or list of float or one value for each sample (tensor, Batch),
            optional. Extents of the output as multiples of those of the input (or of the axes
            that `src_dims` names), rounded to the nearest; one of them may be negative and
            follows from the rest.
        src_dims: int or list of int or one value for each sample (tensor, Batch), optional. For
            each axis of the output, the axis of the input whose extent it has; -1 is a new axis
            of extent 1. The elements keep their order. No effect if `shape` is given.
        layout: layout str, optional. Layout of the output, "" for none. By default that of the
            input if the number of dimensions does not change, else none.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The elements of the input.
    """

@overload
def reshape(
    data: Samples,
    shape_input: Any | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    src_dims: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def resize(
    data: Sample,
    /,
    *,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    resize_x: float | Values | None = 0.0,
    resize_y: float | Values | None = 0.0,
    resize_z: float | Values | None = 0.0,
    resize_shorter: float | Values | None = 0.0,
    resize_longer: float | Values | None = 0.0,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    subpixel_scale: bool | None = True,
    size_rounding: str | os.PathLike[str] | None = "round",
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    save_attrs: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
) -> Any:
    """Resizes images, volumes and sequences, or a region of interest of them, with a choice of
    filters. Filters also read pixels outside the region; outside the input, border pixels are
    repeated. An empty input stays empty.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; uint8, int16, uint16 or float32.
            Layouts: HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW.
        size: float or list of float or one value for each sample (tensor, Batch), optional.
            Size of the result in pixels, one value per spatial axis in the order of the layout,
            or one value for all. 0: follows from the others and `mode`. Negative: mirrored.
            Fractions: see `subpixel_scale`.
        resize_x: float or one value for each sample (tensor, Batch), default 0.0. Width of the
            result; excludes `size`. 0 and below as in `size`.
        resize_y: float or one value for each sample (tensor, Batch), default 0.0. Height of the
            result; excludes `size`. 0 and below as in `size`.
        resize_z: float or one value for each sample (tensor, Batch), default 0.0. Depth of the
            result; excludes `size`. Ignored for images.
        resize_shorter: float or one value for each sample (tensor, Batch), default 0.0. Length
            of the shortest spatial axis of the result, keeping the aspect ratio. Equivalent to
            the same `size` along all axes with `mode` "not_smaller".
        resize_longer: float or one value for each sample (tensor, Batch), default 0.0. Length
            of the longest spatial axis of the result, keeping the aspect ratio. Equivalent to
            the same `size` along all axes with `mode` "not_larger".
        mode: str, default "default". "default": `size` as given; absent axes are scaled by the
            geometric mean of the other scales. "stretch": absent axes are not scaled.
            "not_larger": the aspect ratio is kept and no axis exceeds `size`. "not_smaller":
            the aspect ratio is kept and no axis falls below `size`. Excludes `resize_shorter`
            and `resize_longer`.
        max_size: float or list of float, optional. Upper limit of the extents of the result,
            one for all or one per spatial axis; 0: no limit. If the aspect ratio is kept, the
            whole result shrinks.
        subpixel_scale: bool, default True. Fractional sizes are rounded. True: the region of
            interest grows or shrinks accordingly, so that the scale is exact. False: the region
            is kept and the scale changes.
        size_rounding: str, default "round". How extents that follow from `resize_shorter` or
            `resize_longer` are rounded: "round" (to the nearest), or "truncate": as torchvision
            does, which also keeps the region, whatever `subpixel_scale` is, and applies
            `max_size`, one number, to the rounded extents. torchdali only.
        roi_start: float or list of float or one value for each sample (tensor, Batch),
            optional. First corner of the region of interest, one value per spatial axis or one
            for all; requires `roi_end`. Pixel i covers [i, i + 1). If the start exceeds the
            end, the result is mirrored.
        roi_end: float or list of float or one value for each sample (tensor, Batch), optional.
            Opposite corner of the region of interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
        interp_type: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbor, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbor is never widened.
        filter_edges: str, default "extend". What filters read beyond the edges of the region.
            "extend": the input's pixels, or its border pixel. "cut": nothing, as if the region
            had been cut out before, and outside the input; this is what Pillow and torchvision
            do. torchdali only.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        save_attrs: bool, default False. Return the spatial extents of the input as a second
            output.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        image_type: deprecated, without effect.

    Returns:
        Sample or batch, or a list of them; the number depends on the arguments.
            resized: Layout of the input; element type `dtype`.
            attrs: With `save_attrs`: the input's spatial extents, (D,) H, W, int32. Otherwise
                absent.
    """

@overload
def resize(
    data: Samples,
    /,
    *,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    resize_x: float | Values | None = 0.0,
    resize_y: float | Values | None = 0.0,
    resize_z: float | Values | None = 0.0,
    resize_shorter: float | Values | None = 0.0,
    resize_longer: float | Values | None = 0.0,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    subpixel_scale: bool | None = True,
    size_rounding: str | os.PathLike[str] | None = "round",
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    save_attrs: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
) -> Any: ...
@overload
def resize_crop_mirror(
    data: Sample,
    /,
    *,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    resize_x: float | Values | None = 0.0,
    resize_y: float | Values | None = 0.0,
    resize_z: float | Values | None = 0.0,
    resize_shorter: float | Values | None = 0.0,
    resize_longer: float | Values | None = 0.0,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    subpixel_scale: bool | None = True,
    size_rounding: str | os.PathLike[str] | None = "round",
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    mirror: int | Values | None = 0,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Resizes, crops and mirrors in one operation: the result equals resize, crop and flip, but
    only the pixels of the window are computed. Outside the resized sample, a window repeats
    border pixels.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; uint8, int16, uint16 or float32.
            Layouts: HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW.
        size: float or list of float or one value for each sample (tensor, Batch), optional.
            Size of the result in pixels, one value per spatial axis in the order of the layout,
            or one value for all. 0: follows from the others and `mode`. Negative: mirrored.
            Fractions: see `subpixel_scale`.
        resize_x: float or one value for each sample (tensor, Batch), default 0.0. Width of the
            result; excludes `size`. 0 and below as in `size`.
        resize_y: float or one value for each sample (tensor, Batch), default 0.0. Height of the
            result; excludes `size`. 0 and below as in `size`.
        resize_z: float or one value for each sample (tensor, Batch), default 0.0. Depth of the
            result; excludes `size`. Ignored for images.
        resize_shorter: float or one value for each sample (tensor, Batch), default 0.0. Length
            of the shortest spatial axis of the result, keeping the aspect ratio. Equivalent to
            the same `size` along all axes with `mode` "not_smaller".
        resize_longer: float or one value for each sample (tensor, Batch), default 0.0. Length
            of the longest spatial axis of the result, keeping the aspect ratio. Equivalent to
            the same `size` along all axes with `mode` "not_larger".
        mode: str, default "default". "default": `size` as given; absent axes are scaled by the
            geometric mean of the other scales. "stretch": absent axes are not scaled.
            "not_larger": the aspect ratio is kept and no axis exceeds `size`. "not_smaller":
            the aspect ratio is kept and no axis falls below `size`. Excludes `resize_shorter`
            and `resize_longer`.
        max_size: float or list of float, optional. Upper limit of the extents of the result,
            one for all or one per spatial axis; 0: no limit. If the aspect ratio is kept, the
            whole result shrinks.
        subpixel_scale: bool, default True. Fractional sizes are rounded. True: the region of
            interest grows or shrinks accordingly, so that the scale is exact. False: the region
            is kept and the scale changes.
        size_rounding: str, default "round". How extents that follow from `resize_shorter` or
            `resize_longer` are rounded: "round" (to the nearest), or "truncate": as torchvision
            does, which also keeps the region, whatever `subpixel_scale` is, and applies
            `max_size`, one number, to the rounded extents. torchdali only.
        roi_start: float or list of float or one value for each sample (tensor, Batch),
            optional. First corner of the region of interest, one value per spatial axis or one
            for all; requires `roi_end`. Pixel i covers [i, i + 1). If the start exceeds the
            end, the result is mirrored.
        roi_end: float or list of float or one value for each sample (tensor, Batch), optional.
            Opposite corner of the region of interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
        crop: float or list of float or one value for each sample (tensor, Batch), optional.
            Size of the window, in pixels: (height, width) or (depth, height, width); fractions
            are truncated. Less than 1 keeps the whole axis. Excludes `crop_h`, `crop_w` and
            `crop_d`.
        crop_d: float or one value for each sample (tensor, Batch), default 0.0. Depth of the
            window, in slices (or frames, if the sample has no depth); requires `crop_h` and
            `crop_w`. 0 keeps the whole axis.
        crop_h: float or one value for each sample (tensor, Batch), default 0.0. Height of the
            window, in pixels; requires `crop_w`. 0: all.
        crop_w: float or one value for each sample (tensor, Batch), default 0.0. Width of the
            window, in pixels; requires `crop_h`. 0: all.
        crop_pos_x: float or one value for each sample (tensor, Batch), default 0.5. Horizontal
            position of the window, 0 (left) to 1 (right): the first column is crop_pos_x *
            (width - crop_w), rounded by `rounding`.
        crop_pos_y: float or one value for each sample (tensor, Batch), default 0.5. Vertical
            position of the window, 0 (top) to 1 (bottom).
        crop_pos_z: float or one value for each sample (tensor, Batch), default 0.5. Position of
            the window along depth (or frames), 0 to 1.
        rounding: str, default "round". How the position of the first pixel is rounded: "round"
            (to the nearest, halves away from zero), "truncate" or, torchdali only,
            "torchvision": as its CenterCrop, halves to even, and toward zero if the window
            exceeds the sample.
        mirror: int or one value for each sample (tensor, Batch), default 0. Axes to mirror: 1
            horizontal, 2 vertical, 4 depthwise, or a sum of these.
        interp_type: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbor, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbor is never widened.
        filter_edges: str, default "extend". What filters read beyond the edges of the region.
            "extend": the input's pixels, or its border pixel. "cut": nothing, as if the region
            had been cut out before, and outside the input; this is what Pillow and torchvision
            do. torchdali only.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout of the input; element type `dtype`.
    """

@overload
def resize_crop_mirror(
    data: Samples,
    /,
    *,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    resize_x: float | Values | None = 0.0,
    resize_y: float | Values | None = 0.0,
    resize_z: float | Values | None = 0.0,
    resize_shorter: float | Values | None = 0.0,
    resize_longer: float | Values | None = 0.0,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    subpixel_scale: bool | None = True,
    size_rounding: str | os.PathLike[str] | None = "round",
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    mirror: int | Values | None = 0,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
def roi_random_crop(
    data: Sample | None = None,
    /,
    *,
    crop_shape: int | Sequence[int] | NDArray[Any] | Values,
    roi_start: int | Sequence[int] | NDArray[Any] | Values,
    roi_end: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    roi_shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    in_shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws the start of a window of `crop_shape`, uniformly: the window contains the region of
    interest if the region is smaller, and is inside it if the region is larger. With `in_shape`
    or an input, the window is also inside the data.

    Args:
        data: Sample or batch. Its shape bounds the window; its values are not used. Optional.
        crop_shape: int or list of int or one value for each sample (tensor, Batch), required.
            Extents of the window, a value for each axis.
        roi_start: int or list of int or one value for each sample (tensor, Batch), required.
            Start of the region of interest: a value for each axis, or one for all.
        roi_end: int or list of int or one value for each sample (tensor, Batch), optional. End
            of the region (exclusive). Cannot be combined with `roi_shape`.
        roi_shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Extents of the region. Cannot be combined with `roi_end`.
        in_shape: int or list of int or one value for each sample (tensor, Batch), optional.
            Shape of the data that must contain the window. Cannot be combined with an input.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Start of the window, int64, one number for each axis.
    """

@overload
def rotate(
    data: Sample,
    /,
    *,
    angle: float | Values,
    axis: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    keep_size: bool | None = False,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    fill_value: float | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    """Rotates images and volumes about their center. The canvas grows to contain the whole result,
    unless `size` or `keep_size` is given; that of a sequence contains all frames. The precision
    is that of fn.warp_affine.

    Takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: HWC,
            FHWC, DHWC, FDHWC.
        angle: float or one value for each sample (tensor, Batch), required. Angle in degrees.
            Images rotate counterclockwise (the first row is on top), volumes about `axis`. May
            have a value for each frame.
        axis: float or list of float or one value for each sample (tensor, Batch), optional.
            Rotation axis of volumes: a vector (x, y, z) of any length except 0. Ignored for
            images. May have a value for each frame.
        keep_size: bool, default False. Keep the extents of the input if `size` is not given.
        size: float or list of float or one value for each sample (tensor, Batch), default [].
            Size of the result in pixels, without channels: (height, width), or (depth, height,
            width) of volumes; rounded to whole numbers.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR.
            Interpolation: INTERP_LINEAR or INTERP_NN.
        fill_value: float, optional. Value outside the input, after conversion to the types of
            input and result. By default, border pixels are repeated.
        dtype: types.DALIDataType, optional. Element type of the result; values are rounded and
            saturate. Default: that of the input.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        output_dtype: deprecated; use `dtype`.

    Returns:
        Sample or batch: Layout of the input, element type `dtype`.
    """

@overload
def rotate(
    data: Samples,
    /,
    *,
    angle: float | Values,
    axis: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    keep_size: bool | None = False,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    fill_value: float | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_dtype: Any = None,
) -> Batch: ...
@overload
def saturation(
    data: Sample,
    /,
    *,
    saturation: float | Values | None = 1.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Scales the saturation, in the color plane of YIQ.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. RGB images, volumes or sequences, with three channels; any
            element type. Layouts: HWC, FHWC, DHWC.
        saturation: float or one value for each sample (tensor, Batch), default 1.0. Factor of
            the saturation; 1 changes nothing, 0 gives shades of gray.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Has no effect: the
            channels are red, green, blue.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input, of type `dtype`. Computed in float32;
            integers are rounded, halves away from zero, and saturate.
    """

@overload
def saturation(
    data: Samples,
    /,
    *,
    saturation: float | Values | None = 1.0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def sequence_rearrange(
    sequence: Sample,
    /,
    *,
    new_order: int | Sequence[int] | NDArray[Any] | Values,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Reorders the frames of a sequence; frames may be repeated.

    Takes frame sequences (layouts with F).

    Args:
        sequence: Sample or batch. A sequence: at least two axes, the first of which is that of
            the frames.
        new_order: int or list of int or one value for each sample (tensor, Batch), required.
            The index of the input frame at each position, from 0.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: As many frames as `new_order` has numbers.
    """

@overload
def sequence_rearrange(
    sequence: Samples,
    /,
    *,
    new_order: int | Sequence[int] | NDArray[Any] | Values,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def shapes(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    type: Any = None,
) -> torch.Tensor:
    """Returns the shape of each sample. `x.shape()` creates it from `x`.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        dtype: types.DALIDataType, default types.DALIDataType.INT64. Type of the output: INT32,
            UINT32, INT64, UINT64, FLOAT or FLOAT64.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        type: deprecated; use `dtype`.

    Returns:
        Sample or batch: The extents, one number per dimension of the sample.
    """

@overload
def shapes(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    type: Any = None,
) -> Batch: ...
@overload
def slice(
    data: Sample,
    anchor: Any | None = None,
    extent: Any | None = None,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    axis_names: str | None = "WH",
    start: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    end: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    normalized_anchor: bool | None = True,
    normalized_shape: bool | None = True,
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    """Slices a window of each sample. Its coordinates are the inputs `anchor` and `extent`, or the
    arguments `start` with `end` or `shape` or their `rel_` forms, along `axes` or `axis_names`;
    other axes are kept whole. Fractional coordinates are rounded to the nearest integer, halves
    away from zero. Fractions are cut off and values saturate where `dtype` asks for uint8 or
    float16 (fn.cast rounds).

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        anchor: Sample or batch. First element of the window, one value per axis. Optional.
        extent: Sample or batch. Extent of the window, one value per axis. Optional.
        axes: int or list of int or one value for each sample (tensor, Batch), default [1, 0].
            Axes of the coordinates, as numbers; negative ones count from the end. Excludes
            `axis_names`.
        axis_names: layout str, default "WH". Axes of the coordinates, as letters of the layout.
        start: int or list of int or one value for each sample (tensor, Batch), optional. First
            element of the window, one value per axis.
        rel_start: float or list of float or one value for each sample (tensor, Batch),
            optional. `start` as a fraction of the extent.
        end: int or list of int or one value for each sample (tensor, Batch), optional. Element
            after the last of the window, one value per axis. Without `end` and `shape`, the
            window extends to the end of the sample.
        rel_end: float or list of float or one value for each sample (tensor, Batch), optional.
            `end` as a fraction of the extent.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Extent
            of the window, one value per axis.
        rel_shape: float or list of float or one value for each sample (tensor, Batch),
            optional. `shape` as a fraction of the extent.
        normalized_anchor: bool, default True. Whether a floating-point input `anchor` is in
            fractions of the extent; integers are always elements.
        normalized_shape: bool, default True. Whether a floating-point input `extent` is in
            fractions of the extent.
        out_of_bounds_policy: str, default "error". What to do if the window extends outside the
            sample: "error", "pad" (fill with `fill_values`) or "trim_to_shape" (make the window
            smaller).
        fill_values: float or list of float, default [0.0]. Values outside the sample, with the
            policy "pad": one for all, or one per channel of the output. Integers are truncated
            and saturate.
        dtype: types.DALIDataType, optional. Element type of the output: uint8, float16, float32
            or the input's type, which is the default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        image_type: deprecated, without effect.
        output_dtype: deprecated; use `dtype`.

    Returns:
        Sample or batch: The window, in the input's layout.
    """

@overload
def slice(
    data: Samples,
    anchor: Any | None = None,
    extent: Any | None = None,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    axis_names: str | None = "WH",
    start: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    end: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    rel_shape: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    normalized_anchor: bool | None = True,
    normalized_shape: bool | None = True,
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
    output_dtype: Any = None,
) -> Batch: ...
@overload
def spec_augment(
    spectrogram: Sample,
    /,
    *,
    freq_masks: int | Values | None = 2,
    freq_width: int | Values | None = 27,
    time_masks: int | Values | None = 2,
    time_width: int | Values | None = 100,
    time_ratio: float | Values | None = 1.0,
    value: float | Values | None = 0.0,
    fill_mean: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Masks random ranges of frequencies and of frames, as SpecAugment does (Park et al., 2019):
    each mask has a width that is uniform from 0 to its limit, both included, and a uniform
    position at which it fits. Masks may overlap. Defaults are those of the policy "LD". The
    paper's warping along time, which it found to have little effect, is left out.

    Args:
        spectrogram: Sample or batch. Spectrograms, or features computed from them; float32.
            Layouts: ft, tf.
        freq_masks: int or one value for each sample (tensor, Batch), default 2. Number of
            frequency masks; at most 255.
        freq_width: int or one value for each sample (tensor, Batch), default 27. Largest width
            of a frequency mask, in rows: F of the paper.
        time_masks: int or one value for each sample (tensor, Batch), default 2. Number of time
            masks; at most 255.
        time_width: int or one value for each sample (tensor, Batch), default 100. Largest width
            of a time mask, in frames: T of the paper.
        time_ratio: float or one value for each sample (tensor, Batch), default 1.0. Largest
            width of a time mask as a part of the frames, from 0 to 1: p of the paper. The
            smaller of both limits counts.
        value: float or one value for each sample (tensor, Batch), default 0.0. Value of masked
            elements.
        fill_mean: bool, default False. Masked elements are the mean of the sample, before it is
            masked.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input. A view if nothing is masked.
    """

@overload
def spec_augment(
    spectrogram: Samples,
    /,
    *,
    freq_masks: int | Values | None = 2,
    freq_width: int | Values | None = 27,
    time_masks: int | Values | None = 2,
    time_width: int | Values | None = 100,
    time_ratio: float | Values | None = 1.0,
    value: float | Values | None = 0.0,
    fill_mean: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def spectrogram(
    data: Sample,
    /,
    *,
    nfft: int | None = None,
    window_length: int | None = 512,
    window_step: int | None = 256,
    window_fn: float | Sequence[float] | NDArray[Any] | None = ...,
    power: int | None = 2,
    center_windows: bool | None = True,
    reflect_padding: bool | None = True,
    layout: str | None = "ft",
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Computes magnitudes or powers of the frequencies of short, overlapping frames of a signal.
    Each frame is multiplied with a window function, and transformed.

    Args:
        data: Sample or batch. One channel: float, with at most one extent that is not 1.
        nfft: int, optional. The length of the transform; frames are padded with zeros. By
            default the length of the window. Any length is possible; those without prime
            factors above 7 are fastest.
        window_length: int, default 512. The number of samples of a frame.
        window_step: int, default 256. The number of samples between the starts of two frames.
        window_fn: float or list of float, optional. The window function: `window_length`
            values. By default Hann's: sin(pi * (i + 0.5) / window_length)^2.
        power: int, default 2. 1 for magnitudes, 2 for powers.
        center_windows: bool, default True. Whether frame i is around sample i * window_step,
            and the signal is padded. Otherwise the frame starts there.
        reflect_padding: bool, default True. Whether the signal is padded with its mirror image,
            not with zeros.
        layout: layout str, default "ft". "ft" (frequency, time) or "tf".
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: float: nfft / 2 + 1 frequencies of each frame.
    """

@overload
def spectrogram(
    data: Samples,
    /,
    *,
    nfft: int | None = None,
    window_length: int | None = 512,
    window_step: int | None = 256,
    window_fn: float | Sequence[float] | NDArray[Any] | None = ...,
    power: int | None = 2,
    center_windows: bool | None = True,
    reflect_padding: bool | None = True,
    layout: str | None = "ft",
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def sphere(
    input: Sample,
    /,
    *,
    fill_value: float | None = 0.0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    mask: int | Values | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Shows images as on a sphere: a pixel at distance r from the center is taken from distance r
    * r / R on the same line, where R is half of the longer side, in whole pixels. An image of
    one pixel becomes `fill_value`.

    Args:
        input: Sample or batch. Images; any number of channels and element type. Layouts: HWC.
        fill_value: float, default 0.0. Value outside the input; rounded and saturated to the
            type of the input.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_NN.
            Interpolation: INTERP_NN or INTERP_LINEAR.
        mask: int or one value for each sample (tensor, Batch), default 1. 0 keeps the image
            unchanged.
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
def sphere(
    input: Samples,
    /,
    *,
    fill_value: float | None = 0.0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    mask: int | Values | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def squeeze(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    axis_names: str | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Removes axes of extent 1, or of any extent where another extent that remains is 0. A view:
    nothing is copied.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        axes: int or list of int or one value for each sample (tensor, Batch), optional. Axes to
            remove, as numbers; negative ones count from the end. Exactly one of `axes` and
            `axis_names` must be given.
        axis_names: layout str, optional. Axes to remove, as letters of the layout.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input without these axes and their letters.
    """

@overload
def squeeze(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    axis_names: str | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def ssd_random_crop(
    image: Sample,
    boxes: Any,
    labels: Any,
    /,
    *,
    num_attempts: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> list[torch.Tensor]:
    """Crops an image and its bounding boxes with a random window, as SSD is trained. A choice is
    drawn for every `num_attempts` windows, uniformly: the whole image, or a window whose
    intersection over union with each box is at least 0, 0.1, 0.3, 0.5, 0.7 or 0.9. Windows have
    0.3 to 1 of the image's width and height, with a ratio of these two of 0.5 to 2; boxes whose
    center is outside are dropped, and one must remain. DALI deprecates it in favor of
    fn.random_bbox_crop.

    Args:
        image: Sample or batch. An image, any element type. Layouts: HWC.
        boxes: Sample or batch. Left, top, right, bottom as fractions of the image; float32,
            shape (boxes, 4).
        labels: Sample or batch. One for each box, any element type; further dimensions are
            kept.
        num_attempts: int, default 1. Number of windows that are tried with each choice.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.

    Returns:
        List of Sample or batch: `cropped`, `cropped_boxes`, `cropped_labels`.
            cropped: The window of the image.
            cropped_boxes: The boxes kept, as fractions of the window.
            cropped_labels: Their labels.
    """

@overload
def ssd_random_crop(
    image: Samples,
    boxes: Any,
    labels: Any,
    /,
    *,
    num_attempts: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> list[Batch]: ...
@overload
def stack(
    input: Sample,
    /,
    *inputs: Any,
    axis: int | None = 0,
    axis_name: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Stacks inputs of the same shape along a new axis.

    Args:
        input: Sample or batch. Any layout, any element type.
        inputs: Sample or batch. Further inputs of the same type and shape. Optional.
        axis: int, default 0. Position of the new axis in the output; negative numbers count
            from the end.
        axis_name: str, optional. Letter of the new axis in the layout; inputs with dimensions
            then need a layout.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: One dimension more than the inputs. It has a layout only if `axis_name`
            is given.
    """

@overload
def stack(
    input: Samples,
    /,
    *inputs: Any,
    axis: int | None = 0,
    axis_name: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def subscript_dim_check(
    data: Sample,
    /,
    *,
    num_subscripts: int,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Returns the input if it has enough dimensions. `x[:, :]` creates it from `x`.

    Args:
        data: Sample or batch. Any layout, any element type.
        num_subscripts: int, required. The least number of dimensions.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The input, unchanged.
    """

@overload
def subscript_dim_check(
    data: Samples,
    /,
    *,
    num_subscripts: int,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def tensor_resize(
    input: Sample,
    /,
    *,
    sizes: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    scales: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    alignment: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    size_rounding: str | os.PathLike[str] | None = "round",
    subpixel_scale: bool | None = True,
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Resizes any axes of a tensor, or a region of interest of it, with the filters of fn.resize.
    Axes that keep their extent and their region stay as they are, whatever the filter. An empty
    input stays empty.

    Args:
        input: Sample or batch. uint8, int16, uint16 or float32, with at least one axis.
        sizes: float or list of float or one value for each sample (tensor, Batch), optional.
            Extents of the result, one for each axis or one for all. 0: follows from the others
            and `mode`. Negative: mirrored. Fractions: see `size_rounding`.
        scales: float or list of float or one value for each sample (tensor, Batch), optional.
            The extents of the result as factors of the input's, also with a region; excludes
            `sizes`.
        alignment: float or list of float or one value for each sample (tensor, Batch), default
            [0.5]. The point of the region that stays in place when a size is rounded and the
            region follows: 0 is its start, 1 its end. One for each axis or one for all.
        axes: int or list of int, optional. The axes that the other arguments are about, as
            numbers; negative ones count from the end. All by default.
        axis_names: layout str, optional. The same axes by letters of the layout; excludes
            `axes`.
        mode: str, default "default". "default": `sizes` as given; absent ones are scaled by the
            geometric mean of the other scales. "stretch": absent ones are not scaled.
            "not_larger": proportions are kept and no axis exceeds its size. "not_smaller":
            proportions are kept and no axis falls below its size.
        max_size: float or list of float, optional. Upper limit of the extents of the result,
            one for all or one for each axis; 0: no limit. If proportions are kept, the whole
            result shrinks.
        size_rounding: str, default "round". How fractions of sizes are rounded: "round" (to the
            nearest), "truncate" (down) or "ceil" (up).
        subpixel_scale: bool, default True. Where sizes are rounded, true: the region grows or
            shrinks accordingly, so that the scale is exact. False: the region is kept and the
            scale changes.
        roi_start: float or list of float or one value for each sample (tensor, Batch),
            optional. First corner of the region of interest, one value per spatial axis or one
            for all; requires `roi_end`. Pixel i covers [i, i + 1). If the start exceeds the
            end, the result is mirrored.
        roi_end: float or list of float or one value for each sample (tensor, Batch), optional.
            Opposite corner of the region of interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
        interp_type: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbor, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbor is never widened.
        filter_edges: str, default "extend". What filters read beyond the edges of the region.
            "extend": the input's pixels, or its border pixel. "cut": nothing, as if the region
            had been cut out before, and outside the input; this is what Pillow and torchvision
            do. torchdali only.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout of the input; element type `dtype`.
    """

@overload
def tensor_resize(
    input: Samples,
    /,
    *,
    sizes: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    scales: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    alignment: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    size_rounding: str | os.PathLike[str] | None = "round",
    subpixel_scale: bool | None = True,
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def tensor_subscript(
    data: Sample,
    /,
    *,
    at_0: int | Values | None = None,
    lo_0: int | Values | None = None,
    hi_0: int | Values | None = None,
    step_0: int | Values | None = None,
    at_1: int | Values | None = None,
    lo_1: int | Values | None = None,
    hi_1: int | Values | None = None,
    step_1: int | Values | None = None,
    at_2: int | Values | None = None,
    lo_2: int | Values | None = None,
    hi_2: int | Values | None = None,
    step_2: int | Values | None = None,
    at_3: int | Values | None = None,
    lo_3: int | Values | None = None,
    hi_3: int | Values | None = None,
    step_3: int | Values | None = None,
    at_4: int | Values | None = None,
    lo_4: int | Values | None = None,
    hi_4: int | Values | None = None,
    step_4: int | Values | None = None,
    at_5: int | Values | None = None,
    lo_5: int | Values | None = None,
    hi_5: int | Values | None = None,
    step_5: int | Values | None = None,
    at_6: int | Values | None = None,
    lo_6: int | Values | None = None,
    hi_6: int | Values | None = None,
    step_6: int | Values | None = None,
    at_7: int | Values | None = None,
    lo_7: int | Values | None = None,
    hi_7: int | Values | None = None,
    step_7: int | Values | None = None,
    at_8: int | Values | None = None,
    lo_8: int | Values | None = None,
    hi_8: int | Values | None = None,
    step_8: int | Values | None = None,
    at_9: int | Values | None = None,
    lo_9: int | Values | None = None,
    hi_9: int | Values | None = None,
    step_9: int | Values | None = None,
    at_10: int | Values | None = None,
    lo_10: int | Values | None = None,
    hi_10: int | Values | None = None,
    step_10: int | Values | None = None,
    at_11: int | Values | None = None,
    lo_11: int | Values | None = None,
    hi_11: int | Values | None = None,
    step_11: int | Values | None = None,
    at_12: int | Values | None = None,
    lo_12: int | Values | None = None,
    hi_12: int | Values | None = None,
    step_12: int | Values | None = None,
    at_13: int | Values | None = None,
    lo_13: int | Values | None = None,
    hi_13: int | Values | None = None,
    step_13: int | Values | None = None,
    at_14: int | Values | None = None,
    lo_14: int | Values | None = None,
    hi_14: int | Values | None = None,
    step_14: int | Values | None = None,
    at_15: int | Values | None = None,
    lo_15: int | Values | None = None,
    hi_15: int | Values | None = None,
    step_15: int | Values | None = None,
    num_subscripts: int | None = None,
    ellipsis: int | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Selects positions and ranges of axes. `x[1, 2:5]` creates it from `x`. Negative numbers
    count from the end, and ranges are clipped, as in Python. A view if the elements are
    contiguous.

    Args:
        data: Sample or batch. Any layout, any element type.
        at_0: int or one value for each sample (tensor, Batch), optional. Subscript 0: the
            selected position; the axis is removed.
        lo_0: int or one value for each sample (tensor, Batch), optional. Subscript 0: the start
            of its range.
        hi_0: int or one value for each sample (tensor, Batch), optional. Subscript 0: the end
            of its range (exclusive).
        step_0: int or one value for each sample (tensor, Batch), optional. Subscript 0: the
            step of its range, of either sign.
        at_1: int or one value for each sample (tensor, Batch), optional. Subscript 1: the
            selected position; the axis is removed.
        lo_1: int or one value for each sample (tensor, Batch), optional. Subscript 1: the start
            of its range.
        hi_1: int or one value for each sample (tensor, Batch), optional. Subscript 1: the end
            of its range (exclusive).
        step_1: int or one value for each sample (tensor, Batch), optional. Subscript 1: the
            step of its range, of either sign.
        at_2: int or one value for each sample (tensor, Batch), optional. Subscript 2: the
            selected position; the axis is removed.
        lo_2: int or one value for each sample (tensor, Batch), optional. Subscript 2: the start
            of its range.
        hi_2: int or one value for each sample (tensor, Batch), optional. Subscript 2: the end
            of its range (exclusive).
        step_2: int or one value for each sample (tensor, Batch), optional. Subscript 2: the
            step of its range, of either sign.
        at_3: int or one value for each sample (tensor, Batch), optional. Subscript 3: the
            selected position; the axis is removed.
        lo_3: int or one value for each sample (tensor, Batch), optional. Subscript 3: the start
            of its range.
        hi_3: int or one value for each sample (tensor, Batch), optional. Subscript 3: the end
            of its range (exclusive).
        step_3: int or one value for each sample (tensor, Batch), optional. Subscript 3: the
            step of its range, of either sign.
        at_4: int or one value for each sample (tensor, Batch), optional. Subscript 4: the
            selected position; the axis is removed.
        lo_4: int or one value for each sample (tensor, Batch), optional. Subscript 4: the start
            of its range.
        hi_4: int or one value for each sample (tensor, Batch), optional. Subscript 4: the end
            of its range (exclusive).
        step_4: int or one value for each sample (tensor, Batch), optional. Subscript 4: the
            step of its range, of either sign.
        at_5: int or one value for each sample (tensor, Batch), optional. Subscript 5: the
            selected position; the axis is removed.
        lo_5: int or one value for each sample (tensor, Batch), optional. Subscript 5: the start
            of its range.
        hi_5: int or one value for each sample (tensor, Batch), optional. Subscript 5: the end
            of its range (exclusive).
        step_5: int or one value for each sample (tensor, Batch), optional. Subscript 5: the
            step of its range, of either sign.
        at_6: int or one value for each sample (tensor, Batch), optional. Subscript 6: the
            selected position; the axis is removed.
        lo_6: int or one value for each sample (tensor, Batch), optional. Subscript 6: the start
            of its range.
        hi_6: int or one value for each sample (tensor, Batch), optional. Subscript 6: the end
            of its range (exclusive).
        step_6: int or one value for each sample (tensor, Batch), optional. Subscript 6: the
            step of its range, of either sign.
        at_7: int or one value for each sample (tensor, Batch), optional. Subscript 7: the
            selected position; the axis is removed.
        lo_7: int or one value for each sample (tensor, Batch), optional. Subscript 7: the start
            of its range.
        hi_7: int or one value for each sample (tensor, Batch), optional. Subscript 7: the end
            of its range (exclusive).
        step_7: int or one value for each sample (tensor, Batch), optional. Subscript 7: the
            step of its range, of either sign.
        at_8: int or one value for each sample (tensor, Batch), optional. Subscript 8: the
            selected position; the axis is removed.
        lo_8: int or one value for each sample (tensor, Batch), optional. Subscript 8: the start
            of its range.
        hi_8: int or one value for each sample (tensor, Batch), optional. Subscript 8: the end
            of its range (exclusive).
        step_8: int or one value for each sample (tensor, Batch), optional. Subscript 8: the
            step of its range, of either sign.
        at_9: int or one value for each sample (tensor, Batch), optional. Subscript 9: the
            selected position; the axis is removed.
        lo_9: int or one value for each sample (tensor, Batch), optional. Subscript 9: the start
            of its range.
        hi_9: int or one value for each sample (tensor, Batch), optional. Subscript 9: the end
            of its range (exclusive).
        step_9: int or one value for each sample (tensor, Batch), optional. Subscript 9: the
            step of its range, of either sign.
        at_10: int or one value for each sample (tensor, Batch), optional. Subscript 10: the
            selected position; the axis is removed.
        lo_10: int or one value for each sample (tensor, Batch), optional. Subscript 10: the
            start of its range.
        hi_10: int or one value for each sample (tensor, Batch), optional. Subscript 10: the end
            of its range (exclusive).
        step_10: int or one value for each sample (tensor, Batch), optional. Subscript 10: the
            step of its range, of either sign.
        at_11: int or one value for each sample (tensor, Batch), optional. Subscript 11: the
            selected position; the axis is removed.
        lo_11: int or one value for each sample (tensor, Batch), optional. Subscript 11: the
            start of its range.
        hi_11: int or one value for each sample (tensor, Batch), optional. Subscript 11: the end
            of its range (exclusive).
        step_11: int or one value for each sample (tensor, Batch), optional. Subscript 11: the
            step of its range, of either sign.
        at_12: int or one value for each sample (tensor, Batch), optional. Subscript 12: the
            selected position; the axis is removed.
        lo_12: int or one value for each sample (tensor, Batch), optional. Subscript 12: the
            start of its range.
        hi_12: int or one value for each sample (tensor, Batch), optional. Subscript 12: the end
            of its range (exclusive).
        step_12: int or one value for each sample (tensor, Batch), optional. Subscript 12: the
            step of its range, of either sign.
        at_13: int or one value for each sample (tensor, Batch), optional. Subscript 13: the
            selected position; the axis is removed.
        lo_13: int or one value for each sample (tensor, Batch), optional. Subscript 13: the
            start of its range.
        hi_13: int or one value for each sample (tensor, Batch), optional. Subscript 13: the end
            of its range (exclusive).
        step_13: int or one value for each sample (tensor, Batch), optional. Subscript 13: the
            step of its range, of either sign.
        at_14: int or one value for each sample (tensor, Batch), optional. Subscript 14: the
            selected position; the axis is removed.
        lo_14: int or one value for each sample (tensor, Batch), optional. Subscript 14: the
            start of its range.
        hi_14: int or one value for each sample (tensor, Batch), optional. Subscript 14: the end
            of its range (exclusive).
        step_14: int or one value for each sample (tensor, Batch), optional. Subscript 14: the
            step of its range, of either sign.
        at_15: int or one value for each sample (tensor, Batch), optional. Subscript 15: the
            selected position; the axis is removed.
        lo_15: int or one value for each sample (tensor, Batch), optional. Subscript 15: the
            start of its range.
        hi_15: int or one value for each sample (tensor, Batch), optional. Subscript 15: the end
            of its range (exclusive).
        step_15: int or one value for each sample (tensor, Batch), optional. Subscript 15: the
            step of its range, of either sign.
        num_subscripts: int, optional. Number of subscripts, including full ranges at the end.
        ellipsis: int, optional. Subscripts from this number on belong to the last axes instead
            of the next.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The selected elements, with the letters of the axes that are left.
    """

@overload
def tensor_subscript(
    data: Samples,
    /,
    *,
    at_0: int | Values | None = None,
    lo_0: int | Values | None = None,
    hi_0: int | Values | None = None,
    step_0: int | Values | None = None,
    at_1: int | Values | None = None,
    lo_1: int | Values | None = None,
    hi_1: int | Values | None = None,
    step_1: int | Values | None = None,
    at_2: int | Values | None = None,
    lo_2: int | Values | None = None,
    hi_2: int | Values | None = None,
    step_2: int | Values | None = None,
    at_3: int | Values | None = None,
    lo_3: int | Values | None = None,
    hi_3: int | Values | None = None,
    step_3: int | Values | None = None,
    at_4: int | Values | None = None,
    lo_4: int | Values | None = None,
    hi_4: int | Values | None = None,
    step_4: int | Values | None = None,
    at_5: int | Values | None = None,
    lo_5: int | Values | None = None,
    hi_5: int | Values | None = None,
    step_5: int | Values | None = None,
    at_6: int | Values | None = None,
    lo_6: int | Values | None = None,
    hi_6: int | Values | None = None,
    step_6: int | Values | None = None,
    at_7: int | Values | None = None,
    lo_7: int | Values | None = None,
    hi_7: int | Values | None = None,
    step_7: int | Values | None = None,
    at_8: int | Values | None = None,
    lo_8: int | Values | None = None,
    hi_8: int | Values | None = None,
    step_8: int | Values | None = None,
    at_9: int | Values | None = None,
    lo_9: int | Values | None = None,
    hi_9: int | Values | None = None,
    step_9: int | Values | None = None,
    at_10: int | Values | None = None,
    lo_10: int | Values | None = None,
    hi_10: int | Values | None = None,
    step_10: int | Values | None = None,
    at_11: int | Values | None = None,
    lo_11: int | Values | None = None,
    hi_11: int | Values | None = None,
    step_11: int | Values | None = None,
    at_12: int | Values | None = None,
    lo_12: int | Values | None = None,
    hi_12: int | Values | None = None,
    step_12: int | Values | None = None,
    at_13: int | Values | None = None,
    lo_13: int | Values | None = None,
    hi_13: int | Values | None = None,
    step_13: int | Values | None = None,
    at_14: int | Values | None = None,
    lo_14: int | Values | None = None,
    hi_14: int | Values | None = None,
    step_14: int | Values | None = None,
    at_15: int | Values | None = None,
    lo_15: int | Values | None = None,
    hi_15: int | Values | None = None,
    step_15: int | Values | None = None,
    num_subscripts: int | None = None,
    ellipsis: int | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def time_stretch(
    audio: Sample,
    /,
    *,
    rate: float | Values,
    window_length: int | Values | None = 512,
    search: int | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Changes the speed of signals without changing their pitch, by WSOLA (Verhelst and Roelands,
    1993): overlapping windows of the input are added at a distance that differs from theirs in
    the input, each from where it is most similar to what it overlaps with.
    fn.audio_resample(scale=1 / rate) changes both speed and pitch.

    Args:
        audio: Sample or batch. Signals; float32. Channels are moved together. Layouts: t, tc.
        rate: float or one value for each sample (tensor, Batch), required. The speed, from 0.1
            to 10: 2 halves the length.
        window_length: int or one value for each sample (tensor, Batch), default 512. Length of
            the windows, of which each overlaps half of the next. The default is 32 ms at 16
            kHz, and should grow with the sample rate.
        search: int or one value for each sample (tensor, Batch), optional. How far a window may
            be from its nominal position. At least half a period of the lowest pitch; by
            default, a quarter of `window_length`.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: round(length / rate) frames; otherwise the shape and layout of the
            input.
    """

@overload
def time_stretch(
    audio: Samples,
    /,
    *,
    rate: float | Values,
    window_length: int | Values | None = 512,
    search: int | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def to_decibels(
    data: Sample,
    /,
    *,
    multiplier: float | None = 10.0,
    reference: float | None = 0.0,
    cutoff_db: float | None = -200.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Converts powers or magnitudes to decibels: multiplier * log10(x / reference).

    Args:
        data: Sample or batch. float32, any shape and layout.
        multiplier: float, default 10.0. The factor of the logarithm: 10 for powers, 20 for
            magnitudes.
        reference: float, default 0.0. What is 0 dB. 0: the maximum of the sample.
        cutoff_db: float, default -200.0. The least result, in dB: smaller ratios are replaced,
            and so are zero, negative numbers and NaN.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input.
    """

@overload
def to_decibels(
    data: Samples,
    /,
    *,
    multiplier: float | None = 10.0,
    reference: float | None = 0.0,
    cutoff_db: float | None = -200.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def transpose(
    data: Sample,
    /,
    *,
    perm: int | Sequence[int] | NDArray[Any] | None = ...,
    transpose_layout: bool | None = True,
    output_layout: str | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Reorders the axes. A view if no element moves.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Any layout, any element type.
        perm: int or list of int, optional. Order of the axes, e.g. [2, 0, 1] from "HWC" to
            "CHW". By default, or for an empty list, the axes are reversed.
        transpose_layout: bool, default True. The letters of the layout move with their axes;
            otherwise the output has the input's layout.
        output_layout: layout str, optional. Layout of the output, for any `transpose_layout`.
            It does not affect the order of the axes.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Axis i is axis perm[i] of the input.
    """

@overload
def transpose(
    data: Samples,
    /,
    *,
    perm: int | Sequence[int] | NDArray[Any] | None = ...,
    transpose_layout: bool | None = True,
    output_layout: str | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def warp_affine(
    data: Sample,
    mtx: Any | None = None,
    /,
    *,
    matrix: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    inverse_map: bool | None = True,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    fill_value: float | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    """Warps images and volumes by an affine map: result(x, y) = data(M11 x + M12 y + M13, M21 x +
    M22 y + M23). (0, 0) is the corner of the first pixel, so the center of pixel i is at i +
    0.5. Linear interpolation is computed in float32; for uint8 in fixed point, which differs by
    at most 1.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; any element type. Layouts: HWC,
            FHWC, DHWC, FDHWC.
        mtx: Sample or batch. Replaces `matrix`: [2, 3], or [3, 4] for volumes. Optional.
        matrix: float or list of float or one value for each sample (tensor, Batch), default [].
            The map from positions in the result to positions in the input: 2 x 3 numbers (M11,
            M12, M13, M21, M22, M23), or 3 x 4 for volumes; coordinates are x, y, z.
        inverse_map: bool, default True. False if the matrix maps the input to the result; it is
            then inverted.
        size: float or list of float or one value for each sample (tensor, Batch), default [].
            Size of the result in pixels, without channels: (height, width), or (depth, height,
            width) of volumes; rounded to whole numbers.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR.
            Interpolation: INTERP_LINEAR or INTERP_NN.
        fill_value: float, optional. Value outside the input, after conversion to the types of
            input and result. By default, border pixels are repeated.
        dtype: types.DALIDataType, optional. Element type of the result; values are rounded and
            saturate. Default: that of the input.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        output_dtype: deprecated; use `dtype`.

    Returns:
        Sample or batch: Layout of the input, extents `size`, element type `dtype`.
    """

@overload
def warp_affine(
    data: Samples,
    mtx: Any | None = None,
    /,
    *,
    matrix: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    inverse_map: bool | None = True,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    fill_value: float | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    output_dtype: Any = None,
) -> Batch: ...
@overload
def water(
    input: Sample,
    /,
    *,
    fill_value: float | None = 0.0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    mask: int | Values | None = 1,
    ampl_x: float | None = 10.0,
    ampl_y: float | None = 10.0,
    freq_x: float | None = 0.049087387,
    freq_y: float | None = 0.049087387,
    phase_x: float | None = 0.0,
    phase_y: float | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Shows images as through water: the pixel at (x, y), counted from 0, comes from the position
    (x + ampl_x * sin(freq_x * y + phase_x), y + ampl_y * cos(freq_y * x + phase_y)), where (0,
    0) is the corner of the first pixel.

    Args:
        input: Sample or batch. Images; any number of channels and element type. Layouts: HWC.
        fill_value: float, default 0.0. Value outside the input; rounded and saturated to the
            type of the input.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_NN.
            Interpolation: INTERP_NN or INTERP_LINEAR.
        mask: int or one value for each sample (tensor, Batch), default 1. 0 keeps the image
            unchanged.
        ampl_x: float, default 10.0. Amplitude of the wave in the x direction, in pixels.
        ampl_y: float, default 10.0. Amplitude of the wave in the y direction, in pixels.
        freq_x: float, default 0.049087387. Frequency of the wave in the x direction, in radians
            per row; 2 pi / 128 by default.
        freq_y: float, default 0.049087387. Frequency of the wave in the y direction, in radians
            per column; 2 pi / 128 by default.
        phase_x: float, default 0.0. Phase of the wave in the x direction, in radians.
        phase_y: float, default 0.0. Phase of the wave in the y direction, in radians.
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
def water(
    input: Samples,
    /,
    *,
    fill_value: float | None = 0.0,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_NN,
    mask: int | Values | None = 1,
    ampl_x: float | None = 10.0,
    ampl_y: float | None = 10.0,
    freq_x: float | None = 0.049087387,
    freq_y: float | None = 0.049087387,
    phase_x: float | None = 0.0,
    phase_y: float | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
def zeros(
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT32,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Returns tensors of zeros.

    Args:
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of the output; by default that of the fill value, or a scalar.
        layout: layout str, optional. Letters of the axes, one per dimension.
        dtype: types.DALIDataType, default types.DALIDataType.INT32. Element type of the output.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Zeros of the given shape and type.
    """

@overload
def zeros_like(
    data_like: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Returns zeros in the shape of the input.

    Args:
        data_like: Sample or batch. Input with the shape, layout and type of the output.
        dtype: types.DALIDataType, optional. Element type of the output, by default the input's.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape and layout of the input.
    """

@overload
def zeros_like(
    data_like: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def decode(
    data: Sample,
    /,
    *,
    output_type: types.DALIImageType | None = types.DALIImageType.RGB,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    adjust_orientation: bool | None = True,
    use_fast_idct: bool | None = False,
    jpeg_fancy_upsampling: bool | None = False,
    jpeg_index: str | os.PathLike[str] | None = "",
    jpeg_index_size: int | None = 1073741824,
    max_pixels: int | None = 268435456,
    affine: bool | None = True,
    device_memory_padding: int | None = 16777216,
    device_memory_padding_jpeg2k: int | None = 0,
    host_memory_padding: int | None = 8388608,
    host_memory_padding_jpeg2k: int | None = 0,
    hw_decoder_load: float | None = 0.65,
    hybrid_huffman_threshold: int | None = 1000000,
    preallocate_height_hint: int | None = 0,
    preallocate_width_hint: int | None = 0,
    scaled_margin: float | None = 0.0,
    cache_batch_copy: bool | None = True,
    cache_debug: bool | None = False,
    cache_size: int | None = 0,
    cache_threshold: int | None = 0,
    cache_type: str | os.PathLike[str] | None = "",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> torch.Tensor:
    """Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP, JPEG 2000, AVIF and JPEG XL.

    Args:
        data: Sample or batch. The bytes of an image file, uint8, 1-D.
        output_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the output.
            RGB, BGR, GRAY and YCbCr (limited range, ITU-R BT.601) drop alpha; ANY_DATA keeps
            the channels of the file: gray, gray and alpha, RGB, RGBA, or CMYK as coverage of
            ink (0: none).
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Type of the output: uint8,
            int8, uint16, int16, uint32, int32 or float32. Full intensity is the largest integer
            of the type, or 1.0.
        adjust_orientation: bool, default True. Rotate the image by its EXIF orientation.
        use_fast_idct: bool, default False. JPEG: a faster inverse cosine transform that is
            slightly less exact.
        jpeg_fancy_upsampling: bool, default False. The CPU always upsamples JPEG's chroma
            smoothly, so this changes nothing here.
        jpeg_index: str, default "". Where to store the index, positions in JPEG files at which
            decoding can begin: "memory"; the path of a file that later runs reuse, or of a
            folder for such a file; or "cache", a file in TORCHDALI_CACHE_DIR, by default
            ~/.cache/torchdali. Epochs after the first skip most of the file outside a window,
            and decode two rows at once; pixels are the same. Not for nvJPEG. Takes about 2 KB
            per image. torchdali only.
        jpeg_index_size: int, default 1073741824. Limit of the memory of `jpeg_index` in this
            process, in bytes. Further images are decoded without the index.
        max_pixels: int, default 268435456. Largest number of pixels that the header of a file
            may claim; a file of a few kilobytes can claim gigabytes. Files with more are
            errors, also if only a window is decoded. torchdali only.
        affine: bool, default True. For decoding with nvJPEG (docs/design/gpu_jpeg.md);
            otherwise without effect.
        device_memory_padding: int, default 16777216. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        device_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding: int, default 8388608. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hw_decoder_load: float, default 0.65. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hybrid_huffman_threshold: int, default 1000000. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_height_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_width_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        scaled_margin: float, default 0.0. JPEG: allows decoding at 1/2, 1/4 or 1/8 of the size,
            if the decoded region is still at least this many times as large as the result of
            the following resize, along both axes. 0 (the default) decodes at full size. Values
            from 1 on are faster and change the result slightly; 1.5 is a good choice (the guide
            on benchmarks has figures). The image must be used by one operator only, which
            resizes it, with at most crops and slices before it; otherwise this is an error.
            Other formats, filters that do not average (nearest neighbor, `antialias=False`) and
            operators that run one by one (eagerly, in debug mode) decode at full size.
        cache_batch_copy: bool, default True. For the GPU's cache of decoded images. Has no
            effect.
        cache_debug: bool, default False. For the GPU's cache of decoded images. Has no effect.
        cache_size: int, default 0. For the GPU's cache of decoded images. Has no effect.
        cache_threshold: int, default 0. For the GPU's cache of decoded images. Has no effect.
        cache_type: str, default "". For the GPU's cache of decoded images. Has no effect.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        memory_stats: deprecated, without effect.
        split_stages: deprecated, without effect.
        use_chunk_allocator: deprecated, without effect.

    Returns:
        Sample or batch: The image, layout "HWC".
    """

@overload
def decode(
    data: Samples,
    /,
    *,
    output_type: types.DALIImageType | None = types.DALIImageType.RGB,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    adjust_orientation: bool | None = True,
    use_fast_idct: bool | None = False,
    jpeg_fancy_upsampling: bool | None = False,
    jpeg_index: str | os.PathLike[str] | None = "",
    jpeg_index_size: int | None = 1073741824,
    max_pixels: int | None = 268435456,
    affine: bool | None = True,
    device_memory_padding: int | None = 16777216,
    device_memory_padding_jpeg2k: int | None = 0,
    host_memory_padding: int | None = 8388608,
    host_memory_padding_jpeg2k: int | None = 0,
    hw_decoder_load: float | None = 0.65,
    hybrid_huffman_threshold: int | None = 1000000,
    preallocate_height_hint: int | None = 0,
    preallocate_width_hint: int | None = 0,
    scaled_margin: float | None = 0.0,
    cache_batch_copy: bool | None = True,
    cache_debug: bool | None = False,
    cache_size: int | None = 0,
    cache_threshold: int | None = 0,
    cache_type: str | os.PathLike[str] | None = "",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> Batch: ...
