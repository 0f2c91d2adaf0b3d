# SPDX-License-Identifier: Apache-2.0
"""Keys of arguments: equal for equal arguments, and for these only."""

from __future__ import annotations

import enum

import numpy as np
import torch

from torchdali import types
from torchdali._eager.operation import quick_key


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_different_values_have_different_keys():
    values = [
        *(1, 1.0, True, 0, False, 0.0, -0.0, None, "", "1", b"1", 2**62, -1),
        *([], [1], [1, 2], (1, 2), [[1], 2], [1, [2]], ["a", "b"], ["ab"], {}, {"a": 1}, {"b": 1}),
        *(torch.uint8, torch.int8, types.UINT8, types.INTERP_NN, Color.RED, Color.BLUE),
    ]
    keys = [quick_key({"x": value}) for value in values]
    assert None not in keys
    assert len(set(keys)) == len(values)
    assert quick_key({"x": 1}) != quick_key({"y": 1})
    assert quick_key({"x": 1, "y": 2}) != quick_key({"x": 1})


def test_equal_values_have_equal_keys():
    text = "".join(["a", "b"])
    for one, other in [([1, 2.5, text], [1, 2.5, "ab"]), ({"k": (1,)}, {"k": (1,)})]:
        assert quick_key({"x": one}) == quick_key({"x": other})


def test_values_that_are_not_plain_have_none():
    endless: list = []
    endless.append(endless)
    for value in [object(), np.float64(1), np.zeros(2), [torch.zeros(1)], 2**70, endless, "\ud800"]:
        assert quick_key({"x": value}) is None
