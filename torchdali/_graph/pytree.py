# SPDX-License-Identifier: Apache-2.0
"""The structure that a definition returns its outputs in: taken apart, and put together again."""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentTypeError, _make

__all__ = ["Structure", "flatten", "has_nodes"]


@dataclasses.dataclass(frozen=True)
class Structure:
    """How outputs hang together.

    Attributes:
        paths: names of the outputs, in their order: keys, fields and positions, joined by dots; ""
            for an output that is not in any structure.
        rebuild: makes the structure of the values of the outputs.
    """

    paths: tuple[str, ...]
    rebuild: Callable[[Sequence[Any]], Any]

    @staticmethod
    def flat(count: int) -> Structure:
        """Returns that of a tuple of `count` outputs."""
        return Structure(tuple(str(i) for i in range(count)), tuple)


def flatten(made: Any) -> tuple[list[Any], Structure]:
    """Returns the outputs that a definition has returned, one after the other, and their structure.

    Dicts, named tuples and dataclasses are structures, and so are tuples and lists at the outside
    or with a data node in them; others are constants. A list in a tuple or list is none: operators
    with several outputs return lists, so that a `*` is missing there. Strings and None in dicts,
    named tuples and dataclasses stay as they are. A definition that returns None has no outputs.

    Raises:
        ArgumentTypeError: a name of an output is no string or integer.
    """
    leaves: list[Any] = []
    paths: list[str] = []
    if made is None:
        return leaves, Structure.flat(0)
    rebuild = _take_apart(made, None, "", leaves, paths)
    return leaves, Structure(tuple(paths), rebuild)


_Rebuild = Callable[[Sequence[Any]], Any]


def _take_apart(
    value: Any, parent: Any, path: str, leaves: list[Any], paths: list[str]
) -> _Rebuild:
    parts = _parts(value, parent)
    if parts is None:
        position = len(leaves)
        leaves.append(value)
        paths.append(path)
        return lambda values: values[position]
    items, make = parts
    inner = []
    for name, item in items:
        if not _is_plain(value) and (item is None or isinstance(item, str)):
            inner.append(_always(item))
            continue
        where = f"{path}.{name}" if path else str(name)
        inner.append(_take_apart(item, value, where, leaves, paths))
    return lambda values: make([one(values) for one in inner])


def _is_plain(value: Any) -> bool:
    """Whether it is a tuple or list without names."""
    return isinstance(value, (list, tuple)) and not hasattr(value, "_fields")


def _always(value: Any) -> _Rebuild:
    return lambda _values: value


def _parts(
    value: Any, parent: Any
) -> tuple[list[tuple[Any, Any]], Callable[[list[Any]], Any]] | None:
    """Returns names and items of a structure in another, and what makes one of other items."""
    if isinstance(value, Mapping):
        keys = list(value)
        for key in keys:
            if not isinstance(key, (str, int)):
                raise _make(
                    ArgumentTypeError,
                    f"the definition returns a dict with the key {key!r}; keys are strings or "
                    "integers",
                )
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        return list(value.items()), lambda items: kind(zip(keys, items, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, DataNode):
            return None
        names = [field.name for field in dataclasses.fields(value)]
        return [(n, getattr(value, n)) for n in names], lambda items: _replaced(value, names, items)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        cls: Any = type(value)
        return list(zip(cls._fields, value, strict=True)), lambda items: cls(*items)
    if isinstance(value, list) and _is_plain(parent):
        return None
    if isinstance(value, (list, tuple)) and (parent is None or has_nodes(value)):
        plain = list if isinstance(value, list) else tuple
        return list(enumerate(value)), plain
    return None


def _replaced(value: Any, names: Sequence[str], items: Sequence[Any]) -> Any:
    """Returns a copy with other fields. `__post_init__` saw the nodes, it does not see tensors."""
    made = copy.copy(value)
    for name, item in zip(names, items, strict=True):
        object.__setattr__(made, name, item)  # frozen ones too
    return made


def has_nodes(value: Any) -> bool:
    """Returns whether a value is a data node or a structure with one in it."""
    if isinstance(value, DataNode):
        return True
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(has_nodes(getattr(value, f.name)) for f in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return any(has_nodes(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(has_nodes(item) for item in value)
