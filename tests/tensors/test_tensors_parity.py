# SPDX-License-Identifier: Apache-2.0
"""Methods of TensorCPU and TensorListCPU against those of real DALI 1.35."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import dali_oracle
from helpers.cases import for_each
from helpers.dali_worker import call_tensors

from torchdali import backend

pytestmark = pytest.mark.dali

DTYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?"]
LIST_CALLS: list[list[Any]] = [
    ["shape"],
    ["layout"],
    ["dtype"],
    ["is_dense_tensor"],
    ["__len__"],
    ["at", 0],
    ["at", 9],
    ["[]", 1],
    ["[]", -1],
    ["[]", 9],
    ["[]", -9],
    ["[]", "a"],
    ["list"],
    ["as_array"],
    ["as_tensor"],
    ["as_reshaped_tensor", [12]],
    ["as_reshaped_tensor", [2, 2, 3]],
    ["as_reshaped_tensor", [3, 4]],
    ["as_reshaped_tensor", [3, -4]],
    ["as_reshaped_tensor", [5]],
]
TENSOR_CALLS: list[list[Any]] = [
    ["shape"],
    ["layout"],
    ["dtype"],
    ["get_property", "layout"],
    ["get_property", "source_info"],
    ["get_property", "nothing"],
    ["source_info"],
]
SQUEEZES: list[list[Any]] = [["squeeze", 0], ["squeeze", -1], ["squeeze", 7], ["squeeze"]]


def counting(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def assert_same(ours: Any, theirs: Any, where: str) -> None:
    """Compares results; exceptions must be of the class that DALI raises."""
    if isinstance(theirs, dict) and "error" in theirs:
        assert isinstance(ours, dict), f"{where}: DALI raises {theirs['error'][0]}"
        assert theirs["error"][0] in ours.get("error", ()), where
    elif isinstance(theirs, dict):
        assert isinstance(ours, dict), where
        assert ours.keys() == theirs.keys(), (where, ours)
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{where} {key}")
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        assert ours.shape == theirs.shape, where
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{where}[{index}]")
    else:
        assert ours == theirs, where


def compare(data: Any, layout: str, calls: list[list[Any]]) -> None:
    ours = call_tensors(backend, data, layout, calls)
    theirs = dali_oracle.call_tensors(data, layout, calls)
    for call, mine, other in zip(calls, ours, theirs, strict=True):
        assert_same(mine, other, str(call))


@for_each("dtype", DTYPES)
def test_batches_of_every_type_equal_dali(dtype):
    compare({"batch": counting((3, 2, 2), dtype)}, "HW", LIST_CALLS)


@for_each(
    ("shape", "layout"),
    [
        ((3, 4), "X"),
        ((12,), ""),
        ((2, 6), ""),
        ((1, 3, 4), "AB"),
        ((3, 1, 2, 2), "FHW"),
        ((2, 0, 3), "HW"),
        ((3, 4, 0), ""),
    ],
)
def test_batches_from_one_array_equal_dali(shape, layout):
    compare({"batch": counting(shape, "i4")}, layout, LIST_CALLS)


@for_each(
    ("shapes", "layout"),
    [
        ([(2, 3), (2, 3)], "HW"),
        ([(2, 3), (6, 1)], "HW"),
        ([(12,), (0,)], ""),
        ([(0, 3), (4, 3)], "XY"),
        ([(), ()], ""),
        ([(2, 2)] * 3, ""),
    ],
)
def test_batches_from_samples_equal_dali(shapes, layout):
    compare([counting(shape, "f4") for shape in shapes], layout, LIST_CALLS)


@for_each("dtype", DTYPES)
def test_samples_of_every_type_equal_dali(dtype):
    compare(counting((2, 3), dtype), "HW", TENSOR_CALLS)


@for_each(
    ("shape", "layout"),
    [
        ((), ""),
        ((0,), ""),
        ((0, 3), "HW"),
        ((1, 2, 1), "HWC"),
        ((1, 1), ""),
        ((1, 1), "HW"),
        ((2, 1, 3, 1), "DHWC"),
    ],
)
def test_squeezed_samples_equal_dali(shape, layout):
    calls = TENSOR_CALLS
    for squeeze in SQUEEZES:
        calls = [*calls, squeeze, ["shape"], ["layout"]]
    compare(counting(shape, "u1"), layout, calls)


def test_read_only_memory_is_accepted_as_in_dali():
    array = counting((2, 3), "i2")
    array.flags.writeable = False
    compare(array, "HW", TENSOR_CALLS)
    compare({"batch": array}, "W", LIST_CALLS)
