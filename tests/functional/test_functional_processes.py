# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors in several threads and processes, and the memory that they keep."""

from __future__ import annotations

import os
import threading
import warnings

import pytest
import torch

from torchdali import functional as F
from torchdali.functional import Batch


def image(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, shape or (24, 32, 3), dtype=torch.uint8, generator=generator)


def test_threads_call_at_the_same_time():
    images = [image(seed=i) for i in range(8)]
    expected = [F.resize(one, size=[9, 9]) for one in images]
    failures: list[object] = []

    def work(index: int) -> None:
        for _ in range(50):
            one = F.resize(images[index], size=[9, 9])
            many = F.resize(images, size=[9, 9])
            if not torch.equal(one, expected[index]) or not torch.equal(many[index], one):
                failures.append(index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_read_one_result_at_the_same_time():
    images = [image(seed=i) for i in range(8)]
    expected = [torch.flip(one, (0,)) for one in images]
    failures: list[BaseException] = []

    def read(batch: Batch, barrier: threading.Barrier) -> None:
        try:
            barrier.wait()
            assert len(batch) == len(expected)
            assert all(map(torch.equal, batch, expected))
        except BaseException as error:
            failures.append(error)

    for _ in range(40):
        first = F.flip(images)
        batch, barrier = F.flip(F.flip(first, vertical=1, horizontal=0)), threading.Barrier(4)
        readers = [
            (batch, barrier),
            (batch, barrier),
            (F.flip(first, vertical=1, horizontal=1), barrier),
        ]
        threads = [threading.Thread(target=read, args=args) for args in readers]
        for thread in threads:
            thread.start()
        barrier.wait()
        first.evaluate()
        for thread in threads:
            thread.join()
    assert not failures


def test_memory_is_released_while_another_thread_runs_a_batch():
    """The threads of all programs are the same; the end of one program is not that of another."""
    images = [image(seed=i) for i in range(16)]
    expected = F.gaussian_blur(images, window_size=5).as_tensor()
    ended = threading.Event()

    def release() -> None:
        while not ended.is_set():
            F.flip(images).evaluate()
            F.release_unused_memory()

    F.set_num_threads(2)
    thread = threading.Thread(target=release)
    thread.start()
    try:
        for _ in range(60):
            assert torch.equal(F.gaussian_blur(images, window_size=5).as_tensor(), expected)
    finally:
        ended.set()
        thread.join()
        F.set_num_threads(None)


def test_the_number_of_threads_changes_nothing():
    images = [image(seed=i) for i in range(8)]
    expected = F.resize(images, size=[9, 9]).as_tensor()
    for count in (1, 3, None):
        F.set_num_threads(count)
        assert torch.equal(F.resize(images, size=[9, 9]).as_tensor(), expected)
    assert F.get_num_threads() == torch.get_num_threads()


def test_a_forked_process_calls_operators():
    images = [image(seed=i) for i in range(4)]
    F.flip(images[0])
    whole = F.flip(images).as_tensor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            same = torch.equal(F.flip(images[0]), whole[0])
            F.set_num_threads(2)
            status = 0 if same and torch.equal(F.flip(images).as_tensor(), whole) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def crops(index: int) -> Batch:
    return F.crop([image(seed=index), image(30, 30, 3)], crop=[8, 9])


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_batches_come_out_of_workers(method, keep_random_state):
    F.flip([image()]).as_list()  # engines and threads are there before a fork
    loader = torch.utils.data.DataLoader(
        Crops(), batch_size=None, num_workers=2, multiprocessing_context=method
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
        for index, batch in enumerate(loader):
            assert torch.equal(batch.as_tensor(), crops(index).as_tensor())
            assert batch.layout == "HWC"


class Crops(torch.utils.data.Dataset[Batch]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Batch:
        return crops(index)


def test_memory_is_released():
    images = [image(seed=i) for i in range(4)]
    one, many = F.flip(images[0]), F.flip(images).as_tensor()
    expected = one.clone(), many.clone()
    F.release_unused_memory()
    assert torch.equal(F.flip(images[0]), one)
    assert torch.equal(F.flip(images).as_tensor(), many)
    assert torch.equal(one, expected[0])
    assert torch.equal(many, expected[1])
