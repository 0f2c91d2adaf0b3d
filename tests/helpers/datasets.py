# SPDX-License-Identifier: Apache-2.0
"""Datasets and samplers for the loader tests; worker processes of any start method import them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import namedtuple

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, Sampler

Point = namedtuple("Point", "x y")


def set_processors(monkeypatch, count):
    """Has torch's DataLoader see so many processors: it warns where there are more workers."""
    if hasattr(torch._utils, "cpu_count"):  # torch 2.13
        monkeypatch.setattr(torch._utils, "cpu_count", lambda: count)
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)))


class Squares(Dataset):
    def __init__(self, count=20):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.tensor([index, index * index]), index


class WaitsOnce(Squares):
    """Sample 0 waits until somebody opens a named pipe for writing."""

    def __init__(self, count, fifo):
        super().__init__(count)
        self.fifo = fifo

    def __getitem__(self, index):
        if index == 0:
            with open(self.fifo, "rb"):
                pass
        return super().__getitem__(index)


class Arrays(Squares):
    """Images whose values are their index, and the index."""

    def __getitem__(self, index):
        return np.full((5, 6, 3), index, np.uint8), index


class Whole(Squares):
    """Gives all samples of a batch at once."""

    def __getitems__(self, indices):
        return [(torch.tensor([-1, -1]), i) for i in indices]


class Structures(Squares):
    def __getitem__(self, index):
        return {
            "float": index / 2,
            "int": index,
            "text": f"t{index}",
            "bytes": bytes([index]),
            "array": np.full((2, 3), index, np.float32),
            "point": Point(np.int64(index), [torch.tensor(index), True]),
            "big": torch.full((64, 64), index, dtype=torch.int16),
        }


class Randomness(Squares):
    """Gives what the generators of a worker give."""

    def __getitem__(self, index):
        numpy = np.random.randint(1 << 30)  # noqa: NPY002
        return torch.randint(1 << 30, ()), random.randrange(1 << 30), numpy


class Info(Squares):
    """Gives what a worker knows about itself."""

    def __getitem__(self, index):
        info = torch.utils.data.get_worker_info()
        if info is None:
            return -1, 0, 0, False
        return info.id, info.num_workers, info.seed, isinstance(info.dataset, Info)


class Fails(Squares):
    """Raises what it is told to, at some indices."""

    def __init__(self, count=20, at=(5,), error=None):
        super().__init__(count)
        self.at, self.error = set(at), error or ValueError("no such sample")

    def __getitem__(self, index):
        if index in self.at:
            raise self.error
        return super().__getitem__(index)


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Harms(Squares):
    """Does something bad to its process, or to the time, at one index."""

    def __init__(self, how, at=5, count=20):
        super().__init__(count)
        self.how, self.at = how, at

    def __getitem__(self, index):
        if index == self.at:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.how == "exit":
                os._exit(3)
            elif self.how == "sleep":
                time.sleep(1000)  # longer than a test may take
            elif self.how == "unpicklable":
                return threading.Lock()
            elif self.how == "local":

                class Local(Exception):
                    pass

                raise Local("a local one")
        return super().__getitem__(index)


class KilledWorker(Dataset):
    """The process ids of workers; the worker of index 3 is killed."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()


class Counts(IterableDataset):
    """The numbers up to a count, divided among workers."""

    def __init__(self, count=13, length=None):
        self.count, self.length = count, length

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        yield from range(first, self.count, step)

    def __len__(self):
        if self.length is None:
            raise TypeError("it has no length")
        return self.length


class Uneven(IterableDataset):
    """Worker 0 has 7 numbers, the others have one each."""

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        worker = info.id if info else 0
        yield from range(100 * worker, 100 * worker + (1 if worker else 7))


class CountIterator:
    """An iterator that can say where it is."""

    def __init__(self, numbers):
        self.numbers, self.at = list(numbers), 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.numbers):
            raise StopIteration
        self.at += 1
        return self.numbers[self.at - 1]

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class StatefulIterator(Counts):
    """Its iterator has a state."""

    def __iter__(self):
        return CountIterator(super().__iter__())


class StatefulIterable(Counts):
    """The dataset itself has a state."""

    def __init__(self, count=13):
        super().__init__(count)
        self.at = 0

    def __iter__(self):
        for number in list(super().__iter__())[self.at :]:
            self.at += 1
            yield number
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class StatefulMap(Squares):
    """Counts what it was asked for."""

    def __init__(self, count=20):
        super().__init__(count)
        self.asked = 0

    def __getitem__(self, index):
        self.asked += 1
        return index, self.asked

    def state_dict(self):
        return {"asked": self.asked}

    def load_state_dict(self, state):
        self.asked = state["asked"]


class CountsEpochs(IterableDataset):
    """The numbers up to a count plus 1000 for each epoch; the dataset has the state."""

    def __init__(self, count):
        self.count, self.next, self.epoch = count, 0, 0

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for number in range(self.next, self.count):
            self.next = number + 1
            if number % step == first:
                yield number + 1000 * self.epoch
        self.next, self.epoch = 0, self.epoch + 1

    def state_dict(self):
        return {"next": self.next, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.next, self.epoch = state["next"], state["epoch"]


class StatefulSampler(Sampler):
    """Goes down; the sampler has the state."""

    def __init__(self, count):
        self.count, self.given = count, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        for index in range(self.count - self.given, 0, -1):
            self.given += 1
            yield index - 1
        self.given = 0

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


class IteratorSampler(Sampler):
    """Goes down; its iterator has the state."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        return CountIterator(range(self.count - 1, -1, -1))


class StatefulBatchSampler(StatefulSampler):
    """Gives batches of 3."""

    def __len__(self):
        return -(-self.count // 3)

    def __iter__(self):
        while self.given * 3 < self.count:
            self.given += 1
            yield list(range(self.given * 3 - 3, min(self.given * 3, self.count)))
        self.given = 0


class Resources(Squares):
    """Opens a file and a thread in each worker."""

    def __init__(self, path, count=20):
        super().__init__(count)
        self.path, self.file = path, None

    def __getitem__(self, index):
        if self.file is None:
            self.file = open(self.path, "rb")  # noqa: SIM115
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        return self.file.fileno() >= 0


class Nested(Squares):
    """Has a loader with workers of its own."""

    def __init__(self, cls, count=4):
        super().__init__(count)
        self.cls = cls

    def __getitem__(self, index):
        loader = self.cls(Squares(6), batch_size=2, num_workers=1)
        return sum(int(labels.sum()) for _, labels in loader)


def note_worker(worker_id):
    """As worker_init_fn: seeds that tell the workers apart."""
    torch.manual_seed(1000 + worker_id)
    random.seed(worker_id)
    np.random.seed(worker_id)  # noqa: NPY002


def refuse(worker_id):
    raise KeyError(f"worker {worker_id}")


def as_list(samples):
    return list(samples)


def labels_only(samples):
    return [label for _, label in samples]
