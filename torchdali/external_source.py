# SPDX-License-Identifier: Apache-2.0
"""fn.external_source: batches that the user hands in, or that a Python source makes.

Here stands what happens on the Python side: which source is called when and with what, and what its
data must look like. The memory is read by the engine where it lies.
"""

from __future__ import annotations

import collections
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from torchdali import graph
from torchdali._schema import registry
from torchdali._source_location import SourceLocation, find_user_location
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    UnsupportedError,
    _make,
)
from torchdali.graph import DataNode, OpNode
from torchdali.tensors import TensorListCPU, _samples, as_tensor
from torchdali.types import BatchInfo, DALIDataType, SampleInfo, to_dali_type

__all__ = ["ExternalSource", "external_source"]

_OWNER = "fn.external_source"
_CYCLES = {None: "no", False: "no", "no": "no", True: "quiet", "quiet": "quiet", "raise": "raise"}
_POLL_SECONDS = 0.1  # how soon a blocking wait for feed_input notices Ctrl-C

# One batch on its way to the engine: [N, ...] tensor or N tensors, and the layout.
_Batch = tuple[torch.Tensor | list[torch.Tensor], str]


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
    prefetch_queue_depth: int | None = None,  # noqa: ARG001
    bytes_per_sample_hint: int | None = None,  # noqa: ARG001
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
        parallel: True is not available in this version.
        no_copy: read the user's memory in place, which then must not change before the iteration
            has been taken; by default the data is copied when it is fed.
        prefetch_queue_depth: without effect unless `parallel`.
        bytes_per_sample_hint: without effect unless `parallel`.
        batch_info: pass a types.BatchInfo instead of the index to a callable that gives batches.
        **kwargs: `seed`, `preserve`.

    Returns:
        A DataNode; a list of them where `num_outputs` is given.

    Raises:
        ArgumentError, ArgumentTypeError: the arguments do not go together.
        UnsupportedError: `parallel`, or a device other than "cpu".
    """
    location = find_user_location()
    schema = registry()["external_source"]

    def fail(cls: type[Any], message: str) -> Exception:
        return _make(cls, message, operator=_OWNER, location=location)

    graph.check_device(schema, device, location)
    if parallel:
        raise _make(
            UnsupportedError,
            "parallel=True is not available in this version",
            operator=_OWNER,
            location=location,
            fix="leave it out: the source is then called in the process of the pipeline",
        )
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

    puller = None
    if source is not None:
        puller = _Puller(source, mode, batch is not False, bool(batch_info), location)
    group = Group(puller, num_outputs, bool(no_copy), bool(repeat_last), bool(blocking), location)
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


class _Puller:
    """Asks a Python source for data: calls it, or iterates over it.

    Args:
        source: callable, iterable or generator function.
        cycle: "no", "quiet" or "raise".
        batch: whether it gives batches.
        batch_info: whether a callable gets a BatchInfo.
        location: the user's line, for errors.
    """

    def __init__(
        self,
        source: Any,
        cycle: str,
        batch: bool,
        batch_info: bool,
        location: SourceLocation | None,
    ) -> None:
        self.batch = batch
        self._batch_info = batch_info
        self._cycle = cycle
        self._call: Callable[..., Any] | None = None
        self._takes_info = False
        self._iterate: Callable[[], Iterator[Any]] | None = None
        self._iterator: Iterator[Any] | None = None
        if inspect.isgeneratorfunction(source):
            if _num_parameters(source)[0]:
                raise _make(
                    ArgumentTypeError,
                    "a generator function given as `source` takes no arguments",
                    operator=_OWNER,
                    location=location,
                )
            self._iterate = source
        elif callable(source):
            if cycle != "no":
                raise _make(
                    ArgumentError,
                    "`cycle` goes with an iterable `source`, not with a callable",
                    operator=_OWNER,
                    location=location,
                )
            required, most = _num_parameters(source)
            if required > 1:
                raise _make(
                    ArgumentTypeError,
                    f"a callable `source` takes no or one positional argument, this one takes "
                    f"{required}",
                    operator=_OWNER,
                    location=location,
                )
            self._call, self._takes_info = source, most > 0
        elif isinstance(source, Iterable):
            if cycle != "no" and inspect.isgenerator(source):
                raise _make(
                    ArgumentTypeError,
                    "a generator cannot be cycled through",
                    operator=_OWNER,
                    location=location,
                    fix="pass the generator function itself as `source`",
                )
            self._iterate = lambda: iter(source)
        else:
            raise _make(
                ArgumentTypeError,
                f"`source` is a callable or an iterable, got {type(source).__name__}",
                operator=_OWNER,
                location=location,
            )

    def next(self, iteration: int, epoch: int, batch_size: int) -> Any:
        """Returns the next batch, or a list of `batch_size` samples.

        Raises:
            StopIteration: the data is at its end; what is left over of a batch is dropped.
        """
        if self.batch:
            return self._next(
                BatchInfo(iteration, epoch) if self._batch_info else iteration,
            )
        first = iteration * batch_size
        return [
            self._next(SampleInfo(first + index, index, iteration, epoch))
            for index in range(batch_size)
        ]

    def _next(self, info: Any) -> Any:
        if self._call is not None:
            return self._call(info) if self._takes_info else self._call()
        assert self._iterate is not None
        if self._iterator is None:
            self._iterator = iter(self._iterate())
        try:
            return next(self._iterator)
        except StopIteration:
            if self._cycle == "no":
                raise
            self._iterator = iter(self._iterate())
            if self._cycle == "raise":
                raise
            return next(self._iterator)


def _num_parameters(function: Callable[..., Any]) -> tuple[int, int]:
    """Returns how many positional arguments a callable needs, and how many it takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins do not say
        return 0, 0
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in positional), len(positional)


class Group:
    """What the outputs of one external_source have in common; belongs to the definition."""

    __slots__ = ("blocking", "location", "no_copy", "num_outputs", "puller", "repeat_last")

    def __init__(
        self,
        puller: _Puller | None,
        num_outputs: int | None,
        no_copy: bool,
        repeat_last: bool,
        blocking: bool,
        location: SourceLocation | None,
    ) -> None:
        self.puller = puller
        self.num_outputs = num_outputs
        self.no_copy = no_copy
        self.repeat_last = repeat_last
        self.blocking = blocking
        self.location = location


class Input:
    """The external source of one built pipeline: its queue, and its position in the epoch.

    Thread-safety: feed() may be called while another thread runs the pipeline.

    Args:
        group: what the definition says.
        nodes: for each output the name and the node, or None where nothing uses it.
        batch_size: the pipeline's.
    """

    def __init__(
        self,
        group: Group,
        nodes: Sequence[tuple[str, OpNode] | None],
        batch_size: int,
    ) -> None:
        self._group = group
        self._nodes = nodes
        self._batch_size = batch_size
        self._queue: collections.deque[_Batch] = collections.deque()
        self._fed = threading.Condition()
        self._last: _Batch | None = None
        self._iteration = 0
        self._epoch = 0

    @property
    def pulls(self) -> bool:
        """Whether a source is asked; else feed() brings the data."""
        return self._group.puller is not None

    @property
    def name(self) -> str:
        """Name of the first output in use."""
        return next(name for name, _ in filter(None, self._nodes))

    @property
    def location(self) -> SourceLocation | None:
        """The user's line."""
        return self._group.location

    @property
    def blocking(self) -> bool:
        """Whether ready() may become true by another thread's feed()."""
        return self._group.blocking and not self.pulls

    def ready(self) -> bool:
        """Whether take() has something to give without asking the user."""
        return self.pulls or bool(self._queue) or (self._group.repeat_last and bool(self._last))

    def wait(self) -> None:
        """Waits until feed() has brought data. Ctrl-C ends it."""
        with self._fed:
            while not self._queue:
                self._fed.wait(_POLL_SECONDS)

    def feed(self, data: Any, layout: str | None) -> None:
        """Queues one batch for the iterations to come."""
        batch = self._batch(data, layout, 0)
        with self._fed:
            self._queue.append(batch)
            self._fed.notify()

    def take(self) -> list[tuple[str, _Batch]]:
        """Returns the names of the engine's nodes and the data of the next iteration for them.

        Raises:
            StopIteration: the source is at its end.
        """
        puller = self._group.puller
        if puller is None:
            if self._queue:
                batch = self._queue.popleft()
                self._last = batch if self._group.repeat_last else None
            else:
                assert self._last is not None
                batch = self._last
            batches: list[_Batch | None] = [batch]
        else:
            data = puller.next(self._iteration, self._epoch, self._batch_size)
            self._iteration += 1
            batches = self._outputs(data, puller.batch)
        return [
            (self._checked(entry, batch), batch)
            for entry, batch in zip(self._nodes, batches, strict=True)
            if entry is not None and batch is not None
        ]

    def reset(self) -> None:
        """Begins the next epoch."""
        self._iteration = 0
        self._epoch += 1

    def _error(self, cls: type[Any], message: str) -> Exception:
        return _make(cls, message, operator=_OWNER, location=self._group.location)

    def _outputs(self, data: Any, whole: bool) -> list[_Batch | None]:
        """Returns one batch for each output out of what the source gave."""
        count = self._group.num_outputs
        if count is None:
            return [self._batch(data, None, 0)]
        items = [data] if whole else data
        for item in items:
            if not isinstance(item, (list, tuple)) or len(item) != count:
                got = (
                    f"{len(item)} values"
                    if isinstance(item, (list, tuple))
                    else type(item).__name__
                )
                raise self._error(
                    ArgumentError,
                    f"`num_outputs` is {count}, so the source gives tuples of {count}; got {got}",
                )
        return [
            None
            if self._nodes[index] is None
            else self._batch(data[index] if whole else [item[index] for item in data], None, index)
            for index in range(count)
        ]

    def _batch(self, data: Any, layout: str | None, index: int) -> _Batch:
        """Returns the user's data as tensors, copied unless `no_copy`."""
        entry = self._nodes[index]
        tensors: torch.Tensor | list[torch.Tensor]
        try:
            if isinstance(data, TensorListCPU):
                tensors, known = data._data, data._layout
            elif isinstance(data, (list, tuple)):
                tensors, known = _samples(data, numbers=True)
            else:
                tensors, known = as_tensor(data)
        except (ArgumentError, ArgumentTypeError, UnsupportedError) as error:
            raise self._error(type(error), str(error)) from None
        if isinstance(tensors, torch.Tensor) and tensors.dim() == 0:
            raise self._error(ArgumentError, "a batch needs an axis for its samples, got a scalar")
        if len(tensors) > self._batch_size:
            raise self._error(
                ArgumentError,
                f"a batch has at most {self._batch_size} samples (`batch_size` of the pipeline), "
                f"got {len(tensors)}",
            )
        if not len(tensors):
            raise self._error(ArgumentError, "a batch has at least one sample, got none")
        declared = entry[1].args.get("layout", "") if entry else ""
        layout = layout or known or declared
        dims = _sample_dims(tensors)
        if layout and len(layout) != dims:
            raise self._error(
                LayoutError,
                f'layout "{layout}" has {len(layout)} axes, the samples have {dims} dimensions',
            )
        if not self._group.no_copy:
            if isinstance(tensors, torch.Tensor):
                tensors = tensors.clone(memory_format=torch.contiguous_format)
            else:
                tensors = [t.clone(memory_format=torch.contiguous_format) for t in tensors]
        return tensors, layout

    def _checked(self, entry: tuple[str, OpNode], batch: _Batch) -> str:
        """Holds a batch against what the definition says; returns the name of its node."""
        name, node = entry
        if not node.args:
            return name
        tensors, layout = batch
        dims = _sample_dims(tensors)
        dtype = to_dali_type(tensors[0].dtype)
        wanted = node.args.get("dtype")
        if wanted is not None and dtype != wanted:
            raise self._error(
                ArgumentTypeError,
                f"`{name}` takes {DALIDataType(wanted).name} data, got {dtype.name}",
            )
        ndim = node.args.get("ndim")
        if ndim is not None and dims != ndim:
            raise self._error(
                ArgumentError,
                f"`{name}` takes samples of {ndim} dimensions, got {dims}",
            )
        declared = node.args.get("layout")
        if declared and layout != declared:
            raise self._error(
                LayoutError, f'`{name}` has layout "{declared}", got data with "{layout}"'
            )
        return name


def _sample_dims(tensors: torch.Tensor | list[torch.Tensor]) -> int:
    return tensors.dim() - 1 if isinstance(tensors, torch.Tensor) else tensors[0].dim()


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
                raise _make(ArgumentTypeError, f"unexpected argument `{name}`", operator=_OWNER)
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
