# SPDX-License-Identifier: Apache-2.0
"""What a loader has to provide to be tested: an adapter, and what it promises."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

__all__ = ["CHANGES", "Adapter", "Batch", "Entry", "Setup"]

# What may differ between the run that is killed and the one that resumes.
CHANGES = ("nothing", "threads", "batch size", "world size")


class Batch(NamedTuple):
    """A batch as the judge sees it.

    Attributes:
        ids: numbers of the samples, without padding that the loader marks as such.
        values: random values of the samples, if the loader draws any.
    """

    ids: list[int]
    values: Sequence[float] = ()


@dataclass(frozen=True)
class Setup:
    """One rank of a run.

    Attributes:
        data: the folder with the data, see data.py.
        size: samples of the data set.
        rank, world_size: of the process.
        batch_size: of each rank.
        threads: or worker processes, as the loader has them.
        seed: of the order.
    """

    data: str
    size: int
    rank: int
    world_size: int
    batch_size: int
    threads: int
    seed: int


class Adapter(Protocol):
    """A loader of one rank; made by a function of Setup."""

    def load(self, states: Sequence[Any]) -> None:
        """Has the next epoch() continue from the states of all ranks at the last checkpoint."""

    def epoch(self, number: int) -> Iterator[Batch]:
        """Returns the batches of an epoch; after load(), those that are left of it."""

    def state(self) -> Any:
        """Returns what pickle can store: where the loop is."""


def _no_promises() -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Entry:
    """A loader under test.

    Attributes:
        title: in tables.
        make: "module:function" that makes its Adapter.
        not_promised: changes that its documentation excludes, and what it says.
        equalizes: ranks get equally many samples, as DistributedSampler does it: samples beyond
            the data set are repeated, at most one for each rank but one, at the end of an epoch.
        values_follow: the random values of a sample do not depend on the setup.
        package: whose version is stored.
        python: environment variable with the interpreter; "": this one.
        large: also runs on 16 ranks.
        keeps_global_batch: with another number of ranks, all together have as large a batch.
    """

    title: str
    make: str
    not_promised: dict[str, str] = field(default_factory=_no_promises)
    equalizes: bool = False
    values_follow: bool = False
    package: str = "torchdali"
    python: str = ""
    large: bool = False
    keeps_global_batch: bool = False

    def maker(self) -> Callable[[Setup], Adapter]:
        """Returns the function that makes the adapter."""
        module, _, name = self.make.partition(":")
        made: Callable[[Setup], Adapter] = getattr(importlib.import_module(module), name)
        return made

    def interpreter(self) -> str:
        """Returns the Python that the loader is installed in.

        Raises:
            LookupError: it is not known.
        """
        if not self.python:
            return sys.executable
        if self.python not in os.environ:
            raise LookupError(f"{self.python} is not set; `make elastic-peers` installs the peer")
        return os.environ[self.python]
