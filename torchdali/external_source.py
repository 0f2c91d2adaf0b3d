# SPDX-License-Identifier: Apache-2.0
"""fn.external_source: batches that the user feeds, or that a Python source makes.

This is the definition; _sources/input.py is what the pipeline reads when it runs.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torchdali._common.enums import DALIDataType
from torchdali._common.location import SourceLocation, find_user_location, user_stack_level
from torchdali._engine.schema import Argument, OperatorSchema, operator_schema
from torchdali._graph import record
from torchdali._graph.arguments import coerce, unknown_name
from torchdali._graph.check import check_device
from torchdali._graph.conditionals.source import as_written
from torchdali._graph.scope import current_owner, current_scope
from torchdali._sources.group import SourceGroup
from torchdali._sources.kinds import OWNER
from torchdali._sources.parallel_source import parallel_source, prepare_workers
from torchdali._sources.python_source import PythonSource
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, LayoutError, _make
from torchdali.tensors._input import check_gpu_options

__all__ = ["ExternalSource", "external_source"]

_CYCLES = {None: "no", False: "no", "no": "no", True: "quiet", "quiet": "quiet", "raise": "raise"}


def external_source(
    source: Callable[..., Any] | Iterable[Any] | None = None,
    num_outputs: int | None = None,
    *,
    cycle: str | bool | None = None,
    name: str | None = None,
    device: str = "cpu",
    layout: str | Sequence[str] | None = None,
    dtype: DALIDataType | Sequence[DALIDataType] | None = None,
    ndim: int | Sequence[int] | None = None,
    cuda_stream: Any = None,
    use_copy_kernel: bool | None = None,
    blocking: bool | None = None,
    batch: bool | None = True,
    repeat_last: bool = False,
    parallel: bool | None = None,
    no_copy: bool | None = None,
    prefetch_queue_depth: int | None = None,
    bytes_per_sample_hint: int | None = None,
    batch_info: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Brings the user's own data into the pipeline.

    The data comes from `source`, or from Pipeline.feed_input() if there is no source.

    Args:
        source: a callable, an iterable or a generator function; asked for data before each
            iteration. Data are NumPy arrays, torch tensors, DLPack objects, buffers, numbers,
            TensorCPU; a batch is one of them with the batch as first axis, a list of samples, or a
            TensorListCPU, also of another pipeline. A callable takes nothing, or the index of the
            iteration in the epoch (batch=False: a types.SampleInfo), and raises StopIteration at
            the end. An object that is both iterable and callable is iterated over.
        num_outputs: the source returns tuples of this length, and the function a list of DataNode.
            Outputs that nothing uses may be missing. Without a source, each output is fed on its
            own, under its `DataNode.name`: with `name`, "name[0]" and so on.
        cycle: what happens at the end of an iterable: "no" ends the data for good, "quiet" or True
            starts over at once, "raise" ends the epoch and starts over in the next.
        name: the name for Pipeline.feed_input().
        device: where the batch will be. "gpu" takes data on a GPU, and data on the CPU, which is
            copied there.
        layout: axes of a sample, such as "HWC"; a list has one for each output, or for the first
            ones.
        dtype: element type that the data must have; a list as for `layout`.
        ndim: number of dimensions that a sample must have; a list as for `layout`.
        cuda_stream: the CUDA stream that makes data on a GPU, in any form (torch's, a handle, 0 for
            CUDA's default stream); None: torch's current one; -1: the data is ready. Without effect
            on CPU data.
        use_copy_kernel: True or False; torch decides how it copies.
        blocking: if nothing was fed, wait for another thread to call feed_input() instead of
            raising an error. Without effect with a `source`.
        batch: whether the source returns whole batches, or (False) single samples. None: single
            samples with `parallel`, else batches. Without effect if there is no source.
        repeat_last: if nothing new was fed, use the last data again. Without effect with a
            `source`, apart from a warning.
        parallel: call the source in worker processes, `py_num_workers` of the pipeline. A callable
            must take one argument, and its result must depend on that alone, since each call may be
            in another worker. An iterable (batch=True) is iterated over in one of them.
        no_copy: use the user's memory, also for outputs of the pipeline; it must not change before
            the iteration was taken. By default the data is copied when it is fed. With `parallel`
            it is in memory of the pipeline, and False is an error. Data with gaps (strides) is
            packed in any case.
        prefetch_queue_depth: with `parallel`, how many batches are made ahead (default 1).
        bytes_per_sample_hint: with `parallel`, expected size of a sample.
        batch_info: pass a types.BatchInfo instead of the index to a callable that returns batches.
            Without effect on others.
        **kwargs: `seed`, `preserve`, `on_error`.

    Returns:
        A DataNode; a list of them with `num_outputs`.

    Raises:
        ArgumentError, ArgumentTypeError: the arguments contradict each other.
        UnsupportedError: device "mixed".

    Note:
        All sources of a pipeline are asked once for each iteration. If one of them has ended, the
        epoch ends; if one raises an exception, the iteration is lost. The data of the others is
        dropped, so that they stay at the same iteration. Data that was fed is kept for the
        iteration after an end. With `on_error`, also of the pipeline, an exception of the source
        costs only its sample, or the samples of its batch. A generator has ended when it raises,
        which is an error.
    """
    location = find_user_location()
    schema = operator_schema("external_source")
    _check_names(kwargs)
    check_device(schema, device, location)
    check_gpu_options(OWNER, cuda_stream, use_copy_kernel, location)
    call = _Call(as_written(source), num_outputs, cycle, location)
    flags = {
        "parallel": call.flag("parallel", parallel),
        "batch": not parallel if batch is None else call.flag("batch", batch),
        "batch_info": call.flag("batch_info", batch_info),
        "repeat_last": call.flag("repeat_last", repeat_last),
        "blocking": call.flag("blocking", blocking),
        "no_copy": call.flag("no_copy", no_copy),
    }
    hints = {
        "prefetch_queue_depth": prefetch_queue_depth,
        "bytes_per_sample_hint": bytes_per_sample_hint,
    }
    scope = current_scope()
    call.check_flags(flags, hints, no_copy, debugged=scope is not None and scope.runner is not None)
    python_source, workers = None, None
    if call.source is not None:
        python_source = PythonSource(
            call.source, call.mode, flags["batch"], flags["batch_info"], location
        )
        if flags["parallel"]:
            workers = parallel_source(
                python_source,
                call.num_outputs,
                prefetch_queue_depth,
                bytes_per_sample_hint,
                location,
            )
            prepare_workers(current_owner())
    one = SourceGroup(
        source=python_source,
        num_outputs=call.num_outputs if python_source else None,
        no_copy=flags["no_copy"],
        repeat_last=flags["repeat_last"],
        blocking=flags["blocking"],
        location=location,
        parallel=workers,
        device=device,
        cuda_stream=cuda_stream,
    )
    arguments = call.arguments_of_outputs({"layout": layout, "dtype": dtype, "ndim": ndim})
    nodes = []
    for index, own in enumerate(arguments):
        # Outputs of one source come together; those that are fed come one by one.
        group = one if python_source or not index else dataclasses.replace(one)
        own_name = f"{name}[{index}]" if name and num_outputs is not None else name
        node = record.create(
            schema,
            (),
            {**own, "name": own_name, **kwargs},
            group=group,
            group_index=index if python_source else 0,
            location=location,
        )
        nodes.append(node)
    if device == "gpu":
        nodes = [record.transfer(node, "gpu", location) for node in nodes]
    return nodes[0] if num_outputs is None else nodes


class _Call:
    """Checks the arguments of one call.

    Args:
        source, num_outputs, cycle: as in external_source().
        location: the user's line.

    Attributes:
        source: as the argument.
        num_outputs: a positive integer or None.
        mode: "no", "quiet" or "raise".
    """

    def __init__(
        self,
        source: Any,
        num_outputs: Any,
        cycle: str | bool | None,
        location: SourceLocation | None,
    ) -> None:
        self._location = location
        self.source = source
        self._cycle = cycle
        self.mode = _CYCLES.get(cycle, "") if isinstance(cycle, (str, bool, type(None))) else ""
        if not self.mode:
            raise self._error(f'`cycle` takes "no", "quiet" or "raise", got {cycle!r}')
        self.num_outputs: int | None = None
        if num_outputs is not None:
            argument = Argument("num_outputs", "int")
            self.num_outputs = coerce(OWNER, argument, num_outputs, location)
            assert self.num_outputs is not None
            if self.num_outputs < 1:
                raise self._error(f"`num_outputs` must be positive, got {self.num_outputs}")

    def _error(self, message: str, cls: type[Any] = ArgumentError, fix: str | None = None) -> Any:
        return _make(cls, message, operator=OWNER, location=self._location, fix=fix)

    def _warn(self, message: str) -> None:
        warnings.warn(
            f"{OWNER}: {message}\n  defined at {self._location}",
            UserWarning,
            stacklevel=user_stack_level(),
        )

    def flag(self, name: str, value: Any) -> bool:
        """Returns an argument as a bool; None is False."""
        if value is None:
            return False
        return bool(coerce(OWNER, Argument(name, "bool"), value, self._location))

    def check_flags(
        self,
        flags: Mapping[str, bool],
        hints: Mapping[str, Any],
        no_copy: bool | None,
        *,
        debugged: bool,
    ) -> None:
        """Raises ArgumentError for arguments that contradict each other.

        Args:
            flags: by name.
            hints: arguments for worker processes, by name.
            no_copy: as the user has passed it.
            debugged: in debug mode, which as in DALI only warns of arguments that it does not use,
                such as those for worker processes.
        """
        unused = [option for option, value in hints.items() if value is not None]
        if debugged:
            if flags["parallel"]:
                unused.insert(0, "parallel")
            if unused:
                self._warn(f"debug mode does not use `{'`, `'.join(unused)}`")
            unused = []
        if self.source is None:
            for option, value in {
                "cycle": self._cycle or None,
                "parallel=True": None if debugged else flags["parallel"] or None,
            }.items():
                if value is not None:
                    raise self._error(f"`{option}` needs a `source`; feed_input() takes batches")
        elif flags["repeat_last"]:
            self._warn("`repeat_last` is for feed_input(); it has no effect with a `source`")
        if flags["parallel"]:
            if no_copy is not None and not flags["no_copy"]:
                raise self._error("`no_copy` cannot be False with parallel=True")
            return
        if unused:
            raise self._error(f"`{unused[0]}` needs parallel=True")

    def arguments_of_outputs(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the arguments of each output.

        Args:
            given: values for all outputs, or lists with one entry for each.
        """
        count = self.num_outputs or 1
        for option, value in given.items():
            if isinstance(value, (list, tuple)) and (
                self.num_outputs is None or len(value) > count
            ):
                raise self._error(
                    f"`{option}` is a list of {len(value)} for "
                    + ("one output" if self.num_outputs is None else f"{count} outputs"),
                    fix="pass a list only with `num_outputs`, with one entry for each output",
                )
        return [
            self._arguments_of_output({option: _pick(v, index) for option, v in given.items()})
            for index in range(count)
        ]

    def _arguments_of_output(self, own: dict[str, Any]) -> dict[str, Any]:
        if own["ndim"] is not None:
            own["ndim"] = coerce(OWNER, Argument("ndim", "int"), own["ndim"], self._location)
            if own["ndim"] < 0:
                raise self._error(f"`ndim` must be at least 0, got {own['ndim']}")
        if own["dtype"] is DALIDataType.NO_TYPE:
            own["dtype"] = None
        if own["layout"] and own["ndim"] is not None and len(own["layout"]) != own["ndim"]:
            raise self._error(
                f'`ndim` is {own["ndim"]} but `layout` "{own["layout"]}" has '
                f"{len(own['layout'])} axes",
                LayoutError,
            )
        return own


def _pick(value: Any, index: int) -> Any:
    """Returns the value for one output, given one value for all outputs or a list of values."""
    if not isinstance(value, (list, tuple)):
        return value
    return value[index] if index < len(value) else None


class ExternalSource:
    """fn.external_source as an object: the constructor takes the arguments, a call makes the nodes.

    Args:
        source: as in fn.external_source.
        num_outputs: as in fn.external_source.
        device: "cpu" or "gpu".
        batch: as in fn.external_source; None, the default, is False with `parallel`, else True.
        **kwargs: the other arguments of fn.external_source; a call may override them.
    """

    def __init__(
        self,
        source: Any = None,
        num_outputs: int | None = None,
        *,
        device: str = "cpu",
        batch: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self._kwargs = {
            "source": source,
            "num_outputs": num_outputs,
            "device": device,
            "batch": batch,
            **kwargs,
        }
        _check_names(kwargs)

    @property
    def schema(self) -> OperatorSchema:
        """The schema of the operator."""
        return operator_schema("external_source")

    @property
    def device(self) -> str:
        """Where the data will be."""
        return str(self._kwargs["device"])

    @property
    def preserve(self) -> bool:
        """Whether the operator runs even if nothing uses its outputs."""
        return bool(self._kwargs.get("preserve"))

    def __call__(self, **kwargs: Any) -> DataNode | list[DataNode]:
        """Returns a DataNode, or a list of them with `num_outputs`."""
        _check_names(kwargs)
        given = {name: value for name, value in kwargs.items() if value is not None}
        result: DataNode | list[DataNode] = external_source(**{**self._kwargs, **given})
        return result


def _check_names(kwargs: Mapping[str, Any]) -> None:
    """Raises ArgumentTypeError for an argument that fn.external_source does not take."""
    parameters = inspect.signature(external_source).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD] + [
        "seed",
        "preserve",
        "on_error",
    ]
    for name in kwargs:
        if name not in known:
            raise unknown_name(OWNER, name, known, find_user_location())
