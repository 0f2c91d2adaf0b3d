# SPDX-License-Identifier: Apache-2.0
"""One call of an operator in a definition that runs in debug mode, over all runs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._engine.extension import _C
from torchdali._graph.debug_node import DataNodeDebug
from torchdali._sources.group import SourceGroup
from torchdali._sources.input import Input
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import PipelineError, _make
from torchdali.pipeline._compile import engine_node
from torchdali.tensors import TensorListCPU, TensorListGPU, unwrap

__all__ = ["CallSite", "SharedSource", "changed_call", "difference", "without_data"]


class _CurrentFunction:
    """A function argument. The definition usually passes a new object with the same code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        """Calls the function of this run."""
        return self.function(*args)

    def has_code_of(self, function: Any) -> bool:
        """Returns whether a function is this one, or was made by the same code."""
        code = getattr(self.function, "__code__", None)
        same_code = code is not None and code is getattr(function, "__code__", None)
        return self.function is function or same_code


class SharedSource:
    """The Python source that the outputs of one fn.external_source share."""

    def __init__(self, group: SourceGroup) -> None:
        self.group = group
        self.num_outputs = group.num_outputs or 1
        self.nodes: list[OpNode] = []
        self.input: Input | None = None  # made when all outputs were called
        self.waiting: list[DataNodeDebug] = []  # outputs of this run without data

    def end_run(self) -> None:
        """Forgets what belongs to one run."""
        self.waiting = []


class CallSite:
    """One call, with an engine for its operator.

    Args:
        node: what the first run recorded.
        seed: of its random values.

    Attributes:
        node: what the first run recorded, without its data.
        source: of an external source; None for other operators.
        device: GPU of the pipeline, set before start() if the operator uses one.
    """

    def __init__(self, node: OpNode, seed: int) -> None:
        self.node = dataclasses.replace(
            node,
            inputs=tuple(without_data(i) for i in node.inputs),
            args={
                name: (
                    _CurrentFunction(value)
                    if node.schema.by_name[name].type == "function"
                    else value
                )
                for name, value in node.args.items()
            },
            arg_inputs={name: without_data(i) for name, i in node.arg_inputs.items()},
            guards=tuple((without_data(i), value) for i, value in node.guards),
        )
        self.source: SharedSource | None = None
        self.device: Any = None
        self._seed = seed
        self._executor: Any = None
        self._run = -1  # the run that a reader has given a batch for

    @property
    def has_engine(self) -> bool:
        """Whether start() was called, and stop() was not."""
        return self._executor is not None

    def take_functions(self, node: OpNode) -> None:
        """Replaces the functions by those that this run passes."""
        for name, value in self.node.args.items():
            if isinstance(value, _CurrentFunction):
                value.function = node.args[name]

    # -- its engine

    def start(self, threads: Any, options: Mapping[str, Any]) -> None:
        """Makes the engine: the operator, and a source for each of its inputs.

        Args:
            threads: an executor whose threads it runs on.
            options: of the engine.
        """
        node = self.node
        parents = (*node.inputs, *node.arg_inputs.values())
        engine_nodes: list[dict[str, Any]] = []

        def add(op: str, name: str, inputs: list[tuple[int, int]], on_gpu: bool) -> tuple[int, int]:
            engine_nodes.append(
                {
                    "op": op,
                    "name": name,
                    "inputs": inputs,
                    "arg_inputs": {},
                    "guards": [],
                    "args": {},
                    "seed": 0,
                    "on_gpu": on_gpu,
                    "named": True,
                    "required": False,
                    "location": str(node.location) if node.location else "",
                }
            )
            return len(engine_nodes) - 1, 0

        edges = []
        for i, parent in enumerate(parents):
            edge = add("external_source", f"{node.name}.{i}", [], False)
            if parent.device == "gpu":  # data on the GPU is adopted, other data is copied there
                edge = add("copy.to_gpu", f"{node.name}.{i}.gpu", [edge], True)
            edges.append(edge)
        inputs, arguments = edges[: len(node.inputs)], edges[len(node.inputs) :]
        arg_inputs = dict(zip(node.arg_inputs, arguments, strict=True))
        engine_nodes.append(engine_node(node, node.name, self._seed, inputs, arg_inputs))
        self._executor = _C.Executor(
            engine_nodes,
            [(len(engine_nodes) - 1, i) for i in range(node.num_outputs)],
            fuse=False,  # the operators before and after it are not known
            workers=threads,
            device=None if self.device is None else self.device.engine,
            **options,
        )

    def run(
        self,
        number: int,
        inputs: Sequence[TensorListCPU | TensorListGPU] = (),
        sample_ids: Sequence[int] = (),
    ) -> list[tuple[Any, str, Any]]:
        """Runs the operator on one batch; returns data, layout and names of each output.

        Args:
            number: of the run. For the same one, a reader returns the same batch again.
            inputs: of the operator.
            sample_ids: of the batch, for random values.
        """
        executor = self._executor
        if self.node.schema.source:
            if number != self._run:
                executor.holds, self._run = False, number
            try:
                if not executor.pending:
                    executor.schedule([], list(sample_ids))
                return executor.wait()  # type: ignore[no-any-return]
            except Exception:
                raise
            except BaseException:
                # The batch is for the next attempt, but must not stay in the queue of the threads.
                if executor.pending:
                    executor.wait()
                raise
        try:
            fed: list[Any] = []
            for index, batch in enumerate(inputs):
                data, layout, names = unwrap(batch)
                if isinstance(batch, TensorListGPU):  # made on the current stream of this thread
                    data = self.device.adopt(data, None, copy=False)
                encoded = [os.fsencode(name) for name in names or ()]
                fed.append((f"{self.node.name}.{index}", data, layout, encoded, {}))
            executor.schedule(fed, list(sample_ids))
            results = executor.wait()
            executor.holds = False
        except BaseException:
            executor.cancel()  # after Ctrl-C the operator still runs
            raise
        return results  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Begins the next epoch of a reader."""
        if self.node.schema.source and self._executor is not None:
            self._executor.reset()

    def reader_meta(self) -> Any:
        """Returns the facts about a reader, None for other operators."""
        return None if self._executor is None else self._executor.reader_meta(self.node.name)

    def release_unused_memory(self) -> None:
        """Frees unused memory."""
        if self._executor is not None:
            self._executor.release_unused_memory()

    def stop(self) -> None:
        """Ends the engine."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None


def without_data(node: DataNode) -> DataNode:
    """Returns a plain node, so that a call does not keep its first batch."""
    return DataNode(node.name, node.device, node.source, node.index)


def difference(first: OpNode, now: OpNode) -> str | None:
    """Returns how a call differs from that in the first run.

    Returns:
        None if it does not differ, "" if it is a call of another operator or line, otherwise
        what has changed.
    """
    if first.schema is not now.schema or first.location != now.location:
        return ""
    if len(first.inputs) != len(now.inputs):
        return f"it had {len(first.inputs)} inputs, now it has {len(now.inputs)}"
    for name in sorted({*first.args, *first.arg_inputs, *now.args, *now.arg_inputs}):
        before, after = (
            "a batch" if name in node.arg_inputs else node.args.get(name) for node in (first, now)
        )
        if isinstance(before, _CurrentFunction):
            if before.has_code_of(after):
                continue
            before = before.function
        # by repr: NaN equals itself, and 1.0 and True differ from 1
        if before is not after and repr(before) != repr(after):
            return f"argument `{name}` unexpectedly changed from {before!r} to {after!r}"
    for what in ("device", "seed", "preserve", "num_outputs"):
        before, after = getattr(first, what), getattr(now, what)
        if before != after:
            return f"`{what}` unexpectedly changed from {before!r} to {after!r}"
    if (first.named or now.named) and first.name != now.name:
        return f"`name` unexpectedly changed from {first.name!r} to {now.name!r}"
    return None


def changed_call(first: OpNode | None, now: OpNode) -> Exception:
    """Returns the error for a call that differs from the first run, or that was not in it."""
    how = difference(first, now) if first is not None else ""
    text = "unexpected operator: debug mode does not support changing the order of operators"
    if how:
        text = how
    elif first is None:
        text += "; the first run ended before it"
    else:
        text += f"; in the first run this was {first.schema.fn_name}"
        if first.location is not None:
            text += f" at {first.location.short()}"
    return _make(
        PipelineError,
        text,
        operator=now.schema.fn_name,
        location=now.location,
        fix="pass values that change from run to run as batches (fn.external_source, fn.random, "
        "arrays in a list); make a new pipeline after changes of the definition",
    )
