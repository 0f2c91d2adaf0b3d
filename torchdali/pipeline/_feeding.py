# SPDX-License-Identifier: Apache-2.0
"""Which external source Pipeline.feed_input() feeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchdali._sources.input import Input
from torchdali._sources.inputs import Inputs
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["fed_input", "fed_name"]


def fed_name(data_node: Any, names: Mapping[int, str]) -> str:
    """Returns the name of the external source that a DataNode or a name refers to.

    Args:
        data_node: argument of feed_input().
        names: the name of each operator by its ordinal.

    Raises:
        ArgumentTypeError: it is neither a DataNode nor a string.
    """
    if isinstance(data_node, DataNode):
        source = data_node.source
        if source is not None and source.schema.name == "copy.to_gpu":
            data_node = source.inputs[0]
            source = data_node.source
        return names.get(source.ordinal, data_node.name) if source else data_node.name
    if not isinstance(data_node, str):
        raise _make(
            ArgumentTypeError,
            "feed_input: takes the DataNode of an external source or its name, got "
            f"{type(data_node).__name__}",
        )
    return data_node


def fed_input(name: str, inputs: Inputs) -> Input:
    """Returns the external source with a name.

    Raises:
        ArgumentError: there is none, or it gets its data from its `source`.
    """
    found = inputs.find(name)
    if found is None:
        known = ", ".join(f"`{known}`" for known in inputs.names) or "none"
        raise _make(
            ArgumentError,
            f"feed_input: the pipeline has no external source `{name}` that an output needs; "
            f"it has {known}",
        )
    if found.has_source:
        raise _make(
            ArgumentError,
            f"feed_input: `{name}` gets its data from its `source`",
            location=found.location,
        )
    return found
