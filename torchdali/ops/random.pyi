# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.data_node import DataNode
from torchdali.fn._callables import _Operator

__all__ = [
    "Beta",
    "Choice",
    "CoinFlip",
    "Normal",
    "Uniform",
]

class Beta(_Operator):
    """Draws from the beta distribution, whose density is proportional to x^(alpha - 1) (1 -
    x)^(beta - 1) on [0, 1]; by default the uniform distribution. The same seed gives the same
    values with any number of threads and any prefetch depth.

    Args:
        shape_like: DataNode. Input with the shape of the output; its values are not used.
            Optional.
        shape: int or list of int or DataNode, optional. Shape of each sample. Cannot be
            combined with `shape_like`. Without either, a sample is one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type: float32 by default, float64 or
            float16.
        alpha: float or DataNode, default 1.0. First parameter, above 0.
        beta: float or DataNode, default 1.0. Second parameter, above 0.
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
        DataNode: Random values, of type `dtype`; without layout.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        alpha: float | DataNode | None = 1.0,
        beta: float | DataNode | None = 1.0,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    def __call__(
        self,
        shape_like: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Choice(_Operator):
    """Draws elements of a list with replacement, uniformly or with the probabilities `p`. The same
    seed gives the same choices with any number of threads and any prefetch depth.

    Args:
        a: DataNode. The elements to choose from: a list (the first axis of a tensor of any
            element type), or an integer n for 0 to n - 1.
        shape_like: DataNode. Input with the shape of the draws; its values are not used.
            Optional.
        p: float or list of float or DataNode, optional. Probability of each element; the sum is
            1. Uniform by default.
        shape: int or list of int or DataNode, optional. Shape of the draws. Cannot be combined
            with `shape_like`. Without either, a sample is one element.
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
        DataNode: The chosen elements, of the type of `a`: shape `shape`, followed by the other
            axes of `a`. With one axis of draws the layout is that of `a`, without draws that of
            an element, otherwise there is none.
    """

    def __init__(
        self,
        *,
        p: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        a: DataNode,
        shape_like: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        a: list[DataNode],
        shape_like: Any | None = None,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class CoinFlip(_Operator):
    """Draws 1 with the given probability, else 0. The same seed gives the same values with any
    number of threads and any prefetch depth.

    Args:
        shape_like: DataNode. Input with the shape of the output; its values are not used.
            Optional.
        shape: int or list of int or DataNode, optional. Shape of each sample. Cannot be
            combined with `shape_like`. Without either, a sample is one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type; int32 by default.
        probability: float or DataNode, default 0.5. Probability of 1; 0 or less never, 1 or
            more always.
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
        DataNode: Random values, of type `dtype`; without layout.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        probability: float | DataNode | None = 0.5,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    def __call__(
        self,
        shape_like: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Normal(_Operator):
    """Draws from a normal distribution. The same seed gives the same values with any number of
    threads and any prefetch depth, and those that fn.noise.gaussian adds. Integers are rounded
    and saturate.

    Args:
        shape_like: DataNode. Input with the shape of the output; its values are not used.
            Optional.
        shape: int or list of int or DataNode, optional. Shape of each sample. Cannot be
            combined with `shape_like`. Without either, a sample is one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type; float32 by default.
        mean: float or DataNode, default 0.0. Mean of the distribution.
        stddev: float or DataNode, default 1.0. Standard deviation of the distribution.
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
        DataNode: Random values, of type `dtype`; without layout.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        mean: float | DataNode | None = 0.0,
        stddev: float | DataNode | None = 1.0,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    def __call__(
        self,
        shape_like: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Uniform(_Operator):
    """Draws uniformly from the half-open interval `range`, or from the list `values`. Integers are
    rounded, so they may equal the upper bound. The same seed gives the same values with any
    number of threads and any prefetch depth.

    Args:
        shape_like: DataNode. Input with the shape of the output; its values are not used.
            Optional.
        shape: int or list of int or DataNode, optional. Shape of each sample. Cannot be
            combined with `shape_like`. Without either, a sample is one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type; float32 by default.
        range: float or list of float or DataNode, default [-1.0, 1.0]. The interval [low,
            high).
        values: float or list of float or DataNode, optional. The list to draw from. Cannot be
            combined with `range`.
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
        DataNode: Random values, of type `dtype`; without layout.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        range: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        values: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    def __call__(
        self,
        shape_like: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
