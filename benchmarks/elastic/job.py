# SPDX-License-Identifier: Apache-2.0
"""A training job of several processes, one per rank, that can be killed at any moment."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.elastic.adapter import Batch, Entry, Setup

__all__ = ["Job", "LoaderError", "Nursery"]

ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 120


class LoaderError(RuntimeError):
    """The loader has raised an error, or does not answer."""


class Nursery:
    """Starts the processes of a loader.

    Args:
        entry: of the loader.
    """

    def __init__(self, entry: Entry) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="elastic")
        self._numbers = itertools.count()
        self._log = open(Path(self._folder.name) / "log", "w+")  # noqa: SIM115 (open as long as this)
        self._process = subprocess.Popen(
            [entry.interpreter(), "-m", "benchmarks.elastic.worker", entry.make],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            self._log.seek(0)
            last = (self._log.read().strip().splitlines() or ["it ended"])[-1]
            self.close()
            raise LookupError(last)

    def start(self, setup: Setup, environment: dict[str, str]) -> tuple[Connection, int]:
        """Starts a rank; returns a connection to it and its process id."""
        assert self._process.stdin is not None
        path = f"{self._folder.name}/{next(self._numbers)}"
        with Listener(path, "AF_UNIX") as listener:
            document = {
                "socket": path,
                "setup": dataclasses.asdict(setup),
                "environment": environment,
            }
            self._process.stdin.write(json.dumps(document) + "\n")
            self._process.stdin.flush()
            connection = listener.accept()
        return connection, connection.recv()

    def close(self) -> None:
        """Ends the process that others were forked from."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._log.close()
        self._folder.cleanup()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Job:
    """The processes of all ranks. They take each step together, as in training.

    Args:
        nursery: of the loader.
        setup: of rank 0.
    """

    def __init__(self, nursery: Nursery, setup: Setup) -> None:
        count = setup.world_size
        port = str(_free_port())
        self._ranks: list[tuple[Connection, int]] = []
        for rank in range(count):
            environment = {
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(count),
                "LOCAL_WORLD_SIZE": str(count),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            }
            own = dataclasses.replace(setup, rank=rank)
            self._ranks.append(nursery.start(own, environment))
        self._at_end: set[int] = set()
        self._all("make")

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def _all(self, request: str, argument: Any = None, ranks: Any = None) -> list[Any]:
        """Sends a request to all ranks, or some, and returns their answers."""
        chosen = range(len(self._ranks)) if ranks is None else ranks
        for rank in chosen:
            self._ranks[rank][0].send((request, argument))
        answers = []
        errors = []
        deadline = time.monotonic() + _TIMEOUT_S
        for rank in chosen:
            connection = self._ranks[rank][0]
            try:
                if not connection.poll(max(0.0, deadline - time.monotonic())):
                    raise LoaderError(f"rank {rank} does not answer")
                kind, answer = connection.recv()
            except (EOFError, ConnectionError):
                raise LoaderError(f"the process of rank {rank} has died") from None
            answers.append(answer)
            if kind == "error":
                errors.append(answer)
                deadline = min(deadline, time.monotonic() + 5)  # others may wait for this rank
        if errors:
            raise LoaderError(errors[0])
        return answers

    def load(self, states: Sequence[bytes]) -> None:
        """Has all ranks load the states of a checkpoint."""
        self._all("load", list(states))

    def begin(self, epoch: int) -> None:
        """Begins an epoch, or what is left of it."""
        self._at_end = set()
        self._all("epoch", epoch)

    def step(self) -> list[Batch | None] | None:
        """Returns the batch of each rank, None for one that has none; None at the end."""
        ranks = [rank for rank in range(len(self._ranks)) if rank not in self._at_end]
        found: list[Batch | None] = [None] * len(self._ranks)
        for rank, answer in zip(ranks, self._all("next", ranks=ranks), strict=True):
            if answer is None:
                self._at_end.add(rank)
            else:
                found[rank] = Batch(*answer)
        return found if any(one is not None for one in found) else None

    def states(self) -> list[bytes]:
        """Returns the states of all ranks, for a checkpoint."""
        return self._all("state")

    def kill(self, within_step_s: float | None = None) -> None:
        """Kills all processes by SIGKILL.

        Args:
            within_step_s: ask for a batch before, and wait that long.
        """
        if within_step_s is not None:
            for rank, (connection, _) in enumerate(self._ranks):
                if rank not in self._at_end:
                    connection.send(("next", None))
            time.sleep(within_step_s)
        for connection, pid in self._ranks:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            connection.close()
        self._ranks = []
