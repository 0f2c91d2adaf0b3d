# Made by `make generate` from the engine's registry; do not edit.
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali._callables import _Operator
from torchdali.external_source import ExternalSource as ExternalSource
from torchdali.graph import DataNode
from torchdali.ops import decoders as decoders
from torchdali.ops import readers as readers

__all__ = [
    "ExternalSource",
    "PeekImageShape",
    "decoders",
    "readers",
]

class PeekImageShape(_Operator):
    """Reads height, width and channels from the header of an encoded image, without decoding it:
    the shape that decoders.image gives.

    Args:
        data: DataNode. The bytes of one image file a sample, uint8.
        dtype: types.DALIDataType, default types.DALIDataType.INT64. Type of the output.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. The `output_type` that
            the image would be decoded to.
        adjust_orientation: bool, default True. Swap height and width where EXIF says so.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Height, width and channels: 3 numbers of `dtype`.
    """

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
        image_type: types.DALIImageType | None = types.DALIImageType.RGB,
        adjust_orientation: bool | None = True,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
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
