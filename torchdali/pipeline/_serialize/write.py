# SPDX-License-Identifier: Apache-2.0
"""Writes a definition and its options as a document; restore.py reads it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali._sources.group import SourceGroup
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import UnsupportedError, _make
from torchdali.pipeline._compile import settle
from torchdali.pipeline._definition import Definition
from torchdali.pipeline._options import Options
from torchdali.pipeline._serialize.document import dump, encode
from torchdali.pipeline._serialize.references import reference
from torchdali.pipeline._serialize.restore import NOWHERE

__all__ = ["write_document"]


def write_document(definition: Definition, options: Options, locations: bool) -> bytes:
    """Returns a definition whose outputs are defined, as ASCII text.

    Args:
        definition: of a pipeline.
        options: of the pipeline.
        locations: whether the lines of the user's code are stored too.

    Raises:
        UnsupportedError: a function has no name that it could be found by.
    """
    return dump(_Writer(definition, locations).document(options))


class _Writer:
    """Refers to operators and external sources by their numbers in the document."""

    def __init__(self, definition: Definition, locations: bool) -> None:
        assert definition.outputs is not None
        self._definition = definition
        self._locations = locations
        self._nodes, self._names = settle(definition.outputs, definition.scope)
        self._numbers = {node.ordinal: i for i, node in enumerate(self._nodes)}
        self._groups: dict[int, tuple[int, SourceGroup]] = {}  # by id: number, group
        for node in self._nodes:
            if isinstance(node.group, SourceGroup):
                self._groups.setdefault(id(node.group), (len(self._groups), node.group))

    def document(self, options: Options) -> dict[str, Any]:
        definition = self._definition
        assert definition.outputs is not None
        return {
            "options": {name: _option(value) for name, value in options.arguments().items()},
            "drawn_seed": None if options.seed is not None else definition.seed(options),
            "sources": [self._source(group) for _, group in self._groups.values()],
            "nodes": [self._node(node) for node in self._nodes],
            "outputs": [self._edge(node) for node in definition.outputs],
            "sinks": sorted({self._numbers[node.ordinal] for node in definition.scope.sinks}),
        }

    def _edge(self, node: DataNode) -> list[int]:
        assert node.source is not None
        return [self._numbers[node.source.ordinal], node.index]

    def _location(self, location: SourceLocation | None) -> Any:
        if location is None or location is NOWHERE or not self._locations:
            return None
        return [location.short_filename(), location.lineno, location.function, location.line()]

    def _node(self, node: OpNode) -> dict[str, Any]:
        group = self._groups.get(id(node.group))
        return {
            "operator": node.schema.name,
            "name": self._names[node.ordinal],
            "named": node.named,
            "device": node.device,
            "arguments": {
                name: _argument(node, name)
                for name in sorted(node.args)
                if node.schema.by_name[name].type != "code"  # made of the other arguments
            },
            "inputs": [self._edge(i) for i in node.inputs],
            "argument_inputs": {n: self._edge(node.arg_inputs[n]) for n in sorted(node.arg_inputs)},
            "guards": [[*self._edge(i), value] for i, value in node.guards],
            "seed": node.seed,
            "preserve": node.preserve,
            "on_error": node.on_error,
            "outputs": node.num_outputs,
            "source": None if group is None else [group[0], node.group_index],
            "location": self._location(node.location),
        }

    def _source(self, group: SourceGroup) -> dict[str, Any]:
        source = group.source
        return {
            "function": None if source is None else reference(source.source, group.location),
            "num_outputs": group.num_outputs,
            "cycle": "no" if source is None else source.cycle,
            "batch": True if source is None else source.batch,
            "batch_info": False if source is None else source.batch_info,
            "no_copy": group.no_copy,
            "device": group.device,
            "repeat_last": group.repeat_last,
            "blocking": group.blocking,
            "parallel": (
                None
                if group.parallel is None
                else [group.parallel.depth, group.parallel.sample_bytes]
            ),
            "location": self._location(group.location),
        }


def _argument(node: OpNode, name: str) -> Any:
    value = node.args[name]
    if node.schema.by_name[name].type == "expression":
        return [str(step) for step in value]
    if node.schema.by_name[name].type == "function":
        operator = node.schema.fn_name
        return {"function": reference(value, node.location, operator=operator, argument=name)}
    try:
        return encode(value)
    except TypeError as error:
        raise _make(
            UnsupportedError,
            f"argument `{name}` cannot be serialized: it is a {error}",
            operator=node.schema.fn_name,
            location=node.location,
        ) from None


def _option(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return {key: int(value[key]) for key in sorted(value)}
    return [_option(item) for item in value] if isinstance(value, list) else value
