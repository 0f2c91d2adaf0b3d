# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of Pipeline's constructor, one by one."""

from __future__ import annotations

import enum
import functools
import operator
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torchdali._common.bad_samples import ON_ERROR
from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import CPU_ONLY_DEVICE_ID, to_dali_type
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = [
    "AUTO",
    "CHECKS",
    "PY_NUM_WORKERS",
    "PY_START_METHOD",
    "OperatorConcurrency",
    "StreamPolicy",
    "depths",
    "is_auto",
]

AUTO = "auto"
PY_NUM_WORKERS = 1
PY_START_METHOD = "forkserver"
_START_METHODS = ("fork", "spawn", "forkserver")
_UINT64 = (1 << 64) - 1
_INT32_MAX = (1 << 31) - 1
# No machine has more processors: a larger number is a mistake that would exhaust the machine.
_MAX_THREADS = 4096
# Of iterations ahead, each of which has memory: a larger number would exhaust it.
_MAX_QUEUE_DEPTH = 4096
_E = TypeVar("_E", bound=enum.Enum)


class StreamPolicy(enum.Enum):
    """How GPU operators share streams; without effect on CPU operators."""

    UNSPECIFIED = 0
    SINGLE = 1
    PER_BACKEND = 2
    PER_OPERATOR = 3


class OperatorConcurrency(enum.Enum):
    """Which operators may run at the same time; CPU operators always may."""

    UNSPECIFIED = 0
    NONE = 1
    BACKEND = 2
    FULL = 3


# -- checks of single arguments: each takes the name and the value, and returns the value to keep


def _integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise _make(
            ArgumentTypeError,
            f"Pipeline: `{name}` takes an integer, got {value!r} ({type(value).__name__})",
        ) from None
    if number < least:
        raise _make(ArgumentError, f"Pipeline: `{name}` is at least {least}, got {number}")
    if most is not None and number > most:
        raise _make(ArgumentError, f"Pipeline: `{name}` is at most {most}, got {number}")
    return number


def _optional_integer(name: str, value: Any, most: int) -> int | None:
    """Returns None for None and for DALI's -1, otherwise a positive integer."""
    if value is None or (isinstance(value, int) and value == -1):
        return None
    return _integer(name, value, 1, most)


def is_auto(name: str, value: Any) -> bool:
    """Returns whether a value is "auto", which is the only string that is allowed."""
    if not isinstance(value, str):
        return False
    if value == AUTO:
        return True
    raise _make(
        ArgumentTypeError, f'Pipeline: `{name}` takes an integer or "auto", got {value!r} (str)'
    )


def _threads(name: str, value: Any) -> int | str | None:
    return AUTO if is_auto(name, value) else _optional_integer(name, value, _MAX_THREADS)


def _flag(name: str, value: Any) -> bool:
    """Returns a bool. As in DALI, None and anything with a truth value of its own is accepted.

    Strings and containers are not: "False" would be true.
    """
    if value is None or hasattr(type(value), "__bool__"):
        return bool(value)
    raise _make(
        ArgumentTypeError,
        f"Pipeline: `{name}` takes True or False, got {value!r} ({type(value).__name__})",
    )


def _member(name: str, value: Any, members: type[_E]) -> _E:
    """Returns a member of an enumeration, UNSPECIFIED for None."""
    if value is None:
        return members["UNSPECIFIED"]
    if not isinstance(value, members):
        raise _make(
            ArgumentTypeError,
            f"Pipeline: `{name}` takes a member of {members.__name__}, got {value!r}",
        )
    return value


def _device_id(name: str, value: Any) -> int | None:
    if value is None or value == CPU_ONLY_DEVICE_ID:
        return None
    number = _integer(name, value, -1)
    return None if number == -1 else number


def _seed(name: str, value: Any) -> int | None:
    if value is None:
        return None
    number = _integer(name, value, -(1 << 63))
    if number > _UINT64:
        raise _make(ArgumentError, f"Pipeline: `seed` has at most 64 bits, got {number}")
    return number if number >= 0 else None


def _queue_depth(name: str, value: Any) -> Any:
    if not is_auto(name, value):
        depths(name, value)
    return value


def depths(name: str, depth: Any) -> tuple[int, int]:
    """Returns how many iterations are in flight on the CPU and on the GPU."""
    if isinstance(depth, Mapping):
        if set(depth) != {"cpu_size", "gpu_size"}:
            raise _make(
                ArgumentError,
                f'Pipeline: `{name}` as a dict has the keys "cpu_size" and "gpu_size", got '
                f"{sorted(map(str, depth))}",
            )
        cpu, gpu = (_integer(name, depth[k], 1, _MAX_QUEUE_DEPTH) for k in ("cpu_size", "gpu_size"))
        return cpu, gpu
    both = _integer(name, depth, 1, _MAX_QUEUE_DEPTH)
    return both, both


def _start_method(name: str, value: Any) -> str:
    if value is None:
        return PY_START_METHOD
    if value not in _START_METHODS:
        raise _make(
            ArgumentError,
            f"Pipeline: `{name}` is one of {', '.join(_START_METHODS)}, got {value!r}",
        )
    return str(value)


def _on_error(name: str, value: Any) -> Any:
    if value not in (None, *ON_ERROR):
        raise _make(ArgumentError, f"Pipeline: `{name}` is {value!r}, expected one of {ON_ERROR}")
    return value


def _pickler(name: str, value: Any) -> Any:
    """Returns a module with dumps and loads, or a tuple of it and dicts of their arguments."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    module, *options = parts
    if value is not None and not (
        callable(getattr(module, "dumps", None))
        and callable(getattr(module, "loads", None))
        and len(options) <= 2
        and all(isinstance(option, Mapping) for option in options)
    ):
        raise _make(
            ArgumentTypeError,
            f"Pipeline: `{name}` takes a module with dumps() and loads(), or a tuple of it and "
            f"dicts of arguments for them, got {value!r}",
        )
    return value


def _declared(name: str, value: Any, convert: Callable[[str, Any], Any]) -> Any:
    """Returns a declaration about the outputs: one value for all of them, or a list."""
    if isinstance(value, (list, tuple)):
        return [None if item is None else convert(name, item) for item in value]
    return None if value is None else convert(name, value)


def _dtype(name: str, value: Any) -> DALIDataType | None:
    try:
        dtype = to_dali_type(value)
    except TypeError:
        raise _make(
            ArgumentTypeError, f"Pipeline: `{name}` takes types.DALIDataType, got {value!r}"
        ) from None
    return None if dtype is DALIDataType.NO_TYPE else dtype


def _text(name: str, value: Any, what: str, types: tuple[type, ...] = (str,)) -> Any:
    if not isinstance(value, types):
        raise _make(ArgumentTypeError, f"Pipeline: `{name}` takes {what}, got {value!r}")
    return value


_layout = functools.partial(_text, what="strings")


_at_least_zero = functools.partial(_integer, least=0)
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "batch_size": functools.partial(_optional_integer, most=_INT32_MAX),
    "num_threads": _threads,
    "device_id": _device_id,
    "seed": _seed,
    "exec_pipelined": _flag,
    "exec_async": _flag,
    "prefetch_queue_depth": _queue_depth,
    "bytes_per_sample": _at_least_zero,
    "set_affinity": _flag,
    "enable_memory_stats": _flag,
    "enable_checkpointing": _flag,
    "max_streams": lambda name, value: (
        -1 if value is None else max(-1, _integer(name, value, -_INT32_MAX))
    ),
    "default_cuda_stream_priority": lambda name, value: (
        0 if value is None else _integer(name, value, -_INT32_MAX, _INT32_MAX)
    ),
    "py_num_workers": lambda name, value: (
        PY_NUM_WORKERS if value is None else _integer(name, value, 0, _MAX_THREADS)
    ),
    "py_start_method": _start_method,
    "py_callback_pickler": _pickler,
    "output_dtype": functools.partial(_declared, convert=_dtype),
    "output_ndim": functools.partial(_declared, convert=_at_least_zero),
    "output_layout": functools.partial(_declared, convert=_layout),
    "on_error": _on_error,
    "max_errors": _at_least_zero,
    "errors_file": functools.partial(_text, what="a path", types=(str, os.PathLike, type(None))),
    "exec_dynamic": lambda _, value: bool(value),
    "stream_policy": functools.partial(_member, members=StreamPolicy),
    "concurrency": functools.partial(_member, members=OperatorConcurrency),
}
