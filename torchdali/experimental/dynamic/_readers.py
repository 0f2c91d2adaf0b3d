# SPDX-License-Identifier: Apache-2.0
"""Makes the readers of the dynamic mode from the schemas."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torchdali._eager.caller import Caller
from torchdali._eager.reader import Reader as Epochs
from torchdali._engine.schema import OperatorSchema, registry
from torchdali.errors import ArgumentError, PipelineError, UnsupportedError, _make
from torchdali.experimental.dynamic._base import FACE, samples_of
from torchdali.experimental.dynamic._data import wrapped
from torchdali.experimental.dynamic._device import check_cpu
from torchdali.experimental.dynamic._types import DType, type_id
from torchdali.fn import _callables
from torchdali.tensors import TensorListCPU

__all__ = ["Reader", "ReaderMeta", "ReaderState", "install"]

_BATCH_SIZE = 16  # of reading, where samples are asked for one by one


@dataclass(frozen=True)
class ReaderMeta:
    """The facts about a reader.

    Attributes:
        epoch_size: samples of all shards.
        epoch_size_padded: the same with equal shards.
        number_of_shards: of the data.
        shard_id: of the first epoch.
        pad_last_batch: whether the last batch of an epoch is filled.
        stick_to_shard: whether all epochs have the same shard.
        num_batches: of an epoch; None if no batch size was given.
    """

    epoch_size: int
    epoch_size_padded: int
    number_of_shards: int
    shard_id: int
    pad_last_batch: bool
    stick_to_shard: bool
    num_batches: int | None = None


@dataclass(frozen=True)
class ReaderState:
    """Where a reader is; it can be pickled.

    Attributes:
        checkpoint: of the pipeline that reads.
        batch_size: of reading.
        epoch: epochs that have ended.
        batches: that were read since.
    """

    checkpoint: bytes
    batch_size: int
    epoch: int
    batches: int


class Reader:
    """A reader, whose epochs are iterators.

    Args:
        max_batch_size: the largest batch; by default that of the first epoch.
        name: for errors.
        device: the CPU.
        num_inputs: None or 0: readers have no inputs.
        enable_checkpointing: whether get_state() may be called.
        kwargs: arguments of the reader.

    Raises:
        TorchdaliError: an argument is wrong, when the first epoch begins.
        UnsupportedError: the device is not the CPU.
    """

    _schema: OperatorSchema

    def __init__(
        self,
        max_batch_size: int | None = None,
        name: str | None = None,
        device: Any = "cpu",
        num_inputs: int | None = None,
        *,
        enable_checkpointing: bool = False,
        **kwargs: Any,
    ) -> None:
        self._caller = Caller(self._schema, FACE)
        self._caller.named(lambda: self._check(device, num_inputs, kwargs))
        self.name = name
        self._max_batch_size = max_batch_size
        self._checkpointing = enable_checkpointing
        self._kwargs = {key: _plain(value) for key, value in kwargs.items()}
        self._epochs: Epochs | None = None
        self._current: Iterator[tuple[TensorListCPU, ...]] | None = None
        self._taken = 0  # batches of the current epoch
        self._left: list[Any] = []  # samples that were read and not handed out
        self._resumed = False  # in the epoch that next_epoch() continues
        self._number = 0  # of the epoch, so that older iterators notice that they are over

    def _check(self, device: Any, num_inputs: int | None, kwargs: dict[str, Any]) -> None:
        check_cpu("readers", device)
        if num_inputs:
            raise _make(ArgumentError, f"readers have no inputs, got num_inputs={num_inputs}")
        known = {arg.name for arg in self._schema.args} | {"seed"}
        unknown = [key for key in kwargs if key not in known]
        if unknown:
            raise _make(ArgumentError, f"unexpected argument `{unknown[0]}`")

    def __call__(self, *, batch_size: int | None = None, **kwargs: Any) -> Any:  # noqa: ARG002
        """Raises UnsupportedError: batches are taken from next_epoch()."""
        raise _make(
            UnsupportedError,
            f"a reader is not called in this version (batch_size={batch_size})",
            operator=self._caller.name,
            fix="iterate over reader.next_epoch(batch_size)",
        )

    def get_metadata(self, batch_size: int | None = None) -> ReaderMeta:
        """Returns the facts about the reader.

        Args:
            batch_size: to count the batches of an epoch.
        """
        meta = self._opened(batch_size).metadata
        known = {name: meta[name] for name in ReaderMeta.__dataclass_fields__ if name in meta}
        known["pad_last_batch"] = bool(self._kwargs.get("pad_last_batch", False))
        largest = -(-meta["epoch_size"] // meta["number_of_shards"])
        return ReaderMeta(**known, num_batches=batch_size and -(-largest // batch_size))

    def next_epoch(
        self,
        batch_size: int | None = None,
        ctx: Any = None,  # noqa: ARG002
        capture: bool = False,
    ) -> Iterator[Any]:
        """Returns an iterator over the next epoch: a tuple of batches each time.

        Readers whose outputs have names yield dictionaries. What is left of an epoch before is
        skipped.

        Args:
            batch_size: of all batches but the last one; None: each time a Tensor of one sample.
            ctx: without effect: the context of the thread counts.
            capture: not available.

        Raises:
            TorchdaliError: an argument of the reader is wrong.
            UnsupportedError: `capture` was asked for.
        """
        if capture:
            raise _make(UnsupportedError, "capture is not available in this version")
        most = self._max_batch_size
        if batch_size is not None and not 1 <= batch_size <= (most or batch_size):
            raise _make(
                ArgumentError,
                f"a batch has 1 to {most or 'any number of'} samples, got {batch_size}",
                operator=self._caller.name,
            )
        epochs = self._opened(batch_size)
        if self._current is not None and self._taken and not self._resumed:
            for _ in self._current:
                pass  # the rest of an epoch that was left
            self._current = None
        if self._current is None:
            self._current, self._taken, self._left = epochs.batches(), 0, []
        self._resumed = False
        self._number += 1
        return self._epoch(epochs, self._number, batch_size)

    def _opened(self, batch_size: int | None) -> Epochs:
        if self._epochs is None:
            size = self._max_batch_size or batch_size or _BATCH_SIZE
            self._epochs = self._open(size, None)
        return self._epochs

    def _open(self, size: int, checkpoint: bytes | None) -> Epochs:
        made: Epochs = self._caller.named(
            lambda: Epochs(
                self._schema,
                self._kwargs,
                size,
                enable_checkpointing=self._checkpointing,
                checkpoint=checkpoint,
            )
        )
        return made

    def _epoch(self, epochs: Epochs, number: int, batch_size: int | None) -> Iterator[Any]:
        wanted = batch_size or 1
        while True:
            if number != self._number:
                raise _make(
                    PipelineError,
                    "another epoch of the reader has begun",
                    operator=self._caller.name,
                )
            whole = self._take()
            if whole is None and not self._left:
                self._current, self._taken = None, 0
                return
            if whole is not None:
                self._taken += 1
                if batch_size == len(whole[0]) and not self._left:
                    yield self._made(epochs, [samples_of(output) for output in whole], False)
                    continue
                self._left.extend(zip(*(list(output) for output in whole), strict=True))
            while len(self._left) >= wanted or (self._left and (whole is None or self._is_over())):
                rows, self._left = self._left[:wanted], self._left[wanted:]
                columns = [TensorListCPU(list(column)) for column in zip(*rows, strict=True)]
                made = [samples_of(column) for column in columns]
                yield self._made(epochs, made, batch_size is None)
                if number != self._number:
                    break

    def _take(self) -> tuple[TensorListCPU, ...] | None:
        epoch = self._current
        if epoch is None:
            return None
        return self._caller.named(lambda: next(epoch, None))  # type: ignore[no-any-return]

    def _is_over(self) -> bool:
        assert self._epochs is not None
        return self._taken >= self._epochs.num_batches

    def _made(self, epochs: Epochs, columns: list[Any], single: bool) -> Any:
        made = [wrapped(column, single) for column in columns]
        return tuple(made) if epochs.names is None else dict(zip(epochs.names, made, strict=True))

    def get_state(self, *, cuda_stream: Any = None) -> ReaderState:  # noqa: ARG002
        """Returns where the reader is: at the end of the last batch that was taken.

        Args:
            cuda_stream: without effect: the state is on the CPU.

        Raises:
            PipelineError: checkpointing is off, or samples were read that were not taken yet.
        """
        if not self._checkpointing:
            raise _make(
                PipelineError,
                "the reader was made without checkpointing",
                operator=self._caller.name,
                fix="pass enable_checkpointing=True",
            )
        if self._left:
            raise _make(
                PipelineError,
                "samples were read that were not taken yet",
                operator=self._caller.name,
                fix="use one batch size, or take the state between epochs",
            )
        epochs = self._opened(None)
        taken = self._taken if self._taken < epochs.num_batches else 0
        return ReaderState(epochs.checkpoint(), epochs.batch_size, epochs.epoch, taken)

    def set_state(self, state: ReaderState) -> None:
        """Continues where a reader with the same arguments was: next_epoch() has what is left.

        Args:
            state: that get_state() returned.
        """
        if not isinstance(state, ReaderState):
            raise _make(ArgumentError, f"a ReaderState is expected, got {type(state).__name__}")
        self._epochs = epochs = self._open(state.batch_size, state.checkpoint)
        epochs.epoch = state.epoch
        self._number += 1
        self._left, self._taken, self._resumed = [], state.batches, state.batches > 0
        self._current = epochs.batches(state.batches) if state.batches else None


def _plain(value: Any) -> Any:
    if isinstance(value, DType):
        return type_id(value)
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def install(package: ModuleType) -> None:
    """Fills ``torchdali.experimental.dynamic.readers``."""
    made = {
        schema.class_name: _class(schema)
        for name, schema in registry().items()
        if schema.source and name.startswith("readers.")
    }
    _callables.install_functions(package, made)


def _class(schema: OperatorSchema) -> type[Reader]:
    common = inspect.signature(Reader).parameters.values()
    own = _callables.signature(schema, _callables.Face("Batch", "Batch", lambda _: ()))
    kind = inspect.Parameter.KEYWORD_ONLY
    named = [p.replace(default=None) for p in own.parameters.values() if p.kind is kind]
    named.append(inspect.Parameter("seed", kind, default=None))
    shown = {p.name for p in named}
    old = [arg.name for arg in schema.args if arg.name not in shown]
    named += [inspect.Parameter(name, kind, default=None) for name in old]
    first = [p for p in common if p.kind is p.POSITIONAL_OR_KEYWORD]
    last = [p for p in common if p.kind is kind]
    doc = _callables.docstring(schema).partition("\n\nReturns:")[0]
    return type(
        schema.class_name,
        (Reader,),
        {
            "_schema": schema,
            "__doc__": doc,
            "__signature__": inspect.Signature([*first, *named, *last]),
        },
    )
