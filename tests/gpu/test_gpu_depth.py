# SPDX-License-Identifier: Apache-2.0
"""How far the CPU and the GPU run ahead with separate depths of their queues."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from torchdali import fn, pipeline_def

pytestmark = pytest.mark.slow

BATCH = 2


class Calls:
    """A function that counts its calls, on any thread."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def __call__(self, x):
        with self._lock:
            self.count += 1
        return x + 1

    def reaches(self, batches: int) -> bool:
        """Waits for calls of this many batches, and a while for more."""
        end = time.monotonic() + 20
        while self.count < BATCH * batches and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.05)
        return self.count == BATCH * batches


def pipeline(on_cpu, on_gpu, **options):
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, **options)
    def define():
        x = fn.external_source(lambda info: np.float32(info.iteration), batch=False)
        x = fn.python_function(x, function=on_cpu, workers="threads")
        return fn.torch_python_function(x.gpu(), function=on_gpu)

    return define()


@pytest.mark.parametrize(("cpu", "gpu"), [(4, 2), (1, 1), (3, 1), (1, 3)])
def test_the_queues_hold_the_requested_numbers_of_iterations(cpu, gpu, backend):
    del backend
    on_cpu, on_gpu = Calls(), Calls()
    depths = {"cpu_size": cpu, "gpu_size": gpu}
    pipe = pipeline(on_cpu, on_gpu, prefetch_queue_depth=depths)
    for taken in range(1, 6):
        (out,) = pipe.run()
        assert [s.item() for s in out.as_torch_list()] == [taken + 1] * BATCH
        assert on_cpu.reaches(cpu + gpu - 1 + taken)
        # The next run() schedules one iteration and takes one.
        assert on_gpu.reaches(min(gpu, cpu + gpu - 1) + taken)
    assert pipe.cpu_queue_size == cpu
    assert pipe.gpu_queue_size == gpu
    pipe.close()


def test_one_depth_applies_to_both_queues(backend):
    del backend
    on_cpu, on_gpu = Calls(), Calls()
    pipe = pipeline(on_cpu, on_gpu, prefetch_queue_depth=4)
    for taken in range(1, 4):
        pipe.run()
        assert on_cpu.reaches(3 + taken)
        assert on_gpu.reaches(3 + taken)
    pipe.close()


def test_a_failed_iteration_leaves_room_for_the_next(backend):
    del backend

    def fails(x):
        if x == 3:
            raise ValueError("three")
        return x

    pipe = pipeline(lambda x: x, fails, prefetch_queue_depth={"cpu_size": 2, "gpu_size": 1})
    for i in range(8):
        if i == 3:
            with pytest.raises(RuntimeError, match="three"):
                pipe.run()
        else:
            assert pipe.run()[0].as_torch().tolist() == [i] * BATCH
    pipe.close()
