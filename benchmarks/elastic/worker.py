# SPDX-License-Identifier: Apache-2.0
"""The processes of the ranks: ``python -m benchmarks.elastic.worker MAKE``.

A process that has imported a loader forks one process per rank, because importing takes seconds.
Each line that it reads is a JSON document: the setup of a rank, environment variables, and the
socket on which that process serves requests.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Client, Connection
from typing import Any

from benchmarks.elastic.adapter import Adapter, Entry, Setup

_PR_SET_PDEATHSIG = 1


def _serve(connection: Connection, make: Callable[[Setup], Adapter], setup: Setup) -> None:
    loader: Any = None
    batches: Any = None
    while True:
        try:
            request, argument = connection.recv()
        except EOFError:
            return
        try:
            answer: Any = None
            if request == "make":
                loader = make(setup)
            elif request == "load":
                loader.load([pickle.loads(state) for state in argument])
            elif request == "epoch":
                batches = iter(loader.epoch(argument))
            elif request == "next":
                answer = next(batches, None)
                answer = None if answer is None else tuple(answer)
            elif request == "state":
                answer = pickle.dumps(loader.state())
            connection.send(("done", answer))
        except BaseException as error:  # also those that end a process
            text = " ".join(f"{type(error).__name__}: {error}".split())
            connection.send(("error", text))


def _child(line: str, make: Callable[[Setup], Adapter]) -> None:
    document = json.loads(line)
    os.environ.update(document["environment"])
    with Client(document["socket"], "AF_UNIX") as connection:
        connection.send(os.getpid())
        _serve(connection, make, Setup(**document["setup"]))


def main() -> None:
    """See the module's docstring."""
    warnings.simplefilter("ignore")
    make = Entry("", sys.argv[1]).maker()
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while line := sys.stdin.readline():
        if os.fork():
            continue
        os.setsid()  # what it starts is killed with it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        sys.stdin = open(os.devnull)  # noqa: SIM115 (open as long as the process)
        code = 1
        try:
            _child(line, make)
            code = 0
        finally:
            os._exit(code)


if __name__ == "__main__":
    main()
