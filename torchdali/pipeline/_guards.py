# SPDX-License-Identifier: Apache-2.0
"""Moves operators into the branches that need them: a sample that takes another one skips them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torchdali.data_node import DataNode, OpNode

__all__ = ["Edge", "Guards", "sink"]

Edge = tuple[int, int]  # ordinal of the operator, output
_MERGE = "conditional.merge"  # reads the input that the predicate, its last one, chooses

Guards = tuple[tuple[Edge, bool], ...]


def sink(
    nodes: Sequence[OpNode], needed: set[int], edge: Callable[[DataNode], Edge]
) -> tuple[list[OpNode], dict[int, Guards]]:
    """Returns the operators, again in topological order, and the guards of each by its ordinal.

    An operator gets the guards that all its uses have in common. A predicate that depends on it is
    not among them, since a use for that predicate has none of them.

    Args:
        nodes: in topological order.
        needed: ordinals of those that all samples go through.
        edge: says what a data node stands for.
    """
    guards: dict[int, Guards] = {
        node.ordinal: tuple((edge(predicate), value) for predicate, value in node.guards)
        for node in nodes
    }
    if not any(node.guards or node.schema.name == _MERGE for node in nodes):
        return list(nodes), guards
    uses: dict[int, list[Guards]] = {node.ordinal: [] for node in nodes}
    for node in reversed(nodes):
        own, found = guards[node.ordinal], uses[node.ordinal]
        schema = node.schema
        fixed = schema.source or schema.side_effects or node.preserve or node.ordinal in needed
        if found and not fixed:
            own = guards[node.ordinal] = max(own, _common(found), key=len)
        for position, ((predicate, _), _) in enumerate(own):
            uses[predicate].append(own[:position])
        for parent, taken in _inputs(node, own, edge):
            uses[parent].append(taken)
    return _sorted(nodes, guards, edge), guards


def _inputs(
    node: OpNode, own: Guards, edge: Callable[[DataNode], Edge]
) -> list[tuple[int, Guards]]:
    """Returns for each input whose output it is, and the guards under which it is read."""
    inputs = [edge(parent) for parent in (*node.inputs, *node.arg_inputs.values())]
    taken = [own] * len(inputs)
    if node.schema.name == _MERGE:
        predicate = inputs[2]
        taken[:2] = [(*own, (predicate, True)), (*own, (predicate, False))]
    return [(ordinal, read) for (ordinal, _), read in zip(inputs, taken, strict=True)]


def _common(lists: Sequence[Guards]) -> Guards:
    """Returns the longest beginning that all have."""
    shortest = min(lists, key=len)
    for position, guard in enumerate(shortest):
        if any(guards[position] != guard for guards in lists):
            return shortest[:position]
    return shortest


def _sorted(
    nodes: Sequence[OpNode], guards: Mapping[int, Guards], edge: Callable[[DataNode], Edge]
) -> list[OpNode]:
    """Returns the operators with predicates before what they guard, otherwise as they were."""
    by_ordinal = {node.ordinal: node for node in nodes}
    done: set[int] = set()
    order: list[OpNode] = []
    todo = [(node, False) for node in reversed(nodes)]
    while todo:
        node, ready = todo.pop()
        if node.ordinal in done:
            continue
        if ready:
            done.add(node.ordinal)
            order.append(node)
            continue
        parents = [ordinal for ordinal, _ in _inputs(node, (), edge)]
        parents += [predicate for (predicate, _), _ in guards[node.ordinal]]
        todo.append((node, True))
        todo += ((by_ordinal[p], False) for p in sorted(parents, reverse=True) if p not in done)
    return order
