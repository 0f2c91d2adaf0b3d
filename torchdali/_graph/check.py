# SPDX-License-Identifier: Apache-2.0
"""Checks of what is passed to an operator: its device, inputs and arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._common.bad_samples import ON_ERROR
from torchdali._common.location import SourceLocation
from torchdali._engine.schema import UNIVERSAL, OperatorSchema
from torchdali._graph import arguments
from torchdali.data_node import DataNode, language
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    UnsupportedError,
    _make,
)
from torchdali.tensors import TensorListCPU

_DEVICES = ("cpu", "gpu", "mixed")
_UNIVERSAL = {arg.name: arg for arg in UNIVERSAL}


def check_device(schema: OperatorSchema, device: str, location: SourceLocation | None) -> None:
    """Raises UnsupportedError if the operator cannot run on `device`."""
    if schema.never:
        raise _make(
            UnsupportedError,
            f"cannot run: it {schema.never}",
            operator=schema.fn_name,
            location=location,
            fix=schema.instead,
        )
    if device not in _DEVICES:
        raise _make(
            ArgumentError,
            f'argument `device` takes "cpu", "gpu" or "mixed", got {device!r}',
            operator=schema.fn_name,
            location=location,
        )
    if device not in schema.devices:
        raise _make(
            UnsupportedError,
            f'has no implementation for device="{device}" in this version; it runs on '
            f"{', '.join(schema.devices)}",
            operator=schema.fn_name,
            location=location,
            fix="leave out `device`, pass .cpu() of inputs that are on the GPU, and take .gpu() of "
            "the result",
        )


def check_on_error(
    schema: OperatorSchema, policy: str | None, in_debug_mode: bool, location: SourceLocation | None
) -> None:
    """Raises ArgumentError for a policy that does not exist, or that debug mode does not have."""
    if policy in (None, "raise"):
        return
    if policy not in ON_ERROR:
        raise _make(
            ArgumentError,
            f"argument `on_error` takes one of {ON_ERROR}, got {policy!r}",
            operator=schema.fn_name,
            location=location,
        )
    if in_debug_mode:
        raise _make(
            UnsupportedError,
            "samples that fail cannot be left out or replaced (`on_error`) in debug mode",
            operator=schema.fn_name,
            location=location,
            fix="leave out debug=True or on_error",
        )


def check_name(schema: OperatorSchema, name: str, location: SourceLocation | None) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise _make(
            ArgumentError,
            f"argument `name` takes text that UTF-8 can hold, got {name!a}",
            operator=schema.fn_name,
            location=location,
        ) from None


def input_sets(
    schema: OperatorSchema, inputs: Sequence[Any], location: SourceLocation | None
) -> list[tuple[DataNode, ...]] | tuple[DataNode, ...]:
    """Returns the inputs of one use, or of several if lists of nodes were passed."""
    given = list(inputs)
    least, most = schema.min_inputs, schema.max_inputs
    while len(given) > least and given[-1] is None:  # an optional input left out
        given.pop()
    if not least <= len(given) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        names = ", ".join(f"`{i.name}`" for i in schema.inputs)
        raise _make(
            ArgumentError,
            f"takes {wanted} input{'s' * (wanted != '1')}{f' ({names})' if names else ''}, "
            f"got {len(given)}",
            operator=schema.fn_name,
            location=location,
        )
    given = [_as_input(schema, i, value, location) for i, value in enumerate(given)]
    lengths = {len(value) for value in given if isinstance(value, list)}
    if not lengths:
        return tuple(given)
    if len(lengths) > 1:
        raise _make(
            ArgumentError,
            f"lists of inputs have one length, got {sorted(lengths)}",
            operator=schema.fn_name,
            location=location,
        )
    count = lengths.pop()
    return [
        tuple(value[i] if isinstance(value, list) else value for value in given)
        for i in range(count)
    ]


def _as_input(
    schema: OperatorSchema, position: int, value: Any, location: SourceLocation | None
) -> DataNode | list[Any]:
    """Returns an input as a node, or as a list of nodes if such a list was passed."""
    if isinstance(value, DataNode):
        return value
    offender = value
    if isinstance(value, (list, tuple)) and any(isinstance(item, DataNode) for item in value):
        others = [item for item in value if not isinstance(item, DataNode)]
        if not others:
            return list(value)
        offender = others[0]
    elif (node := language.constant(value)) is not None:
        return node
    name = schema.inputs[min(position, len(schema.inputs) - 1)].name
    is_batch = isinstance(value, TensorListCPU)
    raise _make(
        ArgumentTypeError,
        f"input `{name}` takes a DataNode, a list of them, or a constant (a number, an array, a "
        f"list of numbers), got {'a list with ' if offender is not value else ''}"
        f"{type(offender).__name__}",
        operator=schema.fn_name,
        location=location,
        fix="bring batches in with fn.external_source" if is_batch else None,
    )


def check_layout(
    schema: OperatorSchema, inputs: Sequence[DataNode], location: SourceLocation | None
) -> None:
    for spec, node in zip(schema.inputs, inputs, strict=False):
        if node.layout and spec.layouts and node.layout not in spec.layouts:
            expected = ", ".join(f'"{layout}"' for layout in spec.layouts)
            raise _make(
                LayoutError,
                f'input `{spec.name}` has layout "{node.layout}", expected one of {expected}',
                operator=schema.fn_name,
                location=location,
            )


def universal(
    schema: OperatorSchema, name: str, kwargs: dict[str, Any], location: SourceLocation | None
) -> Any:
    """Takes an argument that every operator has out of `kwargs`; returns its value."""
    arg = _UNIVERSAL[name]
    value = kwargs.pop(name, None)
    if value is None:
        return arg.default
    if name in ("name", "device") and not isinstance(value, str):
        raise _make(
            ArgumentTypeError,
            f"argument `{name}` takes a string, got {value!r} ({type(value).__name__})",
            operator=schema.fn_name,
            location=location,
        )
    return arguments.coerce(schema.fn_name, arg, value, location)


def resolve(
    schema: OperatorSchema, kwargs: Mapping[str, Any], location: SourceLocation | None
) -> dict[str, Any]:
    """Returns the arguments as plain values and data nodes, after all checks of their own.

    The arguments that every operator takes stay among them.
    """
    arguments.check_names(schema, kwargs, location)
    result: dict[str, Any] = {}
    for name, value in arguments.without_deprecated(schema, kwargs, location).items():
        arg = schema.by_name.get(name)
        if arg is None:
            result[name] = value
        elif arguments.is_placeholder(arg, value):
            continue
        elif isinstance(value, DataNode):
            if not arg.per_sample:
                raise _make(
                    ArgumentTypeError,
                    f"argument `{name}` takes a constant ({arg.type_text()}), got a DataNode",
                    operator=schema.fn_name,
                    location=location,
                )
            result[name] = value
        elif isinstance(value, (list, tuple)) and any(isinstance(v, DataNode) for v in value):
            raise _make(
                ArgumentTypeError,
                f"argument `{name}` takes one DataNode that holds the list of values of a sample, "
                "got a list of data nodes",
                operator=schema.fn_name,
                location=location,
            )
        elif arg.per_sample and arguments.is_tensor_for(arg, value):
            result[name] = language.constant(value)
        else:
            result[name] = arguments.coerce(schema.fn_name, arg, value, location)
    return result
