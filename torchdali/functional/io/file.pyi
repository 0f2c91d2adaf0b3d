# Made by `make generate` from the engine's registry; do not edit.
from typing import overload

import torch

from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples

__all__ = [
    "read",
]

@overload
def read(
    filepaths: Sample,
    /,
    *,
    dont_use_mmap: bool | None = False,
    use_o_direct: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
) -> torch.Tensor:
    """Reads the files whose paths, or URLs, are in a tensor. fn.readers.file reads ahead and knows
    the order of its files; this operator reads whatever it is given.

    Args:
        filepaths: Sample or batch. The path in UTF-8, uint8, 1-D; zeros at the end are ignored.
        dont_use_mmap: bool, default False. No effect: files are always read, never mapped.
        use_o_direct: bool, default False. Read past the system's page cache (O_DIRECT). An
            error where the file system does not support it.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        Sample or batch: Contents of the file; uint8 [size].
    """

@overload
def read(
    filepaths: Samples,
    /,
    *,
    dont_use_mmap: bool | None = False,
    use_o_direct: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
) -> Batch: ...
