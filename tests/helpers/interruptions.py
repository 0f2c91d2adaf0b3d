# SPDX-License-Identifier: Apache-2.0
"""Raises an exception at one boundary of a call after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import torchdali

_PACKAGE = str(Path(torchdali.__file__).parent)
_ROUNDS_WITHOUT = 3  # calls without the boundary until there are no more: some have fewer


class Interrupt(KeyboardInterrupt):
    """As Ctrl-C raises it."""


class _Hook:
    """Raises at the n-th start or end of a call in torchdali's own code.

    The return of the outermost function is left out: nothing can be done after it. Python itself
    raises KeyboardInterrupt where functions start, in loops, and after calls of C code.
    """

    def __init__(self, number: int, error: type[BaseException], returns: bool) -> None:
        self._left, self._error, self._returns = number, error, returns
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE) or event == "c_exception":
            return
        outermost = frame.f_back is None or not frame.f_back.f_code.co_filename.startswith(_PACKAGE)
        if event == "return" and (outermost or not self._returns):
            return
        self._left -= 1
        if self._left == 0:
            sys.setprofile(None)
            name = Path(code.co_filename).name
            self.where = f"{event} of {code.co_name} at {name}:{frame.f_lineno}"
            raise self._error(self.where)


def interrupted(
    call: Callable[[], Any],
    error: type[BaseException] = Interrupt,
    *,
    returns: bool = True,
    step: int = 1,
) -> Iterator[tuple[str, Any]]:
    """Calls a function again and again, interrupted at another boundary each time.

    Args:
        call: the function.
        error: that is raised.
        returns: whether to raise at returns of functions in Python, too.
        step: distance of the boundaries.

    Yields:
        Where it was interrupted, and what it returned; None if it raised the error.
    """
    number = without = 0
    while without < _ROUNDS_WITHOUT:
        number += step
        hook, result = _Hook(number, error, returns), None
        sys.setprofile(hook)
        try:
            result = call()
        except error:
            pass
        finally:
            sys.setprofile(None)
        without = 0 if hook.where else without + 1
        yield hook.where, result
