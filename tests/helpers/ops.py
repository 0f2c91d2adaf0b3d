# SPDX-License-Identifier: Apache-2.0
"""Cases of operators, and pipelines of one operator that run them.

A test file of an operator lists its ``CASES``; the suites in tests/ops run all of them.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from torchdali import Pipeline, fn

from . import dali_oracle, inputs

# One batch of a run: for each output, its samples.
Batch = list[list[torch.Tensor]]


@dataclass(frozen=True)
class PerSample:
    """An argument with a value for each sample; sample i takes ``values[i % len(values)]``.

    With a layout that begins with F ("F", "F**") each value holds one for each frame.
    """

    values: Sequence[Any]
    dtype: torch.dtype | None = None
    layout: str = ""

    def at(self, index: int) -> torch.Tensor:
        """Returns the value of sample ``index`` as DALI wants it: float32, int32 or bool."""
        value = self.values[index % len(self.values)]
        tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
        dtype = {torch.float64: torch.float32, torch.int64: torch.int32}.get(
            tensor.dtype, tensor.dtype
        )
        return tensor.to(self.dtype or dtype)


@dataclass(frozen=True)
class Input:
    """One input: its layout, and what makes sample ``i`` of it."""

    make: Callable[[int], torch.Tensor]
    layout: str = ""


@dataclass(frozen=True, eq=False)
class OpCase:
    """One use of an operator, with the data it runs on.

    Args:
        op: name as in ``fn``.
        layout: of the first input.
        shape: of each sample of the first input, or a list with one shape a sample (cycled). None
            where the operator takes no input.
        args: arguments; a PerSample becomes a tensor argument.
        dtype: of the first input.
        make: makes sample ``i`` of the first input; by default random values of `shape`.
        more_inputs: the inputs after the first.
        batch: number of samples.
        algorithm: row of the table of tolerances in test_parity.py.
        sees_batch: the samples of a batch depend on one another, so that its size matters.
        no_parity: why the case cannot be compared with real DALI; empty where it can.
        seed: of the data and of the pipeline.
        dali_op: its name in DALI 1.35, where it had another.
    """

    op: str
    layout: str = ""
    shape: tuple[int, ...] | list[tuple[int, ...]] | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    dtype: torch.dtype = torch.uint8
    make: Callable[[int], torch.Tensor] | None = None
    more_inputs: tuple[Input, ...] = ()
    batch: int = 3
    algorithm: str = "exact"
    sees_batch: bool = False
    no_parity: str = ""
    seed: int = 1
    dali_op: str = ""

    def __str__(self) -> str:
        parts = [self.op, self.layout, "ragged" if isinstance(self.shape, list) else self.shape]
        parts += [] if self.dtype == torch.uint8 else [str(self.dtype).removeprefix("torch.")]
        parts += [f"{name}={_short(value)}" for name, value in self.args.items()]
        return "-".join(str(part).replace(" ", "") for part in parts if part not in ("", None))

    def input(self, index: int = 0) -> torch.Tensor:
        """Returns sample ``index`` of the first input."""
        if self.make is not None:
            return self.make(index)
        assert self.shape is not None, f"{self} takes no input"
        shape = self.shape
        if isinstance(shape, list):
            shape = shape[index % len(shape)]
        return inputs.random_tensor(shape, self.dtype, self.seed * 1000 + index)

    def all_inputs(self) -> tuple[Input, ...]:
        """Returns every input of the operator."""
        first = self.shape is not None or self.make is not None
        return ((Input(self.input, self.layout),) if first else ()) + self.more_inputs

    def __deepcopy__(self, memo: object) -> OpCase:
        return self  # immutable; hypothesis copies arguments

    def replace(self, **changes: Any) -> OpCase:
        """Returns the case with some fields changed."""
        return dataclasses.replace(self, **changes)


def _short(value: Any) -> str:
    if isinstance(value, PerSample):
        shown = [tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in value.values]
        return "PerSample" + str(shown)
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return value.name if isinstance(value, enum.Enum) else str(value)


def find(op: str) -> Callable[..., Any]:
    """Returns the function of an operator by its name in ``fn``."""
    function: Any = fn
    for part in op.split("."):
        function = getattr(function, part)
    return function  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Run:
    """What a pipeline of one operator gave: its batches, and the layout of each output."""

    batches: list[Batch]
    layouts: list[str]

    def samples(self) -> Batch:
        """Returns for each output the samples of all batches, in order."""
        return [[s for batch in self.batches for s in batch[o]] for o in range(len(self.layouts))]


def run_batches(
    op: str,
    sources: Mapping[str, tuple[str, list[list[torch.Tensor]]]],
    num_inputs: int,
    args: Mapping[str, Any],
    *,
    batch_sizes: Sequence[int],
    device: str = "cpu",
    num_threads: int = 1,
    seed: int = 1,
    resume_after: int | None = None,
) -> Run:
    """Runs one operator over batches.

    Args:
        op: name as in ``fn``.
        sources: name -> (layout, one list of samples for each batch). The first `num_inputs` are
            the inputs in order; the others are arguments, under their own names.
        num_inputs: how many sources are inputs.
        args: constant arguments.
        batch_sizes: size of each batch. Without sources they must be equal.
        device: where the operator runs.
        num_threads: worker threads.
        seed: of the pipeline.
        resume_after: behind so many batches, a fresh pipeline goes on from a checkpoint.
    """

    def make(**options: Any) -> Pipeline:
        pipe = Pipeline(max(batch_sizes), num_threads, device_id=None, **options)
        with pipe:
            fed = {
                name: fn.external_source(name=name, layout=layout or None)
                for name, (layout, _) in sources.items()
            }
            nodes = list(fed.values())
            tensors = dict(list(fed.items())[num_inputs:])
            if device == "gpu":
                nodes = [node.gpu() for node in nodes]
            made = find(op)(*nodes[:num_inputs], device=device, **args, **tensors)
            made = list(made) if isinstance(made, list | tuple) else [made]
            pipe.set_outputs(*made)
        return pipe

    resumes = resume_after is not None
    pipe = make(seed=seed, enable_checkpointing=resumes)
    run = Run([], [])
    try:
        pipe.build()
        for iteration, size in enumerate(batch_sizes):
            if iteration == resume_after:
                checkpoint = pipe.checkpoint()
                pipe.close()
                pipe = make(enable_checkpointing=True, checkpoint=checkpoint)
            for name, (_, batches) in sources.items():
                assert len(batches[iteration]) == size
                pipe.feed_input(name, batches[iteration])
            outputs = pipe.run()
            run.batches.append([[s.clone() for s in out.as_torch_list()] for out in outputs])
            run.layouts[:] = [out.layout() for out in outputs]
    finally:
        pipe.close()
    return run


def run_case(case: OpCase, batch_sizes: Sequence[int] | None = None, **options: Any) -> Run:
    """Runs a case's samples in batches of the given sizes, all in one batch by default.

    Args:
        case: what to run.
        batch_sizes: their sum is the number of samples.
        options: of run_batches; ``prepare`` maps every input sample before it is fed.
    """
    sizes = list(batch_sizes or [case.batch])
    prepare = options.pop("prepare", lambda sample: sample)
    makers = {f"input_{i}": one for i, one in enumerate(case.all_inputs())}
    per_sample = {name: a for name, a in case.args.items() if isinstance(a, PerSample)}
    makers.update({n: Input(values.at, values.layout) for n, values in per_sample.items()})
    sources = {}
    for name, one in makers.items():
        batches, start = [], 0
        for size in sizes:
            batches.append([prepare(one.make(i)) for i in range(start, start + size)])
            start += size
        sources[name] = (one.layout, batches)
    constants = {name: a for name, a in case.args.items() if name not in per_sample}
    options.setdefault("seed", case.seed)
    return run_batches(
        case.op, sources, len(case.all_inputs()), constants, batch_sizes=sizes, **options
    )


def run_op(op: str, *data: Any, layout: str = "", **args: Any) -> Any:
    """Runs one operator on one sample or one batch.

    Args:
        op: name as in ``fn``.
        data: the inputs, each a tensor (one sample) or a list of tensors (a batch).
        layout: of the inputs.
        args: arguments of the operator, a PerSample or a tensor for per-sample ones; and the
            options ``device``, ``num_threads``, ``pipeline_seed`` and, where there is no input,
            ``batch_size``.

    Returns:
        The output: a tensor for one sample, a list for a batch; a tuple where there are several.
    """
    options = {name: args.pop(name) for name in ("device", "num_threads") if name in args}
    seed = args.pop("pipeline_seed", 1)
    batch_size = args.pop("batch_size", None)
    batched = batch_size is not None or any(isinstance(d, list) for d in data)
    samples = [list(d) if isinstance(d, list) else [d] for d in data]
    size = len(samples[0]) if samples else batch_size or 1
    sources = {f"input_{i}": (layout, [one]) for i, one in enumerate(samples)}
    constants = {}
    for name, value in args.items():
        if isinstance(value, torch.Tensor):
            value = PerSample([value], value.dtype)
        if isinstance(value, PerSample):
            sources[name] = (value.layout, [[value.at(i) for i in range(size)]])
        else:
            constants[name] = value
    run = run_batches(
        op, sources, len(samples), constants, batch_sizes=[size], seed=seed, **options
    )
    outputs = [samples if batched else samples[0] for samples in run.batches[0]]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def run_dali(case: OpCase, num_outputs: int = 1) -> list[dali_oracle.DaliOutput]:
    """Runs a case in real DALI, as one batch on the CPU; returns its outputs."""
    sources: dict[str, Any] = {}
    for i, one in enumerate(case.all_inputs()):
        samples = [one.make(s) for s in range(case.batch)]
        sources[f"input_{i}"] = {"batches": [samples], "layout": one.layout}
    node: dict[str, Any] = {
        "op": case.dali_op or case.op,
        "inputs": list(sources),
        "args": {n: a for n, a in case.args.items() if not isinstance(a, PerSample)},
        "tensors": {n: n for n, a in case.args.items() if isinstance(a, PerSample)},
        "outputs": [f"output_{i}" for i in range(num_outputs)],
    }
    for name in node["tensors"]:
        values = [case.args[name].at(s) for s in range(case.batch)]
        sources[name] = {"batches": [values], "layout": case.args[name].layout}
    return dali_oracle.run_graph(
        [node], node["outputs"], sources, batch_size=case.batch, seed=case.seed
    )[0]
