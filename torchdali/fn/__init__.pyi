# Made by `make generate` from the engine's registry; do not edit.
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.external_source import external_source as external_source
from torchdali.fn import decoders as decoders
from torchdali.fn import readers as readers
from torchdali.graph import DataNode

__all__ = [
    "decoders",
    "external_source",
    "peek_image_shape",
    "readers",
]

@overload
def peek_image_shape(
    data: DataNode,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    adjust_orientation: bool | None = True,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> DataNode:
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

@overload
def peek_image_shape(
    data: list[DataNode],
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    adjust_orientation: bool | None = True,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> list[DataNode]: ...
