# SPDX-License-Identifier: Apache-2.0
"""A line about the progress of a build whose output pip hides, on the user's terminal."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
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


def _terminal() -> TextIO | None:
    try:
        return Path("/dev/tty").open("w")
    except OSError:
        return None


@contextlib.contextmanager
def progress(objects: Path, total: int, out: TextIO | None = None) -> Iterator[None]:
    """Shows, until the end of the context, how many object files are new.

    Without a terminal it shows nothing.

    Args:
        objects: folder in which the object files appear, at any depth.
        total: their number.
        out: written to instead of the terminal.
    """
    out = out or _terminal()
    if out is None:
        yield
        return
    end, start = threading.Event(), time.time()

    def show() -> None:
        ended = False
        while not ended:
            ended = end.wait(_PERIOD_S)
            new = sum(_changed(path) > start - _CLOCK_S for path in objects.rglob("*.o"))
            text = line(min(new, total), total, time.time() - start)
            out.write(f"\r{text}\x1b[K{chr(10) if ended else ''}")
            out.flush()

    thread = threading.Thread(target=show)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
