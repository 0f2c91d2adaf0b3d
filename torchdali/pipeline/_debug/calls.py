# SPDX-License-Identifier: Apache-2.0
"""The calls of a definition in debug mode: the engine of each, and how two runs are compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._engine.extension import _C
from torchdali._engine.schema import operator_schema
from torchdali._graph.debug_node import DataNodeDebug
from torchdali._graph.scope import Scope
from torchdali._sources.input import Group, Input
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import PipelineError, _make
from torchdali.pipeline._compile import engine_node
from torchdali.tensors import TensorListCPU, TensorListGPU

__all__ = ["Feed", "Latest", "Site", "bare", "changed", "data_node", "difference"]


class Latest:
    """A function that the definition passes in every run, mostly a new one with the same code."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __call__(self, *args: Any) -> Any:
        """Calls that of this run."""
        return self.func(*args)

    def same(self, func: Any) -> bool:
        """Tells whether a function is this one, made again."""
        code = getattr(self.func, "__code__", None)
        return self.func is func or (code is not None and code is getattr(func, "__code__", None))


@dataclass
class Site:
    """One call in the definition, over all runs.

    Attributes:
        node: what the first run recorded, with nodes that hold no data.
        seed: of its random values.
        executor: runs it; made when there is data to run it on.
        feed: what it gets its data from, where it is an external source.
        device: the GPU of the pipeline, where it has one.
    """

    node: OpNode
    seed: int
    executor: Any = None
    feed: Feed | None = None
    device: Any = None

    def renew(self, node: OpNode) -> None:
        """Takes the functions of this run."""
        for name, value in self.node.args.items():
            if isinstance(value, Latest):
                value.func = node.args[name]

    def stop(self) -> None:
        """Ends it."""
        if self.executor is not None:
            self.executor.close()
            self.executor = None

    def start(self, workers: Any, options: Mapping[str, Any]) -> None:
        """Makes its engine: one operator, with a source for each of its inputs.

        Args:
            workers: an executor whose threads it runs on.
            options: of the engine.
        """
        node = self.node
        given, num_inputs = (*node.inputs, *node.arg_inputs.values()), len(node.inputs)
        location = str(node.location) if node.location else ""
        nodes: list[dict[str, Any]] = []

        def add(op: str, name: str, inputs: list[tuple[int, int]], on_gpu: bool) -> tuple[int, int]:
            nodes.append(
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
                    "location": location,
                }
            )
            return len(nodes) - 1, 0

        edges = []
        for i, value in enumerate(given):
            edge = add("external_source", f"{node.name}.{i}", [], False)
            if value.device == "gpu":  # what was fed there is adopted, all else copied
                edge = add("copy.to_gpu", f"{node.name}.{i}.gpu", [edge], True)
            edges.append(edge)
        arguments = dict(zip(node.arg_inputs, edges[num_inputs:], strict=True))
        nodes.append(engine_node(node, node.name, self.seed, edges[:num_inputs], arguments))
        outputs = [(len(nodes) - 1, i) for i in range(node.num_outputs)]
        engine = None if self.device is None else self.device.engine
        # What comes before and behind it is not known.
        self.executor = _C.Executor(
            nodes, outputs, fuse=False, workers=workers, device=engine, **options
        )

    def run(
        self,
        inputs: Sequence[TensorListCPU | TensorListGPU] = (),
        sample_ids: Sequence[int] = (),
    ) -> list[tuple[Any, str, Any]]:
        """Runs its operator on one batch; returns data, layout and names of each output."""
        executor = self.executor
        try:
            for index, batch in enumerate(inputs):
                names = [os.fsencode(name) for name in batch._names or ()]
                data = batch._data
                if isinstance(batch, TensorListGPU):  # made by what is current in this thread
                    data = self.device.adopt(data, None, copy=False)
                executor.feed(f"{self.node.name}.{index}", data, batch._layout, names)
            executor.schedule(list(sample_ids))
            return executor.wait()  # type: ignore[no-any-return]
        except BaseException:
            executor.cancel()  # Ctrl-C leaves the operator running
            if inputs:  # some may be fed and not used
                self.stop()
            raise


class Feed:
    """The calls that get their data from one Python source, and that source."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.count = group.num_outputs or 1
        self.nodes: list[OpNode] = []
        self.input: Input | None = None
        self.waiting: list[DataNodeDebug] = []  # of the calls of this run
        self.taken: list[TensorListCPU | TensorListGPU] = []  # by this run, of what was fed


def bare(node: DataNode) -> DataNode:
    """Returns the node without its data, so that a call does not keep its first batch."""
    return DataNode(node.name, node.device, node.source, node.index)


def difference(first: OpNode, now: OpNode) -> str | None:
    """Returns how a call differs from that in the first run: "" for another one, None for none."""
    if first.schema is not now.schema or first.location != now.location:
        return ""
    if len(first.inputs) != len(now.inputs):
        return f"it had {len(first.inputs)} inputs, now it has {len(now.inputs)}"
    for name in sorted({*first.args, *first.arg_inputs, *now.args, *now.arg_inputs}):
        before, after = (
            "a batch" if name in node.arg_inputs else node.args.get(name) for node in (first, now)
        )
        if isinstance(before, Latest):
            if before.same(after):
                continue
            before = before.func
        # by repr: NaN is the same as before, 1.0 and True are not the same as 1
        if before is not after and repr(before) != repr(after):
            return f"argument `{name}` unexpectedly changed from {before!r} to {after!r}"
    for what in ("device", "seed", "preserve", "num_outputs"):
        before, after = getattr(first, what), getattr(now, what)
        if before != after:
            return f"`{what}` unexpectedly changed from {before!r} to {after!r}"
    if (first.named or now.named) and first.name != now.name:
        return f"`name` unexpectedly changed from {first.name!r} to {now.name!r}"
    return None


def changed(first: OpNode | None, now: OpNode) -> Exception:
    """Returns the error for a definition that calls something else than in its first run."""
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
        fix="values that change from run to run go in as batches (fn.external_source, fn.random, "
        "arrays in a list); make a new pipeline after changes of the definition",
    )


def data_node(device: str, scope: Scope) -> OpNode:
    """Returns what stands for the operator that would have made data of the user's."""
    return OpNode(
        schema=operator_schema("external_source"),
        name="data",
        named=False,
        inputs=(),
        arg_inputs={},
        args={},
        seed=None,
        device=device,
        preserve=False,
        num_outputs=1,
        location=None,
        scope=scope.token,
    )
