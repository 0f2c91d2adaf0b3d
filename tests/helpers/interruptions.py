# SPDX-License-Identifier: Apache-2.0
"""Raises an exception at one boundary of a call after the other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import torchdali
from torchdali import _C, _shm

_PACKAGE = str(Path(torchdali.__file__).parent)
_ROUNDS_WITHOUT = 3  # calls without the boundary until there are no more: some have fewer


class Interrupt(KeyboardInterrupt):
    """As Ctrl-C raises it."""


def _visible(function: Callable[..., Any]) -> Callable[..., Any]:
    def native(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return native


_NATIVE = _visible(len).__code__
_CALLED_BY_C = ("__init__", "attempt", "post")  # by map() and the like: no boundary of Python code


@contextlib.contextmanager
def _visible_native_calls() -> Iterator[None]:
    """Lets sys.setprofile() see calls of the engine, which are not those of Python's own type."""
    places = [_C, _shm, *(x for m in (_C, _shm) for x in vars(m).values() if isinstance(x, type))]
    with contextlib.ExitStack() as stack:
        for place in places:
            for name, function in list(vars(place).items()):
                if type(function).__name__ in ("nb_func", "nb_method") and name not in _CALLED_BY_C:
                    stack.enter_context(mock.patch.object(place, name, _visible(function)))
        yield


class _Hook:
    """Raises at the n-th start or end of a call in torchdali's own code.

    The return of the outermost function is left out: nothing can be done after it. Python itself
    raises KeyboardInterrupt where functions start, in loops, and after calls of C code.
    """

    def __init__(self, number: int, error: type[BaseException], returns: bool) -> None:
        self._left, self._error, self._returns = number, error, returns
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if frame.f_code is _NATIVE:
            assert frame.f_back is not None
            frame, event = frame.f_back, f"c_{event}"
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
    with _visible_native_calls():
        yield from _interrupted(call, error, returns, step)


def _interrupted(
    call: Callable[[], Any], error: type[BaseException], returns: bool, step: int
) -> Iterator[tuple[str, Any]]:
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
