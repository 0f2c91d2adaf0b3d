# SPDX-License-Identifier: Apache-2.0
"""Building a pipeline: pruning and merging of operators, seeds, readers, closing, lifetimes."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.counting_pipelines import Counting, Failing, FailingSetup, value
from helpers.parts import nodes_of

from torchdali import Pipeline, fn, pipeline_def


def test_run_builds_the_pipeline_once():
    pipe = Counting()
    assert "not built" in repr(pipe)
    pipe.run()
    pipe.build()
    assert value(pipe.run()) == 1
    assert "built" in repr(pipe)


def test_building_without_a_definition_is_an_error():
    with pytest.raises(NotImplementedError, match="set_outputs"):
        Pipeline(2, 1).build()


def test_build_takes_a_definition():
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
    assert "counting_pipelines.py:" in lines[1]
    assert "fn.copy(data)" in lines[2]
    assert lines[3].startswith("  return __Copy_")


def test_unused_operators_are_pruned():
    pipe = Pipeline(2, 1)
    with pipe:
        used = fn.random.uniform(shape=[2], name="used")
        fn.random.uniform(shape=[2], name="unused")
        fn.random.uniform(shape=[2], name="kept", preserve=True)
        pipe.add_sink(fn.random.uniform(shape=[2], name="sink"))
        pipe.set_outputs(used)
    pipe.build()
    assert [node.name for node in nodes_of(pipe)] == ["used", "kept", "sink"]
    pipe.run()


def test_pruning_does_not_change_random_values():
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
    return len(nodes_of(pipe)), outputs


def test_equal_operators_are_merged():
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
def test_different_operators_are_not_merged(other):
    count, _ = merged(lambda: fn.random.uniform(shape=[2], seed=3), other)
    assert count == 2


def test_equal_chains_are_merged():
    count, outputs = merged(
        lambda: fn.copy(fn.random.uniform(shape=[2], seed=3)),
        lambda: fn.copy(fn.random.uniform(shape=[2], seed=3)),
    )
    assert count == 2
    assert outputs[0].data_ptr() == outputs[1].data_ptr()


def test_external_sources_are_not_merged():
    def source():
        return fn.external_source(source=lambda: np.zeros((2, 1)))

    assert merged(source, source)[0] == 2


def test_operators_with_equal_seeds_draw_equal_values():
    _, outputs = merged(
        lambda: fn.random.uniform(shape=[5], seed=9),
        lambda: fn.random.uniform(shape=[5], seed=9, name="again"),
        lambda: fn.random.uniform(shape=[5]),
        lambda: fn.random.uniform(shape=[5]),
    )
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[2], outputs[3])


def test_the_seed_of_the_pipeline_determines_random_values():
    def first(seed):
        pipe = Pipeline(2, 1, seed=seed)
        pipe.set_outputs(fn.random.uniform(shape=[8]))
        return pipe.run()[0].as_torch()

    assert torch.equal(first(5), first(5))
    assert not torch.equal(first(5), first(6))
    assert not torch.equal(first(None), first(None))
    assert not torch.equal(first(-1), first(-1))


def test_operators_with_equal_names_are_an_error():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.random.uniform(name="twice"), fn.random.normal(name="twice"))
    with pytest.raises(ValueError, match="`twice`"):
        pipe.build()


def test_moving_a_node_to_its_own_device_returns_the_node():
    with Pipeline(2, 1):
        node = fn.random.uniform()
        moved = node.gpu()
        assert (node.device, moved.device) == ("cpu", "gpu")
        assert moved.gpu() is moved
        assert node.cpu() is node


@pytest.fixture
def folder(tmp_path):
    for index in range(7):
        path = tmp_path / f"class_{index % 2}" / f"{index}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes([index]))
    return tmp_path


def test_readers_report_their_sizes(folder):
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


def test_sizes_of_a_pipeline_without_readers_are_empty():
    pipe = Counting()
    assert pipe.epoch_size() == {}
    assert pipe.reader_meta() == {}
    with pytest.raises(RuntimeError, match="it has none"):
        pipe.reader_meta("x")


def test_close_may_be_called_twice_and_outputs_stay():
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


@for_each("how", ["built", "running", "failed", "with", "pipeline_def", "ended", "deferred"])
def test_a_pipeline_is_freed_without_garbage_collection(how):
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
        if how == "deferred":
            take_deferred_error()
        if how == "failed":
            with pytest.raises(RuntimeError, match="fn.crop"):
                pipe.run()
        alive = weakref.ref(pipe)
        del pipe
        assert alive() is None
    finally:
        gc.enable()


def take_deferred_error():
    pipe = FailingSetup(prefetch_queue_depth=3)
    pipe.run()
    assert pipe.calls == 3  # the third iteration has failed already
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
