# SPDX-License-Identifier: Apache-2.0
"""Shows on a terminal how far a command is: with tqdm, else with rich, else with plain text."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["lines", "track"]

_T = TypeVar("_T")
_DELAY_S = 1.0  # what takes less shows nothing
_STEP_S = 0.2
_LINE_S = 5.0


def track(items: Iterable[_T], text: str, total: int | None = None) -> Iterator[_T]:
    """Yields the items, and shows on stderr how many have been done; only if it is a terminal.

    Args:
        items: what is worked on.
        text: what is done, such as "reading files".
        total: the number of items; None: their len(), if they have one.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    if total is None:
        with contextlib.suppress(TypeError):
            total = len(items)  # type: ignore[arg-type]
    tqdm, rich = _optional("tqdm"), _optional("rich.progress")
    if tqdm is not None:
        bar = tqdm.tqdm(items, desc=text, total=total, delay=_DELAY_S, leave=False)
        with _later(bar.refresh):
            yield from bar
    elif rich is not None:
        console = importlib.import_module("rich.console").Console(stderr=True)
        yield from rich.track(items, text, total=total, transient=True, console=console)
    else:
        yield from _plain(items, text, total)


def lines(text: str, total: int) -> Callable[[int], None]:
    """Returns a function that writes how much is done, as a line now and then; on a terminal only.

    For programs that write to the terminal themselves, where a bar would be in the way.

    Args:
        text: what is done.
        total: how much there is to do.
    """
    due = time.monotonic() + _LINE_S

    def show(count: int) -> None:
        nonlocal due
        if time.monotonic() >= due and sys.stderr.isatty():
            due = time.monotonic() + _LINE_S
            sys.stderr.write(f"{text}: {count} of {total}\n")

    return show


def _optional(name: str) -> Any:
    """Returns a module, None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@contextlib.contextmanager
def _later(show: Callable[[], object]) -> Iterator[None]:
    """Calls a function when the delay is over, unless the block ends earlier.

    So a first item that takes long does not look as if nothing happened.
    """
    timer = threading.Timer(_DELAY_S, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _plain(items: Iterable[_T], text: str, total: int | None) -> Iterator[_T]:
    due = time.monotonic() + _DELAY_S
    count, width = 0, 0
    of = "" if total is None else f" of {total}"

    def show() -> None:
        nonlocal width
        shown = f"{text}: {count}{of}"
        width = max(width, len(shown))
        sys.stderr.write(f"\r{shown}")
        sys.stderr.flush()

    try:
        with _later(show):
            for item in items:
                yield item
                count += 1
                if time.monotonic() >= due:
                    due = time.monotonic() + _STEP_S
                    show()
    finally:
        if width:
            sys.stderr.write(f"\r{' ' * width}\r")
