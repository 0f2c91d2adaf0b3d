# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples, Values

__all__ = [
    "random_mask_pixel",
    "random_object_bbox",
    "select_masks",
]

@overload
def random_mask_pixel(
    mask: Sample,
    /,
    *,
    foreground: int | Values | None = 0,
    value: int | Values | None = None,
    threshold: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Draws a pixel of a mask, uniformly from the whole mask or from its foreground: the pixels
    above `threshold` or equal to `value`. Without foreground, draws from the whole mask.

    Args:
        mask: Sample or batch. A mask of any element type, layout and number of dimensions; not
            empty.
        foreground: int or one value for each sample (tensor, Batch), default 0. If not 0, draws
            from the foreground.
        value: int or one value for each sample (tensor, Batch), optional. The value of the
            foreground. Cannot be combined with `threshold`.
        threshold: float or one value for each sample (tensor, Batch), default 0.0. Pixels above
            it are the foreground.
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
        Sample or batch: Position of the pixel, int64, one number for each dimension.
    """

@overload
def random_mask_pixel(
    mask: Samples,
    /,
    *,
    foreground: int | Values | None = 0,
    value: int | Values | None = None,
    threshold: float | Values | None = 0.0,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Batch: ...
@overload
def random_object_bbox(
    mask: Sample,
    /,
    *,
    background: int | Values | None = 0,
    cache_objects: bool | None = False,
    class_weights: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    classes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    foreground_prob: float | Values | None = 1.0,
    format: str | os.PathLike[str] | None = "anchor_shape",
    ignore_class: bool | None = False,
    k_largest: int | None = None,
    output_class: bool | None = False,
    threshold: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Any:
    """Draws an object of a mask of labels and returns its bounding box: first a class, then
    uniformly one of its blobs (elements that touch along an axis). Returns the whole mask if
    there is no such blob, and with probability 1 - `foreground_prob`.

    Args:
        mask: Sample or batch. Labels, integers of any type, any layout and number of
            dimensions.
        background: int or one value for each sample (tensor, Batch), default 0. The label of
            the background. By default 0, or if 0 is one of `classes`, the greatest negative
            number that is not.
        cache_objects: bool, default False. No effect: objects are found anew each time, with
            the same results.
        class_weights: float or list of float or one value for each sample (tensor, Batch),
            optional. Relative probability of each of `classes`; without `classes`, of the
            labels 0, 1, 2 ... without the background.
        classes: int or list of int or one value for each sample (tensor, Batch), optional.
            Labels to draw from; all but the background by default.
        foreground_prob: float or one value for each sample (tensor, Batch), default 1.0.
            Probability of drawing an object.
        format: str, default "anchor_shape". "anchor_shape", "start_end" or "box": see the
            outputs.
        ignore_class: bool, default False. Draw from all objects of any class. Excludes
            `classes`, `class_weights` and `output_class`.
        k_largest: int, optional. Draw only from this many of the largest boxes (of the class,
            or with `ignore_class` of all).
        output_class: bool, default False. Also return the label.
        threshold: int or list of int or one value for each sample (tensor, Batch), optional.
            Least extents of a box, for each dimension or one for all; smaller ones are ignored.
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
            start: Start of the box, int32, one number for each dimension; with the format
                "box", its start followed by its end.
            extent: Extents of the box, or with the format "start_end" its end (exclusive);
                int32. Not returned with the format "box".
            label: Label of the object, the background's for the whole mask; int32, no
                dimensions; only with `output_class`.
    """

@overload
def random_object_bbox(
    mask: Samples,
    /,
    *,
    background: int | Values | None = 0,
    cache_objects: bool | None = False,
    class_weights: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    classes: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    foreground_prob: float | Values | None = 1.0,
    format: str | os.PathLike[str] | None = "anchor_shape",
    ignore_class: bool | None = False,
    k_largest: int | None = None,
    output_class: bool | None = False,
    threshold: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Any: ...
@overload
def select_masks(
    mask_ids: Sample,
    polygons: Any,
    vertices: Any,
    /,
    *,
    reindex_masks: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
) -> list[torch.Tensor]:
    """Keeps the polygons of some masks, in the order of `mask_ids`, and their vertices.

    Args:
        mask_ids: Sample or batch. The masks to keep; int32, a list without duplicates.
        polygons: Sample or batch. Polygons: mask, first vertex, one past the last vertex;
            int32, shape (polygons, 3). A mask may have several.
        vertices: Sample or batch. Vertices, any element type, shape (vertices, coordinates).
        reindex_masks: bool, default False. Replace mask numbers by their index in `mask_ids`.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        List of Sample or batch: `selected_polygons`, `selected_vertices`.
            selected_polygons: The polygons kept, int32, shape (polygons, 3).
            selected_vertices: The vertices of these polygons, in their order.
    """

@overload
def select_masks(
    mask_ids: Samples,
    polygons: Any,
    vertices: Any,
    /,
    *,
    reindex_masks: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
) -> list[Batch]: ...
