# SPDX-License-Identifier: Apache-2.0
"""Constants: numbers, lists and arrays that become nodes of a definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._common.enums import DALIDataType
from torchdali._common.location import find_user_location
from torchdali._engine import dtypes
from torchdali._engine.dtypes import to_dali_type
from torchdali._engine.scalar import ScalarConstant
from torchdali._engine.schema import operator_schema
from torchdali._graph import record
from torchdali._graph.pytree import has_nodes
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.tensors import TensorListCPU
from torchdali.tensors._input import as_tensor

__all__ = ["Constant", "ConstantNode", "constant_node", "is_constant", "promoted"]

_NUMBERS = (bool, int, float, ScalarConstant)
_ARRAY_METHODS = ("__dlpack__", "__array_interface__", "__array__")
# As in DALI: NumPy numbers without an explicit type have 64 bits, so these count as 32 bits.
_NARROW = {
    dtypes.FLOAT64: dtypes.FLOAT,
    dtypes.INT64: dtypes.INT32,
    dtypes.UINT64: dtypes.UINT32,
}


def is_constant(value: Any) -> bool:
    """Returns whether `value` is of a kind that constant_node() takes."""
    return isinstance(value, (*_NUMBERS, list, tuple)) or _is_array(value)


def constant_node(
    value: Any,
    dtype: Any = None,
    shape: int | Sequence[int] | None = None,
    layout: str | None = None,
    device: str | None = "cpu",
    **kwargs: Any,
) -> DataNode:
    """Returns a node with the same tensor for every sample.

    Args:
        value: bool, int, float, ScalarConstant, a list of them (nested ones are arrays), or an
            array of NumPy, torch or anything with DLPack.
        dtype: element type, to which the value is converted as by fn.cast; None: of lists BOOL,
            INT32 (a wider one if the numbers need it) or FLOAT, of arrays their own. NumPy's
            types of 64 bits count as their counterparts of 32 bits, except for integers that need
            the 64.
        shape: of the tensor, with as many elements as the value, or any if that is one number;
            None: that of the value.
        layout: letters of the axes; None: that of a TensorCPU, otherwise none.
        device: where the tensor will be.
        **kwargs: other arguments of fn.constant, such as `name`.

    Raises:
        ArgumentTypeError: `value` is none of these.
        ArgumentError: a list is ragged or holds integers that no type has; shape or layout do not
            fit (as the pipeline is built).
    """
    args: dict[str, Any]
    if isinstance(value, (list, tuple)):
        args = _of_list(value)
    elif isinstance(value, _NUMBERS) and not isinstance(value, np.generic):
        scalar = ScalarConstant(value)
        args = {**_of_numbers([scalar.value]), "shape": [], "dtype": scalar.element_type}
    elif _is_array(value):
        args = _of_array(value)
    else:
        raise _refused(value)
    given = {"dtype": dtype, "shape": shape, "layout": layout, "device": device}
    args.update({name: given[name] for name in given if given[name] is not None})
    node = record.create(operator_schema("constant"), (), {**args, **kwargs})
    assert isinstance(node, DataNode)
    return node


def _refused(value: Any) -> Exception:
    return _make(
        ArgumentTypeError,
        "a constant is a number, a list of numbers or an array, got "
        f"{type(value).__name__} ({str(value)[:60]!r})",
        location=find_user_location(),
    )


def _is_array(value: Any) -> bool:
    if isinstance(value, TensorListCPU):  # a batch
        return False
    return isinstance(value, torch.Tensor) or any(hasattr(value, m) for m in _ARRAY_METHODS)


def _of_array(value: Any) -> dict[str, Any]:
    """Returns the arguments of fn.constant for an array."""
    tensor, layout = as_tensor(value)
    array = tensor.contiguous().resolve_neg().numpy()
    own = to_dali_type(array.dtype)
    narrow = _NARROW.get(own) if isinstance(value, (np.ndarray, np.generic)) else None
    if narrow is not None and own is not dtypes.FLOAT64 and array.size:
        limits = np.iinfo(dtypes.to_numpy_type(narrow))
        if array.min() < limits.min or array.max() > limits.max:
            narrow = None
    return {
        "data": array.tobytes(),
        "data_dtype": own,
        "dtype": own if narrow is None else narrow,
        "shape": list(array.shape),
        "layout": layout or None,
    }


def _of_list(value: Sequence[Any]) -> dict[str, Any]:
    numbers = [item.item() if isinstance(item, np.generic) else item for item in value]
    if all(isinstance(item, _NUMBERS) for item in numbers):
        return _of_numbers(
            [item.value if isinstance(item, ScalarConstant) else item for item in numbers]
        )
    if has_nodes(value):
        raise _make(
            ArgumentTypeError,
            f"a constant is a list of numbers, this {type(value).__name__} has a DataNode in it",
            location=find_user_location(),
            fix="join nodes and numbers with fn.stack or fn.cat",
        )
    if not all(_is_number(leaf) for leaf in _leaves(value)):
        raise _refused(value)
    try:
        array = np.array(value)
    except ValueError:
        array = None
    if array is None or array.dtype == object:
        raise _make(
            ArgumentError,
            f"a nested list has rows of one length, got {str(value)[:60]!r}",
            location=find_user_location(),
        )
    if array.dtype.kind not in "biuf":
        raise _refused(value)
    return _of_array(array)


def _leaves(value: Any) -> Iterator[Any]:
    """Yields what a nested list holds."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) or _is_array(value)


def _of_numbers(numbers: list[Any]) -> dict[str, Any]:
    if not numbers or any(isinstance(number, float) for number in numbers):
        return {"fdata": [float(number) for number in numbers]}
    if all(isinstance(number, bool) for number in numbers):
        return {"idata": numbers, "dtype": dtypes.BOOL}
    low, high = min(numbers), max(numbers)
    if low >= -(1 << 63) and high < 1 << 63:
        wide = low < -(1 << 31) or high >= 1 << 31
        return {"idata": numbers, "dtype": dtypes.INT64 if wide else dtypes.INT32}
    if low < 0 or high >= 1 << 64:
        raise _make(
            ArgumentError,
            f"no type of integers holds both {low} and {high}",
            location=find_user_location(),
        )
    return _of_array(torch.from_numpy(np.array(numbers, np.uint64)))


def Constant(
    value: Any,
    dtype: DALIDataType | None = None,
    shape: int | Sequence[int] | None = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> ScalarConstant | DataNode:
    """Returns a constant for a definition: a ScalarConstant, or a node with a tensor.

    Args:
        value: bool, int, float, a list of them (nested lists too), or an array of NumPy, torch or
            anything with DLPack.
        dtype: element type; None: BOOL, INT32 or FLOAT for Python's numbers (wider where integers
            need it), that of an array. NumPy arrays of 64 bits count as 32 bits, as in DALI,
            except for integers that need the 64.
        shape: of the tensor, with as many elements as `value`, or any if that is one number.
        layout: letters of the axes, such as "HWC".
        device: where the tensor will be; if passed, the result is a node.
        **kwargs: other arguments of fn.constant, such as `name`; if passed, the result is a node.

    Returns:
        A ScalarConstant if `value` is one number and only `dtype` is passed, otherwise a
        DataNode. The tensor is held once, whatever the batch size.

    Raises:
        ArgumentTypeError: `value` is none of these.
        ArgumentError, LayoutError: a list is ragged; shape or layout do not fit.

    Example:
        >>> types.Constant(5).uint8()
        5
        >>> types.Constant([[1, 2], [3, 4]], dtype=types.FLOAT, layout="HW").layout
        'HW'
    """
    # A shape of one element is a scalar's: what DALI takes for compatibility with its beginnings.
    pseudo_scalar = shape is None or shape == 1 or list(np.atleast_1d(shape)) in ([], [1])
    is_number = isinstance(value, _NUMBERS) or (_is_array(value) and np.ndim(value) == 0)
    if is_number and pseudo_scalar and device is None and layout is None and not kwargs:
        return ScalarConstant(value, dtype)
    return constant_node(value, dtype, shape, layout, device, **kwargs)


def ConstantNode(
    device: str | None,
    value: Any,
    dtype: DALIDataType | None,
    shape: int | Sequence[int] | None,
    layout: str | None,
    **kwargs: Any,
) -> DataNode:
    """Returns a node with a constant tensor; see Constant, which has the same arguments."""
    return constant_node(value, dtype, shape, layout, device, **kwargs)


def promoted(value: Any) -> DataNode | None:
    """Returns a constant of the user as a node; None if the value is no constant."""
    return constant_node(value) if is_constant(value) else None
