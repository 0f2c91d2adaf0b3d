# SPDX-License-Identifier: Apache-2.0
"""Running a pipeline: prefetching, the two families of methods, ends, errors, closing."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import Pipeline, errors, fn, pipeline_def, types
from torchdali.tensors import TensorListCPU


class Counting(Pipeline):
    """Feeds 0, 1, 2, ... from iter_setup; says how often it was called."""

    def __init__(self, last=None, **kwargs):
        super().__init__(**{"batch_size": 2, "num_threads": 1, **kwargs})
        self.calls = 0
        self.last = last

    def define_graph(self):
        self.data = fn.external_source(name="data")
        return fn.copy(self.data)

    def iter_setup(self):
        if self.calls == self.last:
            raise StopIteration
        self.feed_input(self.data, np.full((2, 3), self.calls))
        self.calls += 1


def value(outputs):
    return int(outputs[0].as_torch()[0, 0])


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_first_run_fills_the_queue_and_each_one_keeps_it_full(depth):
    pipe = Counting(prefetch_queue_depth=depth)
    for taken in range(1, 6):
        assert value(pipe.run()) == taken - 1
        assert pipe.calls == taken + depth - 1


def test_without_pipelining_nothing_runs_ahead():
    pipe = Counting(prefetch_queue_depth=4, exec_pipelined=False, exec_async=False)
    for taken in range(1, 4):
        assert value(pipe.run()) == taken - 1
        assert pipe.calls == taken


def test_separate_depths_add_up():
    pipe = Counting(prefetch_queue_depth={"cpu_size": 3, "gpu_size": 1})
    pipe.run()
    assert pipe.calls == 4


def test_an_end_comes_after_what_was_scheduled_before_it():
    pipe = Counting(last=3, prefetch_queue_depth=2)
    assert [value(pipe.run()) for _ in range(3)] == [0, 1, 2]
    for _ in range(3):
        with pytest.raises(StopIteration):
            pipe.run()
    pipe.calls = 0
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.reset()
    assert [value(pipe.run()) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StopIteration):
        pipe.run()


def test_a_queue_deeper_than_the_data_is_fine():
    pipe = Counting(last=2, prefetch_queue_depth=8)
    assert [value(pipe.run()) for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        pipe.run()


def test_reset_before_the_end_does_nothing():
    pipe = Counting(last=5)
    assert value(pipe.run()) == 0
    pipe.reset()
    assert value(pipe.run()) == 1
    Counting().reset()


def test_the_outputs_are_a_tuple_of_batches():
    outputs = Counting().run()
    assert isinstance(outputs, tuple)
    assert isinstance(outputs[0], TensorListCPU)
    assert outputs[0].dtype is types.INT64


def test_what_the_user_keeps_never_changes():
    pipe = Counting()
    kept = [pipe.run()[0].as_torch() for _ in range(50)]
    assert [int(t[0, 0]) for t in kept] == list(range(50))


# -- schedule_run, share_outputs, release_outputs


def test_scheduled_runs_are_taken_in_order():
    pipe = Counting(prefetch_queue_depth=2)
    assert pipe.empty()
    pipe.schedule_run()
    assert pipe.calls == 2
    assert not pipe.empty()
    for index in range(5):
        assert value(pipe.share_outputs()) == index
        pipe.release_outputs()
        pipe.schedule_run()
        assert pipe.calls == index + 3


def test_outputs_shares_and_releases():
    pipe = Counting(prefetch_queue_depth=1)
    pipe.schedule_run()
    pipe.schedule_run()
    assert pipe.calls == 1  # the queue is full: the second one waits for room
    assert value(pipe.outputs()) == 0
    assert pipe.calls == 2
    assert value(pipe.outputs()) == 1
    with pytest.raises(StopIteration):
        pipe.outputs()


def test_scheduling_without_end_holds_no_more_than_the_queue():
    pipe = Counting(prefetch_queue_depth=3)
    for _ in range(100):
        pipe.schedule_run()
    assert pipe.calls == 3
    assert [value(pipe.outputs()) for _ in range(100)] == list(range(100))


def test_nothing_scheduled_is_the_end():
    with pytest.raises(StopIteration):
        Counting().share_outputs()


def test_the_end_reaches_scheduled_runs_too():
    pipe = Counting(last=2)
    pipe.schedule_run()
    pipe.schedule_run()
    assert [value(pipe.outputs()) for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        pipe.outputs()
    pipe.calls = 0
    pipe.reset()
    pipe.schedule_run()
    assert value(pipe.outputs()) == 0


def test_the_two_families_are_not_mixed():
    pipe = Counting()
    pipe.run()
    for method in (pipe.schedule_run, pipe.share_outputs, pipe.release_outputs, pipe.outputs):
        with pytest.raises(RuntimeError, match="mixed"):
            method()
    assert value(pipe.run()) == 1
    other = Counting()
    other.schedule_run()
    with pytest.raises(RuntimeError, match="mixed"):
        other.run()


def test_the_check_can_be_switched_off():
    pipe = Counting()
    pipe.enable_api_check(False)
    assert value(pipe.run()) == 0
    pipe.schedule_run()
    assert value(pipe.share_outputs()) == 1
    pipe.release_outputs()
    assert value(pipe.run()) == 2


def test_iterators_may_use_all_methods_inside_their_scope():
    pipe = Counting()
    with pipe._check_api_type_scope(types.PipelineAPIType.ITERATOR):
        pipe.schedule_run()
        assert value(pipe.share_outputs()) == 0
        pipe.release_outputs()
    with pytest.raises(RuntimeError, match="ITERATOR"):
        pipe.run()


# -- errors


class Failing(Pipeline):
    """A flip that refuses the layout of every third batch."""

    def __init__(self, **kwargs):
        super().__init__(batch_size=2, num_threads=2, **kwargs)
        self.calls = 0

    def define_graph(self):
        self.data = fn.external_source(name="data")
        return fn.flip(self.data)  # the line that flips

    def iter_setup(self):
        layout = "AB" if self.calls % 3 == 2 else "HW"
        if layout == "HW":
            data = np.full((2, 4, 4, 3), self.calls, np.uint8)
            self.feed_input(self.data, data, layout="HWC")
        else:
            self.feed_input(self.data, np.zeros((2, 4, 4), np.uint8), layout=layout)
        self.calls += 1


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_an_error_comes_from_its_own_iteration_and_the_next_one_goes_on(depth):
    pipe = Failing(prefetch_queue_depth=depth)
    for index in range(12):
        if index % 3 == 2:
            with pytest.raises(errors.LayoutError, match="the line that flips") as caught:
                pipe.run()
            assert caught.value.operator == "fn.flip"
        else:
            assert pipe.run()[0].as_torch().unique().tolist() == [index]


class FailingSetup(Counting):
    """iter_setup that fails once."""

    def iter_setup(self):
        if self.calls == 2:
            self.calls += 1
            raise ZeroDivisionError("mine")
        super().iter_setup()


@pytest.mark.parametrize("depth", [1, 3])
def test_an_error_of_iter_setup_waits_for_the_iterations_before_it(depth):
    pipe = FailingSetup(prefetch_queue_depth=depth)
    assert [value(pipe.run()) for _ in range(2)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="mine"):
        pipe.run()
    assert [value(pipe.run()) for _ in range(3)] == [3, 4, 5]


def test_errors_of_the_steady_state_are_delivered_in_order():
    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=2)
    def pipeline():
        return fn.external_source(name="data")

    pipe = pipeline()
    with pytest.raises(RuntimeError, match="has no data"):
        pipe.run()
    pipe.feed_input("data", np.zeros((2, 2)))
    assert len(pipe.run()[0]) == 2
    with pytest.raises(RuntimeError, match="has no data") as caught:
        pipe.run()
    assert "feed_input" in str(caught.value)


# -- building


def test_run_builds_and_building_twice_is_once():
    pipe = Counting()
    assert "not built" in repr(pipe)
    pipe.run()
    pipe.build()
    assert value(pipe.run()) == 1
    assert "built" in repr(pipe)


def test_a_pipeline_without_a_definition_says_what_to_do():
    with pytest.raises(NotImplementedError, match="set_outputs"):
        Pipeline(2, 1).build()


def test_build_may_be_given_the_definition():
    pipe = Pipeline(2, 1)
    pipe.build(define_graph=lambda: fn.random.uniform(shape=[4]))
    assert pipe.run()[0].shape() == [(4,), (4,)]
    other = Pipeline(2, 1)
    other.set_outputs(fn.random.uniform())
    with pytest.raises(RuntimeError, match="both"):
        other.build(define_graph=fn.random.uniform)


def test_outputs_cannot_change_after_the_build():
    pipe = Counting()
    pipe.build()
    with pytest.raises(RuntimeError, match="after the pipeline was built"):
        pipe.set_outputs(pipe.data)


def test_repr_shows_every_operator_with_its_line():
    pipe = Counting()
    pipe.build()
    lines = repr(pipe).splitlines()
    assert "Counting: batch_size=2, num_threads=1" in lines[0]
    assert "data = fn.external_source()" in lines[1]
    assert "test_run.py:" in lines[1]
    assert "fn.copy(data)" in lines[2]
    assert lines[3].startswith("  return __Copy_")


def test_what_nothing_needs_is_pruned():
    pipe = Pipeline(2, 1)
    with pipe:
        used = fn.random.uniform(shape=[2], name="used")
        fn.random.uniform(shape=[2], name="unused")
        fn.random.uniform(shape=[2], name="kept", preserve=True)
        pipe.add_sink(fn.random.uniform(shape=[2], name="sink"))
        pipe.set_outputs(used)
    pipe.build()
    assert [node.name for node in pipe._nodes] == ["used", "kept", "sink"]
    pipe.run()


def test_an_unused_operator_does_not_change_what_others_draw():
    def draws(with_unused):
        pipe = Pipeline(2, 1, seed=4)
        with pipe:
            first = fn.random.uniform(shape=[3])
            if with_unused:
                fn.random.uniform(shape=[3])
            pipe.set_outputs(fn.copy(first), fn.random.uniform(shape=[3]))
        return [batch.as_torch() for batch in pipe.run()]

    for a, b in zip(draws(False), draws(True), strict=True):
        assert torch.equal(a, b)


def merged(*make):
    pipe = Pipeline(2, 1, seed=1)
    with pipe:
        pipe.set_outputs(*[m() for m in make])
    pipe.build()
    outputs = [batch.as_torch() for batch in pipe.run()]
    return len(pipe._nodes), outputs


def test_equal_operators_are_one_and_share_memory():
    count, outputs = merged(
        lambda: fn.random.uniform(shape=[2], seed=3), lambda: fn.random.uniform(shape=[2], seed=3)
    )
    assert count == 1
    assert outputs[0].data_ptr() == outputs[1].data_ptr()


@pytest.mark.parametrize(
    "other",
    [
        lambda: fn.random.uniform(shape=[2], seed=4),
        lambda: fn.random.uniform(shape=[2], seed=3, name="mine"),
        lambda: fn.random.uniform(shape=[2]),
        lambda: fn.random.uniform(shape=[3], seed=3),
        lambda: fn.copy(fn.random.uniform(shape=[2], seed=3)),
    ],
)
def test_what_differs_is_not_merged(other):
    count, _ = merged(lambda: fn.random.uniform(shape=[2], seed=3), other)
    assert count == 2


def test_chains_are_merged_from_their_start():
    count, outputs = merged(
        lambda: fn.copy(fn.random.uniform(shape=[2], seed=3)),
        lambda: fn.copy(fn.random.uniform(shape=[2], seed=3)),
    )
    assert count == 2
    assert outputs[0].data_ptr() == outputs[1].data_ptr()


def test_external_sources_are_never_merged():
    def source():
        return fn.external_source(source=lambda: np.zeros((2, 1)))

    assert merged(source, source)[0] == 2


def test_equal_seeds_draw_equally_and_derived_ones_do_not():
    _, outputs = merged(
        lambda: fn.random.uniform(shape=[5], seed=9),
        lambda: fn.random.uniform(shape=[5], seed=9, name="again"),
        lambda: fn.random.uniform(shape=[5]),
        lambda: fn.random.uniform(shape=[5]),
    )
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[2], outputs[3])


def test_a_seed_fixes_everything_and_none_fixes_nothing():
    def first(seed):
        pipe = Pipeline(2, 1, seed=seed)
        pipe.set_outputs(fn.random.uniform(shape=[8]))
        return pipe.run()[0].as_torch()

    assert torch.equal(first(5), first(5))
    assert not torch.equal(first(5), first(6))
    assert not torch.equal(first(None), first(None))
    assert not torch.equal(first(-1), first(-1))


def test_two_operators_of_one_name_are_refused():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.random.uniform(name="twice"), fn.random.normal(name="twice"))
    with pytest.raises(ValueError, match="`twice`"):
        pipe.build()


def test_gpu_and_cpu_of_a_node_that_is_there_are_the_node():
    with Pipeline(2, 1):
        node = fn.random.uniform()
        moved = node.gpu()
        assert (node.device, moved.device) == ("cpu", "gpu")
        assert moved.gpu() is moved
        assert node.cpu() is node


# -- readers


@pytest.fixture
def folder(tmp_path):
    for index in range(7):
        path = tmp_path / f"class_{index % 2}" / f"{index}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes([index]))
    return tmp_path


def test_readers_tell_their_sizes(folder):
    pipe = Pipeline(2, 1)
    with pipe:
        data, _ = fn.readers.file(
            file_root=folder, file_filters="*.bin", name="reader", num_shards=2, shard_id=1
        )
        pipe.set_outputs(data)
    assert pipe.epoch_size("reader") == 7
    assert pipe.epoch_size() == {"reader": 7}
    meta = pipe.reader_meta("reader")
    assert meta == pipe.reader_meta()["reader"]
    assert set(meta) == {
        "epoch_size",
        "epoch_size_padded",
        "number_of_shards",
        "shard_id",
        "pad_last_batch",
        "stick_to_shard",
    }
    assert (meta["epoch_size"], meta["number_of_shards"], meta["shard_id"]) == (7, 2, 1)
    with pytest.raises(RuntimeError, match="no reader named `other`; it has `reader`"):
        pipe.epoch_size("other")


def test_a_pipeline_without_readers_says_so():
    pipe = Counting()
    assert pipe.epoch_size() == {}
    assert pipe.reader_meta() == {}
    with pytest.raises(RuntimeError, match="it has none"):
        pipe.reader_meta("x")


# -- ends


def test_closing_ends_it_and_may_be_done_twice():
    pipe = Counting()
    kept = pipe.run()[0].as_torch()
    pipe.close()
    pipe.close()
    assert int(kept[0, 0]) == 0
    assert "closed" in repr(pipe)
    assert pipe.empty()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.run()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.feed_input("data", np.zeros((2, 3)))


@for_each("how", ["built", "running", "failed", "with", "pipeline_def", "ended", "put off"])
def test_a_pipeline_is_freed_at_once(how):
    gc.disable()
    try:
        if how == "pipeline_def":
            pipe = pipeline_def(lambda: fn.random.uniform())(batch_size=2, num_threads=1)
        else:
            pipe = Failing() if how == "failed" else Counting()
        pipe.build()
        if how == "with":
            with pipe:
                pass
        if how == "ended":
            pipe.last = 5
        for _ in range({"running": 5, "failed": 2, "ended": 5}.get(how, 0)):
            pipe.run()
        if how == "ended":
            with pytest.raises(StopIteration):
                pipe.run()
        if how == "put off":
            take_put_off_error()
        if how == "failed":
            with pytest.raises(ValueError, match="layout"):
                pipe.run()
        alive = weakref.ref(pipe)
        del pipe
        assert alive() is None
    finally:
        gc.enable()


def take_put_off_error():
    pipe = FailingSetup(prefetch_queue_depth=3)
    pipe.run()
    assert pipe._deferred is not None
    pipe.run()
    with pytest.raises(ZeroDivisionError):
        pipe.run()
    alive = weakref.ref(pipe)
    del pipe
    assert alive() is None


def test_a_source_is_freed_with_its_pipeline():
    class Source:
        def __call__(self):
            return np.zeros((2, 2))

    source = Source()
    alive = weakref.ref(source)
    gc.disable()
    try:
        pipe = Pipeline(2, 1)
        with pipe:
            pipe.set_outputs(fn.external_source(source=source))
        pipe.run()
        del pipe, source
        assert alive() is None
    finally:
        gc.enable()


def test_a_thread_has_its_own_current_pipeline():
    seen = []
    with Pipeline(2, 1):
        thread = threading.Thread(target=lambda: seen.append(Pipeline.current()))
        thread.start()
        thread.join()
    assert seen == [None]
