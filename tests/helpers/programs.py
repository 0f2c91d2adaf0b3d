# SPDX-License-Identifier: Apache-2.0
"""Python programs in processes of their own, started quickly.

A process that has torch and torchdali imported forks them, so that no program spends a second and a
half on imports. Apart from that they behave as programs that Python runs: they have the given
arguments, environment, directory, standard output and error, they are `__main__`, and at their end
the interpreter exits. Start an interpreter with subprocess where a program needs options of Python,
or variables that are read when modules are imported.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .program_server import MAX_REQUEST

_SERVER = Path(__file__).with_name("program_server.py")
ROOT = _SERVER.parents[2]
_STEP_SECONDS = 0.005


class _Server:
    """The process to fork from, and what it has reported."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(_SERVER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,
            )
        self.channel = ours
        self.codes: dict[int, int] = {}
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the process."""
        if self.owner == os.getpid():
            self.channel.close()
            self.process.wait()

    def start(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """Returns the id of a new process."""
        socket.send_fds(self.channel, [pickle.dumps(request)], descriptors)
        while True:
            kind, value = pickle.loads(self.channel.recv(MAX_REQUEST))
            if kind == "started":
                # Ids are used again: it may be the code of an earlier process.
                self.codes.pop(value, None)
                return int(value)
            self.codes[kind] = value

    def poll(self, pid: int) -> int | None:
        """Returns the exit code of a process, once; None while it runs."""
        with contextlib.suppress(BlockingIOError):
            while pid not in self.codes:
                data = self.channel.recv(MAX_REQUEST, socket.MSG_DONTWAIT)
                number, code = pickle.loads(data)
                self.codes[number] = code
        return self.codes.pop(pid, None)


_server: _Server | None = None


class Program:
    """A running program, with the interface of subprocess.Popen."""

    def __init__(self, server: _Server, pid: int, out: int, err: int) -> None:
        self._server = server
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = os.fdopen(out, encoding="utf-8")
        self.stderr = os.fdopen(err, encoding="utf-8")

    def poll(self) -> int | None:
        """Returns the exit code, None while the program runs."""
        if self.returncode is None:
            self.returncode = self._server.poll(self.pid)
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Waits for the end; returns the exit code."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"program {self.pid}", timeout)
            time.sleep(_STEP_SECONDS)
        return code

    def communicate(self, timeout: float = 60) -> tuple[str, str]:
        """Waits for the end; returns what was written to standard output and error."""
        found = {"out": "", "err": ""}
        readers = [
            threading.Thread(target=lambda: found.update(out=self.stdout.read())),
            threading.Thread(target=lambda: found.update(err=self.stderr.read())),
        ]
        for reader in readers:
            reader.start()
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            for reader in readers:
                reader.join()
            self.close()
        return found["out"], found["err"]

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the program has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends the program at once."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Closes the pipes."""
        self.stdout.close()
        self.stderr.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.close()


def start(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    new_session: bool = False,
    warnings: str = "",
    preload: Sequence[str] = (),
) -> Program:
    """Starts a program.

    Args:
        arguments: a path and its arguments, or "-c", a text and its arguments.
        env: variables besides those of this process.
        cwd: directory.
        new_session: whether it leads a session, and with that a process group.
        warnings: what to do with warnings, such as "error"; empty: as Python does.
        preload: modules that are imported before the process is forked, once for all programs.
    """
    global _server
    if _server is None or _server.owner != os.getpid() or _server.process.poll() is not None:
        _server = _Server()
    out, their_out = os.pipe()
    err, their_err = os.pipe()
    try:
        pid = _server.start(
            {
                "arguments": [str(argument) for argument in arguments],
                "env": {**os.environ, **(env or {})},
                "cwd": str(cwd or Path.cwd()),
                "new_session": new_session,
                "warnings": warnings,
                "preload": list(preload),
            },
            [their_out, their_err],
        )
    finally:
        os.close(their_out)
        os.close(their_err)
    return Program(_server, pid, out, err)


def run(
    *arguments: str | Path, timeout: float = 60, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; see start()."""
    program = start(*arguments, **options)
    out, err = program.communicate(timeout)
    command: Sequence[str] = [str(argument) for argument in arguments]
    return subprocess.CompletedProcess(command, program.returncode or 0, out, err)


def run_ranks(
    count: int, *arguments: str | Path, timeout: float = 240, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program as `count` ranks of a distributed run, with the environment of torchrun.

    If one of them fails, the others are killed, as torchrun does. Returns the exit code of the
    first one that failed, or 0, and the output of all of them.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **options.pop("env", {}),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "GROUP_RANK": "0",
        "TORCHELASTIC_RUN_ID": "none",
        "OMP_NUM_THREADS": "1",
    }
    ranks = [
        start(
            *arguments, env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}, **options
        )
        for rank in range(count)
    ]
    outputs: list[tuple[str, str]] = [("", "")] * count

    def read(rank: int) -> None:
        outputs[rank] = (ranks[rank].stdout.read(), ranks[rank].stderr.read())

    readers = [threading.Thread(target=read, args=(rank,)) for rank in range(count)]
    for reader in readers:
        reader.start()
    failed = 0
    deadline = time.monotonic() + timeout
    while not failed and any(rank.poll() is None for rank in ranks):
        failed = next((rank.returncode for rank in ranks if rank.poll()), 0) or 0
        if time.monotonic() > deadline:
            failed = -signal.SIGALRM
        time.sleep(_STEP_SECONDS)
    failed = failed or next((rank.returncode for rank in ranks if rank.poll()), 0) or 0
    for rank in ranks:
        rank.kill()
        rank.wait()
    for reader in readers:
        reader.join()
    for rank in ranks:
        rank.close()
    command = [str(argument) for argument in arguments]
    out, err = ("\n".join(parts) for parts in zip(*outputs, strict=True))
    return subprocess.CompletedProcess(command, failed, out, err)
