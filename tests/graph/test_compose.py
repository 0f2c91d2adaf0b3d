# SPDX-License-Identifier: Apache-2.0
"""ops.Compose: chains of operators."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

from torchdali import Pipeline, fn, ops, types


def run(define):
    pipe = Pipeline(2, 1)
    with pipe:
        made = define(fn.external_source(lambda: np.full((2, 3), 7, np.uint8)))
        pipe.set_outputs(*made) if isinstance(made, (list, tuple)) else pipe.set_outputs(made)
    return pipe.run()


def test_each_operator_takes_the_output_of_the_one_before_it():
    chain = ops.Compose([ops.Cast(dtype=types.FLOAT), lambda x: x / 2, ops.Reshape(shape=[3, 1])])
    (batch,) = run(chain)
    assert (batch.dtype, batch.shape()) == (types.FLOAT, [(3, 1)] * 2)
    assert batch.as_torch().unique().tolist() == [3.5]


def test_several_outputs_are_several_inputs():
    chain = ops.Compose([lambda x: (x, x + 1), lambda a, b: [b, a]])
    assert [int(batch.as_torch()[0, 0]) for batch in run(chain)] == [8, 7]


def test_keywords_are_for_the_first_operator():
    chain = ops.Compose([ops.Copy(), ops.Cast(dtype=types.FLOAT)])
    assert run(lambda x: chain(x, name="first"))[0].dtype is types.FLOAT


def test_chains_are_operators_of_chains():
    inner = ops.Compose([ops.Cast(dtype=types.INT32)])
    assert run(ops.Compose([inner, ops.Compose([])]))[0].dtype is types.INT32


@for_each("given", [None, ops.Copy(), [ops.Copy(), "flip"]])
def test_what_cannot_be_called_is_an_error(given):
    with pytest.raises(TypeError, match="ops.Compose: takes a list of operators") as caught:
        ops.Compose(given)
    assert isinstance(caught.value, RuntimeError)
