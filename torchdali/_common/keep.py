# SPDX-License-Identifier: Apache-2.0
"""Keeps the result of a call even if Ctrl-C comes right after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

__all__ = ["keep_result"]

_T = TypeVar("_T")


def keep_result(function: Callable[[], _T], results: list[_T]) -> None:
    """Appends what a function returns to a list.

    Python may raise KeyboardInterrupt after any call, before its result is assigned. Here the call
    and the append are one call.

    Args:
        function: implemented in C; one in Python can be interrupted before it returns.
        results: is longer by one if the call took place, whatever is raised.
    """
    results.extend(itertools.starmap(function, ((),)))
