# Made by `python -m torchdali.extension stubs`; do not edit.
# ruff: noqa
import os
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from torchdali.data_node import DataNode
from torchdali.fn._callables import _Operator

__all__ = [
    "RandomGain",
    "Solarize",
]

class RandomGain(_Operator):
    """Multiplies all elements of a sample by one random number.

    Args:
        data: DataNode. Any tensor; float32.
        range: float or list of float or DataNode, default [0.5, 2.0]. The least and the
            greatest factor.
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
        DataNode: Shape and layout of the input.
    """

    def __init__(
        self,
        *,
        range: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
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

class Solarize(_Operator):
    """Inverts elements that are not below a threshold: 255 - x where x >= threshold, else x.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. Images or sequences; uint8. Layouts: HWC, CHW, FHWC, FCHW.
        threshold: int or DataNode, default 128. The smallest value that is inverted.
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
        DataNode: Shape, element type and layout of the input.
    """

    def __init__(
        self,
        *,
        threshold: int | DataNode | None = 128,
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
