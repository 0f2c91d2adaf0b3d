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
    "RMS",
    "Max",
    "Mean",
    "MeanSquare",
    "Min",
    "StdDev",
    "Sum",
    "Variance",
]

class Max(_Operator):
    """The greatest element along axes, of the input's element type. NaN is ignored; without
    elements, it is the least finite number of the type.

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Mean(_Operator):
    """The mean of the elements along axes; NaN if there are none.

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output; float32 by default,
            float64 for float64. Results for integers are truncated.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class MeanSquare(_Operator):
    """The mean of the squares of the elements along axes; NaN if there are none.

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output; float32 by default,
            float64 for float64. Results for integers are truncated.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Min(_Operator):
    """The least element along axes, of the input's element type. NaN is ignored; without elements,
    it is the greatest finite number of the type.

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class RMS(_Operator):
    """The root of the mean of the squares along axes; NaN if there are no elements.

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output; float32 by default,
            float64 for float64. Results for integers are truncated.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class StdDev(_Operator):
    """The root of the mean squared distance of the elements along axes from a given mean, float32
    (float64 for float64). NaN if there are no elements.

    Args:
        data: DataNode. Samples; any element type, any layout.
        mean: DataNode. The mean: one value, or one for each result in C order, as returned by
            fn.reductions.mean() of the same axes.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        ddof: int, default 0. Delta degrees of freedom: the sum is divided by N - ddof.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        ddof: int | None = 0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        mean: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        mean: Any,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Sum(_Operator):
    """The sum of the elements along axes. Integers are added exactly, modulo 2^64; floats in
    float64.

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output. By default the 64-bit
            integer of the input's signedness, or the input's type for floats. Sums of integers
            that do not fit into an integer type wrap around.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Variance(_Operator):
    """The mean squared distance of the elements along axes from a given mean, float32 (float64 for
    float64). NaN if there are no elements.

    Args:
        data: DataNode. Samples; any element type, any layout.
        mean: DataNode. The mean: one value, or one for each result in C order, as returned by
            fn.reductions.mean() of the same axes.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        ddof: int, default 0. Delta degrees of freedom: the sum is divided by N - ddof.
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
        DataNode: The axes that are left, with their letters of the layout; no dimensions if
            none is.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        keep_dims: bool | None = False,
        ddof: int | None = 0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        mean: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        mean: Any,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...
