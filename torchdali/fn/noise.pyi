# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from torchdali.data_node import DataNode

__all__ = [
    "gaussian",
    "salt_and_pepper",
    "shot",
]

@overload
def gaussian(
    data: DataNode,
    /,
    *,
    mean: float | DataNode | None = 0.0,
    stddev: float | DataNode | None = 1.0,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """Adds a value of a normal distribution to each element. The same seed gives the same values
    with any number of threads and any prefetch depth.

    Args:
        data: DataNode. Any shape, layout and element type.
        mean: float or DataNode, default 0.0. Mean of the noise, in units of the data.
        stddev: float or DataNode, default 1.0. Standard deviation of the noise, in units of the
            data.
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
        DataNode: Shape, layout and element type of the input; integers are rounded and
            saturate.
    """

@overload
def gaussian(
    data: list[DataNode],
    /,
    *,
    mean: float | DataNode | None = 0.0,
    stddev: float | DataNode | None = 1.0,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]: ...
@overload
def salt_and_pepper(
    data: DataNode,
    /,
    *,
    per_channel: bool | None = False,
    prob: float | DataNode | None = 0.05,
    salt_vs_pepper: float | DataNode | None = 0.5,
    salt_val: float | DataNode | None = None,
    pepper_val: float | DataNode | None = None,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """Replaces each pixel, with probability `prob`, by salt or pepper. The same seed gives the
    same values with any number of threads and any prefetch depth.

    Args:
        data: DataNode. Any shape, layout and element type. Channels are the axis C of the
            layout; without a layout, the last axis.
        per_channel: bool, default False. Draw for each channel separately instead of for whole
            pixels.
        prob: float or DataNode, default 0.05. Probability that a pixel is replaced, 0 to 1.
        salt_vs_pepper: float or DataNode, default 0.5. Share of salt among replaced pixels, 0
            to 1.
        salt_val: float or DataNode, optional. Value of salt, converted as fn.cast does; by
            default the greatest of the type, 1 for floating types.
        pepper_val: float or DataNode, optional. Value of pepper, converted as fn.cast does; by
            default the least of the type, -1 for floating types.
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
        DataNode: Shape, layout and element type of the input.
    """

@overload
def salt_and_pepper(
    data: list[DataNode],
    /,
    *,
    per_channel: bool | None = False,
    prob: float | DataNode | None = 0.05,
    salt_vs_pepper: float | DataNode | None = 0.5,
    salt_val: float | DataNode | None = None,
    pepper_val: float | DataNode | None = None,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]: ...
@overload
def shot(
    data: DataNode,
    /,
    *,
    factor: float | DataNode | None = 20.0,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """Replaces each value x by factor * Poisson(x / factor): the mean stays x, the variance
    becomes factor * x. Negative values become 0. The same seed gives the same values with any
    number of threads and any prefetch depth.

    Args:
        data: DataNode. Any shape, layout and element type.
        factor: float or DataNode, default 20.0. Strength of the noise, 0 or more; 0 changes
            nothing.
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
        DataNode: Shape, layout and element type of the input; integers are rounded and
            saturate.
    """

@overload
def shot(
    data: list[DataNode],
    /,
    *,
    factor: float | DataNode | None = 20.0,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]: ...
