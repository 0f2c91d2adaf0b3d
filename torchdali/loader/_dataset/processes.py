# SPDX-License-Identifier: Apache-2.0
"""Worker processes of a loader: what runs in them, and how the loader asks them for batches."""

from __future__ import annotations

import collections
import dataclasses
import multiprocessing
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy.random  # here, and not anew in each forked worker: it takes a while to load
import torch
from torch.utils.data import IterDataPipe
from torch.utils.data._utils import collate as torch_collate
from torch.utils.data._utils import worker as torch_worker

from torchdali._workers import structures
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali._workers.process import Work
from torchdali.loader._dataset.collate import SlabCollate, leave_shared_memory_alone
from torchdali.loader._dataset.fetch import NOTHING, Errors, Fetcher, Kind
from torchdali.loader._dataset.info import worker_info
from torchdali.loader._dataset.replies import Reply, failed, made

__all__ = ["LoaderWork", "Processes"]

_MOST_LEASED = 16  # batches in shared memory that the user keeps; further ones are copied
_WHERE = "worker process"


@dataclasses.dataclass
class LoaderWork(Work):
    """Makes batches of a dataset, in a worker process.

    Attributes:
        dataset, collate, init: the user's.
        kind: see Kind.
        seed: of worker 0; the others count on.
        states: where each worker begins, None where it is the beginning.
        shared_seed: of an IterDataPipe, for the first epoch.
    """

    dataset: Any
    collate: Callable[[Any], Any]
    init: Callable[[int], None] | None
    kind: Kind
    seed: int
    states: list[Any]
    shared_seed: int | None

    def __post_init__(self) -> None:
        super().__init__(num_outputs=0, max_samples=1)
        self._worker = 0
        self._fetcher: Fetcher | None = None
        self._epoch = -1
        self._failure: Reply | None = None
        self._in_slab: SlabCollate | None = None

    @property
    def given(self) -> Any:
        """See Work."""
        return {
            "dataset": self.dataset,
            "collate_fn": self.collate,
            "worker_init_fn": self.init,
        }

    def begin(self, worker: int, num_workers: int) -> None:
        """Prepares the process as torch's DataLoader does; see Work."""
        self._worker = worker
        torch.set_num_threads(1)
        seed = self.seed + worker
        random.seed(seed)
        _seed_torch(seed)
        generate: Any = torch_worker._generate_state
        numpy.random.seed(generate(self.seed, worker))  # noqa: NPY002
        leave_shared_memory_alone()
        if self.collate is torch_collate.default_collate:
            self._in_slab = SlabCollate()
        torch_worker._worker_info = worker_info(
            id=worker, num_workers=num_workers, seed=seed, dataset=self.dataset
        )
        try:
            if self.init is not None:
                self.init(worker)
        except Exception:
            self._failure = failed(worker, _WHERE)

    def do(self, task: Any, slab: Any) -> None:
        """See Work."""
        ticket, shared_seed, indices = pickle.loads(slab.request)
        reply = self._reply(task.epoch, shared_seed, indices, slab)
        placed: dict[int, int] = self._in_slab.placed if self._in_slab else {}
        try:
            structures.store(slab, (ticket, reply.__dict__), placed)
        except Exception:
            if reply.failure is None:
                raise
            reply.failure = reply.failure.without_class()
            structures.store(slab, (ticket, reply.__dict__))
        finally:
            placed.clear()

    def _reply(self, epoch: int, shared_seed: int | None, indices: Any, slab: Any) -> Reply:
        if self._failure is not None:
            return self._failure
        worker = self._worker
        try:
            if epoch != self._epoch:
                self._begin_epoch(epoch, shared_seed)
            fetcher = self._fetcher
            assert fetcher is not None
            errors = Errors()
            try:
                data = fetcher.samples(indices, errors)
            except StopIteration:
                if not self.kind.iterable:
                    raise
                state = fetcher.state() if fetcher.has_state else None
                return Reply(worker, state=state, ended=True, errors=errors)
            if data is not NOTHING:
                data = self._in_slab(data, slab) if self._in_slab else self.collate(data)
            return made(fetcher, worker, data, errors)
        except Exception:
            return failed(worker, _WHERE)

    def _begin_epoch(self, epoch: int, shared_seed: int | None) -> None:
        first = self._epoch < 0
        if isinstance(self.dataset, IterDataPipe):
            generator = torch.Generator()
            generator.manual_seed((self.shared_seed if first else shared_seed) or 0)
            settings = torch.utils.data.graph_settings
            self.dataset = settings.apply_random_seed(self.dataset, generator)
        self._epoch = epoch
        state = self.states[self._worker] if first else None
        self._fetcher = Fetcher(self.dataset, self.kind, self.collate, state)


def _seed_torch(seed: int) -> None:
    """Does what torch.manual_seed() does.

    That keeps for each accelerator which lines called it, and so reads whole source files: more
    than a megabyte in each worker. Where there are none it is not asked.
    """
    if torch.accelerator.current_accelerator() is None:
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


class Processes:
    """Worker processes; see Crew.

    Args:
        work: what they do.
        num_workers: how many.
        context: of multiprocessing; None: the default one.
        timeout: seconds to wait for a batch; 0: for ever.
        by_name: whether jobs are given to certain workers, one after the other.
    """

    def __init__(
        self, work: LoaderWork, num_workers: int, context: Any, timeout: float, by_name: bool
    ) -> None:
        self.lanes = num_workers if by_name else 1
        self._timeout = timeout
        self._posted: collections.deque[int] = collections.deque()
        self._epoch = 0
        self._shared_seed: int | None = None
        method = (context or multiprocessing).get_start_method()
        self._pool = Pool(
            [work], num_workers, method, timeout=timeout or None, forks_with_cuda=True
        )
        self._pids: list[int] = []
        self._ended_by: str | None = None  # why there are no workers any more

    def start(self) -> None:
        """Starts them. Jobs may have been posted before."""
        self._pool.start()
        self._pids = self._pool.pids

    def post(self, ticket: int, lane: int, indices: Any) -> None:
        """See Crew."""
        request = pickle.dumps((ticket, self._shared_seed, indices))
        worker = lane if self.lanes > 1 or self._pool.num_workers == 1 else -1
        try:
            posted = self._pool.post(0, epoch=self._epoch, worker=worker, request=request)
        except WorkerFailure as failure:
            raise self._lost(failure) from None
        if not posted:
            raise RuntimeError(
                "more batches are asked for ahead than there is room for: prefetch_factor * "
                "num_workers may be 256 at most"
            )
        self._posted.append(ticket)

    def take(self, in_order: bool) -> tuple[int, Reply]:
        """See Crew."""
        if self._ended_by is not None:
            raise RuntimeError(self._ended_by)
        try:
            position = 0 if in_order else self._pool.first_ready(0)
            ticket = self._posted[position]
            lease = self._pool.take(0, position=position)
        except WorkerFailure as failure:
            if self._pool.is_dead:
                raise self._lost(failure) from None
            del self._posted[position]
            raise RuntimeError(
                f"a DataLoader worker process could not hand its batch over:\n{failure.text}"
            ) from None
        del self._posted[position]
        own, fields = structures.load(lease, _MOST_LEASED)
        assert own == ticket
        return ticket, Reply(**fields)

    def _lost(self, failure: WorkerFailure) -> RuntimeError:
        self._posted.clear()
        if self._ended_by is None:
            self._ended_by = self._why(failure.text)
        return RuntimeError(self._ended_by)

    def _why(self, text: str) -> str:
        if "no batch came" in text:
            return f"DataLoader timed out after {self._timeout} seconds; its workers were ended"
        if "cannot load the source" in text:
            return f"DataLoader workers cannot be started: {text}"
        pids = ", ".join(map(str, self._pids))
        return f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {text}"

    def begin_epoch(self, shared_seed: int | None) -> None:
        """See Crew."""
        self._pool.cancel(0)
        self._posted.clear()
        self._epoch += 1
        self._shared_seed = shared_seed

    @property
    def is_lost(self) -> bool:
        """Whether there are no workers any more."""
        return self._pool.is_dead

    def close(self) -> None:
        """See Crew."""
        self._pool.close()
