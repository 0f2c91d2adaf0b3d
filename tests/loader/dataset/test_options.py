# SPDX-License-Identifier: Apache-2.0
"""DataLoader options that torch's does not have: threads, device, copies."""

from __future__ import annotations

import collections
import copy
import dataclasses
import inspect
import pickle
import threading

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import PARALLEL, flat, labels

import torchdali
from torchdali import DataLoader
from torchdali.errors import ArgumentError, ArgumentTypeError
from torchdali.loader import Layout
from torchdali.loader._dataset import stages

try:  # imported here because it changes the environment
    from lightning.fabric.utilities import data as lightning_data
except ImportError:
    lightning_data = None


def test_threads_return_the_same_batches_in_the_same_order():
    for options in ({}, {"shuffle": True}, {"drop_last": True}, {"batch_size": None}):
        orders = []
        for workers in PARALLEL.values():
            torch.manual_seed(1)
            loader = DataLoader(datasets.Squares(), **{"batch_size": 3, **options}, **workers)
            orders.append([torch.as_tensor(b[1]).tolist() for b in loader])
        assert orders[0] == orders[1] == orders[2]


def test_threads_run_in_parallel_and_end():
    class Waits(datasets.Squares):
        barrier = threading.Barrier(2, timeout=20)

        def __getitem__(self, index):
            self.barrier.wait()
            return threading.current_thread().name

    loader = DataLoader(Waits(8), num_workers=2, workers="threads")
    names = {batch[0] for batch in loader}
    assert len(names) == 2
    assert not names & {t.name for t in threading.enumerate()}


def test_threads_share_one_iterator_of_an_iterable_dataset():
    loader = DataLoader(datasets.Counts(23), batch_size=3, num_workers=3, workers="threads")
    for _ in range(3):
        assert [b.tolist() for b in loader] == [
            list(range(i, min(i + 3, 23))) for i in range(0, 23, 3)
        ]


def test_get_worker_info_works_in_threads():
    class Asks(datasets.Squares):
        def __getitem__(self, index):
            info = torchdali.get_worker_info()
            return info.id, info.num_workers, info.dataset is data

    data = Asks(20)
    begun = []
    loader = DataLoader(data, num_workers=2, workers="threads", worker_init_fn=begun.append)
    found = [tuple(int(x) for x in batch) for batch in loader]
    assert {f[1:] for f in found} == {(2, True)}
    assert {f[0] for f in found} <= {0, 1}
    assert sorted(begun) == [0, 1]
    assert torchdali.get_worker_info() is None


def test_an_exception_of_a_thread_is_raised():
    loader = DataLoader(datasets.Fails(8, at=(3,)), batch_size=2, num_workers=2, workers="threads")
    iterator = iter(loader)
    assert next(iterator)[1].tolist() == [0, 1]
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker thread"):
        next(iterator)
    assert labels(iterator) == [[4, 5], [6, 7]]


def test_persistent_threads_survive_a_break():
    loader = DataLoader(
        datasets.Squares(40),
        batch_size=2,
        num_workers=2,
        workers="threads",
        persistent_workers=True,
    )
    for _ in range(5):
        for batch in loader:
            assert batch[1].tolist() == [0, 1]
            break
    assert flat(labels(loader)) == list(range(40))


def test_a_thread_that_hangs_is_an_error_after_the_timeout():
    release = threading.Event()

    class Hangs(datasets.Squares):
        def __getitem__(self, index):
            release.wait(20)
            return index

    iterator = iter(DataLoader(Hangs(), num_workers=1, workers="threads", timeout=0.3))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
            next(iterator)
    release.set()


class FakeDevice:
    """A fake GPU that records the calls of DeviceLayer."""

    def __init__(self, monkeypatch):
        self.calls = calls = []
        owner = self

        class Stream:
            def __init__(self, device=None):
                calls.append(("stream", device))

            def wait_event(self, event):
                calls.append(("wait", event.number))

            def __enter__(self):
                calls.append(("enter",))

            def __exit__(self, *_):
                calls.append(("leave",))

        class Event:
            count = 0

            def record(self, stream):
                Event.count += 1
                self.number = Event.count
                calls.append(("record", self.number))

        self.current = Stream("current")
        monkeypatch.setattr(torch.cuda, "Stream", Stream)
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "stream", lambda s: s)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda d: owner.current)
        monkeypatch.setattr(torch.Tensor, "pin_memory", lambda t: calls.append(("pin",)) or t)
        real = torch.Tensor.to

        def to(tensor, device, non_blocking=False):
            calls.append(("to", device.type, non_blocking))
            return real(tensor, "meta")

        monkeypatch.setattr(torch.Tensor, "to", to)
        monkeypatch.setattr(
            torch.Tensor, "record_stream", lambda t, s: calls.append(("used", s is owner.current))
        )


def test_batches_are_copied_to_the_gpu_one_ahead(monkeypatch, parallel):
    fake = FakeDevice(monkeypatch)
    loader = DataLoader(datasets.Squares(9), batch_size=3, device="cuda:0", **parallel)
    iterator = iter(loader)
    first = next(iterator)
    assert [t.device.type for t in first] == ["meta", "meta"]
    names = [call[0] for call in fake.calls]
    assert names.count("record") == 2  # the copy of the next batch has started
    assert names.count("pin") == 4
    assert ("to", "cuda", True) in fake.calls
    assert fake.calls.index(("record", 1)) < fake.calls.index(("wait", 1))
    assert ("used", True) in fake.calls
    assert ("wait", 2) not in fake.calls
    state = loader.state_dict()
    assert state["given"] == 1
    assert len(list(iterator)) == 2
    monkeypatch.undo()
    rest = DataLoader(datasets.Squares(9), batch_size=3, **parallel)
    rest.load_state_dict(state)
    assert labels(rest) == [[3, 4, 5], [6, 7, 8]]


def test_an_error_during_copies_ahead_keeps_its_position(monkeypatch, parallel):
    FakeDevice(monkeypatch)
    loader = DataLoader(datasets.Fails(9, at=(4,)), batch_size=3, device="cuda:0", **parallel)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(ValueError, match="no such sample"):
        next(iterator)
    assert next(iterator)[0].shape == (3, 2)
    with pytest.raises(StopIteration):
        next(iterator)


def test_other_devices_are_supported_or_errors(parallel):
    for device, expected in (("cpu", "cpu"), (None, "cpu"), ("meta", "meta")):
        loader = DataLoader(datasets.Structures(4), batch_size=2, device=device, **parallel)
        for batch in loader:
            assert batch["big"].device.type == expected
            assert batch["point"].x.device.type == expected
            assert batch["text"][0].startswith("t")


@pytest.mark.cuda
def test_batches_are_on_the_gpu(parallel):
    loader = DataLoader(datasets.Squares(20), batch_size=3, device="cuda", **parallel)
    found = [batch[1] for batch in loader]
    assert all(t.device.type == "cuda" for t in found)
    assert torch.cat(found).tolist() == list(range(20))


def test_structures_keep_their_types():
    @dataclasses.dataclass
    class Item:
        a: torch.Tensor
        b: str

    value = {
        "x": [torch.ones(1), ("t", datasets.Point(torch.ones(2), 3))],
        "y": Item(torch.ones(3), "b"),
        "z": collections.OrderedDict(q=torch.ones(4)),
    }
    moved = stages.map_tensors(value, lambda t: t + 1)
    assert moved["x"][1][1].x.tolist() == [2, 2]
    assert moved["y"].a.tolist() == [2, 2, 2]
    assert type(moved["z"]) is collections.OrderedDict
    assert value["y"].a.tolist() == [1, 1, 1]


def misspelled(image: Layout("CHW").of):
    return image


def test_a_layout_has_letters():
    with pytest.raises(ArgumentTypeError, match="Layout: expected letters, got 3"):
        Layout(3)
    with pytest.raises(ArgumentError, match="Layout: there are no letters"):
        Layout("")


def in_a_tuple(image, label):
    return image, label


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"workers": "fibres"}, ArgumentError, '"processes", "threads"'),
        ({"on_error": "ignore"}, ArgumentError, '"raise", "skip", "replace"'),
        ({"max_errors": -1}, ArgumentError, "expected 0 or more"),
        ({"max_errors": 1.5}, ArgumentTypeError, "expected an integer"),
        (
            {"workers": "threads", "num_workers": 1, "multiprocessing_context": "fork"},
            ArgumentError,
            "is for processes",
        ),
        ({"pipeline_options": {}}, ArgumentError, "without `pipeline`"),
        ({"pipeline": lambda a: a, "collate_fn": list}, ArgumentError, "makes the batch"),
        ({"pipeline": lambda a: a, "batch_size": None}, ArgumentError, "works on batches"),
        (
            {"pipeline": torchdali.pipeline_def(lambda: 1)},
            ArgumentTypeError,
            "leave out @pipeline_def",
        ),
        ({"pipeline": 3}, ArgumentTypeError, "`pipeline` is a int, expected a function"),
        ({"fields": {"a": "HWC"}}, ArgumentError, "`fields` without `pipeline`"),
        ({"pipeline": misspelled}, ArgumentError, "(?s)`image`.*cannot be evaluated.*`fields`"),
    ],
)
def test_wrong_arguments_are_errors(options, error, text):
    with pytest.raises(error, match=text):
        DataLoader(datasets.Squares(), **options)


def test_a_loader_can_be_recreated_from_its_attributes():
    options = {
        "batch_size": 3, "workers": "threads", "num_workers": 1, "on_error": "skip",
        "max_errors": 4, "device": "meta", "pipeline": in_a_tuple,
        "pipeline_options": {"num_threads": 1},
    }  # fmt: skip
    loader = DataLoader(datasets.Squares(), **options)
    names = inspect.signature(DataLoader.__init__).parameters.keys() - {"self", "shuffle"}
    found = {name: getattr(loader, name) for name in names}
    found.update(batch_sampler=None)
    again = DataLoader(**found)
    for name in options:
        assert getattr(again, name) == getattr(loader, name)


def test_lightning_can_recreate_a_loader():
    if lightning_data is None:
        pytest.skip("lightning is not installed")
    loader = DataLoader(datasets.Arrays(8), batch_size=2, pipeline=in_a_tuple, on_error="skip")
    again = lightning_data._update_dataloader(loader, [3, 2, 1, 0])
    assert type(again) is DataLoader
    assert again.on_error == "skip"
    assert labels(again) == [[3, 2], [1, 0]]


def test_a_copy_has_its_own_epoch(parallel):
    loader = DataLoader(datasets.Squares(6), batch_size=3, **parallel)
    iterator = iter(loader)
    next(iterator)
    for again in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        assert labels(again) == [[0, 1, 2], [3, 4, 5]]
    assert next(iterator)[1].tolist() == [3, 4, 5]


def test_a_process_that_uses_cuda_may_fork_workers(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    loader = DataLoader(datasets.Squares(4), num_workers=1, multiprocessing_context="fork")
    assert len(labels(loader)) == 4
