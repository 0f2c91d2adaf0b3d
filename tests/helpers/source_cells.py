# SPDX-License-Identifier: Apache-2.0
"""The same external source in DALI and in torchdali: cells of a matrix, their sources, their runs.

Both processes import this file, also their workers; it depends on NumPy only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

BATCH = 3
EPOCH = 2  # batches, unless a cell says otherwise; sources of samples have one sample more
ROUNDS = 7

# Sources that are told nothing or something, and those that are iterated over.
CALLABLES = ("call", "call_index", "batch_info", "sample", "sample_info")
ITERABLES = ("collection", "sample_collection", "iterable", "iterator", "generator")
KINDS = (*CALLABLES, *ITERABLES, "generator_function")
OF_SAMPLES = ("sample", "sample_info", "sample_collection")
# Numbers of DALIDataType.
DTYPES = {
    "uint8": 0,
    "uint16": 1,
    "uint32": 2,
    "uint64": 3,
    "int8": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "float16": 8,
    "float32": 9,
    "float64": 10,
    "bool": 11,
}


def number_of(dtype: str) -> int:
    """Returns the number of the DALIDataType, whatever the order of bytes."""
    return DTYPES[np.dtype(dtype).newbyteorder("=").name]


@dataclass(frozen=True)
class Cell:
    """One external source and how it is run.

    Attributes:
        kind: one of KINDS, or "fed".
        cycle: as the argument.
        parallel: None, or the start method of the workers.
        dtype: of the data, as NumPy writes it.
        form: what a batch is: "array", "list", "ragged", "tuple", "strided" (a list of arrays with
            gaps) or "tensor_list" (a batch of the library's own); single samples have one of them.
        no_copy: as the argument.
        depth: of the pipeline's queue; with `parallel` also of the source's.
        outputs: as `num_outputs`.
        declared: whether `dtype`, `ndim` and `layout` are given.
        reset: when reset() is called: "end": after each end, "always": after each run(), "never".
        length: batches of an epoch.
    """

    kind: str
    cycle: str | bool | None = None
    parallel: str | None = None
    dtype: str = "int32"
    form: str = "list"
    no_copy: bool | None = None
    depth: int = 2
    outputs: int | None = None
    declared: bool = False
    reset: str = "end"
    length: int = EPOCH

    @property
    def name(self) -> str:
        """What it is called in the report of a test."""
        return " ".join(f"{key}={value}" for key, value in asdict(self).items())


# -- data

_backend: Any = None  # for batches of the library's own
_kept: list[Any] = []  # with no_copy, memory has to outlive the iteration


def sample(cell: Cell, number: int, index: int, output: int = 0) -> np.ndarray:
    """Returns sample `index` of batch `number` as it is to come out."""
    length = index + 1 if cell.form == "ragged" else 4
    values = np.arange(length) * 3 + number * 10 + index * 2 + output
    kind = np.dtype(cell.dtype)
    return (values % 2 if kind.kind == "b" else values).astype(kind)


def _given(cell: Cell, array: np.ndarray) -> np.ndarray:
    """Returns a sample as the source gives it."""
    if cell.form == "strided":
        array = np.repeat(array, 2)[::2]
    _kept.append(array)
    return array


def _batch(cell: Cell, number: int, output: int) -> Any:
    samples = [_given(cell, sample(cell, number, index, output)) for index in range(BATCH)]
    if cell.form == "array":  # stack() makes native bytes
        _kept.append(np.stack(samples).astype(cell.dtype))
        return _kept[-1]
    if cell.form == "tensor_list":
        _kept.append(_backend.TensorListCPU([_backend.TensorCPU(s) for s in samples]))
        return _kept[-1]
    return tuple(samples) if cell.form == "tuple" else samples


def batch(cell: Cell, number: int) -> Any:
    """Returns what the source gives as batch `number`."""
    if cell.outputs is None:
        return _batch(cell, number, 0)
    return tuple(_batch(cell, number, output) for output in range(cell.outputs))


def single(cell: Cell, number: int) -> Any:
    """Returns what the source gives as sample `number` of the epoch."""
    where = divmod(number, BATCH)
    if cell.outputs is None:
        return _given(cell, sample(cell, *where))
    return tuple(_given(cell, sample(cell, *where, output)) for output in range(cell.outputs))


# -- sources


class _Source:
    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.calls = 0


class Call(_Source):
    """Gives two batches, ends, and goes on."""

    def __call__(self) -> Any:
        self.calls += 1
        if self.calls % (self.cell.length + 1) == 0:
            raise StopIteration
        return batch(self.cell, self.calls)


class CallIndex(_Source):
    """Gives the batch of an iteration."""

    def __call__(self, index: int) -> Any:
        if index >= self.cell.length:
            raise StopIteration
        return batch(self.cell, index)


class CallBatchInfo(_Source):
    """Gives the batch of an iteration in an epoch."""

    def __call__(self, info: Any) -> Any:
        if info.iteration >= self.cell.length:
            raise StopIteration
        return batch(self.cell, info.iteration + 3 * info.epoch_idx)


class Sample(_Source):
    """Gives seven samples, ends, and goes on."""

    def __call__(self) -> Any:
        self.calls += 1
        if self.calls % (self.cell.length * BATCH + 2) == 0:
            raise StopIteration
        return single(self.cell, self.calls)


class CallSampleInfo(_Source):
    """Gives the sample of an index in an epoch."""

    def __call__(self, info: Any) -> Any:
        if info.idx_in_epoch > self.cell.length * BATCH:
            raise StopIteration
        assert divmod(info.idx_in_epoch, BATCH) == (info.iteration, info.idx_in_batch)
        return single(self.cell, info.idx_in_epoch + 3 * BATCH * info.epoch_idx)


class Iterable(_Source):
    """Can be iterated over again and again."""

    def __iter__(self) -> Iterator[Any]:
        return generate(self.cell)


class Stubborn(Call):
    """An iterator that ends and goes on."""

    __call__ = None  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return Call.__call__(self)


def generate(cell: Cell) -> Iterator[Any]:
    """Gives the batches of an epoch."""
    for number in range(cell.length):
        yield batch(cell, number)


def source(cell: Cell) -> Any:
    """Returns a new source."""
    made: Any = {
        "call": Call,
        "call_index": CallIndex,
        "batch_info": CallBatchInfo,
        "sample": Sample,
        "sample_info": CallSampleInfo,
        "iterable": Iterable,
        "iterator": Stubborn,
        "generator": generate,
        "collection": lambda cell: list(generate(cell)),
        "sample_collection": lambda cell: [single(cell, i) for i in range(cell.length * BATCH + 1)],
        "generator_function": lambda cell: functools.partial(generate, cell),
    }[cell.kind]
    return made(cell)


# -- runs


def _arguments(api: Any, cell: Cell, index: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if cell.kind == "fed":
        arguments["name"] = f"fed{index}"
    else:
        arguments |= {"source": source(cell), "batch": cell.kind not in OF_SAMPLES}
    for name in ("cycle", "no_copy"):
        if getattr(cell, name) is not None:
            arguments[name] = getattr(cell, name)
    if cell.kind == "batch_info":
        arguments["batch_info"] = True
    if cell.outputs is not None:
        arguments["num_outputs"] = cell.outputs
    if cell.parallel:
        arguments |= {"parallel": True, "prefetch_queue_depth": cell.depth}
    if cell.declared:
        arguments["dtype"] = api.types.DALIDataType(number_of(cell.dtype))
        arguments["ndim"] = 1
        # Of two outputs, only the first has a layout.
        arguments["layout"] = "X" if cell.outputs is None else ["X"]
    return arguments


def layouts(cell: Cell) -> list[str]:
    """Returns the layouts of its outputs."""
    count = cell.outputs or 1
    return ["X", *[""] * (count - 1)] if cell.declared else [""] * count


def _described(out: Any) -> dict[str, Any]:
    return {
        "dtype": int(out.dtype),
        "layout": str(out.layout()),
        "samples": [np.array(out.at(i)) for i in range(len(out))],
    }


def _kind(error: BaseException) -> list[str]:
    return [cls.__name__ for cls in type(error).__mro__]


def run(api: Any, cells: list[Cell]) -> list[Any]:
    """Runs the sources of cells together in one pipeline, which goes on after each end.

    Args:
        api: has Pipeline, backend, fn and types, of DALI or of torchdali.
        cells: all with the same depth and start method.

    Returns:
        For each round the outputs, "end", or {"error": names of the exception and its bases} as the
        last; {"refused": names} where there is no pipeline.
    """
    global _backend
    _backend = api.backend
    _kept.clear()
    first = cells[0]
    workers: dict[str, Any] = {}
    if first.parallel:
        workers = {"py_start_method": first.parallel, "py_num_workers": 2}
    try:
        pipe = api.Pipeline(BATCH, 1, None, prefetch_queue_depth=first.depth, **workers)
        with pipe:
            outputs: list[Any] = []
            for index, cell in enumerate(cells):
                made = api.fn.external_source(**_arguments(api, cell, index))
                outputs += made if isinstance(made, list) else [made]
            pipe.set_outputs(*outputs)
        pipe.build()
    except Exception as error:
        return [{"refused": _kind(error), "text": str(error)}]
    events: list[Any] = []
    try:
        for number in range(ROUNDS + first.depth if first.kind == "fed" else 0):
            for index, cell in enumerate(cells):
                pipe.feed_input(f"fed{index}", batch(cell, number))
        for _ in range(ROUNDS):
            try:
                events.append([_described(out) for out in pipe.run()])
            except StopIteration:
                events.append("end")
            if first.reset == "always" or (first.reset == "end" and events[-1] == "end"):
                pipe.reset()
    except Exception as error:
        events.append({"error": _kind(error), "text": str(error)})
    return events


def run_all(api: Any, groups: list[list[dict[str, Any]]]) -> list[list[Any]]:
    """Runs groups of cells, each given as a dict, one after the other."""
    return [run(api, [Cell(**cell) for cell in cells]) for cells in groups]
