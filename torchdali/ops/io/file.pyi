# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from torchdali.data_node import DataNode
from torchdali.fn._callables import _Operator

__all__ = [
    "Read",
]

class Read(_Operator):
    """Reads the files whose paths, or URLs, are in a tensor. fn.readers.file reads ahead and knows
    the order of its files; this operator reads whatever it is given.

    Args:
        filepaths: DataNode. The path in UTF-8, uint8, 1-D; zeros at the end are ignored.
        dont_use_mmap: bool, default False. No effect: files are always read, never mapped.
        use_o_direct: bool, default False. Read past the system's page cache (O_DIRECT). An
            error where the file system does not support it.
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
        DataNode: Contents of the file; uint8 [size].
    """

    def __init__(
        self,
        *,
        dont_use_mmap: bool | None = False,
        use_o_direct: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        filepaths: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        filepaths: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...
