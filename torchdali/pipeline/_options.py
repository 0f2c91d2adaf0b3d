# SPDX-License-Identifier: Apache-2.0
"""The arguments of Pipeline's constructor: checked once, then read-only properties."""

from __future__ import annotations

import enum
import operator
import secrets
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import to_dali_type
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["OperatorConcurrency", "PipelineOptions", "StreamPolicy"]

_START_METHODS = ("fork", "spawn", "forkserver")
_UINT64 = (1 << 64) - 1
_INT32_MAX = (1 << 31) - 1
# More than any machine has processors: such a number is a mistake, and would bring it down.
_MAX_THREADS = 4096
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
    """Returns None for None and DALI's -1, otherwise a positive integer."""
    if value is None or (isinstance(value, int) and value == -1):
        return None
    return _integer(name, value, 1, most)


def _flag(name: str, value: Any) -> bool:
    """Returns True or False, which may come as NumPy's or as 0 and 1."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise _make(
        ArgumentTypeError,
        f"Pipeline: `{name}` takes True or False, got {value!r} ({type(value).__name__})",
    )


def _member(name: str, value: Any, members: type[_E]) -> _E:
    """Returns a member of an enumeration; None stands for its UNSPECIFIED."""
    if value is None:
        return members["UNSPECIFIED"]
    if not isinstance(value, members):
        raise _make(
            ArgumentTypeError,
            f"Pipeline: `{name}` takes a member of {members.__name__}, got {value!r}",
        )
    return value


def _depths(depth: Any) -> tuple[int, int]:
    """Returns how many iterations are in flight on the CPU and on the GPU."""
    if isinstance(depth, Mapping):
        if set(depth) != {"cpu_size", "gpu_size"}:
            raise _make(
                ArgumentError,
                'Pipeline: `prefetch_queue_depth` as a dict has the keys "cpu_size" and '
                f'"gpu_size", got {sorted(map(str, depth))}',
            )
        return (
            _integer("prefetch_queue_depth", depth["cpu_size"], 1),
            _integer("prefetch_queue_depth", depth["gpu_size"], 1),
        )
    both = _integer("prefetch_queue_depth", depth, 1)
    return both, both


class PipelineOptions:
    """What a pipeline was asked for. Base of Pipeline, whose docstring says what is what."""

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | Mapping[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: Any = None,
        py_num_workers: int = 1,
        py_start_method: str = "forkserver",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | None = None,
        concurrency: OperatorConcurrency | None = None,
    ) -> None:
        self._max_batch_size = _optional_integer("batch_size", batch_size, _INT32_MAX)
        self._num_threads = _optional_integer("num_threads", num_threads, _MAX_THREADS)
        if device_id is not None:
            _integer("device_id", device_id, -1)
        self._device_id = None if device_id == -1 else device_id
        self._given_seed = None
        if seed is not None:
            number = _integer("seed", seed, -(1 << 63))
            if number > _UINT64:
                raise _make(ArgumentError, f"Pipeline: `seed` has at most 64 bits, got {number}")
            self._given_seed = number if number >= 0 else None
        self._exec_pipelined = _flag("exec_pipelined", exec_pipelined)
        self._exec_async = _flag("exec_async", exec_async)
        self._depth_given = prefetch_queue_depth
        self._cpu_depth, self._gpu_depth = _depths(prefetch_queue_depth)
        if isinstance(prefetch_queue_depth, Mapping) and not (exec_async and exec_pipelined):
            raise _make(
                ArgumentError,
                "Pipeline: `prefetch_queue_depth` with separate sizes needs exec_async and "
                "exec_pipelined",
            )
        self._bytes_per_sample = _integer("bytes_per_sample", bytes_per_sample, 0)
        self._set_affinity = _flag("set_affinity", set_affinity)
        self._enable_memory_stats = _flag("enable_memory_stats", enable_memory_stats)
        self._enable_checkpointing = _flag("enable_checkpointing", enable_checkpointing)
        self._checkpoint_given = checkpoint
        self._max_streams = -1 if max_streams is None else _integer("max_streams", max_streams, -1)
        priority = 0 if default_cuda_stream_priority is None else default_cuda_stream_priority
        self._stream_priority = _integer(
            "default_cuda_stream_priority", priority, -_INT32_MAX, _INT32_MAX
        )
        self._py_num_workers = _integer("py_num_workers", py_num_workers, 0)
        if py_start_method not in _START_METHODS:
            raise _make(
                ArgumentError,
                f"Pipeline: `py_start_method` is one of {', '.join(_START_METHODS)}, got "
                f"{py_start_method!r}",
            )
        self._py_start_method = py_start_method
        self._py_callback_pickler = _pickler(py_callback_pickler)
        self._output_specs = {
            "dtype": _spec("output_dtype", output_dtype, _dtype_spec),
            "ndim": _spec("output_ndim", output_ndim, _ndim_spec),
            "layout": _spec("output_layout", output_layout, _layout_spec),
        }
        self._exec_dynamic = bool(exec_dynamic or experimental_exec_dynamic)
        self._stream_policy = _member("stream_policy", stream_policy, StreamPolicy)
        self._concurrency = _member("concurrency", concurrency, OperatorConcurrency)
        # Of all operators without one of their own; drawn when it is first asked for.
        self._drawn_seed: int | None = None
        self._prepare()

    def _prepare(self) -> None:
        """Makes the rest of the pipeline's state."""

    def _base_seed(self) -> int:
        """Returns the seed that was given, or one that is drawn once."""
        if self._given_seed is not None:
            return self._given_seed
        if self._drawn_seed is None:
            self._drawn_seed = secrets.randbits(64)
        return self._drawn_seed

    def _constructor_arguments(self) -> dict[str, Any]:
        """Returns the arguments that make a pipeline with these options."""
        return {
            "batch_size": self._max_batch_size,
            "num_threads": self._num_threads,
            "device_id": self._device_id,
            "seed": self._given_seed,
            "exec_pipelined": self._exec_pipelined,
            "prefetch_queue_depth": self._depth_given,
            "exec_async": self._exec_async,
            "bytes_per_sample": self._bytes_per_sample,
            "set_affinity": self._set_affinity,
            "max_streams": self._max_streams,
            "default_cuda_stream_priority": self._stream_priority,
            "enable_memory_stats": self._enable_memory_stats,
            "enable_checkpointing": self._enable_checkpointing,
            "py_num_workers": self._py_num_workers,
            "py_start_method": self._py_start_method,
            **{f"output_{what}": declared for what, declared in self._output_specs.items()},
            "exec_dynamic": self._exec_dynamic,
            "stream_policy": self._stream_policy,
            "concurrency": self._concurrency,
        }

    @property
    def batch_size(self) -> int:
        """The greatest number of samples in a batch; -1 where it was not given."""
        return -1 if self._max_batch_size is None else self._max_batch_size

    @property
    def max_batch_size(self) -> int:
        """The same as batch_size."""
        return self.batch_size

    @property
    def num_threads(self) -> int:
        """Number of worker threads; -1 where it was not given."""
        return -1 if self._num_threads is None else self._num_threads

    @property
    def device_id(self) -> int | None:
        """GPU of the pipeline, or None."""
        return self._device_id

    @property
    def seed(self) -> int | None:
        """The seed that was given, or None where it is a new one each time."""
        return self._given_seed

    @property
    def exec_pipelined(self) -> bool:
        """Whether the pipeline runs ahead of its user."""
        return self._exec_pipelined

    @property
    def exec_async(self) -> bool:
        """As it was given."""
        return self._exec_async

    @property
    def exec_separated(self) -> bool:
        """Whether CPU and GPU have depths of their own."""
        return isinstance(self._depth_given, Mapping)

    @property
    def exec_dynamic(self) -> bool:
        """As it was given."""
        return self._exec_dynamic

    @property
    def prefetch_queue_depth(self) -> int | Mapping[str, int]:
        """As it was given."""
        return self._depth_given

    @property
    def cpu_queue_size(self) -> int:
        """Number of iterations in flight on the CPU."""
        return self._cpu_depth

    @property
    def gpu_queue_size(self) -> int:
        """Number of iterations in flight on the GPU."""
        return self._gpu_depth

    @property
    def set_affinity(self) -> bool:
        """Whether worker threads are bound to processors."""
        return self._set_affinity

    @property
    def max_streams(self) -> int:
        """As it was given."""
        return self._max_streams

    @property
    def default_cuda_stream_priority(self) -> int:
        """As it was given."""
        return self._stream_priority

    @property
    def enable_memory_stats(self) -> bool:
        """Whether executor_statistics() has figures."""
        return self._enable_memory_stats

    @property
    def py_num_workers(self) -> int:
        """As it was given."""
        return self._py_num_workers

    @property
    def py_start_method(self) -> str:
        """As it was given."""
        return self._py_start_method

    @property
    def stream_policy(self) -> StreamPolicy:
        """As it was given."""
        return self._stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency:
        """As it was given."""
        return self._concurrency


# What Python says about a wrong call names the class that users know.
PipelineOptions.__init__.__qualname__ = "Pipeline.__init__"


def _pickler(given: Any) -> Any:
    """Returns a module with dumps and loads, or a tuple of it and dicts of their arguments."""
    parts = given if isinstance(given, (tuple, list)) else (given,)
    module, *options = parts
    if given is not None and not (
        callable(getattr(module, "dumps", None))
        and callable(getattr(module, "loads", None))
        and len(options) <= 2
        and all(isinstance(option, Mapping) for option in options)
    ):
        raise _make(
            ArgumentTypeError,
            "Pipeline: `py_callback_pickler` takes a module with dumps() and loads(), or a tuple "
            f"of it and dicts of arguments for them, got {given!r}",
        )
    return given


def _spec(name: str, value: Any, convert: Callable[[str, Any], Any]) -> Any:
    """Returns what is declared about the outputs: one value for all, or a list."""
    if isinstance(value, (list, tuple)):
        return [None if item is None else convert(name, item) for item in value]
    return None if value is None else convert(name, value)


def _dtype_spec(name: str, value: Any) -> DALIDataType | None:
    try:
        dtype = to_dali_type(value)
    except TypeError:
        raise _make(
            ArgumentTypeError, f"Pipeline: `{name}` takes types.DALIDataType, got {value!r}"
        ) from None
    return None if dtype is DALIDataType.NO_TYPE else dtype


def _ndim_spec(name: str, value: Any) -> int:
    return _integer(name, value, 0)


def _layout_spec(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _make(ArgumentTypeError, f"Pipeline: `{name}` takes strings, got {value!r}")
    return value
