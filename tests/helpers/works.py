# SPDX-License-Identifier: Apache-2.0
"""Work for worker processes. Imports no torch, so that they start quickly."""

from __future__ import annotations

import dataclasses
import os
import pickle
import resource
import signal
import time

import numpy as np

from torchdali._workers import structures
from torchdali._workers.process import Work


@dataclasses.dataclass
class Item:
    name: str
    value: object


class Echo(Work):
    """Gives back what it is asked for, as a data loader gives batches for indices."""

    def __init__(self, **options):
        super().__init__(**options)
        self.begun = None

    def begin(self, worker, num_workers):
        self.begun = worker, num_workers

    def do(self, task, slab):
        asked = pickle.loads(slab.request)
        if not isinstance(asked, (str, range)):
            pass
        elif asked == "who":
            asked = self.begun
        elif asked == "stop":
            raise StopIteration
        elif asked == "fail":
            raise KeyError("asked for it")
        elif asked == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif asked == "sleep":
            time.sleep(1000)
        elif asked == "pid":
            asked = os.getpid()
        elif asked == "no descriptors":
            os.close(lowest := os.dup(0))  # the descriptor that is allocated next
            limit(resource.RLIMIT_NOFILE, lowest)
        elif asked == "small files":
            limit(resource.RLIMIT_FSIZE, 1 << 20)
        elif isinstance(asked, range):
            asked = {"index": np.array(asked), "text": [str(i) for i in asked]}
        structures.store(slab, asked)


def limit(kind, value):
    """Sets a limit of this process."""
    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


class Refuses(Work):
    def begin(self, worker, num_workers):
        raise OSError("no license")


class Counter:
    """An iterable that can say where it is."""

    def __init__(self, end=12):
        self.at = 0
        self.end = end

    def __iter__(self):
        while self.at < self.end:
            self.at += 1
            yield np.full((4, 1), self.at - 1)
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]
