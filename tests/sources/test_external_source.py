# SPDX-License-Identifier: Apache-2.0
"""fn.external_source: data of callables, iterables and generators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.dali_oracle import DaliError, run_graph
from helpers.external_sources import pulled, take

from torchdali import Pipeline, fn, ops, pipeline_def, types
from torchdali.external_source import ExternalSource
from torchdali.tensors import TensorListCPU


def batches(count):
    return [np.full((2, 1), index) for index in range(count)]


def generate():
    yield from batches(2)


class Batches:
    def __iter__(self):
        return generate()


@for_each(
    "make", [lambda: batches(2), lambda: generate, Batches], ids=["list", "generator", "iterable"]
)
@for_each(
    ("cycle", "expected"),
    [
        (None, [0, 1, "end", "end", "end"]),
        ("no", [0, 1, "end", "end", "end"]),
        (False, [0, 1, "end", "end", "end"]),
        ("raise", [0, 1, "end", 0, 1]),
        ("quiet", [0, 1, 0, 1, 0]),
        (True, [0, 1, 0, 1, 0]),
    ],
)
@for_each("depth", [1, 3])
def test_iterables_end_or_cycle(make, cycle, expected, depth):
    expected = [v if v == "end" else [v, v] for v in expected]
    assert take(pulled(make(), depth, cycle=cycle), 5) == expected


def test_a_generator_is_consumed_once():
    assert take(pulled(generate()), 4) == [[0, 0], [1, 1], "end", "end"]
    with pytest.raises(TypeError, match="generator cannot be cycled"):
        fn.external_source(generate(), cycle=True)


def test_a_callable_gets_the_index_of_the_iteration():
    def source(index):
        if index == 2:
            raise StopIteration
        return np.full((2, 1), index)

    assert take(pulled(source), 6) == [[0, 0], [1, 1], "end", [0, 0], [1, 1], "end"]


def test_a_callable_may_take_batch_info_or_no_argument():
    seen = []

    def source(info):
        seen.append((info.iteration, info.epoch_idx))
        if info.iteration == 1:
            raise StopIteration
        return np.zeros((2, 1))

    take(pulled(source, depth=1, batch_info=True), 4)
    assert seen == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert take(pulled(lambda: np.ones((2, 1))), 1) == [[1, 1]]
    assert take(pulled(lambda index=5: np.full((2, 1), index)), 1) == [[0, 0]]


def test_a_callable_of_samples_is_called_for_each_sample():
    def source(info):
        if info.idx_in_epoch >= 5:
            raise StopIteration
        return np.array([info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx])

    pipe = pulled(source, batch=False)
    assert pipe.run()[0].as_array().tolist() == [[0, 0, 0, 0], [1, 1, 0, 0]]
    assert pipe.run()[0].as_array().tolist() == [[2, 0, 1, 0], [3, 1, 1, 0]]
    with pytest.raises(StopIteration):  # one sample is left over: no full batch
        pipe.run()
    pipe.reset()
    assert pipe.run()[0].as_array().tolist() == [[0, 0, 0, 1], [1, 1, 0, 1]]


def test_an_iterable_of_samples_is_collected_into_batches():
    assert take(pulled([np.array(i) for i in range(5)], batch=False), 3) == [[0, 1], [2, 3], "end"]


def test_repeat_last_has_no_effect_on_a_source():
    with pytest.warns(UserWarning, match="`repeat_last` is for feed_input") as caught:
        pipe = pulled(batches(2), repeat_last=True)
    assert caught[0].filename.endswith("external_sources.py")  # the line of the definition
    assert take(pipe, 3) == [[0, 0], [1, 1], "end"]


def test_several_outputs_are_tuples():
    pipe = pulled(lambda: (np.zeros((2, 3)), [np.ones(1), np.ones(2)]), num_outputs=2)
    a, b = pipe.run()
    assert (a.shape(), b.shape()) == ([(3,), (3,)], [(1,), (2,)])
    made = fn.external_source(lambda: (np.zeros((2, 1)),), num_outputs=1)
    assert isinstance(made, list)
    assert len(made) == 1
    sampled = pulled(lambda: (np.zeros(2), np.ones(3)), num_outputs=2, batch=False)
    assert [o.shape() for o in sampled.run()] == [[(2,)] * 2, [(3,)] * 2]


def test_unused_outputs_of_a_source_are_ignored():
    pipe = Pipeline(2, 1)
    with pipe:
        _, second = fn.external_source(lambda: (object(), np.ones((2, 1))), num_outputs=2)
        pipe.set_outputs(second)
    with pytest.warns(UserWarning, match=r"outputs \[0\] of 2") as caught:
        pipe.build()
    assert caught[0].filename == __file__
    assert take(pipe, 2) == [[1, 1], [1, 1]]


def test_layout_dtype_and_ndim_may_be_lists():
    pipe = pulled(
        lambda: (np.zeros((2, 3), np.uint8), np.zeros((2, 3))),
        num_outputs=2,
        layout=["X"],
        dtype=[types.UINT8, types.FLOAT64],
        ndim=(1, 1),
    )
    assert [o.layout() for o in pipe.run()] == ["X", ""]
    same = pulled(lambda: (np.zeros((2, 3)), np.zeros((2, 3))), num_outputs=2, layout="X")
    assert [o.layout() for o in same.run()] == ["X", "X"]


def test_an_array_may_hold_the_outputs():
    for parallel in (False, True):
        pipe = pulled(lambda _: np.arange(4).reshape(2, 2), num_outputs=2, parallel=parallel)
        assert [batch.as_array().tolist() for batch in pipe.run()] == [[0, 1], [2, 3]]


def test_outputs_that_nothing_uses_may_be_missing():
    pipe = Pipeline(2, 1)
    with pipe:
        first, *_ = fn.external_source(lambda: (np.ones((2, 1)),), num_outputs=3)
        pipe.set_outputs(first)
    with pytest.warns(UserWarning, match=r"outputs \[1, 2\] of 3"):
        pipe.build()
    assert take(pipe, 2) == [[1, 1], [1, 1]]


@pytest.mark.filterwarnings(
    "ignore:fn.external_source. .num_outputs. is 2, and the source:UserWarning"
)
def test_values_without_an_output_are_ignored_with_a_warning():
    def source(_):
        return [np.full((1,), value) for value in (1, 2, 3)]

    for parallel in (False, True):
        pipe = pulled(source, num_outputs=2, batch=False, parallel=parallel)
        assert [batch.as_array().tolist() for batch in pipe.run()] == [[[1], [1]], [[2], [2]]]
    pipe = pulled(source, num_outputs=2, batch=False)
    with pytest.warns(UserWarning, match="is 2, and the source returned 3 values"):
        pipe.run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipe.run()  # once is enough


@for_each(
    ("given", "cls", "text"),
    [
        ((np.zeros((2, 1)),), IndexError, "1 values"),
        (np.zeros((3, 2)), ValueError, "3 values"),
        (None, TypeError, "NoneType"),
        (np.array(5), TypeError, "ndarray"),
    ],
)
def test_a_wrong_number_of_outputs_is_an_error(given, cls, text):
    with pytest.raises(cls, match=f"tuples of 2; got {text}"):
        pulled(lambda: given, num_outputs=2).run()


# -- data that changes


def changing(first, second):
    batches = {0: first, 1: first, 2: second, 3: first}
    return lambda index: batches[index % 4]


def square(dtype=np.uint8, layout=None):
    data = [np.ones((3, 3), dtype)] * 2
    return data if layout is None else TensorListCPU(data, layout)


CHANGES = {
    "dtype": (square(), square(np.float32), TypeError, "UINT8 data, got FLOAT"),
    "ndim": (square(), np.ones((2, 3), np.uint8), ValueError, "2 dimensions, got 1"),
    "layout": (square(layout="HW"), square(layout="AB"), ValueError, 'layout "HW", got "AB"'),
    "no layout": (square(layout="HW"), square(), ValueError, 'layout "HW", got ""'),
}


@for_each("parallel", [False, True])
@for_each("change", ["dtype", "ndim"])
def test_data_of_a_source_must_not_change(change, parallel):
    first, second, cls, text = CHANGES[change]
    pipe = pulled(changing(first, second), parallel=parallel)
    assert len(pipe.run()[0]) == len(pipe.run()[0]) == 2
    with pytest.raises(cls, match=f"as in the batches before, .*{text}"):
        pipe.run()
    assert pipe.run()[0].dtype is types.UINT8


@for_each("change", list(CHANGES))
def test_fed_data_must_not_change(change):
    first, second, cls, text = CHANGES[change]
    pipe = pulled(None, depth=1, name="x")
    pipe.feed_input("x", first)
    pipe.run()
    with pytest.raises(cls, match=f"`x` takes, as in the batches before, .*{text}"):
        pipe.feed_input("x", second)
    pipe.feed_input("x", first)  # what was refused is not in the queue
    assert pipe.run()[0].dtype is types.UINT8


def test_a_layout_may_be_added():
    pipe = pulled(changing(square(), square(layout="HW")))
    assert [pipe.run()[0].layout() for _ in range(3)] == ["", "", "HW"]


@pytest.mark.dali
@for_each("change", ["dtype", "ndim"])
def test_dali_refuses_the_same_changes(change):
    first, second, *_ = CHANGES[change]
    source = {"batches": [np.stack(first), np.stack(second)]}
    with pytest.raises(DaliError, match="ExternalSource"):
        run_graph([], ["x"], {"x": source}, batch_size=2, iterations=2)


@pytest.mark.parametrize("depth", [1, 3])
def test_an_error_of_a_source_keeps_its_type_and_order(depth):
    def source(index):
        if index == 2:
            index = 2 / (index - 2)
        return np.full((2, 1), index)

    pipe = pulled(source, depth)
    assert take(pipe, 2) == [[0, 0], [1, 1]]
    with pytest.raises(ZeroDivisionError):
        pipe.run()
    assert take(pipe, 2) == [[3, 3], [4, 4]]  # the iteration is lost, and the pipeline continues


@for_each(
    ("arguments", "cls", "text"),
    [
        ({"source": 5}, TypeError, "callable or an iterable"),
        ({"source": lambda a, b: a + b}, TypeError, "takes 2"),
        ({"source": lambda: 0, "cycle": True}, ValueError, "iterable"),
        ({"source": [0], "cycle": "sometimes"}, ValueError, "`cycle`"),
        ({"cycle": "quiet"}, ValueError, "needs a `source`"),
        ({"source": [0], "num_outputs": 0}, ValueError, "positive"),
        ({"parallel": True}, ValueError, "needs a `source`"),
        ({"device": "mixed"}, NotImplementedError, "mixed"),
        ({"unknown": 1}, TypeError, "unexpected argument `unknown`"),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, dict) else "",
)
def test_inconsistent_arguments_are_errors(arguments, cls, text):
    with pytest.raises(cls, match=text) as caught:
        fn.external_source(**arguments)
    assert "test_external_source.py" in str(caught.value)


def test_the_class_equals_the_function():
    assert ops.ExternalSource is ExternalSource

    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline():
        source = ops.ExternalSource(source=lambda: np.zeros((2, 4)), layout="X")
        assert source.device == "cpu"
        return source(), source(layout="Y")

    assert [o.layout() for o in pipeline().run()] == ["X", "Y"]
    with pytest.raises(TypeError, match="unexpected argument `sauce`"):
        ops.ExternalSource(sauce=1)


def test_two_sources_of_different_sizes_are_an_error():
    pipe = Pipeline(3, 1)
    with pipe:
        pipe.set_outputs(
            fn.external_source(lambda: np.zeros((2, 1))),
            fn.external_source(lambda: np.zeros((3, 1))),
        )
    with pytest.raises(RuntimeError, match="batch of 3"):
        pipe.run()
