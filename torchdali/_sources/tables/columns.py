# SPDX-License-Identifier: Apache-2.0
"""Columns of tables: which types can be read, and how they are converted for the engine."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from torchdali._sources.tables.table import TableError, pyarrow

__all__ = ["Columns"]

_READABLE = "numbers, booleans, strings, bytes, lists of numbers, and structs of bytes and path"


def _field(pa: ModuleType, schema: Any, name: str) -> tuple[str, list[str], Any]:
    """Returns the name of a column, the fields below it that `name` means, and the type."""
    names = schema.names
    candidates = [n for n in names if name == n or name.startswith(f"{n}.")]
    if not candidates:
        raise TableError(f"the table has no column {name!r}; it has {', '.join(map(repr, names))}")
    column = max(candidates, key=len)
    if names.count(column) > 1:
        raise TableError(f"the table has {names.count(column)} columns {column!r}, expected one")
    kind = schema.field(column).type
    path = [] if column == name else name[len(column) + 1 :].split(".")
    for part in path:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            raise TableError(f"the table has no column {name!r}: {column!r} is {kind}")
        kind = kind.field(part).type
    return column, path, kind


def _is_file(pa: ModuleType, kind: Any) -> bool:
    if not pa.types.is_struct(kind):
        return False
    of = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
    return (
        "bytes" in of
        and _is_text(pa, of["bytes"])
        and ("path" not in of or _is_text(pa, of["path"]) or pa.types.is_null(of["path"]))
    )


def _is_text(pa: ModuleType, kind: Any) -> bool:
    of = pa.types
    checks = [of.is_binary, of.is_large_binary, of.is_string, of.is_large_string]
    checks += [
        getattr(of, name) for name in ("is_binary_view", "is_string_view") if name in dir(of)
    ]
    return any(check(kind) for check in checks)


def _is_list(pa: ModuleType, kind: Any) -> bool:
    of = pa.types
    checks = [of.is_list, of.is_large_list, of.is_fixed_size_list]
    checks += [getattr(of, n) for n in ("is_list_view", "is_large_list_view") if n in dir(of)]
    return any(check(kind) for check in checks)


def _target(pa: ModuleType, kind: Any, *, inside: bool = False) -> Any:
    """Returns the type that a column is converted to; None if it cannot be read."""
    of = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _target(pa, kind.storage_type, inside=inside)
    if of.is_dictionary(kind):
        return _target(pa, kind.value_type, inside=inside)
    if of.is_boolean(kind) or of.is_integer(kind) or of.is_floating(kind):
        return kind
    if of.is_temporal(kind) and not of.is_interval(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if _is_list(pa, kind):
        value = _target(pa, kind.value_type, inside=True)
        if value is None:
            return None
        if of.is_fixed_size_list(kind):
            return pa.list_(value, kind.list_size)
        return pa.large_list(value)
    if inside:
        return None
    if _is_text(pa, kind):
        return pa.large_binary()
    if of.is_fixed_size_binary(kind) and not of.is_decimal(kind):
        return kind
    if _is_file(pa, kind):
        return pa.struct([("bytes", pa.large_binary()), ("path", pa.large_string())])
    return None


class Columns:
    """The columns of a table that are read."""

    def __init__(self, schema: Any, names: Sequence[str]) -> None:
        self._pa = pa = pyarrow()
        self._names = list(names)
        self._fields = []
        for name in names:
            column, path, kind = _field(pa, schema, name)
            target = _target(pa, kind)
            if target is None:
                raise TableError(
                    f"column {name!r} has the type {kind}; readable are {_READABLE}",
                    "convert the column, or name a field of it, such as "
                    f"{name + '.' + kind.field(0).name!r}"
                    if pa.types.is_struct(kind) and kind.num_fields
                    else "convert the column",
                )
            self._fields.append((column, path, target))

    @property
    def top(self) -> list[str]:
        """The columns of the table that have them."""
        return list(dict.fromkeys(column for column, _, _ in self._fields))

    def facts(self) -> list[tuple[str, str]]:
        """Returns names and types, which all files of a table have in common."""
        kinds = [str(target) for _, _, target in self._fields]
        return list(zip(self._names, kinds, strict=True))

    def batch(self, data: Any) -> Any:
        """Returns a record batch with these columns of a table or a record batch."""
        pa = self._pa
        arrays = []
        for column, path, target in self._fields:
            array = data.column(column)
            if isinstance(array, pa.ChunkedArray):
                parts = [self._converted(part, path, target) for part in array.chunks]
                array = (
                    parts[0]
                    if len(parts) == 1
                    else pa.concat_arrays(parts)
                    if parts
                    else pa.array([], target)
                )
            else:
                array = self._converted(array, path, target)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, names=self._names)

    def _converted(self, array: Any, path: Sequence[str], target: Any) -> Any:
        pa = self._pa
        for part in path:
            array = array.flatten()[array.type.get_field_index(part)]
        while isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_struct(target):
            of = dict(zip((f.name for f in array.type), array.flatten(), strict=True))
            data = of["bytes"].cast(pa.large_binary())
            files = of.get("path", pa.nulls(len(array), pa.string())).cast(pa.large_string())
            return pa.StructArray.from_arrays([data, files], names=["bytes", "path"])
        return array if array.type == target else array.cast(target)
