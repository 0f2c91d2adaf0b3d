# SPDX-License-Identifier: Apache-2.0
"""Options: the arguments of Pipeline's constructor, checked once and never changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._common.cpus import granted_cpus
from torchdali._common.enums import DALIDataType
from torchdali._common.location import find_user_location
from torchdali.errors import (
    ArgumentError,
    LayoutError,
    PipelineError,
    TorchdaliError,
    _make,
    _with_context,
)
from torchdali.pipeline._autotune import first_depth
from torchdali.pipeline._option_checks import (
    AUTO,
    CHECKS,
    PY_NUM_WORKERS,
    PY_START_METHOD,
    OperatorConcurrency,
    StreamPolicy,
    depths,
)

__all__ = ["OperatorConcurrency", "Options", "StreamPolicy"]

_OUTPUT_FACTS = ("dtype", "ndim", "layout")
# Options that deserialize_and_build() takes from the document if the pipeline has no value.
_FILLED_IN = (
    *("batch_size", "num_threads", "device_id", "seed"),
    *(f"output_{fact}" for fact in _OUTPUT_FACTS),
)


@dataclasses.dataclass(frozen=True)
class Options:
    """The checked options of one pipeline. Pipeline's docstring says what each of them means.

    Raises:
        ArgumentError, ArgumentTypeError: an option is wrong.
    """

    batch_size: int | None = None
    num_threads: int | str | None = None
    device_id: int | None = None
    seed: int | None = None
    exec_pipelined: bool = True
    prefetch_queue_depth: int | str | Mapping[str, int] = 2
    exec_async: bool = True
    bytes_per_sample: int = 0
    set_affinity: bool = False
    max_streams: int = -1
    default_cuda_stream_priority: int = 0
    enable_memory_stats: bool = False
    enable_checkpointing: bool = False
    py_num_workers: int = PY_NUM_WORKERS
    py_start_method: str = PY_START_METHOD
    py_callback_pickler: Any = None
    output_dtype: Any = None
    output_ndim: Any = None
    output_layout: Any = None
    on_error: str | None = None
    max_errors: int = 100
    errors_file: Any = None
    exec_dynamic: bool = False
    stream_policy: StreamPolicy = StreamPolicy.UNSPECIFIED
    concurrency: OperatorConcurrency = OperatorConcurrency.UNSPECIFIED

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        if self.exec_separated and not (self.exec_async and self.exec_pipelined):
            raise _make(
                ArgumentError,
                "Pipeline: `prefetch_queue_depth` with separate sizes needs exec_async and "
                "exec_pipelined",
            )

    @classmethod
    def of_user(cls, arguments: Mapping[str, Any]) -> Options:
        """Returns the options that the user has passed; errors name the user's line."""
        try:
            return cls(**arguments)
        except TorchdaliError as error:
            raise _with_context(error, location=find_user_location()) from None

    # -- what follows from the options

    @property
    def threads(self) -> int | None:
        """Number of worker threads; of "auto", the CPUs that the process was granted."""
        return granted_cpus() if isinstance(self.num_threads, str) else self.num_threads

    @property
    def _queue_sizes(self) -> tuple[int, int]:
        depth: Any = self.prefetch_queue_depth
        if depth == AUTO:
            depth = first_depth(self.threads or 1, self.batch_size or 1)
        return depths("prefetch_queue_depth", depth)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the options that are "auto" and have an effect."""
        names = ("num_threads", "prefetch_queue_depth" if self.exec_pipelined else "")
        return tuple(name for name in names if name and getattr(self, name) == AUTO)

    @property
    def exec_separated(self) -> bool:
        """Whether CPU and GPU have queues of different depths."""
        return isinstance(self.prefetch_queue_depth, Mapping)

    @property
    def cpu_queue_size(self) -> int:
        """Number of iterations in flight on the CPU; of "auto", those to begin with."""
        return self._queue_sizes[0]

    @property
    def gpu_queue_size(self) -> int:
        """Number of iterations in flight on the GPU."""
        return self._queue_sizes[1]

    @property
    def iterations_in_flight(self) -> int:
        """Number of iterations that are scheduled before the first one is taken."""
        if not self.exec_pipelined:
            return 1
        # As in DALI, separate queues add up. The engine limits the iterations on the GPU.
        return self.cpu_queue_size + (self.gpu_queue_size if self.exec_separated else 0)

    def check_sizes(self) -> None:
        """Raises ArgumentError if batch_size or num_threads is missing."""
        for name in ("batch_size", "num_threads"):
            if getattr(self, name) is None:
                raise _make(
                    ArgumentError,
                    f"Pipeline: `{name}` is missing",
                    fix=f"pass {name}=... where the pipeline is made",
                )

    # -- declared outputs

    def declared(self, fact: str, num_outputs: Callable[[], int]) -> list[Any]:
        """Returns what is declared about each output, None if nothing is.

        Args:
            fact: "dtype", "ndim" or "layout".
            num_outputs: returns the number of outputs; called if one value is for all of them.
        """
        value = getattr(self, f"output_{fact}")
        return value if isinstance(value, list) else [value] * num_outputs()

    @property
    def declares_outputs(self) -> bool:
        """Whether anything is declared about the outputs."""
        return any(getattr(self, f"output_{fact}") is not None for fact in _OUTPUT_FACTS)

    def check_num_outputs(self, count: int) -> None:
        """Raises ArgumentError if a declaration has another number of entries."""
        for fact in _OUTPUT_FACTS:
            value = getattr(self, f"output_{fact}")
            if isinstance(value, list) and len(value) != count:
                raise _make(
                    ArgumentError,
                    f"Pipeline: `output_{fact}` has {len(value)} entries, the pipeline has {count} "
                    "outputs",
                )

    def check_outputs(self, batches: Sequence[Any]) -> None:
        """Raises PipelineError or LayoutError if a batch is not as declared."""
        for index, batch in enumerate(batches):
            for fact, actual in zip(
                _OUTPUT_FACTS, (batch.dtype, batch.ndim(), batch.layout()), strict=True
            ):
                value = getattr(self, f"output_{fact}")
                expected = value[index] if isinstance(value, list) else value
                if expected is not None and expected != actual:
                    shown = [
                        v.name if isinstance(v, DALIDataType) else repr(v)
                        for v in (expected, actual)
                    ]
                    raise _make(
                        LayoutError if fact == "layout" else PipelineError,
                        f"Pipeline: `output_{fact}` of output {index} is {shown[0]}, got "
                        f"{shown[1]}",
                    )

    # -- other options made of these

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that are stored in a serialized pipeline."""
        stored = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del stored["py_callback_pickler"], stored["errors_file"]  # a document writes no files
        return stored

    def filled_in(self, stored: Mapping[str, Any]) -> Options:
        """Returns these options, with values of `stored` for those that are None.

        Args:
            stored: arguments() of another pipeline.
        """
        missing = {
            name: stored[name]
            for name in _FILLED_IN
            if getattr(self, name) is None and name in stored
        }
        return dataclasses.replace(self, **missing)
