# SPDX-License-Identifier: Apache-2.0
"""Shows on a terminal how far a command is: with tqdm, else with rich, else with plain text."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["track"]

_T = TypeVar("_T")
_DELAY_S = 1.0  # what takes less shows nothing
_STEP_S = 0.2


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
        yield from tqdm.tqdm(items, desc=text, total=total, delay=_DELAY_S, leave=False)
    elif rich is not None:
        console = importlib.import_module("rich.console").Console(stderr=True)
        yield from rich.track(items, text, total=total, transient=True, console=console)
    else:
        yield from _plain(items, text, total)


def _optional(name: str) -> Any:
    """Returns a module, None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _plain(items: Iterable[_T], text: str, total: int | None) -> Iterator[_T]:
    due = time.monotonic() + _DELAY_S
    shown = ""
    of = "" if total is None else f" of {total}"
    try:
        for count, item in enumerate(items, 1):
            yield item
            if time.monotonic() >= due:
                due = time.monotonic() + _STEP_S
                shown = f"{text}: {count}{of}"
                sys.stderr.write(f"\r{shown}")
                sys.stderr.flush()
    finally:
        if shown:
            sys.stderr.write(f"\r{' ' * len(shown)}\r")
