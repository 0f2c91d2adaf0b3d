# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of pipelines: each mistake is an error that says how to fix it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.parts import nodes_of

from torchdali import Pipeline, errors, fn, pipeline_def, tensors


def fed(batch_size=2, **source):
    pipe = Pipeline(batch_size, 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="data", **source))
    return pipe


# -- before build: methods that need the plan make it, those that do not answer


@for_each(
    "use",
    [
        lambda p: p.run(data=np.zeros((1, 2))),
        lambda p: p.feed_input("data", np.zeros((1, 2))),
        lambda p: p.reader_meta(),
        lambda p: p.epoch_size(),
        lambda p: p.input_feed_count("data"),
        lambda p: p.num_outputs,
    ],
)
def test_methods_that_need_the_plan_build_the_pipeline(use):
    pipe = fed()
    use(pipe)
    assert "built" in repr(pipe).splitlines()[0].split(", ")[-1]
    assert "not built" not in repr(pipe)


def test_other_methods_do_not_build_the_pipeline():
    pipe = fed()
    assert pipe.empty()
    assert pipe.reset() is None
    with pytest.raises(StopIteration):
        pipe.share_outputs()
    with pytest.raises(StopIteration):
        pipe.outputs()
    assert "not built" in repr(pipe)


# -- the definition


def test_a_definition_that_failed_can_be_retried():
    class Flaky(Pipeline):
        attempts = 0

        def define_graph(self):
            self.add_sink(fn.random.uniform(name="sink"))
            self.attempts += 1
            if self.attempts == 1:
                raise ZeroDivisionError
            return fn.random.uniform()

    pipe = Flaky(2, 1)
    with pytest.raises(ZeroDivisionError):
        pipe.build()
    assert Pipeline.current() is None
    pipe.build()
    assert len(nodes_of(pipe)) == 2


def test_a_pipeline_without_outputs_is_an_error():
    for make in (
        lambda: Pipeline(2, 1).set_outputs(),
        lambda: Pipeline(2, 1).build(define_graph=lambda: ()),
        lambda: Pipeline(2, 1).build(define_graph=lambda: None),
        pipeline_def(lambda: [], batch_size=2, num_threads=1),
    ):
        with pytest.raises(TypeError, match="no outputs"):
            make()
    with pytest.raises(NotImplementedError, match="nothing defines the outputs"):
        Pipeline(2, 1).run()


def test_changes_after_the_build_are_errors():
    pipe = fed()
    pipe.build()
    node = fn.random.uniform()
    for call in (pipe.set_outputs, pipe.add_sink):
        with pytest.raises(RuntimeError, match="after the pipeline was built"):
            call(node)
    assert pipe.build(define_graph=lambda: node) is None  # it is already built


def test_workers_need_the_definition_before_the_build():
    pipe = Pipeline(2, 1)
    with pytest.raises(NotImplementedError, match="nothing defines"):
        pipe.start_py_workers()
    pipe = fed()
    pipe.start_py_workers()
    with pytest.raises(RuntimeError, match="both"):
        pipe.build(define_graph=lambda: fn.random.uniform())
    pipe.build()


def test_nodes_of_another_pipeline_are_errors():
    with Pipeline(2, 1):
        foreign = fn.random.uniform()  # the foreign line
    for use in (
        lambda p: p.set_outputs(foreign),
        lambda p: (p.set_outputs(fn.random.uniform()), p.add_sink(foreign)),
        lambda p: p.set_outputs(fn.copy(foreign)),
    ):
        pipe = Pipeline(2, 1)
        use(pipe)
        with pytest.raises(RuntimeError, match="another pipeline") as caught:
            pipe.build()
        assert "the foreign line" in str(caught.value)
    pipe = Pipeline(2, 1)
    with pipe, pytest.raises(RuntimeError, match="another pipeline"):
        fn.copy(foreign)


@pytest.mark.parametrize("edge", [None, 3, "x"])
def test_a_sink_must_be_a_data_node(edge):
    with pytest.raises(TypeError, match=r"add_sink\(\) takes a DataNode"):
        Pipeline(2, 1).add_sink(edge)


@pytest.mark.parametrize("other", [None, 3, Pipeline])
def test_only_pipelines_can_become_current(other):
    with pytest.raises(TypeError, match="takes a pipeline"):
        Pipeline.push_current(other)
    assert Pipeline.current() is None


def test_unbalanced_push_and_pop_are_errors():
    first, second = Pipeline(2, 1), Pipeline(2, 1)
    Pipeline.push_current(first)
    Pipeline.push_current(second)
    assert Pipeline.current() is second
    Pipeline.pop_current()
    assert Pipeline.current() is first
    Pipeline.pop_current()
    with pytest.raises(IndexError, match="no pipeline is current"):
        Pipeline.pop_current()


# -- the run


METHODS = {
    "run": lambda p: p.run(),
    "schedule_run": lambda p: p.schedule_run(),
    "share_outputs": lambda p: p.share_outputs(),
    "release_outputs": lambda p: p.release_outputs(),
    "outputs": lambda p: p.outputs(),
}


@for_each("first", METHODS)
@for_each("second", METHODS)
def test_mixing_run_with_other_methods_is_an_error(first, second):
    pipe = Pipeline(2, 1)
    pipe.set_outputs(fn.random.uniform())
    pipe.schedule_run() if first != "run" else pipe.run()
    if first not in ("run", "schedule_run"):
        METHODS[first](pipe)
    if (first == "run") == (second == "run"):
        pipe.schedule_run() if second != "run" else None
        METHODS[second](pipe)
        return
    with pytest.raises(RuntimeError, match="mixed") as caught:
        METHODS[second](pipe)
    assert "enable_api_check(False)" in str(caught.value)
    pipe.enable_api_check(False)
    METHODS[second](pipe)
    pipe.enable_api_check(True)
    with pytest.raises(RuntimeError, match="mixed"):
        METHODS[second](pipe)


# -- feed_input


def batch_of(samples, layout=None):
    return tensors.TensorListCPU(samples, layout)


KINDS = {
    "numpy": lambda a: a,
    "torch": torch.from_numpy,
    "list of numpy": list,
    "tuple of torch": lambda a: tuple(torch.from_numpy(a)),
    "TensorListCPU": lambda a: batch_of(list(a)),
    "list of TensorCPU": lambda a: [tensors.TensorCPU(x) for x in a],
    "TensorCPU": lambda a: tensors.TensorCPU(a),
    "memoryview": memoryview,
    "nested lists": lambda a: a.tolist(),
    "fortran order": np.asfortranarray,
    "reversed": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "broadcast": lambda a: np.broadcast_to(a, a.shape),
}


@for_each("kind", KINDS)
@for_each("count", [1, 3])
def test_feed_input_accepts_every_kind_of_data(kind, count):
    data = np.arange(count * 6, dtype=np.float32).reshape(count, 2, 3)
    pipe = fed(3)
    pipe.feed_input("data", KINDS[kind](data), layout="HW")
    (batch,) = pipe.run()
    assert batch.layout() == "HW"
    assert len(batch) == count
    assert np.array_equal(batch.as_array(), data)


def test_the_layout_is_from_the_call_the_data_or_the_definition():
    samples = [np.zeros((2, 2))]
    for declared, own, given, expected in [
        (None, None, None, ""),
        (None, "HW", None, "HW"),
        (None, "HW", "AB", "AB"),
        ("HW", None, None, "HW"),
        ("HW", None, "", "HW"),
        ("HW", "HW", "HW", "HW"),
    ]:
        pipe = fed(layout=declared)
        pipe.feed_input("data", batch_of(samples, own), layout=given)
        assert pipe.run()[0].layout() == expected


@for_each(
    ("data", "options", "cls", "text"),
    [
        (np.zeros((3, 2)), {}, ValueError, "at most 2 samples.*got 3"),
        ([np.zeros(2)] * 3, {}, ValueError, "at most 2 samples.*got 3"),
        (np.zeros((0, 2)), {}, ValueError, "at least one sample"),
        ([], {}, ValueError, "empty list"),
        (np.zeros((2, 3, 3)), {"layout": "HWC"}, ValueError, "has 3 axes.*have 2"),
        (np.zeros((2, 3)), {"layout": "HW"}, ValueError, "has 2 axes.*have 1"),
        (np.zeros((2, 3)), {"layout": 3}, TypeError, "`layout` takes a string"),
        (np.float32(3), {}, ValueError, "needs an axis for its samples"),
        (None, {}, TypeError, "got NoneType"),
        ("text", {}, TypeError, "got str"),
        (np.zeros((2, 2), complex), {}, TypeError, "no element type"),
    ],
)
def test_unsuitable_data_is_an_error_and_the_next_data_is_accepted(data, options, cls, text):
    pipe = fed()
    with pytest.raises(cls, match=text) as caught:
        pipe.feed_input("data", data, **options)
    assert isinstance(caught.value, errors.TorchdaliError)
    pipe.feed_input("data", np.ones((2, 2)))
    assert pipe.run()[0].as_torch().sum() == 4


@pytest.mark.parametrize("name", [3, None, b"data", ["data"]])
def test_feed_input_takes_a_name_or_a_node(name):
    with pytest.raises(TypeError, match="takes the DataNode of an external source or its name"):
        fed().feed_input(name, np.zeros((1, 1)))


def test_batches_of_different_sizes_in_one_iteration_are_errors():
    pipe = Pipeline(4, 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="a"), fn.external_source(name="b"))
    pipe.feed_input("a", np.zeros((2, 1)))
    pipe.feed_input("b", np.zeros((3, 1)))
    with pytest.raises(RuntimeError, match="batch"):
        pipe.run()


def test_operators_without_inputs_follow_the_size_of_fed_batches():
    pipe = Pipeline(4, 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="a"), fn.random.uniform())
    for count in (2, 4, 1):
        pipe.feed_input("a", np.zeros((count, 1)))
        assert [len(batch) for batch in pipe.run()] == [count, count]


def test_samples_may_be_empty():
    pipe = fed(3)
    pipe.feed_input("data", [np.zeros((0, 3)), np.zeros((2, 3)), np.zeros((2, 0))])
    assert pipe.run()[0].shape() == [(0, 3), (2, 3), (2, 0)]
    pipe.feed_input("data", np.zeros((3, 0, 1)))
    assert pipe.run()[0].shape() == [(0, 1)] * 3
