# SPDX-License-Identifier: Apache-2.0
"""Python functions where they differ from DALI 1.35 (docs/guide/from_dali.md)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import Pipeline, errors, fn, types

MATRICES = [np.arange(6, dtype=np.uint8).reshape(2, 3) + i for i in range(3)]
LESS_COMMON = ["int8", "uint32", "uint64"]


def outputs_of(function, *, operator="python_function", runs=1, **args):
    with Pipeline(3, 2, None, seed=1) as pipe:
        x = fn.external_source(lambda: MATRICES, batch=True)
        made = getattr(fn, operator)(x, function=function, **args)
        pipe.set_outputs(*(made if isinstance(made, list) else [made]))
    for _ in range(runs - 1):
        pipe.run()
    return pipe.run()


def output_of(function, **args):
    return outputs_of(function, **args)[0]


def test_booleans_are_not_converted():
    output = output_of(lambda x: x > 3)
    assert output.dtype == types.DALIDataType.BOOL
    np.testing.assert_array_equal(np.array(output[1]), MATRICES[1] > 3)


@pytest.mark.parametrize("dtype", LESS_COMMON)
def test_all_integer_types_are_supported(dtype):
    output = output_of(lambda x: x.astype(dtype))
    assert output.dtype == getattr(types.DALIDataType, dtype.upper())
    np.testing.assert_array_equal(np.array(output[2]), MATRICES[2])


@pytest.mark.parametrize("make", [lambda x: x.astype(np.complex64), lambda x: x.astype(str)])
def test_unsupported_element_types_are_errors(make):
    with pytest.raises(TypeError, match="no element type"):
        output_of(make)


def test_arrays_may_have_any_byte_order():
    output = output_of(lambda x: x.astype(">i4") * 1000)
    np.testing.assert_array_equal(np.array(output[1]), MATRICES[1].astype(int) * 1000)


def test_a_layout_of_another_length_is_an_error():
    with pytest.raises(errors.LayoutError, match="does not fit a tensor of 2 dimensions"):
        output_of(lambda x: x, output_layouts="HWC")


def test_more_outputs_than_one_are_an_error():
    with pytest.raises(ValueError, match="returned 2 outputs, `num_outputs` is 1"):
        output_of(lambda x: (x, x))


def test_a_result_of_a_function_without_outputs_is_an_error():
    with Pipeline(3, 2, None) as pipe:
        x = fn.external_source(lambda: MATRICES, batch=True)
        assert fn.python_function(x, function=lambda x: x, num_outputs=0) is None
        pipe.set_outputs(x)
    with pytest.raises(TypeError, match="returned ndarray, but `num_outputs` is 0"):
        pipe.run()


class Exporter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **_):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@for_each("operator", ["python_function", "torch_python_function"])
@for_each(
    "make",
    [
        lambda: np.float32(3),
        lambda: np.array(3, np.float32),
        lambda: torch.tensor(3.0),
        lambda: Exporter(torch.tensor(3.0)),
        lambda: torch.tensor(3.0).__dlpack__(),
        lambda: torch.tensor(0 - 3j).conj().imag,  # -3 in memory is -(-3)
    ],
)
def test_every_operator_accepts_every_kind_of_array(operator, make):
    output = output_of(lambda _x: make(), operator=operator)
    assert output.dtype == types.DALIDataType.FLOAT
    assert output.as_array().tolist() == [3, 3, 3]


def test_sparse_tensors_become_dense():
    output = output_of(lambda _x: torch.eye(2).to_sparse(), operator="torch_python_function")
    np.testing.assert_array_equal(output.as_array(), [np.eye(2)] * 3)


def test_a_batch_may_be_returned_as_one_array():
    output = output_of(np.stack, batch_processing=True)
    np.testing.assert_array_equal(output.as_array(), MATRICES)


def test_the_pipeline_continues_after_an_error():
    def function(x):
        seen.append(x)
        if len(seen) == 2:
            raise ValueError("the second")
        return x

    seen: list[np.ndarray] = []
    with Pipeline(3, 2, None, prefetch_queue_depth=1) as pipe:
        x = fn.external_source(lambda: MATRICES, batch=True)
        pipe.set_outputs(fn.python_function(x, function=function))
    with pytest.raises(errors.PipelineError, match="the second"):
        pipe.run()
    np.testing.assert_array_equal(pipe.run()[0].as_array(), MATRICES)


def test_the_defaults_of_batch_processing_are_those_of_dali():
    seen = {}

    def keep(name):
        return lambda x: (seen.setdefault(name, type(x)), x)[1]

    for operator in ("python_function", "dl_tensor_python_function", "torch_python_function"):
        output_of(keep(operator), operator=operator)
    assert seen == {
        "python_function": np.ndarray,
        "dl_tensor_python_function": list,
        "torch_python_function": torch.Tensor,
    }


def test_no_pipeline_is_current_inside_a_function():
    seen = []
    output_of(lambda x: (seen.append(Pipeline.current()), x)[1])
    assert set(seen) == {None}
