# SPDX-License-Identifier: Apache-2.0
"""Host time of a pipeline with ten small operators on the GPU: what an iteration costs at least."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.definitions import Options, environment, where
from benchmarks.gpu.rounds import reason
from benchmarks.harness import spread
from torchdali import fn, pipeline_def, types

__all__ = ["rows", "ten_operators"]

BATCH, SIDE = 64, 16


@pipeline_def(num_threads=2, device_id=None, seed=1, prefetch_queue_depth=2)
def ten_operators(images: torch.Tensor) -> Any:
    """Ten operators that a fused chain cannot hold together, on images of 16 x 16."""
    x = fn.external_source(lambda: images, device="gpu", layout="HWC", no_copy=True, cuda_stream=-1)
    for _ in range(2):
        x = fn.flip(x)
        x = fn.rotate(x, angle=30.0, keep_size=True)
        x = fn.erase(x, anchor=[2.0, 2.0], shape=[3.0, 3.0], axes=[0, 1])
        x = fn.gaussian_blur(x, window_size=3)
    x = fn.transpose(x, perm=[2, 0, 1], output_layout="CHW")
    return fn.cast(x, dtype=types.FLOAT)


@pipeline_def(num_threads=2, device_id=None, seed=1, prefetch_queue_depth=2)
def one_operator(images: torch.Tensor) -> Any:
    """What remains is the cost of an operator."""
    x = fn.external_source(lambda: images, device="gpu", layout="HWC", no_copy=True, cuda_stream=-1)
    return fn.flip(x)


def _torch_operations(images: torch.Tensor) -> Callable[[], None]:
    """Ten of torch's, on the batch as one tensor."""

    def run() -> None:
        x = images
        for _ in range(9):
            x = x.flip(2)
        x.float()

    return run


def _times(run: Callable[[], Any], rounds: int, seconds: float) -> dict[str, Any]:
    """Returns µs of an iteration: of the wall, and of the CPU, all threads together."""
    for _ in range(20):
        run()
    wall, cpu = [], []
    for _ in range(rounds):
        begin, begin_cpu, count = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begin < seconds:
            run()
            count += 1
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        wall.append(1e6 * (time.perf_counter() - begin) / count)
        cpu.append(1e6 * (time.process_time() - begin_cpu) / count)
    return {"us": spread(wall), "cpu_us": spread(cpu)}


def rows(options: Options) -> Iterator[dict[str, Any]]:
    """Yields a result for each pipeline, and for torch."""
    images = torch.randint(0, 256, (BATCH, SIDE, SIDE, 3), dtype=torch.uint8, device=where())

    def pipeline(define: Any, fuse: str) -> Callable[[], dict[str, Any]]:
        def measure() -> dict[str, Any]:
            with (
                environment(TORCHDALI_FUSION=fuse),
                define(images, batch_size=BATCH) as pipe,
            ):
                return _times(pipe.run, options.rounds, options.seconds)

        return measure

    cases = {
        "10 operators": pipeline(ten_operators, "1"),
        "10 operators, not fused": pipeline(ten_operators, "0"),
        "1 operator": pipeline(one_operator, "1"),
        "10 calls of torch": lambda: _times(
            _torch_operations(images), options.rounds, options.seconds
        ),
    }
    for name, measure in cases.items():
        try:
            yield {"iteration": name, **measure()}
        except Exception as error:
            yield {"iteration": name, "absent": reason(error)}
