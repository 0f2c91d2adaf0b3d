# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from torchdali.data_node import DataNode

__all__ = [
    "random_mask_pixel",
    "random_object_bbox",
    "select_masks",
]

@overload
def random_mask_pixel(
    mask: DataNode,
    /,
    *,
    foreground: int | DataNode | None = 0,
    value: int | DataNode | None = None,
    threshold: float | DataNode | None = 0.0,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """Draws a pixel of a mask, uniformly from the whole mask or from its foreground: the pixels
    above `threshold` or equal to `value`. Without foreground, draws from the whole mask.

    Args:
        mask: DataNode. A mask of any element type, layout and number of dimensions; not empty.
        foreground: int or DataNode, default 0. If not 0, draws from the foreground.
        value: int or DataNode, optional. The value of the foreground. Cannot be combined with
            `threshold`.
        threshold: float or DataNode, default 0.0. Pixels above it are the foreground.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: Position of the pixel, int64, one number for each dimension.
    """

@overload
def random_mask_pixel(
    mask: list[DataNode],
    /,
    *,
    foreground: int | DataNode | None = 0,
    value: int | DataNode | None = None,
    threshold: float | DataNode | None = 0.0,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]: ...
@overload
def random_object_bbox(
    mask: DataNode,
    /,
    *,
    background: int | DataNode | None = 0,
    cache_objects: bool | None = False,
    class_weights: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    classes: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    foreground_prob: float | DataNode | None = 1.0,
    format: str | os.PathLike[str] | None = "anchor_shape",
    ignore_class: bool | None = False,
    k_largest: int | None = None,
    output_class: bool | None = False,
    threshold: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws an object of a mask of labels and returns its bounding box: first a class, then
    uniformly one of its blobs (elements that touch along an axis). Returns the whole mask if
    there is no such blob, and with probability 1 - `foreground_prob`.

    Args:
        mask: DataNode. Labels, integers of any type, any layout and number of dimensions.
        background: int or DataNode, default 0. The label of the background. By default 0, or if
            0 is one of `classes`, the greatest negative number that is not.
        cache_objects: bool, default False. No effect: objects are found anew each time, with
            the same results.
        class_weights: float or list of float or DataNode, optional. Relative probability of
            each of `classes`; without `classes`, of the labels 0, 1, 2 ... without the
            background.
        classes: int or list of int or DataNode, optional. Labels to draw from; all but the
            background by default.
        foreground_prob: float or DataNode, default 1.0. Probability of drawing an object.
        format: str, default "anchor_shape". "anchor_shape", "start_end" or "box": see the
            outputs.
        ignore_class: bool, default False. Draw from all objects of any class. Excludes
            `classes`, `class_weights` and `output_class`.
        k_largest: int, optional. Draw only from this many of the largest boxes (of the class,
            or with `ignore_class` of all).
        output_class: bool, default False. Also return the label.
        threshold: int or list of int or DataNode, optional. Least extents of a box, for each
            dimension or one for all; smaller ones are ignored.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            start: Start of the box, int32, one number for each dimension; with the format
                "box", its start followed by its end.
            extent: Extents of the box, or with the format "start_end" its end (exclusive);
                int32. Not returned with the format "box".
            label: Label of the object, the background's for the whole mask; int32, no
                dimensions; only with `output_class`.
    """

@overload
def random_object_bbox(
    mask: list[DataNode],
    /,
    *,
    background: int | DataNode | None = 0,
    cache_objects: bool | None = False,
    class_weights: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    classes: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    foreground_prob: float | DataNode | None = 1.0,
    format: str | os.PathLike[str] | None = "anchor_shape",
    ignore_class: bool | None = False,
    k_largest: int | None = None,
    output_class: bool | None = False,
    threshold: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> Any: ...
@overload
def select_masks(
    mask_ids: DataNode,
    polygons: DataNode,
    vertices: DataNode,
    /,
    *,
    reindex_masks: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]:
    """Keeps the polygons of some masks, in the order of `mask_ids`, and their vertices.

    Args:
        mask_ids: DataNode. The masks to keep; int32, a list without duplicates.
        polygons: DataNode. Polygons: mask, first vertex, one past the last vertex; int32, shape
            (polygons, 3). A mask may have several.
        vertices: DataNode. Vertices, any element type, shape (vertices, coordinates).
        reindex_masks: bool, default False. Replace mask numbers by their index in `mask_ids`.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        List of DataNode: `selected_polygons`, `selected_vertices`.
            selected_polygons: The polygons kept, int32, shape (polygons, 3).
            selected_vertices: The vertices of these polygons, in their order.
    """

@overload
def select_masks(
    mask_ids: list[DataNode],
    polygons: Any,
    vertices: Any,
    /,
    *,
    reindex_masks: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[list[DataNode]]: ...
