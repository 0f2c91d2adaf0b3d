# SPDX-License-Identifier: Apache-2.0
"""Arguments of fn.external_source: values, errors, and comparison with DALI."""

from __future__ import annotations

import ctypes
import functools
import sys

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.dali_oracle import DaliError, run_graph

from torchdali import Pipeline, fn, ops, pipeline_def, types
from torchdali.errors import ArgumentError, ArgumentTypeError, LayoutError

BATCH = 2


def build(source=None, depth=2, **options):
    pipe = Pipeline(BATCH, 1, prefetch_queue_depth=depth, py_start_method="fork")
    with pipe:
        made = fn.external_source(source, **options)
        pipe.set_outputs(*made) if isinstance(made, list) else pipe.set_outputs(made)
    return pipe


def rows(index=0):
    return np.full((BATCH, 3), index, np.uint8)


def sample(info):
    return np.full(3, info.idx_in_epoch, np.uint8)


def triple(index=0):
    return rows(index), np.zeros((BATCH, 2, 2), np.float32), np.zeros(BATCH)


def batches():
    yield rows(0)
    yield rows(1)


# -- types and values


@for_each(
    ("options", "cls", "text"),
    [
        ({"cuda_stream": "main"}, ArgumentTypeError, "a CUDA stream, got str"),
        ({"cuda_stream": 2.5}, ArgumentTypeError, "a CUDA stream, got float"),
        ({"use_copy_kernel": "yes"}, ArgumentTypeError, "`use_copy_kernel` takes True or False"),
        ({"blocking": "yes"}, ArgumentTypeError, "`blocking` takes True or False, got 'yes'"),
        ({"no_copy": "yes"}, ArgumentTypeError, "`no_copy` takes True or False"),
        ({"batch": "yes"}, ArgumentTypeError, "`batch` takes True or False"),
        ({"batch_info": "yes"}, ArgumentTypeError, "`batch_info` takes True or False"),
        ({"parallel": "yes"}, ArgumentTypeError, "`parallel` takes True or False"),
        ({"repeat_last": "yes"}, ArgumentTypeError, "`repeat_last` takes True or False"),
        ({"num_outputs": "two"}, ArgumentTypeError, "`num_outputs` takes an integer"),
        ({"num_outputs": -1}, ArgumentError, "positive, got -1"),
        ({"cycle": 1}, ArgumentError, '`cycle` takes "no"'),
        ({"ndim": "two"}, ArgumentTypeError, "`ndim` takes an integer"),
        ({"ndim": -1}, ArgumentError, "`ndim` must be at least 0, got -1"),
        ({"dtype": "uint8"}, ArgumentTypeError, "`dtype` takes a types.DALIDataType"),
        ({"layout": 5}, ArgumentTypeError, "`layout` takes a string"),
        ({"name": 5}, ArgumentTypeError, "`name` takes a string"),
        ({"prefetch_queue_depth": 3}, ArgumentError, "needs parallel=True"),
        ({"bytes_per_sample_hint": 3}, ArgumentError, "needs parallel=True"),
        ({"layout": ["X"]}, ArgumentError, "a list of 1 for one output"),
        ({"dtype": [types.UINT8, types.UINT8]}, ArgumentError, "a list of 2 for one output"),
        ({"ndim": ()}, ArgumentError, "a list of 0 for one output"),
        ({"layouts": "X"}, ArgumentTypeError, "did you mean `layout`"),
    ],
)
def test_wrong_values_are_errors_with_their_line(options, cls, text):
    for make in (
        lambda: fn.external_source(rows, **options),
        lambda: ops.ExternalSource(**options)(source=rows),
        lambda: ops.ExternalSource(rows)(**options),
    ):
        with pytest.raises(cls, match=text) as caught:
            make()
        assert "fn.external_source" in str(caught.value)
        assert "test_external_source_arguments.py" in str(caught.value)


class Stream:
    cuda_stream = 7


@for_each("stream", [0, 1, -1, ctypes.c_void_p(3), Stream(), types.CUDAStream(4)])
def test_arguments_of_the_gpu_have_no_effect(stream):
    pipe = build(rows, cuda_stream=stream, use_copy_kernel=True, blocking=True)
    assert pipe.run(stream)[0].as_array().tolist() == rows().tolist()
    pipe = build(name="data")
    pipe.feed_input("data", rows(4), cuda_stream=stream, use_copy_kernel=True)
    assert pipe.run()[0].as_array().tolist() == rows(4).tolist()


def test_arguments_of_calls_are_checked_too():
    pipe = build(name="data")
    with pytest.raises(TypeError, match="a CUDA stream, got str"):
        pipe.feed_input("data", rows(), cuda_stream="main")
    with pytest.raises(TypeError, match="`use_copy_kernel` takes True or False, got 'yes'"):
        pipe.feed_input("data", rows(), use_copy_kernel="yes")
    pipe.feed_input("data", rows())
    with pytest.raises(TypeError, match="a CUDA stream, got str"):
        pipe.run("main")
    assert len(pipe.run()[0]) == BATCH


@for_each("no", [False, 0, np.False_, None])
@for_each("yes", [True, 1, np.True_])
def test_flags_must_be_booleans(no, yes):
    pipe = build(rows, batch=yes, no_copy=yes, blocking=no, parallel=no, batch_info=no)
    assert pipe.run()[0].shape() == [(3,)] * BATCH
    if no is not None:
        assert build(sample, batch=no).run()[0].as_array().tolist() == [[0] * 3, [1] * 3]


# -- one value for all outputs, or a list


@pytest.mark.parametrize(
    ("options", "layouts"),
    [
        ({"layout": ["X"]}, ["X", "", ""]),
        ({"layout": ("X", "YZ")}, ["X", "YZ", ""]),
        ({"layout": ["X", "YZ", ""]}, ["X", "YZ", ""]),
        ({"layout": [None, "YZ"]}, ["", "YZ", ""]),
        ({"layout": []}, ["", "", ""]),
        ({"dtype": [types.UINT8]}, ["", "", ""]),
        ({"dtype": (types.UINT8, types.FLOAT, types.FLOAT64)}, ["", "", ""]),
        ({"dtype": [types.UINT8, None, types.NO_TYPE]}, ["", "", ""]),
        ({"dtype": []}, ["", "", ""]),
        ({"ndim": [1]}, ["", "", ""]),
        ({"ndim": (1, 2, 0)}, ["", "", ""]),
        ({"ndim": [None, 2]}, ["", "", ""]),
        ({"layout": ["X"], "ndim": [1, 2], "dtype": [types.UINT8]}, ["X", "", ""]),
    ],
    ids=str,
)
@pytest.mark.parametrize("parallel", [False, True])
def test_lists_may_be_shorter_than_the_outputs(options, layouts, parallel):
    pipe = build(triple, num_outputs=3, parallel=parallel, **options)
    assert [out.layout() for out in pipe.run()] == layouts


@pytest.mark.parametrize(
    ("options", "cls", "text"),
    [
        ({"layout": ["X", "YZ", "", "A"]}, ArgumentError, "a list of 4 for 3 outputs"),
        ({"layout": ["X", "YZ"], "ndim": [1, 1]}, LayoutError, '`ndim` is 1 but `layout` "YZ"'),
        ({"ndim": [1, "two"]}, ArgumentTypeError, "`ndim` takes an integer"),
        ({"dtype": [types.UINT8, "f"]}, ArgumentTypeError, "`dtype` takes a types.DALIDataType"),
    ],
    ids=str,
)
def test_lists_are_checked_entry_by_entry(options, cls, text):
    with pytest.raises(cls, match=text):
        fn.external_source(triple, num_outputs=3, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"layout": "X"}, 'layout "X" has 1 axes, the samples have 2'),
        ({"layout": ["X", "Y"]}, 'layout "Y" has 1 axes, the samples have 2'),
        ({"dtype": types.UINT8}, "takes UINT8 data, got FLOAT"),
        ({"dtype": [types.UINT8, types.FLOAT, types.FLOAT]}, "takes FLOAT data, got FLOAT64"),
        ({"ndim": 1}, "samples of 1 dimensions, got 2"),
        ({"ndim": (1, 2, 1)}, "samples of 1 dimensions, got 0"),
    ],
    ids=str,
)
@pytest.mark.parametrize("parallel", [False, True])
def test_the_data_of_each_output_is_checked_against_its_entry(options, text, parallel):
    pipe = build(triple, num_outputs=3, parallel=parallel, **options)
    with pytest.raises(RuntimeError, match=text):
        pipe.run()


# -- which source it is


class Both:
    """Is callable and iterable."""

    def __call__(self):
        return rows(9)

    def __iter__(self):
        return batches()


class Sequence:
    """Is iterable by __getitem__ only."""

    def __getitem__(self, index):
        return [rows(0), rows(1)][index]


class Generator:
    """Returns a generator when it is called."""

    def __call__(self):
        yield from batches()


def of(first, count):
    for index in range(first, count):
        yield rows(index)


@pytest.mark.parametrize(
    "make",
    [Both, Sequence, Generator, lambda: batches, lambda: functools.partial(of, 0, 2), batches],
    ids=["callable", "items", "call", "function", "partial", "generator"],
)
@pytest.mark.parametrize("parallel", [False, True])
def test_objects_with_iter_are_iterated(make, parallel):
    pipe = build(make(), parallel=parallel)
    assert [pipe.run()[0].as_array().max() for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        pipe.run()


@for_each(
    ("source", "text"),
    [
        (lambda *rest: rows(), r"takes `\*rest`"),
        (lambda index, *rest: rows(), r"takes `\*rest`"),
        (lambda *, key: rows(), "takes `key`"),
        (lambda *, key=3: rows(), "takes `key=3`"),
        (lambda **options: rows(), r"takes `\*\*options`"),
        (lambda a, b: rows(), "takes 2"),
        (lambda index, more=5: rows(), "takes 2"),
        (functools.partial(of), "takes no arguments"),
        (7, "a callable or an iterable, got int"),
    ],
)
def test_signatures_of_callables_are_respected(source, text):
    with pytest.raises(TypeError, match=text) as caught:
        build(source)
    assert "test_external_source_arguments.py" in str(caught.value)


@for_each(
    ("source", "value"),
    [
        (lambda index=7: rows(index), 0),
        (functools.partial(lambda a, index: rows(a + index), 4), 4),
        (functools.partial(lambda index, a: rows(a + index), a=5), 5),
        (functools.partial(rows, index=6), 6),
    ],
)
def test_the_index_is_passed_to_the_one_parameter_that_is_left(source, value):
    assert build(source).run()[0].as_array().max() == value


# -- without a source


def test_several_outputs_are_fed_by_name():
    pipe = build(num_outputs=2, name="x", layout=["X", ""])
    pipe.feed_input("x[1]", rows(1))
    pipe.feed_input("x[0]", rows(0))
    first, second = pipe.run()
    assert (first.layout(), first.as_array().max()) == ("X", 0)
    assert (second.layout(), second.as_array().max()) == ("", 1)


def test_several_outputs_of_the_class_are_fed_by_node():
    pipe = Pipeline(BATCH, 1)
    with pipe:
        nodes = ops.ExternalSource(num_outputs=2)()
        pipe.set_outputs(*nodes)
    for value, node in enumerate(nodes):
        pipe.feed_input(node, rows(value))
    assert [batch.as_array().max() for batch in pipe.run()] == [0, 1]


def test_batch_has_no_effect_without_a_source():
    pipe = build(name="x", batch=False)
    pipe.feed_input("x", rows(3))
    assert pipe.run()[0].as_array().max() == 3


@pytest.mark.parametrize("method", [None, "fork", "spawn"])
def test_a_source_in_a_definition_with_conditionals_is_not_converted(method):
    @pipeline_def(
        batch_size=BATCH, num_threads=1, enable_conditionals=True, py_start_method=method or "fork"
    )
    def define():
        more = 100

        def own(info):
            value = np.array(info.idx_in_epoch)
            if info.idx_in_epoch % 2 and not (info.iteration or value < 0):
                value = value + more
            assert method is None or method == "fork" or "torch" not in sys.modules
            return value

        data = fn.external_source(own, batch=False, parallel=method is not None)
        if data > 50:
            data = data + 1
        return data

    pipe = define()
    assert pipe.run()[0].as_array().tolist() == [0, 102]
    assert pipe.run()[0].as_array().tolist() == [2, 3]


# -- ops.ExternalSource


def test_the_class_defaults_to_samples_with_parallel():
    def run(operator, **options):
        pipe = Pipeline(BATCH, 1, py_start_method="fork")
        with pipe:
            pipe.set_outputs(operator(**options))
        return pipe.run()[0].as_array().tolist()

    samples = [[0] * 3, [1] * 3]
    assert run(ops.ExternalSource(sample, parallel=True)) == samples
    assert run(ops.ExternalSource(sample), parallel=True) == samples
    assert run(ops.ExternalSource(sample, batch=False)) == samples
    assert run(ops.ExternalSource(), source=sample, batch=False) == samples
    assert run(ops.ExternalSource(rows)) == [[0] * 3] * 2
    assert run(ops.ExternalSource(rows, parallel=True, batch=True)) == [[0] * 3] * 2
    # The default of the function is True, as in DALI 1.35, and that of the class is None.
    assert build(sample, parallel=True, batch=None).run()[0].as_array().tolist() == samples
    assert build(rows, parallel=True).run()[0].as_array().tolist() == [[0] * 3] * 2


def test_the_class_has_a_schema():
    operator = ops.ExternalSource(rows, preserve=True)
    assert (operator.device, operator.preserve) == ("cpu", True)
    assert operator.schema.name == "external_source"


# -- compared with DALI

FED = [
    ({}, {}),
    ({"layout": "X"}, {}),
    ({"layout": "X", "ndim": 1, "dtype": types.UINT8}, {}),
    ({"dtype": types.NO_TYPE}, {}),
    ({"ndim": 1}, {"fed_layout": "X"}),
    ({"layout": "X"}, {"fed_layout": "X"}),
    ({"layout": "X"}, {"fed_layout": "Y"}),
    ({}, {"fed_layout": "XY"}),
    ({"layout": "XY"}, {}),
    ({"ndim": 2}, {}),
    ({"ndim": -1}, {}),
    ({"dtype": types.FLOAT}, {}),
    ({"layout": "XY", "ndim": 1}, {}),
    ({"no_copy": True}, {}),
    ({"cuda_stream": 0, "use_copy_kernel": True}, {}),
    ({"blocking": "yes"}, {}),
    ({"prefetch_queue_depth": 3}, {}),
    ({"bytes_per_sample_hint": 3}, {}),
    ({"cycle": "quiet"}, {}),
    ({"batch": False}, {}),
    ({"parallel": True}, {}),
    ({"device": "tpu"}, {}),
    ({"layouts": "X"}, {}),
]


@pytest.mark.dali
@for_each(("options", "fed"), FED)
def test_arguments_are_accepted_or_rejected_as_in_dali(options, fed):
    def ours():
        pipe = build(name="x", **options)
        pipe.feed_input("x", rows(3), fed.get("fed_layout"))
        return [(out.layout(), out.as_array().tolist()) for out in pipe.run()]

    arguments = {k: v for k, v in options.items() if k != "layout"}
    source = {"layout": options.get("layout"), "args": arguments, "batches": [rows(3)], **fed}
    try:
        (outputs,) = run_graph([], ["x"], {"x": source}, batch_size=BATCH)
    except DaliError:
        with pytest.raises(RuntimeError):
            ours()
    else:
        assert ours() == [(o.layout, [s.tolist() for s in o.samples]) for o in outputs]
