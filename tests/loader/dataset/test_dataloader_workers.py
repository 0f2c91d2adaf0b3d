# SPDX-License-Identifier: Apache-2.0
"""What PyTorch documents about workers of DataLoader: starting, seeds, timeouts, errors.

The same tests run on torch's DataLoader and on ours.
"""

from __future__ import annotations

import multiprocessing

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import CLASSES, THREADS, flat, labels
from torch.utils.data.datapipes.iter import IterableWrapper

import torchdali

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "context"])
def test_every_start_method_works(cls, method):
    context = multiprocessing.get_context("fork") if method == "context" else method
    loader = cls(
        datasets.Info(6),
        batch_size=3,
        num_workers=2,
        multiprocessing_context=context,
        persistent_workers=True,
    )
    assert loader.multiprocessing_context.get_start_method() == (
        "fork" if method == "context" else method
    )
    ids, counts, seeds, own = map(list, zip(*loader, strict=True))
    assert [i.tolist() for i in ids] == [[0] * 3, [1] * 3]
    assert (torch.cat(counts) == 2).all()
    assert torch.cat(own).all()
    assert seeds[1][0] - seeds[0][0] == 1


def test_get_worker_info_is_none_in_the_main_process(cls):
    assert torch.utils.data.get_worker_info() is None
    assert torchdali.get_worker_info() is None
    assert next(iter(cls(datasets.Info(1))))[0].item() == -1


@pytest.mark.parametrize("init", [None, datasets.note_worker])
@pytest.mark.parametrize("persistent", [False, True])
def test_random_numbers_in_workers_equal_torch(init, persistent):
    results = []
    for cls in CLASSES.values():
        torch.manual_seed(5)
        loader = cls(
            datasets.Randomness(8),
            batch_size=2,
            num_workers=2,
            worker_init_fn=init,
            persistent_workers=persistent,
        )
        results.append([[x.tolist() for x in b] for _ in range(2) for b in loader])
    assert results[0] == results[1]


def test_an_exception_of_worker_init_fn_is_raised(cls):
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        next(iter(cls(datasets.Squares(), num_workers=1, worker_init_fn=datasets.refuse)))


def test_persistent_workers_are_reused(cls):
    class Pids(datasets.Squares):
        def __getitem__(self, index):
            import os

            return os.getpid()

    for persistent in (False, True):
        loader = cls(Pids(4), num_workers=2, persistent_workers=persistent)
        first, second = ({int(pid) for pid in loader} for _ in range(2))
        assert (first == second) is persistent


def test_persistent_workers_allow_one_iterator(cls):
    loader = cls(datasets.Squares(6), batch_size=2, num_workers=2)
    one, other = iter(loader), iter(loader)
    assert next(one)[1].tolist() == [0, 1]
    assert next(other)[1].tolist() == [0, 1]
    assert next(one)[1].tolist() == [2, 3]
    assert labels(other) == [[2, 3], [4, 5]]
    loader = cls(datasets.Squares(6), batch_size=2, num_workers=2, persistent_workers=True)
    one = iter(loader)
    assert next(one)[1].tolist() == [0, 1]
    assert iter(loader) is one
    assert labels(loader) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(("prefetch", "count"), [(1, 9), (4, 9), (300, 600)])
def test_prefetch_factor_does_not_change_the_batches(cls, prefetch, count):
    loader = cls(datasets.Squares(count), batch_size=2, num_workers=2, prefetch_factor=prefetch)
    assert loader.prefetch_factor == prefetch
    assert flat(labels(loader)) == list(range(count))


def test_an_iterator_has_a_length_and_an_end(cls, workers):
    iterator = iter(cls(datasets.Squares(4), batch_size=2, num_workers=workers))
    assert iter(iterator) is iterator
    assert len(iterator) == 2
    assert len(list(iterator)) == 2
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


def test_a_timeout_is_an_error(cls):
    loader = cls(datasets.Harms("sleep", at=0), num_workers=1, timeout=0.5)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.5 seconds"):
        next(iter(loader))


def test_a_timeout_does_not_affect_fast_workers(cls):
    assert len(labels(cls(datasets.Squares(), num_workers=2, timeout=30))) == 20


@pytest.mark.parametrize("error", [ValueError("no such sample"), KeyError("key"), OSError(2, "x")])
def test_an_exception_of_a_worker_keeps_its_type_and_traceback(cls, error):
    loader = cls(datasets.Fails(8, at=(3,), error=error), batch_size=2, num_workers=2)
    iterator = iter(loader)
    assert next(iterator)[1].tolist() == [0, 1]
    with pytest.raises(type(error)) as caught:
        next(iterator)
    text = str(caught.value)
    assert f"Caught {type(error).__name__} in DataLoader worker process 1." in text
    assert "Original Traceback (most recent call last)" in text
    assert "in __getitem__" in text
    assert labels(iterator) == [[4, 5], [6, 7]]  # the other batches follow


def test_an_exception_that_cannot_be_constructed_is_a_runtime_error(cls):
    error = datasets.TwoArguments(1, 2)
    loader = cls(datasets.Fails(2, at=(0,), error=error), num_workers=1)
    with pytest.raises(RuntimeError, match="Caught TwoArguments in DataLoader worker process 0"):
        next(iter(loader))


def test_an_exception_without_workers_is_unchanged(cls):
    error = ValueError("no such sample")
    with pytest.raises(ValueError, match="no such sample") as caught:
        list(cls(datasets.Fails(error=error)))
    assert caught.value is error


def test_an_exception_of_collate_fn_is_raised(cls, workers):
    def collate(samples):
        raise IndexError("in collate")

    with pytest.raises(IndexError, match="in collate"):
        next(iter(cls(datasets.Squares(), num_workers=workers, collate_fn=collate)))


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_worker_that_dies_is_an_error(how):
    # torch's loader may fail with ConnectionResetError: it asks the dead worker for descriptors.
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(torchdali.DataLoader(datasets.Harms(how), batch_size=2, num_workers=2))


def test_the_error_of_a_killed_worker_names_its_process_and_the_signal():
    # Without prefetching, index 3 is asked for after the results of 0 and 1 were taken.
    loader = torchdali.DataLoader(
        datasets.KilledWorker(), batch_size=None, num_workers=2, prefetch_factor=1
    )
    iterator = iter(loader)
    pid = [next(iterator), next(iterator)][1]
    with pytest.raises(
        RuntimeError, match=rf"DataLoader worker \(pid {pid}\) is killed by signal: Killed"
    ):
        list(iterator)


def test_out_of_order_batches_do_not_wait_for_a_slow_worker(cls):
    go_on = multiprocessing.get_context("fork").Event()

    class Slow(datasets.Squares):
        def __getitem__(self, index):
            if index == 0:
                go_on.wait()
            return super().__getitem__(index)

    loader = cls(
        Slow(10), batch_size=None, num_workers=2, in_order=False, multiprocessing_context="fork"
    )
    iterator = iter(loader)
    # Worker 0 is to make 0 and 2. Worker 1 makes the others.
    assert [next(iterator)[1] for _ in range(8)] == [1, 3, 4, 5, 6, 7, 8, 9]
    go_on.set()
    assert [index for _, index in iterator] == [0, 2]


def test_nested_tensors_pass_through_workers(cls):
    strided = [torch.nested.nested_tensor([torch.rand(3, 2), torch.rand(1, 2)]) for _ in range(4)]
    jagged = [torch.nested.as_nested_tensor(list(t.unbind()), layout=torch.jagged) for t in strided]
    for data in (strided, jagged):
        loader = cls(data, batch_size=2, num_workers=2, collate_fn=list)
        for found, given in zip([t for batch in loader for t in batch], data, strict=True):
            assert found.layout == given.layout
            assert all(map(torch.equal, found.unbind(), given.unbind()))
    with pytest.raises(RuntimeError, match="not currently supported by the default collate_fn"):
        next(iter(cls(strided, batch_size=2, num_workers=1)))


def test_a_dataset_that_cannot_be_pickled_works_with_fork(cls):
    class Local(datasets.Squares):
        pass

    data = Local(4)
    data.function = lambda: 1
    loader = cls(data, batch_size=2, num_workers=2, multiprocessing_context="fork")
    assert labels(loader) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]
)
def test_data_pipes_are_shuffled_and_sharded_as_torch_does_it(options):
    orders = []
    for cls in CLASSES.values():
        torch.manual_seed(5)
        loader = cls(
            IterableWrapper(range(20)).shuffle().sharding_filter(),
            batch_size=3,
            shuffle=True,
            **options,
        )
        orders.append([[batch.tolist() for batch in loader] for _ in range(3)])
    assert orders[0] == orders[1]
    assert all(sorted(flat(epoch)) == list(range(20)) for epoch in orders[0])


def test_threads_share_a_data_pipe():
    pipe = IterableWrapper(range(20)).shuffle().sharding_filter()
    loader = THREADS(pipe, batch_size=3, shuffle=True, num_workers=2, persistent_workers=True)
    epochs = [flat(batch.tolist() for batch in loader) for _ in range(2)]
    assert all(sorted(epoch) == list(range(20)) for epoch in epochs)
    assert epochs[0] != epochs[1]
