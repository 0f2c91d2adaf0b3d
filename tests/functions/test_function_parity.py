# SPDX-License-Identifier: Apache-2.0
"""Python functions against real DALI: outputs, layouts, types, calls, kinds of errors.

torch_python_function is compared with DALI's python_function of the same function in NumPy: there
is no torch in the oracle's Python. test_function_differences.py has the deliberate differences.
"""

from __future__ import annotations

from pathlib import Path

import function_programs as programs
import numpy as np
import pytest
from helpers import dali_oracle
from helpers.cases import for_each

pytestmark = pytest.mark.dali
PATH = Path(programs.__file__)


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, reference in zip(ours, theirs, strict=True):
        assert mine["layout"] == reference["layout"]
        assert mine["dtype"] == reference["dtype"]
        for a, b in zip(mine["samples"], reference["samples"], strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_array_equal(a, b)


def compare(operator, name, as_class=False):
    ours = programs.run("torchdali", operator, name, as_class)
    asked = "python_function" if operator == "torch_python_function" else operator
    theirs = dali_oracle.call(PATH, "run", asked, name, as_class)
    if programs.PROGRAMS[name].fails:
        assert "RuntimeError" in theirs["bases"]
        assert "RuntimeError" in ours["bases"]
        return
    assert "batches" in theirs, theirs
    assert "batches" in ours, ours
    for mine, reference in zip(ours["batches"], theirs["batches"], strict=True):
        assert_same(mine, reference)
    assert ours["calls"] == theirs["calls"]


@for_each(
    ("operator", "name"),
    [(op, name) for name, program in programs.PROGRAMS.items() for op in program.operators],
)
def test_a_program_equals_dali(operator, name):
    compare(operator, name)


@for_each("operator", programs.ALL[:2])
@for_each("name", ["two inputs", "a shorter list", "batch of two inputs", "raises"])
def test_the_classes_of_ops_equal_dali(operator, name):
    compare(operator, name, as_class=True)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("prefetch", [False, True])
def test_calls_come_in_the_order_of_dali(prefetch, batch):
    ours = programs.order_of_calls("torchdali", prefetch, batch)
    assert ours == dali_oracle.call(PATH, "order_of_calls", prefetch, batch)


def test_functions_with_unused_outputs_run():
    ours, theirs = programs.side_effects("torchdali"), dali_oracle.call(PATH, "side_effects")
    assert_same(ours["outputs"], theirs["outputs"])
    assert ours["calls"] == theirs["calls"]


def test_an_operator_object_may_be_used_twice():
    assert_same(programs.twice("torchdali"), dali_oracle.call(PATH, "twice"))
