# SPDX-License-Identifier: Apache-2.0
"""What the brackets of a DataNode, its shape() and its property() make."""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, TypeAlias, cast

import numpy as np

from torchdali._common.enums import DALIDataType
from torchdali._common.location import SourceLocation, find_user_location
from torchdali._engine.schema import operator_schema
from torchdali._graph import record
from torchdali._graph.check import check_device
from torchdali.data_node import DataNode, NewAxis
from torchdali.errors import ArgumentError, ArgumentTypeError, OutOfRangeError, _make

__all__ = ["get_property", "operators_of", "shape", "subscript"]

Data: TypeAlias = type[Any] | tuple[type[Any], ...]

_SLICE = {"lo": "start", "hi": "stop", "step": "step"}
_OPERATOR = "fn.tensor_subscript"


class _Subscripts:
    """The subscripts of one pair of brackets, sorted into arguments of operators.

    Attributes:
        args: of tensor_subscript; empty if all subscripts are full ranges.
        count: how many axes of the input have a subscript.
        ellipsis: how many of them are before the ellipsis; None if there is none.
        new_axes: of expand_dims: those after the ellipsis are counted from the end.
        names: letters of the new axes.
        ends_in_new_axis: whether the last subscript adds an axis.
    """

    def __init__(
        self, items: tuple[Any, ...], location: SourceLocation | None, data: Data = DataNode
    ) -> None:
        self.args: dict[str, Any] = {}
        self.count = 0
        self.ellipsis: int | None = None
        self.names = ""
        self.ends_in_new_axis = bool(items) and isinstance(items[-1], NewAxis)
        self._location = location
        self._data = data
        new_axes: list[tuple[bool, int]] = []  # (after the ellipsis, number of axes since it)
        axes = 0  # of the output, since the beginning or the ellipsis
        for item in items:
            if isinstance(item, EllipsisType):
                if self.ellipsis is not None:
                    raise _make(
                        OutOfRangeError,
                        "a subscript has one ellipsis at most",
                        operator=_OPERATOR,
                        location=location,
                    )
                self.ellipsis, axes = self.count, 0
            elif isinstance(item, NewAxis):
                new_axes.append((self.ellipsis is not None, axes))
                self.names += item.name or ""
                axes += 1
            else:
                axes += self._add(item)
        self.new_axes = [axis - axes if after else axis for after, axis in new_axes]
        if self.names and len(self.names) != len(self.new_axes):
            raise _make(
                ArgumentError,
                "either all new axes have a name or none of them",
                operator=_OPERATOR,
                location=location,
            )

    def _add(self, item: Any) -> bool:
        """Takes the subscript of the next axis; tells whether the output keeps the axis."""
        number = self.count
        self.count += 1
        if isinstance(item, slice):
            for prefix, attribute in _SLICE.items():
                bound = getattr(item, attribute)
                if bound is not None:
                    self.args[f"{prefix}_{number}"] = bound
            return True
        if (
            not isinstance(item, int)
            and not isinstance(item, self._data)
            and (
                isinstance(item, (type(None), float, np.floating, str, bytes, list, tuple))
                or np.ndim(item) > 0
            )
        ):
            raise _make(
                ArgumentTypeError,
                "a subscript is an integer, a slice, an ellipsis, torchdali.newaxis or a DataNode "
                f"with one integer a sample, got {item!r} ({type(item).__name__})",
                operator=_OPERATOR,
                location=self._location,
                fix="write `:` for a whole axis, torchdali.newaxis for a new one"
                if item is None
                else None,
            )
        self.args[f"at_{number}"] = item
        return False


def operators_of(
    key: Any, location: SourceLocation | None, data: Data = DataNode
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields name and arguments of the operators that are `x[key]`, one after the other.

    Args:
        key: what is between the brackets.
        location: the user's line, for errors.
        data: the types of what has one integer for each sample.
    """
    found = _Subscripts(key if isinstance(key, tuple) else (key,), location, data)
    if found.args:
        if found.ellipsis is not None and found.ellipsis < found.count:
            found.args["ellipsis"] = found.ellipsis
        yield "tensor_subscript", {**found.args, "num_subscripts": found.count}
    # Without positions from the end, expand_dims sees by itself whether there are enough axes.
    elif found.count > 0 and (found.ellipsis is not None or not found.ends_in_new_axis):
        yield "subscript_dim_check", {"num_subscripts": found.count}
    if found.new_axes:
        yield "expand_dims", {"axes": found.new_axes, "new_axis_names": found.names or None}


def subscript(node: DataNode, key: Any) -> DataNode:
    """Returns the node of `node[key]`."""
    location = find_user_location()
    for name, args in operators_of(key, location):
        node = _use(name, node, args, location)
    return node


def _use(
    name: str, node: DataNode, args: dict[str, Any], location: SourceLocation | None = None
) -> DataNode:
    return cast(DataNode, record.create(operator_schema(name), (node,), args, location=location))


def _fact(operator: str, node: DataNode, args: dict[str, Any], device: str) -> DataNode:
    """Returns what an operator tells about a batch, on `device`; the batch stays where it is."""
    check_device(operator_schema(operator), device, find_user_location())
    stays = device == "gpu" == node.device
    made = _use(operator, node, {**args, "device": "gpu" if stays else "cpu"})
    return made if device == made.device else made.gpu()


def shape(node: DataNode, dtype: DALIDataType | None, device: str) -> DataNode:
    """Returns the node of `node.shape()`."""
    return _fact("shapes", node, {"dtype": dtype}, device)


def get_property(node: DataNode, key: str, device: str) -> DataNode:
    """Returns the node of `node.property()`."""
    return _fact("get_property", node, {"key": key}, device)
