# SPDX-License-Identifier: Apache-2.0
"""A line about the progress of a build whose output pip hides, on the user's terminal."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TextIO

_PERIOD_S = 1.0
_CLOCK_S = 0.1  # the times of files are this precise


def line(done: int, total: int, seconds: float) -> str:
    """Returns the text of the line."""
    text = f"torchdali: compiled {done} of {total} files"
    if 0 < done < total:
        text += f", about {seconds / done * (total - done) / 60:.1f} minutes left"
    return text


def _changed(path: Path) -> float:
    """Returns when a file was changed; 0 if the compiler has just removed it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class Progress(AbstractContextManager[None]):
    """While it is entered, shows how many object files are new. Without a terminal, nothing.

    Args:
        objects: folder in which the object files appear, at any depth.
        total: their number.
        out: written to instead of the terminal.
    """

    def __init__(self, objects: Path, total: int, out: TextIO | None = None) -> None:
        self._objects, self._total, self._out = objects, total, out
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        if self._out is None:
            try:
                self._out = Path("/dev/tty").open("w")
            except OSError:  # no terminal
                return
        self._start = time.time()
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        assert self._out is not None
        ended, since = False, self._start - _CLOCK_S
        while not ended:
            ended = self._end.wait(_PERIOD_S)
            new = sum(_changed(path) > since for path in self._objects.rglob("*.o"))
            text = line(min(new, self._total), self._total, time.time() - self._start)
            self._out.write(f"\r{text}\x1b[K{chr(10) if ended else ''}")
            self._out.flush()
