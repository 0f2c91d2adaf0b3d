# SPDX-License-Identifier: Apache-2.0
"""What the threads of a process share, counted by counters.cpp and by the kernel."""

from __future__ import annotations

import bisect
import ctypes
import errno
import os
import resource
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("counters.cpp")
# In the order of counters.cpp.
COUNTS = ("locks", "contended", "tries", "rwlocks", "waits", "signals", "broadcasts")
COUNTS += ("allocations", "frees", "allocated_bytes", "maps", "yields")
# Of getrusage(2).
USAGE = {
    "voluntary_switches": "ru_nvcsw",
    "involuntary_switches": "ru_nivcsw",
    "page_faults": "ru_minflt",
}
_HARDWARE, _SOFTWARE, _TRACEPOINT = 0, 1, 2
# Types and numbers of linux/perf_event.h.
_EVENTS = {
    "migrations": (_SOFTWARE, 4),
    "cache_misses": (_HARDWARE, 3),
    "instructions": (_HARDWARE, 1),
}
_TRACEPOINTS = {
    "system_calls": "raw_syscalls/sys_enter",
    "futex_calls": "syscalls/sys_enter_futex",
    "mmap_calls": "syscalls/sys_enter_mmap",
    "munmap_calls": "syscalls/sys_enter_munmap",
    "madvise_calls": "syscalls/sys_enter_madvise",
    "mprotect_calls": "syscalls/sys_enter_mprotect",
}
_TRACING = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")


def build(folder: Path) -> Path:
    """Compiles the library.

    Raises:
        OSError: there is no compiler.
        subprocess.CalledProcessError: it failed.
    """
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise OSError("no C++ compiler found")
    library = folder / "counters.so"
    flags = ["-std=c++20", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra"]
    command = [compiler, *flags, str(SOURCE), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    return library


def environment(library: Path) -> dict[str, str]:
    """Returns the environment of a process whose calls are counted."""
    return {**os.environ, "LD_PRELOAD": str(library), "TORCHDALI_COUNTERS": str(library)}


class Counters:
    """The counters of this process, which was started with environment()."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["TORCHDALI_COUNTERS"])
        if self._library.contention_num_counts() != len(COUNTS):
            raise RuntimeError("counters.py and counters.cpp disagree")
        self.refused: dict[str, str] = {}
        self._events: dict[str, int] = {}
        for name, (kind, number) in _EVENTS.items():
            self._open(name, kind, number)
        for name, path in _TRACEPOINTS.items():
            files = [Path(root, path, "id") for root in _TRACING]
            try:
                number = int(next(f for f in files if os.access(f, os.R_OK)).read_text())
            except (StopIteration, OSError):
                self.refused[name] = "tracepoints are not readable"
                continue
            self._open(name, _TRACEPOINT, number)

    def _open(self, name: str, kind: int, number: int) -> None:
        opened = self._library.contention_open_event(kind, ctypes.c_uint64(number))
        if opened >= 0:
            self._events[name] = opened
        else:
            self.refused[name] = errno.errorcode.get(-opened, str(-opened))

    def read(self) -> dict[str, int]:
        """Returns all counts since the process started."""
        counts = (ctypes.c_uint64 * len(COUNTS))()
        self._library.contention_read(counts)
        found = dict(zip(COUNTS, counts, strict=True))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        found |= {name: getattr(usage, field) for name, field in USAGE.items()}
        for name, descriptor in self._events.items():
            (found[name],) = struct.unpack("Q", os.read(descriptor, 8))
        return found

    def note_callers(self, on: bool) -> None:
        """From now on, counts the places in the code as well, from 0; or no longer."""
        self._library.contention_note_callers(on)

    def callers(self, what: str, most: int = 12) -> dict[str, int]:
        """Returns the functions that added most to a count, and how much."""
        size = 8192
        addresses, counts = (ctypes.c_size_t * size)(), (ctypes.c_uint64 * size)()
        number = COUNTS.index(what)
        found = self._library.contention_callers(number, addresses, counts, size)
        functions: dict[str, int] = {}
        names = _Functions()
        for i in range(found):
            name = names.of(addresses[i])
            functions[name] = functions.get(name, 0) + counts[i]
        return dict(sorted(functions.items(), key=lambda item: -item[1])[:most])


class _Functions:
    """Names of the functions of this process, by address."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int, str, int]] = []
        bases: dict[str, int] = {}
        for line in Path("/proc/self/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) < 6 or not fields[5].startswith("/"):
                continue
            begin, end = (int(n, 16) for n in fields[0].split("-"))
            base = bases.setdefault(fields[5], begin - int(fields[2], 16))
            self._ranges.append((begin, end, fields[5], base))
        self._symbols: dict[str, tuple[list[int], list[str]]] = {}

    def of(self, address: int) -> str:
        """Returns "library: function"."""
        for begin, end, path, base in self._ranges:
            if begin <= address < end:
                offset = address - base
                starts, names = self._of_library(path)
                at = bisect.bisect_right(starts, offset) - 1
                return f"{Path(path).name}: {names[at] if at >= 0 else '?'}"
        return "?"

    def _of_library(self, path: str) -> tuple[list[int], list[str]]:
        if path not in self._symbols:
            symbols: list[tuple[int, str]] = []
            for table in ([], ["-D"]):
                command = ["nm", "-C", "--defined-only", *table, path]
                quiet = {**os.environ, "LD_PRELOAD": ""}
                done = subprocess.run(command, capture_output=True, text=True, env=quiet)
                for line in done.stdout.splitlines():
                    fields = line.split(maxsplit=2)
                    if len(fields) == 3 and fields[1] in "tTwWiuV":
                        symbols.append((int(fields[0], 16), fields[2]))
                if symbols:
                    break
            symbols.sort()
            self._symbols[path] = [at for at, _ in symbols], [name for _, name in symbols]
        return self._symbols[path]


def difference(before: dict[str, int], after: dict[str, int], samples: int) -> dict[str, float]:
    """Returns the counts of one sample."""
    return {name: (after[name] - before[name]) / samples for name in after}
