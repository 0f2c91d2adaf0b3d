# SPDX-License-Identifier: Apache-2.0
"""fn.external_source: data passed by feed_input and run()."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.external_sources import pulled, take

from torchdali import Pipeline, fn, types
from torchdali.tensors import TensorCPU, TensorListCPU


def fed(**arguments):
    pipe = Pipeline(arguments.pop("batch_size", 2), 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="data", **arguments))
    return pipe


@for_each(
    "data",
    [
        np.arange(6).reshape(2, 3),
        torch.arange(6).reshape(2, 3),
        TensorListCPU(np.arange(6).reshape(2, 3)),
        TensorCPU(np.arange(6).reshape(2, 3)),
        [np.arange(3), np.arange(3, 6)],
        (np.arange(3), torch.arange(3, 6)),
        (TensorCPU(np.arange(3)), TensorCPU(np.arange(3, 6))),
        [[0, 1, 2], [3, 4, 5]],
        np.arange(6).reshape(3, 2).T.reshape(2, 3),
    ],
    ids=lambda d: type(d).__name__,
)
def test_data_may_have_many_types(data):
    pipe = fed()
    pipe.feed_input("data", data)
    (batch,) = pipe.run()
    expected = np.array(data if isinstance(data, (list, np.ndarray)) else range(6)).reshape(2, 3)
    assert np.array_equal(batch.as_array(), expected)


def test_samples_may_differ_in_shape_and_batches_in_size():
    pipe = fed(batch_size=3)
    pipe.feed_input("data", [np.zeros((1, 2)), np.ones((2, 1)), np.ones((3, 3))])
    pipe.feed_input("data", np.zeros((1, 4, 5)))
    assert pipe.run()[0].shape() == [(1, 2), (2, 1), (3, 3)]
    assert pipe.run()[0].shape() == [(4, 5)]


def test_strided_data_is_copied_densely():
    array = np.arange(24).reshape(2, 3, 4)
    pipe = fed()
    for data in (array[:, ::2], array[:, ::-1, ::-1], array.transpose(0, 2, 1)):
        pipe.feed_input("data", data)
        assert np.array_equal(pipe.run()[0].as_array(), data)


def test_the_source_may_be_a_node_or_a_name():
    pipe = Pipeline(2, 1)
    with pipe:
        node = fn.external_source()
        pipe.set_outputs(fn.copy(node))
    pipe.feed_input(node, np.zeros((2, 3)))
    assert pipe.run()[0].shape() == [(3,), (3,)]
    pipe.feed_input(node.name, np.zeros((2, 1)))
    assert pipe.run()[0].shape() == [(1,), (1,)]


def test_data_is_copied_by_default():
    array = np.zeros((2, 3))
    copying, aliasing = fed(), fed(no_copy=True)
    for pipe in (copying, aliasing):
        pipe.feed_input("data", array)
    array[:] = 7
    assert copying.run()[0].as_torch().max() == 0
    assert aliasing.run()[0].as_torch().min() == 7


def test_fed_batches_queue_in_order():
    pipe = fed()
    for index in range(4):
        pipe.feed_input("data", np.full((2, 1), index))
    assert take(pipe, 4) == [[i, i] for i in range(4)]


def test_prefetching_stops_at_the_end_of_the_data():
    pipe = Pipeline(2, 1, prefetch_queue_depth=4)
    with pipe:
        pipe.set_outputs(fn.external_source(name="data"))
    for index in range(3):
        pipe.feed_input("data", np.full((2, 1), index))
        assert take(pipe, 1) == [[index, index]]


def test_run_takes_data_by_name():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="a"), fn.external_source(name="b"))
    for index in range(3):
        a, b = pipe.run(a=np.full((2, 1), index), b=np.full((2, 1), -index))
        assert int(a.as_torch()[0]) == index
        assert int(b.as_torch()[0]) == -index
    assert pipe.input_feed_count("a") == 2


@for_each(
    ("data", "cls", "text"),
    [
        (np.zeros((3, 1)), ValueError, "at most 2 samples"),
        (np.zeros((0, 1)), ValueError, "at least one sample"),
        ([], ValueError, "empty"),
        (np.float32(1), ValueError, "scalar"),
        ([np.zeros(2), np.zeros((2, 2))], TypeError, "number of dimensions"),
        ([np.zeros(2), np.zeros(2, np.uint8)], TypeError, "one type"),
        (np.zeros((2, 2), np.complex64), TypeError, "complex64"),
        ("text", TypeError, "str"),
        (None, TypeError, "NoneType"),
        (iter([1]), TypeError, "iterator"),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, (dict, str, type)) else None,
)
def test_unsupported_data_is_an_error_of_the_call(data, cls, text):
    pipe = fed()
    with pytest.raises(cls, match=text) as caught:
        pipe.feed_input("data", data)
    assert Path(__file__).name in str(caught.value)
    pipe.feed_input("data", np.zeros((2, 1)))
    assert len(pipe.run()[0]) == 2


def test_an_unknown_or_pruned_source_is_an_error():
    pipe = Pipeline(2, 1)
    with pipe:
        unused = fn.external_source(name="unused")
        pipe.set_outputs(fn.external_source(name="data"))
    for target in ("other", unused):
        with pytest.raises(RuntimeError, match="it has `data`"):
            pipe.feed_input(target, np.zeros((2, 1)))
    with pytest.raises(ValueError, match="no external source `other`"):
        pipe.input_feed_count("other")


def test_the_layout_is_from_the_data_the_call_or_the_definition():
    pipe = fed()
    pipe.feed_input("data", np.zeros((2, 3, 4)))
    pipe.feed_input("data", np.zeros((2, 3, 4)), layout="HW")
    assert [pipe.run()[0].layout() for _ in range(2)] == ["", "HW"]
    other = fed()
    other.feed_input("data", TensorListCPU(np.zeros((2, 3, 4)), "AB"))
    assert other.run()[0].layout() == "AB"
    declared = fed(layout="HW")
    declared.feed_input("data", np.zeros((2, 3, 4)))
    assert declared.run()[0].layout() == "HW"


def test_a_layout_of_another_length_is_an_error():
    pipe = fed()
    with pytest.raises(ValueError, match='"HWC" has 3 axes, the samples have 2'):
        pipe.feed_input("data", np.zeros((2, 3, 4)), layout="HWC")
    with pytest.raises(ValueError, match="`ndim` is 3"):
        fn.external_source(ndim=3, layout="HW")


@pytest.mark.parametrize(
    ("declared", "cls", "text"),
    [
        ({"dtype": types.UINT8}, TypeError, "takes UINT8 data, got FLOAT64"),
        ({"ndim": 3}, ValueError, "samples of 3 dimensions, got 1"),
    ],
)
def test_fed_data_is_checked_against_the_declaration(declared, cls, text):
    pipe = fed(**declared)
    with pytest.raises(cls, match=text) as caught:
        pipe.feed_input("data", np.zeros((2, 1)))
    assert isinstance(caught.value, RuntimeError)


def test_a_declared_layout_is_checked_against_the_data():
    pipe = fed(layout="HW")
    with pytest.raises(ValueError, match='takes data with layout "HW", got "AB"'):
        pipe.feed_input("data", np.zeros((2, 1, 1)), layout="AB")


def test_dtype_no_type_accepts_any_type():
    pipe = fed(dtype=types.NO_TYPE)
    pipe.feed_input("data", np.zeros((2, 1), np.int8))
    assert pipe.run()[0].dtype is types.INT8


def test_missing_data_is_an_error_that_names_the_source():
    pipe = fed()
    with pytest.raises(RuntimeError, match="`data` has no data") as caught:
        pipe.run()
    assert "feed_input" in str(caught.value)


def test_blocking_waits_for_another_thread():
    pipe = fed(blocking=True)
    pipe.build()
    thread = threading.Timer(0.05, lambda: pipe.feed_input("data", np.full((2, 1), 3)))
    thread.start()
    assert take(pipe, 1) == [[3, 3]]
    thread.join()


def test_repeat_last_repeats_the_last_data():
    pipe = fed(repeat_last=True)
    with pytest.raises(RuntimeError, match="no data"):
        pipe.run()
    pipe.feed_input("data", np.full((2, 1), 1))
    assert take(pipe, 2) == [[1, 1], [1, 1]]
    pipe.feed_input("data", np.full((2, 1), 2))
    assert take(pipe, 2) == [[2, 2], [2, 2]]


def test_a_fed_source_is_not_called():
    pipe = pulled(lambda: np.zeros((2, 1)), name="data")
    with pytest.raises(ValueError, match="`source`"):
        pipe.feed_input("data", np.zeros((2, 1)))
