# SPDX-License-Identifier: Apache-2.0
"""fn.external_source: batches that the user hands in, or that a Python source makes.

What the user writes; _sources/input.py has what happens when the pipeline runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torchdali._common.enums import DALIDataType
from torchdali._common.location import find_user_location
from torchdali._engine.schema import Argument, OperatorSchema, operator_schema
from torchdali._graph import record
from torchdali._graph.arguments import coerce, unknown_name
from torchdali._graph.check import check_device
from torchdali._graph.conditionals.source import as_written
from torchdali._graph.scope import current_owner
from torchdali._sources.input import Group
from torchdali._sources.parallel import parallel_source, prepare_workers
from torchdali._sources.python_source import OWNER, Puller
from torchdali.data_node import DataNode
from torchdali.errors import (
    ArgumentError,
    LayoutError,
    _make,
)
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

    The data comes from `source`, or from Pipeline.feed_input where there is no source.

    Args:
        source: a callable, an iterable or a generator function; asked for data before each
            iteration. Data are NumPy arrays, torch tensors, DLPack objects, buffers, numbers,
            TensorCPU; a batch is one of them with the batch as first axis, a list of samples, or a
            TensorListCPU, also of another pipeline. A callable takes nothing, or the index of the
            iteration in the epoch (batch=False: a types.SampleInfo), and raises StopIteration at
            the end. What can be iterated over is, also where it can be called.
        num_outputs: the source gives tuples of this length, and a list of DataNode is returned.
        cycle: what happens at the end of an iterable: "no" ends the data for good, "quiet" or True
            starts over at once, "raise" ends the epoch and starts over in the next.
        name: the name for Pipeline.feed_input.
        device: where the batch will be. "gpu" takes data on a GPU as well as on the CPU, which is
            copied there.
        layout: axes of a sample, such as "HWC"; a list has one for each output, or for the first
            ones.
        dtype: element type that the data must have; a list as for `layout`.
        ndim: number of dimensions that a sample must have; a list as for `layout`.
        cuda_stream: the CUDA stream that makes data on a GPU, in any form (torch's, a handle, 0 for
            CUDA's default stream); None: torch's current one; -1: the data is there already.
            Without effect on CPU data.
        use_copy_kernel: True or False; torch decides how it copies.
        blocking: where feed_input has brought nothing, wait for another thread to call it instead
            of raising an error. Without effect with a `source`.
        batch: whether the source gives whole batches, or (False) single samples. None: single
            samples with `parallel`, else batches.
        repeat_last: where feed_input has brought nothing new, use the last data again.
        parallel: call the source in worker processes, `py_num_workers` of the pipeline. A callable
            then takes one argument, and makes what it is asked for from that alone; each call may
            come to another worker. An iterable (batch=True) is iterated over in one of them.
        no_copy: read the user's memory in place, and hand it out where the pipeline returns it; it
            must not change before the iteration has been taken. By default the data is copied when
            it is fed; with `parallel` it lies in memory of the pipeline's own, and False is an
            error. Data with gaps (strides) is packed in any case.
        prefetch_queue_depth: with `parallel`, how many batches are made ahead (default 1).
        bytes_per_sample_hint: with `parallel`, size of a sample to make room for beforehand.
        batch_info: pass a types.BatchInfo instead of the index to a callable that gives batches.
            Without effect on others.
        **kwargs: `seed`, `preserve`.

    Returns:
        A DataNode; a list of them where `num_outputs` is given.

    Raises:
        ArgumentError, ArgumentTypeError: the arguments do not go together.
        UnsupportedError: device "mixed".

    Note:
        All sources of a pipeline are asked once for each iteration. An iteration ends the epoch
        where one of them is at its end, and is lost where one raises an exception; what the others
        gave for it goes with it, so that they stay in step. Data that was fed waits behind an end.
    """
    location = find_user_location()
    schema = operator_schema("external_source")
    _check_names(kwargs)
    source = as_written(source)

    def fail(cls: type[Any], message: str, fix: str | None = None) -> Exception:
        return _make(cls, message, operator=OWNER, location=location, fix=fix)

    def flag(option: str, value: Any) -> bool:
        return value is not None and bool(coerce(OWNER, Argument(option, "bool"), value, location))

    check_device(schema, device, location)
    check_gpu_options(OWNER, cuda_stream, use_copy_kernel, location)
    mode = _CYCLES.get(cycle, "") if isinstance(cycle, (str, bool, type(None))) else ""
    if not mode:
        raise fail(ArgumentError, f'`cycle` is "no", "quiet" or "raise", got {cycle!r}')
    if num_outputs is not None:
        num_outputs = coerce(OWNER, Argument("num_outputs", "int"), num_outputs, location)
        if num_outputs < 1:
            raise fail(ArgumentError, f"`num_outputs` must be positive, got {num_outputs}")
    whole = not parallel if batch is None else flag("batch", batch)
    with_info, repeats = flag("batch_info", batch_info), flag("repeat_last", repeat_last)
    waits, uncopied = flag("blocking", blocking), flag("no_copy", no_copy)
    if source is None:
        for option, value in {
            "num_outputs": num_outputs,
            "cycle": cycle or None,
            "parallel=True": flag("parallel", parallel) or None,
            "batch=False": None if whole else False,
        }.items():
            if value is not None:
                raise fail(ArgumentError, f"`{option}` needs a `source`; feed_input takes batches")
    elif repeats:
        raise fail(ArgumentError, "`repeat_last` goes with feed_input, not with a `source`")
    if flag("parallel", parallel):
        if no_copy is not None and not uncopied:
            raise fail(ArgumentError, "`no_copy` cannot be False with parallel=True")
    else:
        for option, value in {
            "prefetch_queue_depth": prefetch_queue_depth,
            "bytes_per_sample_hint": bytes_per_sample_hint,
        }.items():
            if value is not None:
                raise fail(ArgumentError, f"`{option}` goes with parallel=True")

    puller, workers = None, None
    if source is not None:
        puller = Puller(source, mode, whole, with_info, location)
        if parallel:
            workers = parallel_source(
                source,
                mode,
                whole,
                with_info,
                num_outputs,
                prefetch_queue_depth,
                bytes_per_sample_hint,
                location,
            )
            prepare_workers(current_owner())
    group = Group(
        puller, num_outputs, uncopied, repeats, waits, location, workers, device, cuda_stream
    )
    count = 1 if num_outputs is None else num_outputs
    per_output: dict[str, Any] = {"layout": layout, "dtype": dtype, "ndim": ndim}
    for option, value in per_output.items():
        if isinstance(value, (list, tuple)) and (num_outputs is None or len(value) > count):
            raise fail(
                ArgumentError,
                f"`{option}` is a list of {len(value)} for "
                + ("one output" if num_outputs is None else f"{count} outputs"),
                fix="a list goes with `num_outputs`, and has one entry for each output",
            )
    nodes = []
    for index in range(count):
        own = {option: _pick(value, index) for option, value in per_output.items()}
        if own["ndim"] is not None:
            own["ndim"] = coerce(OWNER, Argument("ndim", "int"), own["ndim"], location)
            if own["ndim"] < 0:
                raise fail(ArgumentError, f"`ndim` is at least 0, got {own['ndim']}")
        if own["dtype"] is DALIDataType.NO_TYPE:
            own["dtype"] = None
        if own["layout"] and own["ndim"] is not None and len(own["layout"]) != own["ndim"]:
            raise fail(
                LayoutError,
                f'`ndim` is {own["ndim"]} but `layout` "{own["layout"]}" has '
                f"{len(own['layout'])} axes",
            )
        own_name = f"{name}[{index}]" if name and num_outputs is not None else name
        node = record.create(
            schema,
            (),
            {**own, "name": own_name, **kwargs},
            group=group,
            group_index=index,
            location=location,
        )
        nodes.append(node)
    if device == "gpu":
        nodes = [record.transfer(node, "gpu", location) for node in nodes]
    return nodes[0] if num_outputs is None else nodes


def _pick(value: Any, index: int) -> Any:
    """Returns the value for one output out of a value for all, or a list with one for each."""
    if not isinstance(value, (list, tuple)):
        return value
    return value[index] if index < len(value) else None


class ExternalSource:
    """The operator object behind fn.external_source: arguments first, the call makes the nodes.

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
        """What the operator is."""
        return operator_schema("external_source")

    @property
    def device(self) -> str:
        """Where the data will be."""
        return str(self._kwargs["device"])

    @property
    def preserve(self) -> bool:
        """Whether the operator runs although nothing uses its outputs."""
        return bool(self._kwargs.get("preserve"))

    def __call__(self, **kwargs: Any) -> DataNode | list[DataNode]:
        """Returns the DataNode, or a list of them where `num_outputs` was given."""
        _check_names(kwargs)
        given = {name: value for name, value in kwargs.items() if value is not None}
        result: DataNode | list[DataNode] = external_source(**{**self._kwargs, **given})
        return result


def _check_names(kwargs: Mapping[str, Any]) -> None:
    """Raises ArgumentTypeError for an argument that fn.external_source does not take."""
    parameters = inspect.signature(external_source).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD] + ["seed", "preserve"]
    for name in kwargs:
        if name not in known:
            raise unknown_name(OWNER, name, known, find_user_location())
