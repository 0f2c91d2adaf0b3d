# SPDX-License-Identifier: Apache-2.0
"""Makes the functions and iterators of ``torchdali.experimental.eager`` from the schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from torchdali._common.unsupported import names_of
from torchdali._eager import functions
from torchdali._eager.caller import Caller
from torchdali._eager.reader import Reader
from torchdali._engine import libraries
from torchdali._engine.schema import ALIASES, Argument, OperatorSchema
from torchdali.experimental.eager import _batches
from torchdali.fn import _callables
from torchdali.tensors import TensorListCPU

__all__ = ["FACE", "ReaderIterator", "install"]

_BATCH_SIZE = Argument("batch_size", "int", "Number of samples; by default that of the inputs.")
_DEVICE = Argument(
    "device", "str", '"cpu", "gpu" or "mixed"; by default where the inputs are. Readers: "cpu".'
)
_SEED = Argument("seed", "int", "Of the shuffling; by default drawn from torch's generator.")
_NOT_TAKEN_BY_READERS = ("bytes_per_sample_hint", "name", "on_error", "preserve")


def _options(schema: OperatorSchema) -> list[Argument]:
    own = [_BATCH_SIZE, _DEVICE]
    return [*own, _SEED] if schema.source and schema.random else own


FACE = _callables.Face("TensorListCPU", "TensorListCPU", _options)


class ReaderIterator:
    """The batches of one epoch of a reader; another iteration gives the next epoch.

    Args:
        schema: of the reader.
        kwargs: its arguments, and `batch_size`.

    Raises:
        TorchdaliError: the arguments are wrong, or there is no data.
    """

    def __init__(self, schema: OperatorSchema, kwargs: dict[str, Any]) -> None:
        self._caller = Caller(schema, _batches.FACE)
        self._reader: Reader = self._caller.named(lambda: self._open(kwargs))
        self._epoch: Iterator[tuple[TensorListCPU, ...]] | None = None

    def _open(self, kwargs: dict[str, Any]) -> Reader:
        _batches.check_options(kwargs, _NOT_TAKEN_BY_READERS)
        size = _batches.batch_size_of([], kwargs.get("batch_size"))
        rest = {name: value for name, value in kwargs.items() if name != "batch_size"}
        return Reader(self._caller.schema, rest, size)

    def __iter__(self) -> ReaderIterator:
        return self

    def __next__(self) -> TensorListCPU | list[TensorListCPU]:
        """Returns the next batch: a list if the reader has several outputs."""
        if self._epoch is None:
            self._epoch = self._reader.batches()
        epoch = self._epoch
        batch = self._caller.named(lambda: next(epoch, None))
        if batch is None:
            self._epoch = None
            raise StopIteration
        return batch[0] if len(batch) == 1 else list(batch)

    def __len__(self) -> int:
        return self._reader.num_batches


def install(package: ModuleType) -> None:
    """Fills ``torchdali.experimental.eager``."""
    package.__getattr__ = names_of(package.__name__)  # type: ignore[method-assign]
    libraries.show(package, lambda added: _install(package, added))


def _install(package: ModuleType, added: Iterable[OperatorSchema]) -> None:
    own = {schema.name: schema for schema in added}
    made: dict[str, Callable[..., Any]] = {
        name: _function(schema)
        for name, schema in functions.schemas(own.values()).items()
        if not schema.random and name not in functions.ALIASES
    }
    made.update(
        (name, _iterator(schema))
        for name, schema in own.items()
        if schema.source
        and not schema.hidden
        and not schema.external
        and name != "readers.tfrecord"
    )
    old = [name for name in ALIASES if name.startswith("experimental.") and ALIASES[name] in made]
    made.update((name, _function(own[ALIASES[name]])) for name in old)
    _callables.install_functions(package, made)


def _function(schema: OperatorSchema) -> Callable[..., Any]:
    caller = Caller(schema, _batches.FACE)

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return _batches.call(caller, inputs, kwargs)

    return _described(function, schema)


def _iterator(schema: OperatorSchema) -> Callable[..., Any]:
    def function(**kwargs: Any) -> ReaderIterator:
        return ReaderIterator(schema, kwargs)

    return _described(function, schema)


def _described(function: Callable[..., Any], schema: OperatorSchema) -> Callable[..., Any]:
    function.__signature__ = _callables.signature(schema, FACE)  # type: ignore[attr-defined]
    function.__doc__ = _callables.docstring(schema, face=FACE)
    return function
