# SPDX-License-Identifier: Apache-2.0
"""fn.external_source: batches that the user hands in, or that a Python source makes.

What the user writes; _feeding.py has what happens when the pipeline runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchdali import graph
from torchdali._feeding import Group
from torchdali._parallel import parallel_source, prepare_workers
from torchdali._pulling import OWNER, Puller
from torchdali._schema import operator_schema
from torchdali._source_location import find_user_location
from torchdali.data_node import DataNode
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    _make,
)
from torchdali.types import DALIDataType

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
    cuda_stream: Any = None,  # noqa: ARG001
    use_copy_kernel: bool | None = None,  # noqa: ARG001
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
            iteration. Data are NumPy arrays, torch tensors, DLPack objects, TensorCPU; a batch is
            one of them with the batch as first axis, a list of samples, or a TensorListCPU. A
            callable takes nothing, or the index of the iteration in the epoch (batch=False: a
            types.SampleInfo), and raises StopIteration at the end.
        num_outputs: the source gives tuples of this length, and a list of DataNode is returned.
        cycle: what happens at the end of an iterable: "no" ends the data for good, "quiet" or True
            starts over at once, "raise" ends the epoch and starts over in the next.
        name: the name for Pipeline.feed_input.
        device: "cpu".
        layout: axes of a sample, such as "HWC"; a list gives one for each output.
        dtype: element type that the data must have; a list gives one for each output.
        ndim: number of dimensions that a sample must have; a list gives one for each output.
        cuda_stream: without effect on CPU data.
        use_copy_kernel: without effect on CPU data.
        blocking: where feed_input has brought nothing, wait for another thread to call it instead
            of raising an error.
        batch: whether the source gives whole batches, or (False) single samples.
        repeat_last: where feed_input has brought nothing new, use the last data again.
        parallel: call the source in worker processes, `py_num_workers` of the pipeline. A callable
            then takes one argument, and makes what it is asked for from that alone; each call may
            come to another worker. An iterable (batch=True) is iterated over in one of them.
        no_copy: read the user's memory in place, and hand it out where the pipeline returns it; it
            must not change before the iteration has been taken. By default the data is copied when
            it is fed; with `parallel` it lies in memory of the pipeline's own.
        prefetch_queue_depth: with `parallel`, how many batches are made ahead (default 1).
        bytes_per_sample_hint: with `parallel`, size of a sample to make room for beforehand.
        batch_info: pass a types.BatchInfo instead of the index to a callable that gives batches.
        **kwargs: `seed`, `preserve`.

    Returns:
        A DataNode; a list of them where `num_outputs` is given.

    Raises:
        ArgumentError, ArgumentTypeError: the arguments do not go together.
        UnsupportedError: a device other than "cpu".
    """
    location = find_user_location()
    schema = operator_schema("external_source")

    def fail(cls: type[Any], message: str) -> Exception:
        return _make(cls, message, operator=OWNER, location=location)

    graph.check_device(schema, device, location)
    mode = _CYCLES.get(cycle, "") if isinstance(cycle, (str, bool, type(None))) else ""
    if not mode:
        raise fail(ArgumentError, f'`cycle` is "no", "quiet" or "raise", got {cycle!r}')
    if source is None:
        for option, value in {"num_outputs": num_outputs, "cycle": cycle or None}.items():
            if value is not None:
                raise fail(ArgumentError, f"`{option}` needs a `source`")
        if batch is False:
            raise fail(ArgumentError, "batch=False needs a `source`; feed_input takes batches")
    elif repeat_last or blocking:
        option = "repeat_last" if repeat_last else "blocking"
        if option == "repeat_last":
            raise fail(ArgumentError, "`repeat_last` goes with feed_input, not with a `source`")
    if num_outputs is not None and num_outputs < 1:
        raise fail(ArgumentError, f"`num_outputs` must be positive, got {num_outputs}")

    whole = not parallel if batch is None else bool(batch)
    puller, workers = None, None
    if source is not None:
        puller = Puller(source, mode, whole, bool(batch_info), location)
        if parallel:
            workers = parallel_source(
                source,
                mode,
                whole,
                bool(batch_info),
                num_outputs,
                prefetch_queue_depth,
                bytes_per_sample_hint,
                location,
            )
            prepare_workers(graph.current_owner())
    elif parallel:
        raise fail(ArgumentError, "parallel=True needs a `source`")
    group = Group(
        puller,
        num_outputs,
        bool(no_copy),
        bool(repeat_last),
        bool(blocking),
        location,
        workers,
    )
    count = 1 if num_outputs is None else num_outputs
    nodes = []
    for index in range(count):
        own = {
            "layout": _pick(layout, index, str),
            "dtype": _pick(dtype, index, DALIDataType),
            "ndim": _pick(ndim, index, int),
        }
        if own["dtype"] is DALIDataType.NO_TYPE:
            own["dtype"] = None
        if own["layout"] and own["ndim"] is not None and len(own["layout"]) != own["ndim"]:
            raise fail(
                LayoutError,
                f'`ndim` is {own["ndim"]} but `layout` "{own["layout"]}" has '
                f"{len(own['layout'])} axes",
            )
        own_name = f"{name}[{index}]" if name and num_outputs is not None else name
        nodes.append(
            graph.create(
                schema,
                (),
                {**own, "name": own_name, **kwargs},
                group=group,
                group_index=index,
                location=location,
            )
        )
    return nodes[0] if num_outputs is None else nodes


def _pick(value: Any, index: int, kind: Any) -> Any:
    """Returns the value for one output out of a value for all, or a list with one for each."""
    if value is None or isinstance(value, (str, kind)) or not isinstance(value, (list, tuple)):
        return value
    return value[index] if index < len(value) else None


class ExternalSource:
    """The operator object behind fn.external_source: arguments first, the call makes the nodes.

    Args:
        source: as in fn.external_source.
        num_outputs: as in fn.external_source.
        device: "cpu".
        **kwargs: the other arguments of fn.external_source; a call may override them.
    """

    def __init__(
        self,
        source: Any = None,
        num_outputs: int | None = None,
        *,
        device: str = "cpu",
        **kwargs: Any,
    ) -> None:
        known = inspect.signature(external_source).parameters
        for name in kwargs:
            if name not in known and name not in ("seed", "preserve"):
                raise _make(ArgumentTypeError, f"unexpected argument `{name}`", operator=OWNER)
        self._kwargs = {"source": source, "num_outputs": num_outputs, "device": device, **kwargs}

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
        given = {name: value for name, value in kwargs.items() if value is not None}
        result: DataNode | list[DataNode] = external_source(**{**self._kwargs, **given})
        return result
