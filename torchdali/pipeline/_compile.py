# SPDX-License-Identifier: Apache-2.0
"""From a definition to the engine's list of nodes: prune, check, name, seed, merge."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._engine.extension import _C
from torchdali._graph.scope import Scope, auto_name, foreign
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, _make
from torchdali.pipeline._guards import Edge, sink

__all__ = ["Plan", "engine_node", "make_plan", "reachable", "seed_of", "settle"]

_UINT64 = (1 << 64) - 1


@dataclass(frozen=True)
class Plan:
    """What is left of a definition.

    Attributes:
        nodes: the operators that run, in topological order.
        names: name of every operator by its ordinal, merged ones under the name of what stands for
            them.
        engine_nodes: `nodes` as the engine takes them.
        outputs: (index in `nodes`, output) of each output of the pipeline.
    """

    nodes: list[OpNode]
    names: dict[int, str]
    engine_nodes: list[dict[str, Any]]
    outputs: list[tuple[int, int]]


def settle(outputs: Sequence[DataNode], scope: Scope) -> tuple[list[OpNode], dict[int, str]]:
    """Returns what runs of a definition, in topological order, and all names by ordinal.

    Args:
        outputs: of the pipeline.
        scope: of the pipeline, for its operators that must run.

    Raises:
        TorchdaliError: the definition is wrong; the text names the line.
    """
    nodes = reachable([n.source for n in outputs if n.source is not None] + scope.sinks)
    for node in nodes:
        if node.scope is not None and node.scope is not scope.token:
            raise foreign(node)
    return nodes, _settle_names(nodes)


def make_plan(outputs: Sequence[DataNode], scope: Scope, seed: int) -> Plan:
    """Returns the plan of a definition.

    Args:
        outputs: of the pipeline.
        scope: of the pipeline, for its operators that must run.
        seed: of the pipeline.

    Raises:
        TorchdaliError: the definition is wrong; the text names the line.
    """
    nodes, names = settle(outputs, scope)
    seeds = _derive_seeds(nodes, seed)
    merged = _merge(nodes, seeds)
    kept = [node for node in nodes if merged[node.ordinal] is node]

    def stands_for(node: DataNode) -> Edge:
        assert node.source is not None
        return merged[node.source.ordinal].ordinal, node.index

    needed = {stands_for(node)[0] for node in outputs}
    needed |= {merged[node.ordinal].ordinal for node in scope.sinks}
    kept, guards = sink(kept, needed, stands_for)
    position = {node.ordinal: i for i, node in enumerate(kept)}

    def edge(node: DataNode) -> Edge:
        ordinal, index = stands_for(node)
        return position[ordinal], index

    engine_nodes = [
        engine_node(
            node,
            names[node.ordinal],
            seeds[node.ordinal],
            [edge(i) for i in node.inputs],
            {name: edge(i) for name, i in node.arg_inputs.items()},
            [((position[n], i), value) for (n, i), value in guards[node.ordinal]],
        )
        for node in kept
    ]
    return Plan(
        kept,
        {node.ordinal: names[merged[node.ordinal].ordinal] for node in nodes},
        engine_nodes,
        [edge(node) for node in outputs],
    )


def engine_node(
    node: OpNode,
    name: str,
    seed: int,
    inputs: Sequence[tuple[int, int]],
    arg_inputs: Mapping[str, tuple[int, int]],
    guards: Sequence[tuple[tuple[int, int], bool]] = (),
) -> dict[str, Any]:
    """Returns a node as the engine takes it. What it depends on are (node, output) pairs."""
    return {
        "op": node.schema.name,
        "name": name,
        "inputs": list(inputs),
        "arg_inputs": dict(arg_inputs),
        "guards": list(guards),
        "args": dict(node.args),
        "seed": seed,
        "on_gpu": node.device == "gpu",
        "location": str(node.location) if node.location else "",
    }


def reachable(roots: Sequence[OpNode]) -> list[OpNode]:
    """Returns the roots and all they depend on, in the order of creation."""
    found: dict[int, OpNode] = {}
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node.ordinal in found:
            continue
        found[node.ordinal] = node
        todo += [parent.source for parent in node.parents if parent.source is not None]
    return [found[ordinal] for ordinal in sorted(found)]


def _settle_names(nodes: Sequence[OpNode]) -> dict[int, str]:
    """Returns the name of every node: the user's, or one that depends on this pipeline only.

    It changes nothing, so a pipeline that is serialized and then built has the same names in both.
    """
    names: dict[int, str] = {}
    used: dict[str, OpNode] = {}
    for node in (n for n in nodes if not n.provisional):
        if node.name in used:
            raise _make(
                ArgumentError,
                f"two operators of one pipeline are named `{node.name}`",
                operator=node.schema.fn_name,
                location=node.location,
            )
        used[node.name] = node
        names[node.ordinal] = node.name
    numbers = itertools.count()
    for node in (n for n in nodes if n.provisional):
        name = auto_name(node.schema.class_name, numbers)
        while name in used:
            name = auto_name(node.schema.class_name, numbers)
        used[name] = node
        names[node.ordinal] = name
    return names


def _derive_seeds(nodes: Sequence[OpNode], base: int) -> dict[int, int]:
    """Returns the seed of every node: the user's, or one from the pipeline's seed."""
    seeds: dict[int, int] = {}
    stream = 0  # counts operators that draw, so that others do not change what is drawn
    for node in nodes:
        seeds[node.ordinal] = seed_of(node, base, stream)
        stream += node.schema.random
    return seeds


def seed_of(node: OpNode, base: int, stream: int) -> int:
    """Returns the user's seed of an operator, or the one of the `stream`-th random operator."""
    if node.seed is not None:
        return node.seed & _UINT64
    return _C.derive_seed(base, stream) if node.schema.random else 0


def _merge(nodes: Sequence[OpNode], seeds: Mapping[int, int]) -> dict[int, OpNode]:
    """Returns for each node, by ordinal, the one that stands for it.

    Nodes are equal where operator, arguments, inputs and seed are; those that the user named, with
    side effects or with data from outside are like no other.
    """
    merged: dict[int, OpNode] = {}
    first: dict[Any, OpNode] = {}

    def edge(node: DataNode) -> tuple[int, int]:
        assert node.source is not None
        return merged[node.source.ordinal].ordinal, node.index

    for node in nodes:
        merged[node.ordinal] = node
        if node.named or node.schema.side_effects or node.group is not None:
            continue
        key = (
            node.schema.name,
            node.device,
            seeds[node.ordinal],
            tuple(edge(i) for i in node.inputs),
            tuple(sorted((name, edge(i)) for name, i in node.arg_inputs.items())),
            tuple((edge(i), value) for i, value in node.guards),
            # repr tells 1 from 1.0 and True, which are equal but not the same argument
            tuple(
                sorted(
                    (name, value if isinstance(value, bytes) else repr(value))
                    for name, value in node.args.items()
                )
            ),
        )
        merged[node.ordinal] = first.setdefault(key, node)
    return merged
