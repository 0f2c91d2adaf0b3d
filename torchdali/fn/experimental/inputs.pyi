# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from torchdali.data_node import DataNode

__all__ = [
    "video",
]

def video(
    *,
    sequence_length: int,
    last_sequence_policy: str | os.PathLike[str] | None = "partial",
    blocking: bool | None = False,
    no_copy: bool | None = False,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """Divides encoded videos, which Pipeline.feed_input() brings in, into sequences of frames,
    with FFmpeg's libraries. One video gives as many iterations as it has batches of sequences;
    its last batch may have fewer of them than `batch_size`, and the next video begins with a
    batch of its own. Videos that are fed meanwhile are queued. Unlike fn.decoders.video, it
    needs no memory for a whole decoded video.

    feed_input() takes one file at a time: a list of one 1-D array of uint8, or an array [1,
    bytes]. It raises an error for data that is no video. With `device="mixed"`, the CPU decodes
    and frames are copied, unless the environment variable TORCHDALI_NVDEC asks for the GPU's
    decoder.

    Args:
        sequence_length: int, required. Number of frames of a sequence, 1 or more.
        last_sequence_policy: str, default "partial". If the video ends within a sequence:
            "partial" makes that one shorter, "pad" adds black frames.
        blocking: bool, default False. If no video was fed, wait for another thread to call
            feed_input() instead of raising an error.
        no_copy: bool, default False. Use the user's memory, which must not change before the
            frames of the video were taken. By default the file is copied when it is fed.
        adjust_orientation: bool, default True. Turn the frames by the rotation that the file
            asks for, as players do. DALI does not. torchdali only.
        affine: bool, default True. For DALI's threads that feed the GPU's decoder. Has no
            effect.
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
        DataNode: Sequences of frames of the video, uint8, layout "FHWC", RGB.
    """
