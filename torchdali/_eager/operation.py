# SPDX-License-Identifier: Apache-2.0
"""Calls of an operator that differ in their data only, checked once."""

from __future__ import annotations

import enum
import marshal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._common.location import SourceLocation
from torchdali._eager.program import Program, placeholder, recording
from torchdali._eager.values import LISTS, Samples
from torchdali._engine.extension import _C
from torchdali._engine.schema import OperatorSchema
from torchdali._graph.expression import Step
from torchdali._graph.record import create
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.tensors._input import DaliData

__all__ = ["Operation", "Operations", "key_of", "quick_key", "tensor_of"]

# A constant that has had more values than these comes with each call.
_MOST_CONSTANTS = 16
_MOST_OPERATIONS = 256
_PLAIN = frozenset((bool, bytes, float, int, str, type(None)))
_LISTS = frozenset((list, tuple))
_BATCHES = (Samples, *LISTS)
_ARRAYS = (torch.Tensor, np.ndarray, Samples, DaliData)
# Types of arguments that a call can bring as a tensor.
_TENSOR_TYPES = {
    "int": torch.int32,
    "float": torch.float32,
    "int_list": torch.int32,
    "float_list": torch.float32,
}


class Operation:
    """An operator with its constant arguments.

    Args:
        schema: of the operator.
        constants: arguments that are the same for every sample.
        fed: names of the arguments that have a value for each sample, which come with each call.
        num_inputs: of the operator.
        on_gpu: for each input, then for each of `fed`, whether it is on a GPU; (): none is.
        device: that the user names: "cpu", "gpu" or "mixed"; None: that of the inputs.

    Attributes:
        num_outputs: of the operator.
        outputs_on_gpu: for each output, whether it is on a GPU.
        uses_gpu: whether data or the operator is on a GPU.
        is_plain: whether it makes one output of one input on the CPU, and draws nothing.

    Raises:
        TorchdaliError: the arguments are wrong. It names the line of the user that is current.
    """

    __slots__ = (
        "_constants",
        "_program",
        "fed",
        "is_plain",
        "num_inputs",
        "num_outputs",
        "on_gpu",
        "outputs_on_gpu",
        "schema",
        "uses_gpu",
    )

    def __init__(
        self,
        schema: OperatorSchema,
        constants: Mapping[str, Any],
        fed: Sequence[str],
        num_inputs: int,
        on_gpu: tuple[bool, ...] = (),
        device: str | None = None,
    ) -> None:
        self.schema, self.fed, self.num_inputs = schema, tuple(fed), num_inputs
        self.on_gpu = on_gpu or (False,) * (num_inputs + len(self.fed))
        self._constants = dict(constants)
        if device is not None:
            self._constants["device"] = device
        self._program: Program | None = None
        for name, is_there in zip(self.fed, self.on_gpu[num_inputs:], strict=True):
            if is_there:
                raise _make(
                    ArgumentError,
                    f"argument `{name}` takes values on the CPU, and they are on a GPU",
                    fix="pass .cpu() of them",
                )
        outputs = self.record(self._placeholders(), None)
        self.num_outputs = len(outputs)
        self.outputs_on_gpu = tuple(output.device == "gpu" for output in outputs)
        self.uses_gpu = any(self.on_gpu) or any(self.outputs_on_gpu) or device == "gpu"
        takes_one = num_inputs == 1 and self.num_outputs == 1 and not self.fed
        self.is_plain = takes_one and not self.uses_gpu and not schema.random

    def _placeholders(self) -> list[DataNode]:
        return [placeholder(f"in{i}", on_gpu) for i, on_gpu in enumerate(self.on_gpu)]

    def record(
        self, values: Sequence[DataNode], location: SourceLocation | None
    ) -> tuple[DataNode, ...]:
        """Returns the outputs as nodes.

        Args:
            values: its inputs, then the arguments `fed`.
            location: for errors; None: the user's line that is current.
        """
        inputs = values[: self.num_inputs]
        fed = dict(zip(self.fed, values[self.num_inputs :], strict=True))
        with recording():
            made = create(self.schema, inputs, {**self._constants, **fed}, location=location)
        if made is None:
            return ()
        return (made,) if isinstance(made, DataNode) else tuple(made)

    def program(self) -> Program:
        """Returns the operator as a program of its own."""
        if self._program is None:
            inputs = self._placeholders()
            self._program = Program(inputs, self.record(inputs, None))
        return self._program


class Operations:
    """The operations of one operator that were met, by their constants.

    Args:
        schema: of the operator.
    """

    def __init__(self, schema: OperatorSchema) -> None:
        self._schema = schema
        self._per_sample = {arg.name for arg in schema.args if arg.per_sample}
        self._found: dict[Any, Operation] = {}
        # By the names of the arguments: what they were, and those that keep changing.
        self._seen: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        self._changing: dict[tuple[str, ...], frozenset[str]] = {}

    def split(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments that are constants, and those that come with each call.

        The latter are tensors, and numbers that were different in most calls: compiling takes
        longer than running.

        Raises:
            ArgumentTypeError: a batch is passed for an argument that has one value.
        """
        fed: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, _ARRAYS) and name in self._per_sample:
                fed[name] = value
            elif isinstance(value, _BATCHES):
                raise _make(
                    ArgumentTypeError,
                    f"argument `{name}` has one value for all samples, and a batch was passed",
                )
        constants = {name: value for name, value in given.items() if name not in fed}
        for name in self._changing.get(tuple(constants), ()):
            tensor = tensor_of(constants[name], self._schema.by_name[name].type)
            if tensor is not None:
                fed[name] = tensor
                del constants[name]
        return constants, fed

    def find(
        self,
        constants: dict[str, Any],
        fed: Mapping[str, Any],
        gpus: Sequence[int],
        device: str | None = None,
    ) -> Operation:
        """Returns the operator with these constants, checked.

        Args:
            constants: as split() returns them.
            fed: as split() returns them.
            gpus: where each input of the call is, then each of `fed`.
            device: as Operation takes it.
        """
        own = key_of(constants)
        num_inputs, on_gpu = len(gpus) - len(fed), tuple(gpu >= 0 for gpu in gpus)
        if own is None:
            return Operation(self._schema, constants, list(fed), num_inputs, on_gpu, device)
        key = (own, tuple(fed), on_gpu, device)
        found = self._found.get(key)
        if found is None:
            found = Operation(self._schema, constants, list(fed), num_inputs, on_gpu, device)
            if len(self._found) >= _MOST_OPERATIONS:
                self._found.clear()
            self._found[key] = found
            self._note(constants)
        return found

    def _note(self, constants: Mapping[str, Any]) -> None:
        """Finds the arguments that change from call to call."""
        names = tuple(constants)
        if names in self._changing:
            return
        seen = self._seen.setdefault(names, [])
        seen.append(constants)
        if len(seen) <= _MOST_CONSTANTS:
            return
        self._changing[names] = frozenset(
            name
            for name in names
            if name in self._per_sample
            and self._schema.by_name[name].type in _TENSOR_TYPES
            and len({repr(one[name]) for one in seen}) > _MOST_CONSTANTS // 2
        )
        del self._seen[names]


def tensor_of(value: Any, kind: str) -> torch.Tensor | None:
    """Returns a constant argument as a tensor; None if it is no plain value of that kind.

    Args:
        value: a number, or a list of them.
        kind: as Argument.type: one of _TENSOR_TYPES.
    """
    is_list = kind.endswith("_list")
    values = value if is_list and type(value) in _LISTS else [value]
    for one in values:
        # A float for an integer, which torch would round, is refused by the check of constants.
        if type(one) is not int and (type(one) is not float or not kind.startswith("float")):
            return None
    try:
        return torch.tensor(values if is_list else value, dtype=_TENSOR_TYPES[kind])
    except (OverflowError, RuntimeError, ValueError):
        return None


# Takes a dict, and returns what equal ones, and only these, have in common. None unless all values
# are plain: numbers, strings, None, element types, enumerations, and lists and dicts of them.
# Numbers of different types are different, and so is -0.0 from 0.0.
quick_key = _C.plain_key


class _Unhashable(Exception):
    """A value that cannot be told from others."""


def key_of(values: dict[str, Any]) -> Any:
    """Returns what quick_key() does, for all kinds of arguments; None if nobody can tell."""
    quick = quick_key(values)
    if quick is not None:
        return quick
    try:
        return tuple((name, _frozen(value)) for name, value in values.items())
    except _Unhashable:
        return None


def _frozen(value: Any) -> Any:
    if isinstance(value, (type, torch.dtype, enum.Enum)):
        return type(value), value
    if isinstance(value, Step):
        return str(value)  # names the types of its constants
    if type(value) in _PLAIN:
        return marshal.dumps(value, 2)
    if type(value) in _LISTS:
        return type(value), *map(_frozen, value)
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, torch.Tensor) and value.device.type == "cpu":
        array = value.detach().resolve_neg().numpy()
        return "torch", array.dtype.str, array.shape, array.tobytes()
    raise _Unhashable
