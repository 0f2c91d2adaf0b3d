# SPDX-License-Identifier: Apache-2.0
"""Checks what a user passes to an operator and turns it into plain values for the engine."""

from __future__ import annotations

import difflib
import operator
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from torchdali._common.location import SourceLocation, user_stack_level
from torchdali._engine.dtypes import (
    FLOAT,
    NO_TYPE,
    to_dali_type,
    to_numpy_type,
    to_torch_type,
)
from torchdali._engine.scalar import ScalarConstant
from torchdali._engine.schema import ENUMS, SUPERSEDED, UNIVERSAL, Argument, OperatorSchema
from torchdali._graph.expression import Step, parse_step
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.tfrecord import Feature

__all__ = [
    "check_names",
    "coerce",
    "is_placeholder",
    "is_tensor_for",
    "unknown_name",
    "without_deprecated",
]

_INT64 = range(-(1 << 63), 1 << 63)
_UNIVERSAL_NAMES = [arg.name for arg in UNIVERSAL]


class _Mismatch(Exception):
    """A value that cannot be what the argument is; the text ends a sentence "..., got"."""

    def __init__(self, expected: str, *, by_value: bool = False) -> None:
        super().__init__(expected)
        self.by_value = by_value


def _scalar(value: Any) -> Any:
    """Returns a number out of a constant, NumPy or torch scalar or one-element array.

    Others are returned as they are.
    """
    if isinstance(value, ScalarConstant):
        return value.value
    if isinstance(value, (np.ndarray, torch.Tensor)):
        size = value.numel() if isinstance(value, torch.Tensor) else value.size
        return value.item() if size == 1 else value
    return value.item() if isinstance(value, np.generic) else value


def is_tensor_for(arg: Argument, value: Any) -> bool:
    """Returns whether a constant is passed as a tensor: it has more dimensions than the argument.

    A number is then an array of numbers, and a list is an array or a nested list, such as a matrix.
    """
    is_array = isinstance(value, (np.ndarray, torch.Tensor))
    if arg.type in ("bool", "int", "float"):
        return is_array and _scalar(value) is value
    if arg.type not in ("int_list", "float_list"):
        return False
    if is_array:
        return bool(value.ndim > 1)
    return isinstance(value, (list, tuple)) and any(isinstance(v, (list, tuple)) for v in value)


def is_placeholder(arg: Argument, value: Any) -> bool:
    """Returns whether `value` is NO_TYPE for a type that is optional, which means not given."""
    return (
        arg.type == "DALIDataType"
        and not arg.required
        and not arg.has_default
        and not isinstance(value, (str, bytes, bool, type))
        and value == NO_TYPE
    )


def _to_int(value: Any) -> int:
    value = _scalar(value)
    if isinstance(value, float):
        if not value.is_integer():
            raise _Mismatch("a whole number", by_value=True)
        value = int(value)
    try:
        result = operator.index(value)
    except TypeError:
        raise _Mismatch("an integer") from None
    if result not in _INT64:
        raise _Mismatch("an integer of 64 bits", by_value=True)
    return int(result)


def _to_bool(value: Any) -> bool:
    try:
        return bool(_to_int(value))
    except _Mismatch:
        raise _Mismatch("True or False") from None


def _to_float(value: Any) -> float:
    value = _scalar(value)
    if isinstance(value, (str, bytes)):
        raise _Mismatch("a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _Mismatch("a number") from None


def _to_str(value: Any) -> str:
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise _Mismatch("a string") from None
    try:
        os.fsencode(text)  # as the engine gets it
    except UnicodeEncodeError:
        raise _Mismatch("a string without lone surrogates", by_value=True) from None
    return text


def _to_bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise _Mismatch("bytes")
    return bytes(value)


def _to_function(value: Any) -> Any:
    if not callable(value):
        raise _Mismatch("a function, or another object that can be called")
    return value


def _to_code(value: Any) -> Any:
    if type(value).__name__ != "PyCapsule":
        raise _Mismatch("compiled code")
    return value


def _to_expression(value: Any) -> list[Step]:
    """Takes steps, and the text that documents have in their place."""
    if not isinstance(value, list) or not value:
        raise _Mismatch("a list of steps")
    try:
        return [step if isinstance(step, Step) else parse_step(step) for step in value]
    except (AttributeError, ValueError):
        raise _Mismatch("a list of steps", by_value=True) from None


def _to_features(value: Any) -> list[tuple[Any, ...]]:
    """Takes a dictionary of features, and the fields that documents have in its place."""
    expected = "a dictionary of features (torchdali.tfrecord), one or more"
    if isinstance(value, list):
        try:
            value = dict(Feature.from_fields(fields) for fields in value)
        except (TypeError, ValueError):
            raise _Mismatch(expected) from None
    if not isinstance(value, Mapping) or not value:
        raise _Mismatch(expected)
    if any(not isinstance(feature, Feature) for feature in value.values()):
        raise _Mismatch(expected)
    return [feature.fields(_to_str(name)) for name, feature in value.items()]


def _to_layouts(value: Any) -> Any:
    if isinstance(value, str):
        return _to_str(value)
    return _to_list(_to_str, "a layout")(value) or ""


def _to_type(value: Any) -> int:
    """Returns the number of an element type that is given as a type of torch or NumPy."""
    try:
        meant = to_dali_type(value)
    except TypeError:
        if isinstance(value, (np.dtype, torch.dtype)):
            raise _Mismatch("an element type that DALI has", by_value=True) from None
        meant = FLOAT
    else:
        # Names are refused: "float" and "long" have other widths in C than in NumPy and torch.
        if not isinstance(value, str):
            return int(meant)
    raise _Mismatch(
        f"a types.DALIDataType or a type of torch or NumPy (types.{meant.name}, "
        f"{to_torch_type(meant)}, np.{to_numpy_type(meant).__name__})"
    )


def _to_enum(enum: Any) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if isinstance(value, ScalarConstant):
            value = value.value
        if isinstance(value, enum):
            return int(value)
        is_type = enum is ENUMS["DALIDataType"]
        if is_type and isinstance(value, (str, type, np.dtype, torch.dtype)):
            return _to_type(value)
        if isinstance(value, (str, bytes, float, bool)):
            raise _Mismatch(f"a types.{enum.__name__}")
        # Another enumeration's member is a mistake although it is a number, too.
        if type(value) in ENUMS.values():
            raise _Mismatch(f"a types.{enum.__name__}")
        number = _to_int(value)
        if number not in enum._value2member_map_:
            raise _Mismatch(f"the number of a types.{enum.__name__}", by_value=True)
        return number

    return convert


def _to_list(convert: Callable[[Any], Any], what: str) -> Callable[[Any], list[Any]]:
    def convert_list(value: Any) -> list[Any]:
        if isinstance(value, (np.ndarray, torch.Tensor)):
            if value.ndim > 1:
                raise _Mismatch(f"{what} or a 1-D list of them")
            value = value.tolist()
        if isinstance(value, (str, bytes, os.PathLike)) or not hasattr(value, "__iter__"):
            return [convert(value)]
        try:
            return [convert(item) for item in value]
        except _Mismatch as mismatch:
            raise _Mismatch(f"{what} or a list of them", by_value=mismatch.by_value) from None

    return convert_list


# Values that arguments had in DALI 1.x, where they were of another type.
_OLD_VALUES = {"enable_frame_num": {False: "none", True: "scalar"}}

_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "bool": _to_bool,
    "int": _to_int,
    "float": _to_float,
    "str": _to_str,
    "layout": _to_str,
    "bytes": _to_bytes,
    "function": _to_function,
    "code": _to_code,
    "layout_list": _to_layouts,
    "expression": _to_expression,
    "object": lambda value: value,
    "features": _to_features,
    "int_list": _to_list(_to_int, "an integer"),
    "float_list": _to_list(_to_float, "a number"),
    "str_list": _to_list(_to_str, "a string"),
    **{name: _to_enum(enum) for name, enum in ENUMS.items()},
    "DALIDataType_list": _to_list(_to_enum(ENUMS["DALIDataType"]), "an element type"),
}


def coerce(owner: str, arg: Argument, value: Any, location: SourceLocation | None) -> Any:
    """Returns the plain value of a constant argument: bool, int, float, str, bytes or a list.

    Raises:
        ArgumentTypeError, ArgumentError: the value cannot be one; the text names both.
    """
    if isinstance(value, bool) and arg.type == "str":
        value = _OLD_VALUES.get(arg.name, {}).get(value, value)
    try:
        return _CONVERTERS[arg.type](value)
    except _Mismatch as mismatch:
        cls = ArgumentError if mismatch.by_value else ArgumentTypeError
        shown = repr(value)
        if len(shown) > 60:
            shown = shown[:57] + "..."
        got = f"{shown} ({type(value).__name__})"
        raise _make(
            cls,
            f"argument `{arg.name}` takes {mismatch}, got {got}",
            operator=owner,
            location=location,
        ) from None


def unknown_name(
    owner: str, name: str, known: list[str], location: SourceLocation | None
) -> Exception:
    """Returns the error for an argument that does not exist, with the nearest that does."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    fix = f"did you mean `{close[0]}`?" if close else f"it takes {', '.join(sorted(known))}"
    return _make(
        ArgumentTypeError,
        f"unexpected argument `{name}`",
        operator=owner,
        location=location,
        fix=fix,
    )


def check_names(
    schema: OperatorSchema, kwargs: Mapping[str, Any], location: SourceLocation | None
) -> None:
    """Raises ArgumentTypeError for an argument that the operator does not take."""
    for name in kwargs:
        if name not in schema.by_name and name not in _UNIVERSAL_NAMES:
            known = [a.name for a in schema.args if not a.deprecated] + _UNIVERSAL_NAMES
            raise unknown_name(schema.fn_name, name, known, location)


def without_deprecated(
    schema: OperatorSchema, kwargs: Mapping[str, Any], location: SourceLocation | None
) -> dict[str, Any]:
    """Returns the arguments under their present names, after a DeprecationWarning for old ones.

    None counts as not given, as in DALI.
    """
    if schema.name in SUPERSEDED:
        warnings.warn(
            f"{schema.fn_name} is deprecated, as in DALI: use fn.{SUPERSEDED[schema.name]}",
            DeprecationWarning,
            stacklevel=user_stack_level(),
        )
    result: dict[str, Any] = {}
    for name, value in kwargs.items():
        if value is None:
            continue
        arg = schema.by_name.get(name)
        if arg is None or not (arg.deprecated or arg.renamed_to or arg.ignored):
            result[name] = value
            continue
        if arg.renamed_to:
            if kwargs.get(arg.renamed_to) is not None:
                raise _make(
                    ArgumentTypeError,
                    f"both `{arg.renamed_to}` and its old name `{name}` are given",
                    operator=schema.fn_name,
                    location=location,
                    fix=f"leave out `{name}`",
                )
            text = f"`{name}` is the old name of `{arg.renamed_to}`"
            result[arg.renamed_to] = value
        elif arg.ignored:
            text = f"`{name}` has no effect any more"
        else:
            text = f"`{name}` is deprecated"
            result[name] = value
        warnings.warn(
            f"{schema.fn_name}: {text}", DeprecationWarning, stacklevel=user_stack_level()
        )
    return result
