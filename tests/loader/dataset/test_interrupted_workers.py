# SPDX-License-Identifier: Apache-2.0
"""Batches of workers are taken whole or not at all, wherever next() is interrupted."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from helpers.interruptions import interrupted
from helpers.processes import descendants

from torchdali import DataLoader, fn
from torchdali.errors import PipelineError

BATCH = 2
FAR = 1 << 20
KINDS = {
    "plain": {},
    "pipeline": {
        "pipeline": lambda image, label: (fn.copy(image), label),
        "pipeline_options": {"num_threads": 1},
    },
    "fill_batches": {"fill_batches": True, "on_error": "skip"},
    "pipeline and fill_batches": {
        "pipeline": lambda image, label: (fn.copy(image), label),
        "pipeline_options": {"num_threads": 1},
        "fill_batches": True,
        "on_error": "skip",
    },
}


class Images(torch.utils.data.Dataset):
    """Images whose values are their index, and the index; sample 1 cannot be read."""

    bad = 1

    def __init__(self, count=FAR):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.bad:
            raise ValueError("bad")
        return np.full(3, index), index


class Good(Images):
    bad = None


class Unequal(torch.utils.data.IterableDataset):
    """Worker process 1 returns fewer samples than worker process 0. Threads share the dataset."""

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        return iter([10] if info is not None and info.id else [0, 1, 2])


class Odd(Images):
    """Samples with odd indices cannot be read."""

    def __getitem__(self, index):
        if index % 2:
            raise ValueError("odd")
        return index


def make_loader(kind, workers, count=FAR, **options):
    dataset = Images(count) if "fill_batches" in kind else Good(count)
    return DataLoader(
        dataset,
        batch_size=BATCH,
        num_workers=2 if workers else 0,
        workers=workers or "processes",
        **KINDS[kind],
        max_errors=1,
        **options,
    )


def samples_of(batch):
    """Returns the samples of a batch, and checks that images and labels belong together."""
    images, labels = (np.asarray(field).reshape(len(batch[1]), -1) for field in batch)
    assert np.array_equal(images, np.broadcast_to(labels, images.shape))
    return labels[:, 0].tolist()


def samples_from(first, kind):
    """Yields the samples that come in order, from one on."""
    bad = Images.bad if "fill_batches" in kind else None
    return (index for index in range(first, FAR) if index != bad)


@pytest.mark.filterwarnings("ignore:a sample of Images")
@pytest.mark.parametrize("workers", ["processes", "threads"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_batch_is_the_next_one(kind, workers):
    loader = make_loader(kind, workers)
    iterator, expected = iter(loader), samples_from(0, kind)
    for number, (where, batch) in enumerate(interrupted(iterator.__next__, returns=False)):
        samples = [next(expected) for _ in range(BATCH)]
        if batch is None and number % 8 == 0:
            resumed = make_loader(kind, None)
            resumed.load_state_dict(loader.state_dict())
            assert samples_of(next(iter(resumed))) == samples, where
        assert samples_of(next(iterator) if batch is None else batch) == samples, where


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_an_interrupted_batch_out_of_order_is_not_lost(workers):
    loader = DataLoader(Good(), num_workers=2, workers=workers, in_order=False)
    iterator, seen = iter(loader), []
    for _, batch in interrupted(iterator.__next__, returns=False):
        seen += [] if batch is None else samples_of(batch)
    ahead = loader.state_dict()["ahead"]
    assert sorted(seen + [index for (index,) in ahead]) == list(range(len(seen) + len(ahead)))
    seen += [sample for batch in itertools.islice(iterator, 10) for sample in samples_of(batch)]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("workers", ["processes", "threads"])
@pytest.mark.parametrize("dataset", [range(4), Unequal()], ids=["indexed", "iterable"])
def test_an_interrupted_epoch_has_all_of_its_samples(dataset, workers):
    loader = DataLoader(dataset, num_workers=2, workers=workers, persistent_workers=True)
    expected = [int(batch) for batch in loader]
    iterator, seen = iter(loader), []

    def take():
        seen.extend(int(batch) for batch in iterator)

    for where, _ in interrupted(take, returns=False, step=3):
        take()
        assert seen == expected, where
        iterator = iter(loader)
        seen.clear()


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_workers_end_if_the_end_of_the_epoch_is_interrupted(workers):
    def before_the_end():
        iterator = iter(DataLoader(range(1), num_workers=1, workers=workers))
        next(iterator)
        return iterator

    def running():
        return set(threading.enumerate()), set(descendants(os.getpid()))

    before, iterators = running(), [before_the_end()]
    for where, _ in interrupted(lambda: next(iterators[0], None), returns=False):
        assert list(iterators.pop()) == [], where
        assert running() == before, where
        iterators.append(before_the_end())


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_an_error_of_a_batch_is_raised_though_interrupted(workers):
    iterator = iter(DataLoader(Odd(), batch_size=None, num_workers=2, workers=workers))

    def take():
        try:
            return int(next(iterator))
        except ValueError:
            return "error"
        except KeyboardInterrupt as error:
            if isinstance(error.__context__, ValueError):
                return "error"  # interrupted while it was raised
            raise

    for index, (where, got) in enumerate(interrupted(take, returns=False)):
        got = take() if got is None else got
        assert got == ("error" if index % 2 else index), where


def test_a_sampler_that_was_interrupted_in_its_own_code_does_not_end_the_epoch():
    def sampler():
        yield from range(6)
        raise KeyboardInterrupt

    iterator = iter(DataLoader(range(8), num_workers=2, sampler=sampler(), workers="threads"))
    seen, raised = [], []
    for _ in range(8):
        try:
            seen.append(int(next(iterator)))
        except (KeyboardInterrupt, PipelineError) as error:
            raised.append(type(error))
    assert seen == [0, 1]
    assert raised == [KeyboardInterrupt] + [PipelineError] * 5


def test_threads_that_are_alive_at_exit_end_quietly(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torchdali\n"
        "loader = torchdali.DataLoader(range(8), batch_size=2, num_workers=2,\n"
        "                              persistent_workers=True, workers='threads')\n"
        "print(len(list(loader)))\n"
        "first = next(iter(loader))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("4\n", "")
