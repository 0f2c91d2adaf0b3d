# SPDX-License-Identifier: Apache-2.0
"""Peers: torchdali, real DALI, torch's DataLoader and others, each in a process of its own.

A benchmark is a module with ``make(peer, axes)``. It returns a function that makes one batch and
returns its number of samples, or a tuple of that number and the seconds to count. This file is both
ends of a pipe: the harness uses ``Peer``; the process of a peer runs this file as a program and
serves requests, one JSON document per line. All peers are thus measured by the same code, and DALI
runs in the Python of its own venv. Idle peers are stopped (SIGSTOP); otherwise they would prefetch
while another peer is measured.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Peers that `make peers` installs, besides those with torchvision.
RIVALS = ("spdl", "kornia", "torchaudio", "librosa", "kaldi", "soundfile", "soxr")
RIVALS += ("pyav", "decord", "torchcodec", "torchcodec-approximate")
# Peers that `make field-peers` installs.
FIELD = ("ffcv", "litdata", "mosaicml", "webdataset-s3")


class PeerError(RuntimeError):
    """A peer is absent or failed; the message says why."""


def python_of(peer: str) -> str:
    """Returns the peer's interpreter; peers with conflicting requirements have a venv each."""
    if peer.startswith("dali"):
        variable, command = "TORCHDALI_DALI_PYTHON", "make dali"
    elif peer in FIELD:
        variable, command = "TORCHDALI_FIELD_PYTHON", "make field-peers"
    elif "torchvision" in peer or peer in RIVALS:
        variable, command = "TORCHDALI_PEERS_PYTHON", "make peers"
    else:
        return sys.executable
    if variable not in os.environ:
        raise PeerError(f"{variable} is not set; `{command}` installs the peer")
    return os.environ[variable]


class Peer:
    """A peer in its own process. It serves one request at a time."""

    def __init__(self, name: str, benchmark: str, axes: dict[str, Any]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python_of(name), "-m", "benchmarks.peers"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=os.setpgrp,  # one group with its workers, so that signals reach all of them
        )
        try:
            self.make(benchmark, axes)
        except PeerError:
            self.close()
            raise

    def make(self, benchmark: str, axes: dict[str, Any]) -> None:
        """Prepares a benchmark; it replaces the previous one."""
        self.versions: dict[str, str] = self.ask(
            "make", benchmark=benchmark, peer=self.name, axes=axes
        )

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def ask(self, request: str, **arguments: Any) -> Any:
        """Returns the answer of the peer's process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps({"request": request, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"{self.name}: the process ended with status {self._process.wait()}")
        self._signal(signal.SIGSTOP)
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.name}: {answer['error']}")
        return answer["result"]

    def measure(self, seconds: float, warm_up: int) -> dict[str, float]:
        """Returns samples, batches, wall and CPU seconds of one round."""
        result: dict[str, float] = self.ask("measure", seconds=seconds, warm_up=warm_up)
        return result

    def _signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Ends the process."""
        self._signal(signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=60)


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started, and those that they have."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                found += [int(child), *children(int(child))]
    return found


def cpu_seconds() -> float:
    """Returns the CPU time of this process and of all its children, running or not."""
    times = os.times()
    total = time.process_time() + times.children_user + times.children_system
    for pid in children(os.getpid()):
        with contextlib.suppress(OSError):
            # Fields 14 to 17 of proc(5). The name before them may contain spaces.
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, stat[11:15])) / TICKS_PER_S
    return total


def private_bytes(pid: int) -> int:
    """Returns the memory of a process that it shares with no other process."""
    return 1024 * sum(
        int(line.split()[1])
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        if line.startswith(("Private_Clean:", "Private_Dirty:"))
    )


def anonymous_bytes(pid: int) -> int:
    """Returns the anonymous memory of a process: neither file pages nor shared memory.

    Copy-on-write pages that forked processes still share are counted in proportion, so the sum over
    the processes counts each page once.
    """
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))


def memory_bytes() -> int:
    """Returns the memory of this process and its children, without pages of files.

    Pages that several processes share are counted once.
    """
    total = 0
    for pid in (os.getpid(), *children(os.getpid())):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            known = ("Pss_Anon:", "Pss_Shmem:")
            total += sum(int(line.split()[1]) for line in lines if line.startswith(known))
    return 1024 * total


def resident_bytes() -> int:
    """Returns the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def api(peer: str) -> Any:
    """Returns the module with DALI's API: torchdali or DALI."""
    return importlib.import_module("nvidia.dali" if peer.startswith("dali") else "torchdali")


def versions(peer: str) -> dict[str, str]:
    """Returns the versions of the peer's packages."""
    found = {"python": sys.version.split()[0]}
    names = {
        "torchdali": ["torchdali", "torch"],
        "dali": ["nvidia.dali", "numpy"],
        "opencv": ["cv2"],
        "numpy": ["numpy"],
        "pillow": ["PIL"],
        "torchvision": ["torch", "torchvision"],
        "spdl": ["spdl"],
        "kornia": ["torch", "kornia"],
        "torchaudio": ["torch", "torchaudio", "soundfile"],
        "librosa": ["librosa", "soundfile"],
        "kaldi": ["kaldi-native-fbank", "soundfile"],
        "soundfile": ["soundfile"],
        "soxr": ["soxr"],
        "pyav": ["av"],
        "decord": ["decord"],
        "torchcodec": ["torchcodec", "torch"],
        "webdataset": ["webdataset", "torch", "PIL"],
        "huggingface": ["datasets", "torch", "PIL"],
        "ffcv": ["ffcv", "torch"],
        "litdata": ["litdata", "torch"],
        "mosaicml": ["mosaicml-streaming", "torch"],
    }
    for name in names.get(peer.split("-")[0], ["torch", "torchvision", "PIL", "numpy"]):
        with contextlib.suppress(ImportError):
            if name in ("mosaicml-streaming", "ffcv"):  # modules of other names or versions
                found[name] = importlib.metadata.version(name)
                continue
            module = importlib.import_module(name.replace("-", "_"))
            found[name] = getattr(module, "__version__", None) or importlib.metadata.version(name)
    return found


class _Server:
    """Serves one benchmark of one peer, in the peer's process."""

    def __init__(self) -> None:
        self._step: Callable[[], int | tuple[int, float]] | None = None

    def make(self, benchmark: str, peer: str, axes: dict[str, Any]) -> dict[str, str]:
        self._step = None  # release the previous benchmark before the next one allocates
        self._step = importlib.import_module(benchmark).make(peer, axes)
        return versions(peer)

    def measure(self, seconds: float, warm_up: int) -> dict[str, float]:
        step = self._step
        assert step is not None
        # Batches that were prefetched earlier are not counted.
        for _ in range(warm_up):
            step()
        samples = batches = 0
        cpu, start = cpu_seconds(), time.perf_counter()
        end = start + seconds
        own = 0.0
        while (now := time.perf_counter()) < end:
            made = step()
            if isinstance(made, tuple):
                made, lasted = made
                own += lasted
            samples += made
            batches += 1
        return {
            "samples": samples,
            "batches": batches,
            "wall_s": own or now - start,
            "cpu_s": cpu_seconds() - cpu,
        }

    def call(self, method: str, **arguments: Any) -> Any:
        """Calls a method of a benchmark whose make() returns an object."""
        return getattr(self._step, method)(**arguments)

    def run(self, samples: int) -> dict[str, float]:
        """Makes at least that many samples; returns resident memory: before, after, peak."""
        step = self._step
        assert step is not None
        before, made = resident_bytes(), 0
        while made < samples:
            done = step()
            made += done[0] if isinstance(done, tuple) else done
        return {
            "samples": made,
            "before_bytes": before,
            "after_bytes": resident_bytes(),
            "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        }

    def children(self, samples: int) -> dict[str, Any]:
        """Makes at least that many samples; returns the private memory of each child."""
        before = anonymous_bytes(os.getpid())
        self.run(samples)
        found = []
        anonymous = anonymous_bytes(os.getpid()) - before
        for pid in children(os.getpid()):
            with contextlib.suppress(OSError):
                found.append(private_bytes(pid))
                anonymous += anonymous_bytes(pid)
        return {"private_bytes": found, "added_bytes": anonymous}


def _serve() -> None:
    # Libraries may print to stdout, so the answers go to a duplicate of it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = _Server()
    for line in sys.stdin:
        message = json.loads(line)
        try:
            answer = {"result": getattr(server, message.pop("request"))(**message)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
