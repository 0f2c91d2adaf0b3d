# SPDX-License-Identifier: Apache-2.0
"""The time that the host's part of decoding takes, of each way that leaves the rest to the GPU.

Needs no GPU: the operator is timed alone, so kernels may be emulated.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarks.gpu.definitions import Options, environment, on_the_gpu, whole_images
from benchmarks.gpu.rounds import first_epoch
from benchmarks.harness import spread

__all__ = ["TASKS", "WAYS", "rows"]

WAYS = ("cpu", "hybrid", "gpu")
TASKS = {"random resized crop": on_the_gpu, "whole images": whole_images}
_QUEUE = 2


def _host_us(pipe: Any) -> tuple[float, float]:
    """Returns the microseconds and the bytes to copy of an image."""
    for operator in pipe.stats(reset=True).operators:
        if operator.operator == "decoders.image" or operator.operator.startswith("host_part."):
            return operator.mean_ns / 1000, operator.output_bytes / max(operator.samples, 1)
    raise RuntimeError("the pipeline has no decoder")


def rows(options: Options) -> Iterator[dict[str, Any]]:
    """Yields a result for each task and way, of epochs after the first."""
    for task, define in TASKS.items():
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        sent: dict[str, float] = {}
        with contextlib.ExitStack() as stack:
            pipes: dict[str, Any] = {}
            for way in WAYS:
                with environment(TORCHDALI_MIXED_DECODER=way):
                    made = define(
                        options.files,
                        batch_size=options.batch,
                        num_threads=1,
                        prefetch_queue_depth=_QUEUE,
                        jpeg_index="memory",
                    )
                    pipes[way] = stack.enter_context(made)
                    for _ in range(first_epoch(options) + _QUEUE):
                        pipes[way].run()
            for _ in range(options.rounds):
                for way, pipe in pipes.items():
                    _host_us(pipe)  # from here on
                    for _ in range(first_epoch(options)):
                        pipe.run()
                    took, sent[way] = _host_us(pipe)
                    times[way].append(took)
        for way in WAYS:
            yield {"task": task, "way": way, "us": spread(times[way]), "bytes": sent[way]}
