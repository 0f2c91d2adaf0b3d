# SPDX-License-Identifier: Apache-2.0
"""Pipeline.serialize and deserialize: a deserialized pipeline gives the same batches."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from helpers import sources
from helpers.image_files import write_image_folder
from helpers.parts import nodes_of
from helpers.serializing import DATA, branches, define, document_of, expressions

from torchdali import OperatorConcurrency, Pipeline, StreamPolicy, errors, fn, pipeline_def, types


def batches(pipe, count=3):
    taken = []
    for index in range(count):
        pipe.feed_input("data", DATA + index)
        taken.append([(batch.layout(), list(batch.as_torch_list())) for batch in pipe.run()])
    return taken


def assert_same(first, second):
    for a, b in zip(first, second, strict=True):
        for (layout, samples), (other_layout, other_samples) in zip(a, b, strict=True):
            assert layout == other_layout
            for x, y in zip(samples, other_samples, strict=True):
                assert x.dtype == y.dtype
                assert torch.equal(x, y)


@pytest.mark.parametrize("seed", [7, None, -1])
def test_a_deserialized_pipeline_gives_the_same_batches(seed):
    pipe = define(seed)
    data = pipe.serialize()
    made = Pipeline.deserialize(data)
    assert made.serialize() == data
    assert_same(batches(pipe), batches(made))
    assert made.seed == pipe.seed


def test_deserializing_with_seed_minus_1_draws_a_new_seed():
    data = define(None).serialize()
    first, second = Pipeline.deserialize(data), Pipeline.deserialize(data, seed=-1)
    a, b = batches(first, 1)[0], batches(second, 1)[0]
    assert not torch.equal(torch.stack(a[2][1]), torch.stack(b[2][1]))
    assert torch.equal(torch.stack(a[1][1]), torch.stack(b[1][1]))  # this operator has its own seed


def test_equal_definitions_give_equal_bytes():
    assert define().serialize() == define().serialize()
    assert define().serialize() != define(8).serialize()
    pipe = define()
    before = pipe.serialize()
    pipe.build()
    assert pipe.serialize() == before


def test_serializing_without_locations_ignores_the_line_of_the_definition():
    def one():
        return fn.random.uniform(shape=[2], range=[0.0, 1.0])

    def other():
        return fn.random.uniform(range=[0.0, 1.0], shape=[2])

    first, second = (pipeline_def(f)(batch_size=1, num_threads=1, seed=1) for f in (one, other))
    assert first.serialize() != second.serialize()
    bare = first.serialize(locations=False)
    assert bare == second.serialize(locations=False)
    made = Pipeline.deserialize(bare)
    assert made.serialize() == bare
    assert "a serialized pipeline without locations" in repr(made)


def test_operators_made_outside_pipelines_get_names_per_pipeline():
    noise = fn.random.uniform(shape=[2])
    pipes = [Pipeline(2, 1, seed=1) for _ in range(2)]
    for pipe in pipes:
        pipe.set_outputs(fn.copy(noise))
    data = [pipe.serialize(locations=False) for pipe in pipes]
    assert data[0] == data[1]
    pipes[0].build()
    assert pipes[0].serialize(locations=False) == data[0]
    assert [n["name"] for n in document_of(pipes[1])["nodes"]] == ["__Uniform_0", "__Copy_1"]


def test_unused_operators_are_left_out_and_seeds_stay():
    pipe = Pipeline(2, 1, seed=3)
    with pipe:
        fn.random.uniform(name="unused")
        kept = fn.random.uniform(name="kept", preserve=True)
        pipe.add_sink(fn.random.uniform(name="sink"))
        pipe.set_outputs(fn.random.uniform(shape=[3]))
    document = document_of(pipe)
    assert [node["name"] for node in document["nodes"]][:2] == [kept.name, "sink"]
    assert document["sinks"] == [0, 1]
    made = Pipeline.deserialize(json.dumps(document))
    assert [node.name for node in nodes_of(made)] == ["kept", "sink", "__Uniform_0"]
    assert torch.equal(made.run()[0].as_torch(), pipe.run()[0].as_torch())


def test_equal_operators_share_memory_after_deserializing():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(*(fn.random.uniform(shape=[2], seed=3) for _ in range(2)))
    made = Pipeline.deserialize(pipe.serialize())
    first, second = made.run()
    assert first.as_torch().data_ptr() == second.as_torch().data_ptr()


def test_readers_and_lists_of_inputs_are_restored(tmp_path):
    write_image_folder(tmp_path, 6)
    pipe = Pipeline(3, 2, seed=5)
    with pipe:
        files, labels = fn.readers.file(file_root=tmp_path, name="reader", random_shuffle=True)
        images = fn.decoders.image(files)
        pair = fn.resize([images, images], size=[8, 9])
        pipe.set_outputs(*pair, labels)
    made = Pipeline.deserialize(pipe.serialize())
    assert made.reader_meta() == pipe.reader_meta()
    for _ in range(4):
        for a, b in zip(pipe.run(), made.run(), strict=True):
            assert torch.equal(a.as_torch(), b.as_torch())


def test_conditionals_are_restored():
    pipe = branches()
    data = pipe.serialize()
    (bell,) = (node for node in json.loads(data)["nodes"] if node["name"] == "bell")
    assert [holds for _, _, holds in bell["guards"]] == [False, True]
    made = Pipeline.deserialize(data)
    assert made.serialize() == data
    for _ in range(3):
        assert torch.equal(pipe.run()[0].as_torch(), made.run()[0].as_torch())


def test_expressions_constants_and_subscripts_are_restored():
    pipe = expressions()
    data = pipe.serialize()
    made = Pipeline.deserialize(data)
    assert made.serialize() == data
    first, second = batches(pipe), batches(made)
    for a, b in zip(first, second, strict=True):
        for (layout, samples), (other_layout, others) in zip(a, b, strict=True):
            assert layout == other_layout
            torch.testing.assert_close(samples, others, rtol=0, atol=0, equal_nan=True)


def test_options_are_restored():
    options = {
        "exec_pipelined": True,
        "prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 2},
        "bytes_per_sample": 12,
        "set_affinity": True,
        "max_streams": 3,
        "default_cuda_stream_priority": -1,
        "py_num_workers": 2,
        "py_start_method": "spawn",
        "output_dtype": [types.UINT8, None, types.FLOAT],
        "output_ndim": [3, 1, 0],
        "output_layout": ["HWC", None, ""],
        "exec_dynamic": True,
        "stream_policy": StreamPolicy.PER_OPERATOR,
        "concurrency": OperatorConcurrency.BACKEND,
    }
    made = Pipeline.deserialize(define(**options).serialize())
    assert (made.batch_size, made.num_threads, made.device_id, made.seed) == (4, 2, None, 7)
    for name, value in options.items():
        if not name.startswith(("bytes", "output")):
            assert getattr(made, name) == value
    assert document_of(made)["options"]["bytes_per_sample"] == 12
    assert made.output_dtype() == options["output_dtype"]
    assert made.output_ndim() == options["output_ndim"]
    assert made.output_layout() == options["output_layout"]


def test_declared_output_types_are_checked_after_deserializing():
    pipe = Pipeline(2, 1, output_dtype=types.INT32)
    pipe.set_outputs(fn.random.uniform())
    with pytest.raises(RuntimeError, match="is INT32, got FLOAT"):
        Pipeline.deserialize(pipe.serialize()).run()


def test_constructor_arguments_override_the_document():
    data = define().serialize()
    made = Pipeline.deserialize(
        data, batch_size=3, num_threads=1, device_id=0, prefetch_queue_depth=5, seed=9
    )
    assert (made.batch_size, made.num_threads, made.device_id) == (3, 1, 0)
    assert (made.prefetch_queue_depth, made.seed) == (5, 9)
    assert len(nodes_of(made)) == len(nodes_of(Pipeline.deserialize(data)))
    again = Pipeline.deserialize(data, batch_size=-1, num_threads=None)
    assert (again.batch_size, again.num_threads) == (4, 2)
    with pytest.raises(ValueError, match="at most 3"):
        made.feed_input("data", np.zeros((4, 1, 1, 1), np.uint8))
    with pytest.raises(TypeError, match="bach_size"):
        Pipeline.deserialize(data, bach_size=3)


def test_a_pipeline_may_be_serialized_before_it_has_its_sizes():
    pipe = Pipeline()
    pipe.set_outputs(fn.random.uniform())
    data = pipe.serialize()
    assert len(Pipeline.deserialize(data, batch_size=3, num_threads=1).run()[0]) == 3
    with pytest.raises(ValueError, match="`batch_size` is missing"):
        Pipeline.deserialize(data)


def test_a_document_may_be_a_file_or_text_or_bytes(tmp_path):
    path = tmp_path / "pipeline.json"
    path.write_text("longer than nothing " * 1000)
    data = define().serialize(filename=path)
    assert path.read_bytes() == data
    assert Pipeline.deserialize(filename=str(path)).serialize() == data
    assert Pipeline.deserialize(data.decode()).serialize() == data
    assert Pipeline.deserialize(memoryview(data)).serialize() == data


class Feeding(Pipeline):
    """Feeds itself; takes fewer arguments than Pipeline."""

    def __init__(self, batch_size, num_threads=1):
        super().__init__(batch_size, num_threads)

    def define_graph(self):
        return fn.copy(fn.external_source(name="data"))

    def iter_setup(self):
        self.feed_input("data", np.ones((2, 2), np.float32))


def test_a_subclass_is_deserialized_by_its_own_class():
    data = Feeding(2).serialize()
    made = Feeding.deserialize(data)
    assert isinstance(made, Feeding)
    assert made.run()[0].as_torch().sum() == 4
    with pytest.raises(RuntimeError, match="has no data"):
        Pipeline.deserialize(data).run()


def test_define_graph_is_accepted_once():
    pipe = Pipeline(2, 1, seed=1)
    data = pipe.serialize(define_graph=lambda: fn.random.uniform(shape=[2]))
    assert [node["operator"] for node in json.loads(data)["nodes"]] == ["random.uniform"]
    for call in (pipe.serialize, pipe.build, define().serialize):
        with pytest.raises(RuntimeError, match="both `define_graph` and"):
            call(define_graph=lambda: fn.random.uniform())
    assert torch.equal(pipe.run()[0].as_torch(), Pipeline.deserialize(data).run()[0].as_torch())
    with pytest.raises(NotImplementedError, match="nothing defines the outputs"):
        Pipeline(2, 1).serialize()


def test_a_closed_pipeline_cannot_be_serialized():
    pipe = define()
    pipe.close()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.serialize()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.deserialize_and_build(define().serialize())


def test_deserialize_and_build_keeps_options_that_were_set():
    data = define(output_ndim=[3, 1, 0]).serialize()
    pipe = Pipeline()
    assert pipe.deserialize_and_build(data) is None
    assert (pipe.batch_size, pipe.num_threads, pipe.seed) == (4, 2, 7)
    assert pipe.output_ndim() == [3, 1, 0]
    assert_same(batches(pipe), batches(define()))
    own = Pipeline(2, 1, seed=8, output_ndim=[None, 1, None], prefetch_queue_depth=1)
    own.deserialize_and_build(data)
    assert (own.batch_size, own.num_threads, own.seed) == (2, 1, 8)
    assert own.output_ndim() == [None, 1, None]
    assert own.prefetch_queue_depth == 1
    unseeded = Pipeline(2, 1)
    unseeded.deserialize_and_build(define(None).serialize())
    assert unseeded.seed is None
    for defined in (define(), own):
        with pytest.raises(RuntimeError, match="has a definition already"):
            defined.deserialize_and_build(data)


@pytest.mark.parametrize("seed", [7, None])
def test_a_checkpoint_goes_on_in_a_deserialized_pipeline(seed):
    pipe = Pipeline(3, 2, seed=seed, enable_checkpointing=True, enable_memory_stats=True)
    with pipe:
        pipe.set_outputs(fn.random.uniform(shape=[2]), fn.random.normal(name="bell"))
    data = pipe.serialize()
    pipe.run()
    checkpoint = pipe.checkpoint()
    made = Pipeline.deserialize(data, checkpoint=checkpoint)
    assert made.is_restored_from_checkpoint
    assert made.enable_memory_stats
    assert made.serialize() == data
    for _ in range(3):
        for a, b in zip(pipe.run(), made.run(), strict=True):
            assert torch.equal(a.as_torch(), b.as_torch())


def test_errors_show_the_line_of_the_original_definition():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.flip(fn.external_source(name="data")))  # here
    made = Pipeline.deserialize(pipe.serialize())
    made.feed_input("data", np.zeros((1, 2, 2)), layout="XY")
    with pytest.raises(errors.LayoutError, match=r"test_serialization.py:\d+.*\n.*# here"):
        made.run()


def local_function(index):
    return sources.counting(index)
