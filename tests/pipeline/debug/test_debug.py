# SPDX-License-Identifier: Apache-2.0
"""Debug mode: how it is switched on, what it shares with other pipelines, and what it refuses."""

from __future__ import annotations

import gc
import os
import weakref

import pytest
import torch
from helpers.debug_mode import debugged, images
from helpers.parts import nodes_of

from torchdali import Pipeline, errors, fn, ops, pipeline_def, types
from torchdali.pipeline import experimental


def test_every_way_to_switch_debug_mode_on():
    calls = []

    def definition(debug=None):
        calls.append(debug)
        return fn.random.coin_flip()

    options = {"batch_size": 1, "num_threads": 1}
    for pipe in (
        pipeline_def(definition, debug=True, **options)(),
        pipeline_def(debug=True, **options)(definition)(),
        experimental.pipeline_def(debug=True, **options)(definition)(),
        pipeline_def(definition, **options)(debug=True),
    ):
        assert calls == []
        pipe.build()
        assert calls == []
        pipe.run()
        pipe.run()
        # A parameter of the function has the argument, too.
        assert calls in ([None, None], [True, True])
        calls.clear()
    from torchdali.pipeline.experimental import pipeline_def as same

    assert same is pipeline_def


def test_schedule_run_and_share_outputs_run_the_definition():
    pipe = debugged(lambda: fn.random.coin_flip(), prefetch_queue_depth=3)
    assert pipe.empty()
    pipe.schedule_run()
    assert not pipe.empty()
    assert len(pipe.share_outputs()) == 1
    pipe.release_outputs()
    with pytest.raises(errors.PipelineError, match="mixed"):
        pipe.run()
    with pytest.raises(StopIteration):
        pipe.outputs()


def test_methods_that_need_a_graph_are_errors(tmp_path):
    pipe = debugged(lambda: fn.random.coin_flip())
    for refused in (
        pipe.serialize,
        pipe.checkpoint,
        lambda: pipe.save_graph_to_dot_file(str(tmp_path / "graph.dot")),
    ):
        with pytest.raises(errors.UnsupportedError, match="in debug mode"):
            refused()
    for refused in (
        pipe.__enter__,
        lambda: pipe.set_outputs(),
        lambda: debugged(lambda: fn.random.coin_flip()).build(define_graph=lambda: None),
    ):
        with pytest.raises(errors.PipelineError, match="debug mode.*pipeline_def"):
            refused()
    assert pipe.executor_statistics() == {}
    assert pipe.num_outputs == 1
    assert len(pipe.run()) == 1
    with pytest.raises(errors.UnsupportedError, match="GPU"):
        debugged(lambda: fn.random.coin_flip().gpu()).run()


def test_operators_of_a_current_pipeline_run_only_during_its_run():
    pipe = debugged(lambda: fn.random.coin_flip())
    Pipeline.push_current(pipe)
    try:
        node = fn.random.coin_flip()
    finally:
        Pipeline.pop_current()
    assert not hasattr(node, "get")


def test_operator_objects_and_sinks_run_once_per_iteration():
    flip = ops.Flip(horizontal=1)

    def definition():
        x = fn.external_source(source=lambda: images(), layout="HWC")
        fn.copy(x, preserve=True)
        pipe.add_sink(fn.copy(x))
        return flip(x)

    pipe = debugged(definition)
    for _ in range(2):
        assert torch.equal(pipe.run()[0].as_torch(), torch.stack(images()).flip(2))
    assert [node.schema.name for node in nodes_of(pipe)].count("copy") == 2


def test_outputs_are_checked_against_the_declared_types():
    options = {"output_dtype": types.FLOAT}
    with pytest.raises(errors.PipelineError, match="`output_dtype` of output 0 is FLOAT"):
        debugged(lambda: fn.random.coin_flip(), **options).run()


def test_missing_and_wrong_options_are_errors():
    with pytest.raises(ValueError, match="`batch_size` is missing"):
        pipeline_def(lambda: None, num_threads=1, debug=True)().run()
    with pytest.raises(TypeError, match="unexpected argument `debgu`"):
        pipeline_def(lambda: None, debgu=True)
    pipe = debugged(lambda: None)
    pipe.close()
    with pytest.raises(errors.PipelineError, match="closed"):
        pipe.run()


def test_many_operators_share_the_threads():
    def threads():
        return set(os.listdir("/proc/self/task"))

    def definition():
        x = fn.random.coin_flip()
        for _ in range(50):
            x = fn.copy(x)
        return x

    before = threads()
    pipe = debugged(definition, num_threads=3)
    pipe.run()
    assert len(threads() - before) == 3
    pipe.close()
    assert threads() <= before


def test_neither_pipeline_nor_data_is_kept_alive():
    kept = []

    def definition():
        x = fn.external_source(source=images, layout="HWC")
        for _ in range(3):
            x = fn.flip(x)
            kept.append(weakref.ref(x.get().as_torch()))
        return fn.copy(x)

    gc.disable()
    try:
        pipe = debugged(definition)
        for _ in range(3):
            pipe.run()
        assert [ref() for ref in kept] == [None] * 9
        reference = weakref.ref(pipe)
        del pipe
        assert reference() is None
    finally:
        gc.enable()
