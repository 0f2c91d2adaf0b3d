# SPDX-License-Identifier: Apache-2.0
"""Functions of the user as native code that the engine can call."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import os
import re
import threading
import traceback
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from torchdali._common.location import SourceLocation
from torchdali._engine.extension import _C
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.plugin.numba import _wrappers
from torchdali.plugin.numba._identity import fingerprint

__all__ = [
    "OWNER",
    "Code",
    "checking",
    "compile_run",
    "compile_setup",
    "describe",
    "exception_text",
    "function_text",
    "plain_function",
]

OWNER = "plugin.numba.fn.experimental.numba_function"
_SWITCH = "TORCHDALI_CHECK_FUNCTIONS"
_KEPT = 128  # functions that nothing uses any more; the oldest are let go
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, eq=False)
class Code:
    """A compiled function.

    Attributes:
        address: of the code, valid as long as this object.
        capsule: the address as the engine takes it, which keeps the memory too.
        text: name and place of the user's function, for messages: "`scale` (train.py:12)".
    """

    address: int
    capsule: Any
    text: str = ""


def checking() -> bool:
    """Returns whether functions are compiled with checks of their subscripts."""
    return os.environ.get(_SWITCH, "0") not in ("", "0")


def _numba() -> ModuleType:
    """Returns the module with what is needed of Numba.

    Raises:
        UnsupportedError: Numba is not installed, or does not work here.
    """
    try:
        from torchdali.plugin.numba import _numba as module
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "numba"
        raise _make(
            UnsupportedError,
            "needs Numba, which is not installed" if missing else f"cannot import Numba: {error}",
            operator=OWNER,
            fix="pip install numba" if missing else None,
        ) from error
    return module


def plain_function(value: Any, argument: str, location: SourceLocation | None) -> FunctionType:
    """Returns the Python function that the user passed, decorated for Numba or not.

    Raises:
        ArgumentTypeError: it is something else.
    """
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType):
        raise _make(
            ArgumentTypeError,
            f"`{argument}` takes a Python function that Numba can compile, or one that numba.njit "
            f"has decorated, got {type(value).__name__}",
            operator=OWNER,
            location=location,
        )
    return function


def function_text(function: FunctionType) -> str:
    """Returns name and place of a function, for messages."""
    code = function.__code__
    where = SourceLocation(code.co_filename, code.co_firstlineno, function.__name__)
    return f"`{function.__qualname__}` ({where.short()})"


@contextlib.contextmanager
def _bounds_checked(checks: bool) -> Iterator[None]:
    """While it lasts, all that is compiled checks its subscripts, helpers of a function too."""
    from numba.core import config

    before = config.BOUNDSCHECK
    if checks:
        config.BOUNDSCHECK = 1
    try:
        yield
    finally:
        config.BOUNDSCHECK = before


def _dispatcher(value: Any, function: FunctionType, checks: bool) -> Any:
    """Returns a dispatcher for a function: the user's decorated one if possible.

    It is not possible if it is bound to certain types, uses its own threads (samples run in
    parallel already, and not every threading layer of Numba takes calls from several threads), or
    has been compiled without the checks.
    """
    import numba

    options = dict(getattr(value, "targetoptions", {}))
    own = getattr(value, "_can_compile", False) and options.get("nopython")
    if own and not checks and not options.get("parallel"):
        return value
    kept = {k: options[k] for k in ("fastmath", "error_model", "inline") if k in options}
    return numba.njit(**kept, boundscheck=True if checks else options.get("boundscheck"))(function)


def _compiled(
    value: Any,
    argument: str,
    arguments: Sequence[Any],
    source: str,
    location: SourceLocation | None,
) -> Code:
    """Returns the function that a wrapper calls, whose arguments are 64-bit integers.

    Args:
        value: what the user passed.
        argument: its name.
        arguments: Numba's types of what the function is called with.
        source: of the wrapper.
        location: of the user's call.
    """
    module = _numba()
    import numba
    from numba.core import types

    function = plain_function(value, argument, location)
    checks = checking()
    try:
        with _bounds_checked(checks):
            dispatcher = _dispatcher(value, function, checks)
            # Alone and first, so that Numba's message is about the user's code and no other.
            dispatcher.compile(tuple(arguments))
            names: dict[str, Any] = {
                "address": module.address,
                "carray": numba.carray,
                "frozen": module.frozen,
                "function": dispatcher,
                "np": np,
            }
            exec(compile(source, "<torchdali>", "exec"), names)
            wrapper = numba.njit(names[_wrappers.NAME])
            count = wrapper.py_func.__code__.co_argcount
            place = module.compiled_address(wrapper, [types.int64] * count)
    except Exception as error:
        message = _COLOURS.sub("", str(error)).strip()
        raise _make(
            ArgumentError,
            f"`{argument}` {function_text(function)} cannot be compiled by Numba: "
            f"{type(error).__name__}: {message}",
            operator=OWNER,
            location=location,
            fix=_advice(message),
        ) from error
    text = function_text(function)
    return Code(place, _C.code(place, wrapper, text), text)


def _advice(message: str) -> str | None:
    if "readonly" in message:
        return (
            "inputs are read-only; write to the outputs, or work on a copy of an input. Signatures "
            "of helper functions declare it with types.Array(dtype, ndim, 'C', readonly=True), or "
            "are left out"
        )
    return None


_lock = threading.RLock()
_cache: collections.OrderedDict[Hashable, Code] = collections.OrderedDict()


def _cached(key: Hashable, make: Callable[[], Code]) -> Code:
    with _lock:
        found = _cache.get(key)
        if found is None:
            found = _cache[key] = make()
        _cache.move_to_end(key)
        while len(_cache) > _KEPT:
            _cache.popitem(last=False)
        return found


def _key(value: Any, function: FunctionType) -> Hashable:
    options = getattr(value, "targetoptions", None)
    decorated = None if options is None else tuple(sorted((k, repr(options[k])) for k in options))
    return fingerprint(function), decorated, checking()


def compile_run(
    value: Any, arrays: Sequence[_wrappers.Array], *, batch: bool, location: SourceLocation | None
) -> Code:
    """Returns `run_fn` as a function of (data, shapes), with `batch` of (data, shapes, count).

    Args:
        value: the user's function.
        arrays: its arguments.
        batch: it takes lists with the arrays of all samples.
        location: of the user's call.

    Raises:
        ArgumentError: it does not compile.
        ArgumentTypeError: it is no function.
        UnsupportedError: there is no Numba.
    """
    function = plain_function(value, "run_fn", location)

    def make() -> Code:
        module = _numba()
        own = [module.array_type(a.dtype, a.ndim, writable=a.writable) for a in arrays]
        if batch:
            own = [module.List(a) for a in own]
        source = _wrappers.batch_source(arrays) if batch else _wrappers.sample_source(arrays)
        return _compiled(value, "run_fn", own, source, location)

    return _cached(("run", batch, tuple(arrays), _key(value, function)), make)


def compile_setup(
    value: Any, outs_ndim: Sequence[int], ins_ndim: Sequence[int], location: SourceLocation | None
) -> Code:
    """Returns `setup_fn` as a function of (shapes of outputs, shapes of inputs, count)."""
    function = plain_function(value, "setup_fn", location)

    def make() -> Code:
        module = _numba()
        own = [
            module.List(module.List(module.array_type("int64", 1, writable=writable)))
            for writable in (True, False)
        ]
        source = _wrappers.setup_source(outs_ndim, ins_ndim)
        return _compiled(value, "setup_fn", own, source, location)

    return _cached(("setup", tuple(outs_ndim), tuple(ins_ndim), _key(value, function)), make)


def exception_text(code: int, error: int | None) -> str:
    """Returns what a compiled function raised that ended with this code and error."""
    if code == -1:  # set in a thread state that is gone
        return "an exception in an objmode block, about which Numba keeps nothing"
    try:
        _numba().reraise(code, error or 0)
    except BaseException as raised:
        text = traceback.format_exception_only(raised)[-1].strip()
        frames = traceback.extract_tb(raised.__traceback__)[1:]  # the first one is this file
        if frames and frames[-1].lineno:
            where = SourceLocation(frames[-1].filename, frames[-1].lineno, frames[-1].name)
            text += f", at {where.short()}"
        return text
    return f"an exception (code {code})"


@functools.cache
def describe() -> Code:
    """Returns a function that the engine calls when a compiled one has ended with an exception.

    (code, error, buffer, size): writes what happened into the buffer, as text that ends in NUL.
    """

    @ctypes.CFUNCTYPE(  # type: ignore[untyped-decorator]
        None, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
    )
    def callback(code: int, error: int | None, buffer: int, size: int) -> None:
        text = exception_text(code, error).encode("utf-8", "backslashreplace")
        text = text[: size - 1].decode("utf-8", "ignore").encode()  # no half of a letter
        ctypes.memmove(buffer, text + b"\0", len(text) + 1)

    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return Code(address, _C.code(address, callback))
