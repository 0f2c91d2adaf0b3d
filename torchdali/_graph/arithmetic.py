# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on data nodes: each operation is recorded as one operator; the engine fuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torchdali._common.location import SourceLocation, find_user_location
from torchdali._engine.scalar import ScalarConstant
from torchdali._engine.schema import operator_schema
from torchdali._graph import record
from torchdali._graph.expression import Operand, Step, constant_operand, input_operand
from torchdali.data_node import DataNode, language
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["apply", "apply_numpy", "number"]

# Python's operators on arrays call these functions of NumPy: `array + node` is np.add(array, node).
_OPERATORS: dict[Any, str] = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "fdiv",
    np.floor_divide: "div",
    np.remainder: "mod",
    np.power: "pow",
    np.left_shift: "shl",
    np.right_shift: "shr",
    np.bitwise_and: "bitand",
    np.bitwise_or: "bitor",
    np.bitwise_xor: "bitxor",
    np.equal: "eq",
    np.not_equal: "neq",
    np.less: "lt",
    np.less_equal: "leq",
    np.greater: "gt",
    np.greater_equal: "geq",
}
# Functions of torchdali.math, by their names in NumPy where those differ.
_MATH = {
    "absolute": "abs",
    "clip": "clamp",
    "float_power": "fpow",
    "maximum": "max",
    "minimum": "min",
    "power": "pow",
    **{f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    **{name: name for name in ("cbrt", "ceil", "cos", "cosh", "exp", "fabs", "floor", "log")},
    **{name: name for name in ("log10", "log2", "sin", "sinh", "sqrt", "tan", "tanh")},
}


def number(value: Any, location: SourceLocation | None) -> Operand | None:
    """Returns a number with its type as an operand; None for other values.

    Raises:
        ArgumentError: an integer does not fit 64 bits.
    """
    is_array = isinstance(value, (np.generic, np.ndarray, torch.Tensor))
    if isinstance(value, (bool, int, float, ScalarConstant)) or (is_array and value.ndim == 0):
        constant = ScalarConstant(value)
        try:
            return constant_operand(constant.value, constant.element_type)
        except ValueError as error:
            raise _make(ArgumentError, str(error), location=location) from None
    return None


def _operand(value: Any, location: SourceLocation | None) -> DataNode | Operand:
    """Returns an operand: a data node, or a number with its type."""
    if isinstance(value, DataNode):
        return value
    constant = number(value, location)
    if constant is not None:
        return constant
    node = language.constant(value)
    if node is None:
        raise _make(
            ArgumentTypeError,
            "an operand of an expression is a DataNode, a number, a list of numbers or an array, "
            f"got {type(value).__name__}",
            location=location,
        )
    return node


def apply(operation: str, *operands: Any) -> DataNode:
    """Records one operation of an expression.

    Args:
        operation: DALI's name for it, such as "add" or "sqrt".
        operands: data nodes, of which there is at least one; Python's numbers (BOOL, INT32 or wider
            where they need it, FLOAT), ScalarConstants and scalars of NumPy and torch with their
            types; lists and arrays, which become constant nodes.

    Raises:
        ArgumentTypeError: an operand cannot be one, or all are constants.
        ArgumentError: an integer that does not fit 64 bits.
    """
    location = find_user_location()
    inputs: list[DataNode] = []
    of_step: list[Operand] = []
    for value in operands:
        operand = _operand(value, location)
        if isinstance(operand, DataNode):
            of_step.append(input_operand(len(inputs)))
            inputs.append(operand)
        else:
            of_step.append(operand)
    if not inputs:
        raise _make(
            ArgumentTypeError,
            f"an expression has at least one DataNode, got {', '.join(map(repr, operands))}",
            location=location,
            fix="compute what is constant in Python",
        )
    steps = [Step(operation, tuple(of_step))]
    made = record.create(operator_schema("arithmetic"), inputs, {"steps": steps}, location=location)
    assert isinstance(made, DataNode)
    return made


def apply_numpy(function: Any, *args: Any, **kwargs: Any) -> DataNode:
    """Records the operation for which Python's operators call a function of NumPy.

    Args:
        function: of NumPy; None: a method of one, such as ``np.add.reduce``.
        args: its arguments, at least one of which is a data node.
        kwargs: its keyword arguments.

    Raises:
        ArgumentTypeError: it is another function; those take data, which a node does not have.
    """
    operation = _OPERATORS.get(function)
    if operation is not None and not kwargs:
        return apply(operation, *args)
    name = getattr(function, "__name__", None)
    ours = _MATH.get(str(name))
    raise _make(
        ArgumentTypeError,
        "functions of NumPy take data, and a DataNode has none" + (f": np.{name}" if name else ""),
        location=find_user_location(),
        fix=f"use torchdali.math.{ours}"
        if ours
        else "use torchdali.math and operators such as fn.reductions.sum, or fn.python_function",
    )
