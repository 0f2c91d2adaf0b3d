# SPDX-License-Identifier: Apache-2.0
"""From a definition to the engine's list of nodes: collects, checks, names and seeds them.

The engine merges and fuses them: docs/design/graph.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._engine.extension import _C
from torchdali._graph.scope import Scope, auto_name, foreign
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, _make

__all__ = ["Plan", "engine_node", "make_plan", "reachable", "seed_of", "settle"]

_UINT64 = (1 << 64) - 1


@dataclass(frozen=True)
class Plan:
    """A definition as the engine takes it.

    Attributes:
        nodes: the operators that the outputs and sinks need, in the order of their creation.
        names: name of every operator by its ordinal.
        engine_nodes: `nodes` as the engine takes them.
        outputs: (index in `nodes`, output) of each output of the pipeline.
    """

    nodes: list[OpNode]
    names: dict[int, str]
    engine_nodes: list[dict[str, Any]]
    outputs: list[tuple[int, int]]

    def merged(
        self, kept: Sequence[int], merged_into: Sequence[int]
    ) -> tuple[list[OpNode], dict[int, str]]:
        """Returns the operators that run, and the names of all.

        Args:
            kept: indices in `nodes` of the operators that run, in topological order.
            merged_into: for each of `nodes`, the index of the one that it was merged into.
        """
        names = {
            node.ordinal: self.names[self.nodes[index].ordinal]
            for node, index in zip(self.nodes, merged_into, strict=True)
        }
        return [self.nodes[index] for index in kept], names


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
    position = {node.ordinal: i for i, node in enumerate(nodes)}
    required = {node.ordinal for node in scope.sinks}

    def edge(node: DataNode) -> tuple[int, int]:
        assert node.source is not None
        return position[node.source.ordinal], node.index

    engine_nodes = [
        engine_node(
            node,
            names[node.ordinal],
            seeds[node.ordinal],
            [edge(i) for i in node.inputs],
            {name: edge(i) for name, i in node.arg_inputs.items()},
            [(edge(i), value) for i, value in node.guards],
            required=node.ordinal in required,
        )
        for node in nodes
    ]
    return Plan(nodes, names, engine_nodes, [edge(node) for node in outputs])


def engine_node(
    node: OpNode,
    name: str,
    seed: int,
    inputs: Sequence[tuple[int, int]],
    arg_inputs: Mapping[str, tuple[int, int]],
    guards: Sequence[tuple[tuple[int, int], bool]] = (),
    *,
    required: bool = False,
) -> dict[str, Any]:
    """Returns a node as the engine takes it. Other nodes are given as (node, output).

    Args:
        node: the use of an operator.
        name: of the operator.
        seed: of its random values.
        inputs: its inputs.
        arg_inputs: its arguments that are data nodes.
        guards: its guards.
        required: whether it runs for all samples, also if nothing uses its outputs.
    """
    return {
        "op": node.schema.name,
        "name": name,
        "inputs": list(inputs),
        "arg_inputs": dict(arg_inputs),
        "guards": list(guards),
        "args": dict(node.args),
        "seed": seed,
        "on_gpu": node.device == "gpu",
        "named": node.named,
        "required": required or node.preserve,
        "on_error": node.on_error,
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
