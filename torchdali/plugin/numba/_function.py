# SPDX-License-Identifier: Apache-2.0
"""numba_function and its class: what the user writes, checked and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._common.location import SourceLocation, find_user_location
from torchdali._engine.schema import OperatorSchema, operator_schema
from torchdali._graph import record
from torchdali._graph.arguments import unknown_name
from torchdali._graph.check import check_device
from torchdali.data_node import DataNode
from torchdali.plugin.numba._compile import (
    OWNER,
    compile_run,
    compile_setup,
    describe,
    plain_function,
)
from torchdali.plugin.numba._cuda import cuda_kernel
from torchdali.plugin.numba._declared import Tensors, fail, grid, ints, wrong_type
from torchdali.types import DALIDataType

__all__ = ["NumbaFunction", "numba_function", "restore"]

_DECLARED = ("in_types", "ins_ndim", "out_types", "outs_ndim")
_GRID = ("blocks", "threads_per_block")
_UNIVERSAL = ["name", "seed", "preserve", "bytes_per_sample_hint", "on_error"]


def _check_names(kwargs: dict[str, Any], location: SourceLocation | None) -> None:
    for name in kwargs:
        if name not in _UNIVERSAL:
            raise unknown_name(OWNER, name, _UNIVERSAL, location)


class NumbaFunction:
    """The operator object of numba_function: arguments first, the call makes the nodes.

    The functions are compiled here. May be called several times, in several pipelines.

    Args:
        run_fn: as in numba_function, like all that follow.
        out_types: element types of the outputs.
        in_types: element types of the inputs.
        outs_ndim: dimensions of the outputs.
        ins_ndim: dimensions of the inputs.
        setup_fn: sets the shapes of the outputs.
        device: "cpu" or "gpu".
        batch_processing: `run_fn` takes whole batches.
        blocks: of the grid of a CUDA kernel.
        threads_per_block: of a CUDA kernel.
        **kwargs: `name`, `seed`, `preserve`, `bytes_per_sample_hint`, `on_error`.
    """

    def __init__(
        self,
        run_fn: Callable[..., Any],
        out_types: Any,
        in_types: Any,
        outs_ndim: Any,
        ins_ndim: Any,
        setup_fn: Callable[..., Any] | None = None,
        device: str | None = "cpu",
        batch_processing: bool = False,
        blocks: Sequence[int] | None = None,
        threads_per_block: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        location = find_user_location()
        declared = {
            "in_types": in_types,
            "ins_ndim": ins_ndim,
            "out_types": out_types,
            "outs_ndim": outs_ndim,
            "blocks": grid("blocks", blocks, location),
            "threads_per_block": grid("threads_per_block", threads_per_block, location),
        }
        self._prepare(run_fn, setup_fn, declared, device, bool(batch_processing), kwargs, location)

    def _prepare(
        self,
        run_fn: Any,
        setup_fn: Any,
        declared: Mapping[str, Any],
        device: str | None,
        batch: bool,
        kwargs: dict[str, Any],
        location: SourceLocation | None,
    ) -> None:
        """Checks and compiles."""
        self._schema = operator_schema(OWNER)
        self._device = device or "cpu"
        _check_names(kwargs, location)
        plain_function(run_fn, "run_fn", location)
        check_device(self._schema, self._device, location)
        ins, outs = (
            Tensors.checked(w, declared[f"{w}_types"], declared[f"{w}s_ndim"], location)
            for w in ("in", "out")
        )
        if setup_fn is None and ins.ndims != outs.ndims:
            raise fail(
                "without `setup_fn` each output has the shape of the input at its place, but "
                f"`ins_ndim` is {list(ins.ndims)} and `outs_ndim` {list(outs.ndims)}",
                location,
                "pass setup_fn(outs, ins), which writes the shape of sample `s` of output `o` into "
                "`outs[o][s]`",
            )
        self._num_inputs = len(ins.types)
        arrays = [*outs.arrays(writable=True), *ins.arrays(writable=False)]
        self._kwargs = {
            **kwargs,
            "device": self._device,
            "run_fn": run_fn,
            "describe": describe().capsule,
            "in_types": [int(t) for t in ins.types],
            "ins_ndim": list(ins.ndims),
            "out_types": [int(t) for t in outs.types],
            "outs_ndim": list(outs.ndims),
            "batch_processing": batch,
        }
        if self._device == "gpu":
            if batch:
                raise fail(
                    'a kernel is launched for each sample: device="gpu" does not go with '
                    "batch_processing=True",
                    location,
                )
            sizes = {name: declared[name] for name in ("blocks", "threads_per_block")}
            launch = cuda_kernel(run_fn, arrays, len(outs.types), location=location, **sizes)
            self._kwargs |= {"launch": launch.capsule, **sizes}
        else:
            run = compile_run(run_fn, arrays, batch=batch, location=location)
            self._kwargs["run"] = run.capsule
        if setup_fn is not None:
            setup = compile_setup(setup_fn, outs.ndims, ins.ndims, location)
            self._kwargs |= {"setup_fn": setup_fn, "setup": setup.capsule}

    @property
    def schema(self) -> OperatorSchema:
        """What the operator is."""
        return self._schema

    @property
    def device(self) -> str:
        """Where the operator runs."""
        return self._device

    @property
    def preserve(self) -> bool:
        """Whether it runs although nothing uses its outputs: always."""
        return True

    def __call__(self, *inputs: Any, **kwargs: Any) -> DataNode | list[DataNode]:
        """Returns the output as a DataNode, or a list of them if there are more.

        Args:
            *inputs: as many DataNodes as `in_types` has entries.
            **kwargs: `name`, `seed`, `preserve`, `bytes_per_sample_hint`, `on_error`.
        """
        location = find_user_location()
        _check_names(kwargs, location)
        return self._record(inputs, kwargs, location)

    def _record(
        self,
        inputs: Sequence[Any],
        kwargs: dict[str, Any],
        location: SourceLocation | None,
        **place: Any,
    ) -> DataNode | list[DataNode]:
        """Makes the node; `place` is for record.create()."""
        if len(inputs) != self._num_inputs:
            raise fail(
                f"`in_types` has {self._num_inputs} entries, got {len(inputs)} inputs", location
            )
        given = {name: value for name, value in kwargs.items() if value is not None}
        made: DataNode | list[DataNode] = record.create(
            self._schema, inputs, {**self._kwargs, **given}, location=location, **place
        )
        return made


def restore(
    _schema: OperatorSchema,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    location: SourceLocation | None = None,
    **place: Any,
) -> Any:
    """Records an operator of a serialized pipeline; the arguments are those of record.create().

    What is compiled is not in a document: it is compiled here.
    """
    known = {*_DECLARED, *_UNIVERSAL, *_GRID, "run_fn", "setup_fn", "batch_processing", "device"}
    for name in kwargs:
        if name not in known:
            raise unknown_name(OWNER, name, sorted(known), location)
    for name in (*_DECLARED, "run_fn"):
        if name not in kwargs:
            raise wrong_type(f"needs the argument `{name}`", location)
    declared = {name: kwargs[name] for name in _DECLARED}
    declared |= {name: grid(name, kwargs.get(name), location) for name in _GRID}
    for name in ("in_types", "out_types"):
        numbers = ints(name, declared[name], location)
        valid = DALIDataType._value2member_map_
        declared[name] = [DALIDataType(n) if n in valid else n for n in numbers]
    operator = NumbaFunction.__new__(NumbaFunction)
    operator._prepare(
        kwargs["run_fn"],
        kwargs.get("setup_fn"),
        declared,
        kwargs.get("device"),
        bool(kwargs.get("batch_processing")),
        {},
        location,
    )
    universal = {name: value for name, value in kwargs.items() if name in _UNIVERSAL}
    return operator._record(inputs, universal, location, **place)


def numba_function(
    input0: Any,
    /,
    *inputs: Any,
    run_fn: Callable[..., Any],
    in_types: Any,
    ins_ndim: int | Sequence[int],
    out_types: Any,
    outs_ndim: int | Sequence[int],
    batch_processing: bool = False,
    setup_fn: Callable[..., Any] | None = None,
    blocks: Sequence[int] | None = None,
    threads_per_block: Sequence[int] | None = None,
    device: str | None = None,
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | None = 0,
    on_error: str | None = None,
) -> DataNode | list[DataNode]:
    """Calls a function that Numba compiles, on the engine's threads and without the GIL.

    The function is compiled when the operator is defined; what Numba says against it is raised
    there. Samples run in parallel, so it must not change anything but its outputs.

    Args:
        input0: DataNode. The first input; any layout.
        *inputs: up to 5 more.
        run_fn: ``run_fn(out0, ..., in0, ...)``, which writes to its outputs. They are NumPy arrays
            in C order, those of the inputs read-only. A Python function that Numba can compile in
            nopython mode, or one that ``numba.njit`` has decorated. What it returns is ignored. On
            the GPU a kernel: a function that ``numba.cuda.jit`` can compile or has decorated. It is
            compiled when the first batch runs, and launched for each sample on the pipeline's
            stream. It must not write to its inputs.
        in_types: element type of each input, such as types.UINT8; all but FLOAT16.
        ins_ndim: number of dimensions of each input, 0 to 16.
        out_types: element type of each output.
        outs_ndim: number of dimensions of each output.
        batch_processing: call it once for the batch: ``out0`` and so on are lists with the arrays
            of all samples. By default it is called for each sample, in parallel. Not on the GPU.
        setup_fn: ``setup_fn(outs, ins)``, called once a batch: ``outs[o][s]`` is the shape of
            sample `s` of output `o`, an array of int64 to be filled in (0 at first), ``ins`` holds
            the shapes of the inputs, read-only. Without it each output has the shape of the input
            at its place. It runs on the CPU for device="gpu" too, and sees shapes only.
        blocks: 3 numbers, the grid of a CUDA kernel; without effect on the CPU.
        threads_per_block: 3 numbers, of a CUDA kernel; without effect on the CPU.
        device: "cpu", the default, or "gpu".
        name: of the operator in its pipeline.
        seed: accepted for compatibility; a function that draws gets its numbers as an input, from
            fn.random.
        preserve: accepted for compatibility: the operator always runs, even if nothing uses its
            outputs.
        bytes_per_sample_hint: accepted for compatibility; memory is sized by what samples need.
        on_error: what happens to a sample that the function fails for: "raise", "skip" or
            "replace"; None: what the pipeline's `on_error` says.

    Returns:
        A DataNode, or a list of them if there is more than one output. They have no layout.

    Raises:
        ArgumentError, ArgumentTypeError: the arguments do not go together, or the function does not
            compile; its text has Numba's message.
        UnsupportedError: Numba is not installed; device "mixed".
        PipelineError: when the pipeline runs: the function raises an exception, an input has
            another type or number of dimensions than declared, `setup_fn` sets a shape that
            cannot be.

    Note:
        A subscript outside of an array is undefined in compiled code. With the environment variable
        TORCHDALI_CHECK_FUNCTIONS=1 functions are compiled with checks, and it is an error that
        names the line and the sample.

    Example:
        >>> def double(out, data):
        ...     out[:] = data * 2
        >>> @pipeline_def(batch_size=2, num_threads=2)
        ... def doubled():
        ...     numbers = types.Constant(np.arange(3, dtype=np.int32))
        ...     return numba_function(
        ...         numbers, run_fn=double, in_types=types.INT32, ins_ndim=1,
        ...         out_types=types.INT32, outs_ndim=1)

    Source:
        DALI's plugin.numba.fn.experimental.numba_function; docs/guide/from_dali.md has the
        differences.
    """
    operator = NumbaFunction(
        run_fn,
        out_types,
        in_types,
        outs_ndim,
        ins_ndim,
        setup_fn,
        device,
        batch_processing,
        blocks,
        threads_per_block,
        name=name,
        seed=seed,
        preserve=preserve,
        bytes_per_sample_hint=bytes_per_sample_hint,
        on_error=on_error,
    )
    return operator(input0, *inputs)
