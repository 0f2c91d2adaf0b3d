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
    "audio",
    "image",
    "image_crop",
    "image_random_crop",
    "image_slice",
    "inflate",
    "numpy",
    "video",
]

@overload
def audio(
    data: Sample,
    /,
    *,
    downmix: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    quality: float | None = 50.0,
    antialias: bool | None = False,
    sample_rate: float | Values | None = 0.0,
    start: float | Values | None = 0.0,
    duration: float | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
) -> list[torch.Tensor]:
    """Decodes audio files: WAV and FLAC; with libsndfile, if it is installed, also Ogg Vorbis,
    Opus, MP3, AIFF and others. `start` and `duration` decode a part of the file, at little more
    than its share of the cost.

    Args:
        data: Sample or batch. Encoded audio files, uint8, 1-D.
        downmix: bool, default False. Whether the result is the mean of the channels, without an
            axis of channels.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the audio:
            float32, in [-1, 1], or int16 or int32, with their full range. To a narrower
            integer, bits are dropped; from floats, as of Vorbis or after resampling, values are
            rounded and saturate.
        quality: float, default 50.0. Quality of resampling, from 0 to 100: 0 has 3 lobes of the
            sinc filter, 50 has 16, 100 has 64.
        antialias: bool, default False. Whether to remove frequencies that a lower sampling rate
            cannot represent. They are mirrored otherwise, as by DALI, which has no such
            argument.
        sample_rate: float or one value for each sample (tensor, Batch), default 0.0. Frames per
            second of the result; 0 keeps those of the file.
        start: float or one value for each sample (tensor, Batch), default 0.0. Where the part
            begins, in seconds, rounded to the nearest frame of the file. It is an error if it
            is after the end.
        duration: float or one value for each sample (tensor, Batch), optional. Length of the
            part, in seconds, rounded to the nearest number of frames of the file; the part is
            shorter if the file ends before. By default up to the end.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        List of Sample or batch: `audio`, `sample_rate`.
            audio: Samples: [frames, channels], or [frames] with `downmix`.
            sample_rate: Frames per second of the audio, float32, a scalar.
    """

@overload
def audio(
    data: Samples,
    /,
    *,
    downmix: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    quality: float | None = 50.0,
    antialias: bool | None = False,
    sample_rate: float | Values | None = 0.0,
    start: float | Values | None = 0.0,
    duration: float | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
) -> list[Batch]: ...
@overload
def image(
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
def image(
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
@overload
def image_crop(
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
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> torch.Tensor:
    """Decodes a window of an image. Equal to decoders.image and crop, without decoding what is cut
    off.

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
        Sample or batch: The window, layout "HWC".
    """

@overload
def image_crop(
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
    crop: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    crop_d: float | Values | None = 0.0,
    crop_h: float | Values | None = 0.0,
    crop_w: float | Values | None = 0.0,
    crop_pos_x: float | Values | None = 0.5,
    crop_pos_y: float | Values | None = 0.5,
    crop_pos_z: float | Values | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> Batch: ...
@overload
def image_random_crop(
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
    random_area: float | Sequence[float] | NDArray[Any] | None = ...,
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    num_attempts: int | None = 10,
    window_rule: str | os.PathLike[str] | None = "dali",
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> torch.Tensor:
    """Decodes a window of an image with random position, area and aspect ratio, without decoding
    what is cut off.

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
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        memory_stats: deprecated, without effect.
        split_stages: deprecated, without effect.
        use_chunk_allocator: deprecated, without effect.

    Returns:
        Sample or batch: The window, layout "HWC".
    """

@overload
def image_random_crop(
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
    random_area: float | Sequence[float] | NDArray[Any] | None = ...,
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
    num_attempts: int | None = 10,
    window_rule: str | os.PathLike[str] | None = "dali",
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> Batch: ...
@overload
def image_slice(
    data: Sample,
    anchor: Any | None = None,
    extent: Any | None = None,
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
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> torch.Tensor:
    """Decodes a window of an image. Equal to decoders.image and slice, without decoding what is
    cut off. The axes are 0 or "H", and 1 or "W".

    Args:
        data: Sample or batch. The bytes of an image file, uint8, 1-D.
        anchor: Sample or batch. First pixel of the window, one value per axis. Optional.
        extent: Sample or batch. Extent of the window, one value per axis. Optional.
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
        Sample or batch: The window, layout "HWC".
    """

@overload
def image_slice(
    data: Samples,
    anchor: Any | None = None,
    extent: Any | None = None,
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
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    memory_stats: Any = None,
    split_stages: Any = None,
    use_chunk_allocator: Any = None,
) -> Batch: ...
@overload
def inflate(
    data: Sample,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    chunk_offsets: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    chunk_sizes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    algorithm: str | os.PathLike[str] | None = "LZ4",
    layout: str | None = "",
    sequence_axis_name: str | None = "F",
    check_output_size: bool | None = False,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Decompresses LZ4 blocks (not frames): a sample is one block or, with `chunk_offsets` or
    `chunk_sizes`, several that decompress to the same shape and are stacked.

    On the GPU a thread decompresses a block, so samples should have many blocks. Damaged blocks
    are no error there: what follows the damage is 0.

    Args:
        data: Sample or batch. Compressed bytes, uint8, 1-D.
        shape: int or list of int or one value for each sample (tensor, Batch), required. Shape
            of a decompressed block.
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Element type of the
            decompressed data.
        chunk_offsets: int or list of int or one value for each sample (tensor, Batch),
            optional. Where each block begins, in bytes. Without `chunk_sizes`, a block ends
            where the next one begins, and the last one at the end of the sample.
        chunk_sizes: int or list of int or one value for each sample (tensor, Batch), optional.
            Size of each block, in bytes. Without `chunk_offsets`, the blocks follow one another
            from the beginning of the sample.
        algorithm: str, default "LZ4". The only one.
        layout: layout str, default "". Layout of a decompressed block.
        sequence_axis_name: layout str, default "F". Letter of the axis of blocks, which
            precedes `layout` if there are chunks.
        check_output_size: bool, default False. A block with less data than `shape` is an error.
            Otherwise the rest is 0. More data is always an error. Not supported on the GPU.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: `shape`, or with chunks [number of chunks, *`shape`], of `dtype`.
    """

@overload
def inflate(
    data: Samples,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    chunk_offsets: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    chunk_sizes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    algorithm: str | os.PathLike[str] | None = "LZ4",
    layout: str | None = "",
    sequence_axis_name: str | None = "F",
    check_output_size: bool | None = False,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def numpy(
    data: Sample,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
) -> torch.Tensor:
    """Decodes arrays in the format of .npy files, as numpy.save writes them.

    Args:
        data: Sample or batch. The bytes of a .npy file, uint8, 1-D.
        dtype: types.DALIDataType, optional. Element type of the output, converted as fn.cast
            does; by default that of the array.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        Sample or batch: The array, in C order, without a layout.
    """

@overload
def numpy(
    data: Samples,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
) -> Batch: ...
@overload
def video(
    encoded: Sample,
    /,
    *,
    start_frame: int | Values | None = None,
    end_frame: int | Values | None = None,
    sequence_length: int | Values | None = None,
    stride: int | Values | None = None,
    frames: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    pad_mode: str | os.PathLike[str] | Values | None = "constant",
    fill_value: int | Sequence[int] | NDArray[Any] | None = ...,
    build_index: bool | None = True,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Decodes videos, or chosen frames of them, to RGB, with FFmpeg's libraries: whatever
    containers and codecs the installed ones know. The frames are exact, also with variable
    rates, B-frames and cut files; only the packets that they depend on are decoded. With
    `device="mixed"`, the CPU decodes and frames are copied, unless the environment variable
    TORCHDALI_NVDEC asks for the GPU's decoder (docs/guide/video.md).

    Args:
        encoded: Sample or batch. Encoded video files, uint8, 1-D.
        start_frame: int or one value for each sample (tensor, Batch), optional. The first
            frame; by default 0.
        end_frame: int or one value for each sample (tensor, Batch), optional. The frame before
            which the sequence ends; by default the end of the video. Not together with
            `sequence_length`.
        sequence_length: int or one value for each sample (tensor, Batch), optional. Number of
            frames; by default as many as there are up to `end_frame`.
        stride: int or one value for each sample (tensor, Batch), optional. Distance of the
            frames: 2 takes every other one; by default 1.
        frames: int or list of int or one value for each sample (tensor, Batch), optional. The
            numbers of the frames, in any order; they may repeat. Instead of the arguments
            above.
        pad_mode: str or one value for each sample (tensor, Batch), default "constant". What
            follows the last frame, if the sequence is longer than the video: "none", which
            makes it shorter; "constant", `fill_value`; "edge" or "repeat", the last frame;
            "reflect_1001" or "symmetric", the frames of the video in reverse order with the
            last one again; "reflect_101" or "reflect", without it. A value for each sample is
            text as uint8.
        fill_value: int or list of int, default [0]. The color of frames that "constant" adds, 0
            to 255: one value, or one for each channel.
        build_index: bool, default True. Look at all packets first, which makes the numbers of
            frames exact. Otherwise frames are found by their time, and the average rate that
            the file claims; that is faster for long videos of which little is decoded.
        adjust_orientation: bool, default True. Turn the frames by the rotation that the file
            asks for, as players do. DALI does not. torchdali only.
        affine: bool, default True. For DALI's threads that feed the GPU's decoder. Has no
            effect.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Frames, uint8, layout "FHWC", RGB.
    """

@overload
def video(
    encoded: Samples,
    /,
    *,
    start_frame: int | Values | None = None,
    end_frame: int | Values | None = None,
    sequence_length: int | Values | None = None,
    stride: int | Values | None = None,
    frames: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    pad_mode: str | os.PathLike[str] | Values | None = "constant",
    fill_value: int | Sequence[int] | NDArray[Any] | None = ...,
    build_index: bool | None = True,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
