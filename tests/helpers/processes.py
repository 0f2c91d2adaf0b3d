# SPDX-License-Identifier: Apache-2.0
"""Processes as Linux's /proc shows them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def _fields(pid):
    """Returns the fields behind the name in a process's stat: state, parent, ...; or None."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def descendants(pid):
    """Returns the process ids of the children of a process, theirs, and so on."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    children = [p for p in pids if (fields := _fields(p)) and int(fields[1]) == pid]
    return children + [d for child in children for d in descendants(child)]


def kill(*pids):
    """Kills processes and waits until they have ended, which a busy machine is slow to do."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    for pid in pids:
        # The first thread may end before others that still hold the process's files.
        while (fields := _fields(pid)) and (fields[0] not in "ZX" or int(fields[17]) > 1):
            assert time.monotonic() < deadline, f"process {pid} does not end"
            time.sleep(0.001)
