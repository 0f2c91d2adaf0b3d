# SPDX-License-Identifier: Apache-2.0
"""Pipeline.serialize and deserialize: what comes back, what is refused, and what is executed."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import sources
from helpers.cases import for_each
from helpers.image_files import write_image_folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchdali import OperatorConcurrency, Pipeline, StreamPolicy, errors, fn, pipeline_def, types
from torchdali.pipeline._serialize.document import Place, dump, encode, load

DATA = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)


def define(seed=7, **options):
    pipe = Pipeline(4, 2, None, seed=seed, **options)
    with pipe:
        data = fn.external_source(name="data", layout="HWC")
        coin = fn.random.coin_flip(probability=0.5)
        fn.copy(coin, preserve=True)
        noise = fn.random.uniform(range=[0.0, 0.1], shape=[2], seed=11)
        pipe.set_outputs(fn.flip(data, horizontal=coin), noise, fn.random.normal(name="bell"))
    return pipe


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


def document_of(pipe):
    return json.loads(pipe.serialize())


def with_changes(change):
    document = document_of(define())
    change(document)
    return json.dumps(document)


# -- what comes back


@pytest.mark.parametrize("seed", [7, None, -1])
def test_the_same_batches_come_out(seed):
    pipe = define(seed)
    data = pipe.serialize()
    made = Pipeline.deserialize(data)
    assert made.serialize() == data
    assert_same(batches(pipe), batches(made))
    assert made.seed == pipe.seed


def test_a_pipeline_without_a_seed_draws_something_else_where_it_is_told_to():
    data = define(None).serialize()
    first, second = Pipeline.deserialize(data), Pipeline.deserialize(data, seed=-1)
    a, b = batches(first, 1)[0], batches(second, 1)[0]
    assert not torch.equal(torch.stack(a[2][1]), torch.stack(b[2][1]))
    assert torch.equal(torch.stack(a[1][1]), torch.stack(b[1][1]))  # has a seed of its own


def test_equal_definitions_give_equal_bytes():
    assert define().serialize() == define().serialize()
    assert define().serialize() != define(8).serialize()
    pipe = define()
    before = pipe.serialize()
    pipe.build()
    assert pipe.serialize() == before


def test_without_locations_the_place_of_the_definition_does_not_matter():
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


def test_operators_of_no_pipeline_have_the_same_names_everywhere():
    noise = fn.random.uniform(shape=[2])
    pipes = [Pipeline(2, 1, seed=1) for _ in range(2)]
    for pipe in pipes:
        pipe.set_outputs(fn.copy(noise))
    data = [pipe.serialize(locations=False) for pipe in pipes]
    assert data[0] == data[1]
    pipes[0].build()
    assert pipes[0].serialize(locations=False) == data[0]
    assert [n["name"] for n in document_of(pipes[1])["nodes"]] == ["__Uniform_0", "__Copy_1"]


def test_what_nothing_needs_is_left_out_and_the_rest_keeps_what_it_draws():
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
    assert [node.name for node in made._nodes] == ["kept", "sink", "__Uniform_0"]
    assert torch.equal(made.run()[0].as_torch(), pipe.run()[0].as_torch())


def test_equal_operators_still_share_their_memory():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(*(fn.random.uniform(shape=[2], seed=3) for _ in range(2)))
    made = Pipeline.deserialize(pipe.serialize())
    first, second = made.run()
    assert first.as_torch().data_ptr() == second.as_torch().data_ptr()


def test_names_lists_and_numbers_of_outputs_come_back(tmp_path):
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


@pipeline_def(batch_size=8, num_threads=2, seed=6, enable_conditionals=True)
def branches():
    if fn.random.coin_flip():
        value = fn.random.uniform(shape=[2])
    elif fn.random.uniform() > 0.5:
        value = fn.random.normal(shape=[2], name="bell")
    else:
        value = types.Constant([1.0, 2.0], device="cpu")
    return value


def test_branches_come_back():
    pipe = branches()
    data = pipe.serialize()
    (bell,) = (node for node in json.loads(data)["nodes"] if node["name"] == "bell")
    assert [holds for _, _, holds in bell["guards"]] == [False, True]
    made = Pipeline.deserialize(data)
    assert made.serialize() == data
    for _ in range(3):
        assert torch.equal(pipe.run()[0].as_torch(), made.run()[0].as_torch())


def test_a_document_cannot_mix_up_who_has_a_value():
    document = document_of(branches())
    nodes = document["nodes"]
    merges = [i for i, node in enumerate(nodes) if node["operator"] == "conditional.merge"]
    predicates = [i for i, node in enumerate(nodes) if node["operator"] == "conditional.predicate"]
    bell = next(i for i, node in enumerate(nodes) if node["name"] == "bell")
    for change in (
        put("nodes", merges[0], "inputs", 2, [bell, 0]),  # not every sample has it
        put("nodes", merges[1], "inputs", 2, [predicates[1], 0]),
        put("nodes", merges[0], "inputs", 0, nodes[merges[0]]["inputs"][1]),
        put("nodes", merges[0], "inputs", 1, nodes[merges[0]]["inputs"][0]),
        put("nodes", bell, "guards", [[0, 0, True]]),  # no predicate
        put("nodes", bell, "guards", nodes[bell]["guards"][::-1]),
        put("outputs", [[bell, 0]]),
    ):
        changed = copy.deepcopy(document)
        change(changed)
        with pytest.raises(RuntimeError):
            Pipeline.deserialize(json.dumps(changed))


def expressions():
    pipe = Pipeline(3, 2, seed=2)
    with pipe:
        data = fn.external_source(name="data", layout="HWC")
        table = types.Constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), device="cpu")
        value = (data - table) * 2.5 + float("inf") * (data > 100)
        pipe.set_outputs(value[:, 1:, 0], value.shape(), table, 3, np.float32(0.1), -data // 3)
    return pipe


def test_expressions_constants_and_subscripts_come_back():
    pipe = expressions()
    data = pipe.serialize()
    made = Pipeline.deserialize(data)
    assert made.serialize() == data
    first, second = batches(pipe), batches(made)
    for a, b in zip(first, second, strict=True):
        for (layout, samples), (other_layout, others) in zip(a, b, strict=True):
            assert layout == other_layout
            torch.testing.assert_close(samples, others, rtol=0, atol=0, equal_nan=True)


STEPS = st.lists(
    st.lists(
        st.sampled_from(
            ["add", "minus", "&0", "&1", "&9", "&-1", "&", "&99999999999", "%0", "1:int32", "1:x"]
        ),
        max_size=4,
    ).map(" ".join),
    max_size=3,
)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_damaged_expressions_are_refused(replacements, random):
    document = document_of(expressions())
    nodes = [node for node in document["nodes"] if node["operator"] == "arithmetic"]
    for steps in replacements:
        random.choice(nodes)["arguments"]["steps"] = steps
    with contextlib.suppress(errors.TorchdaliError):
        Pipeline.deserialize(json.dumps(document)).close()


def test_options_come_back():
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
    assert made._bytes_per_sample == 12
    assert made.output_dtype() == options["output_dtype"]
    assert made.output_ndim() == options["output_ndim"]
    assert made.output_layout() == options["output_layout"]


def test_declared_outputs_are_still_checked():
    pipe = Pipeline(2, 1, output_dtype=types.INT32)
    pipe.set_outputs(fn.random.uniform())
    with pytest.raises(RuntimeError, match="is INT32, got FLOAT"):
        Pipeline.deserialize(pipe.serialize()).run()


def test_arguments_of_the_constructor_take_the_place_of_those_in_the_document():
    data = define().serialize()
    made = Pipeline.deserialize(
        data, batch_size=3, num_threads=1, device_id=0, prefetch_queue_depth=5, seed=9
    )
    assert (made.batch_size, made.num_threads, made.device_id) == (3, 1, 0)
    assert (made.prefetch_queue_depth, made.seed) == (5, 9)
    assert len(made._nodes) == len(Pipeline.deserialize(data)._nodes)
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


def test_a_file_may_hold_it(tmp_path):
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


def test_a_subclass_defines_and_its_methods_stay_with_it():
    data = Feeding(2).serialize()
    made = Feeding.deserialize(data)
    assert isinstance(made, Feeding)
    assert made.run()[0].as_torch().sum() == 4
    with pytest.raises(RuntimeError, match="has no data"):
        Pipeline.deserialize(data).run()


def test_define_graph_may_be_given_once():
    pipe = Pipeline(2, 1, seed=1)
    data = pipe.serialize(define_graph=lambda: fn.random.uniform(shape=[2]))
    assert [node["operator"] for node in json.loads(data)["nodes"]] == ["random.uniform"]
    for call in (pipe.serialize, pipe.build, define().serialize):
        with pytest.raises(RuntimeError, match="both `define_graph` and"):
            call(define_graph=lambda: fn.random.uniform())
    assert torch.equal(pipe.run()[0].as_torch(), Pipeline.deserialize(data).run()[0].as_torch())
    with pytest.raises(NotImplementedError, match="nothing defines the outputs"):
        Pipeline(2, 1).serialize()


def test_a_closed_pipeline_has_no_definition():
    pipe = define()
    pipe.close()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.serialize()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.deserialize_and_build(define().serialize())


def test_deserialize_and_build_fills_in_what_is_missing():
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


def test_errors_still_show_the_line_of_the_definition():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.flip(fn.external_source(name="data")))  # here
    made = Pipeline.deserialize(pipe.serialize())
    made.feed_input("data", np.zeros((1, 2, 2)), layout="XY")
    with pytest.raises(errors.LayoutError, match=r"test_serialization.py:\d+.*\n.*# here"):
        made.run()


# -- functions


def sourced(source, **options):
    pipe = Pipeline(2, 1)
    with pipe:
        made = fn.external_source(source, **options)
        pipe.set_outputs(*(made if isinstance(made, list) else [made]))
    return pipe


@for_each(
    ("source", "options", "name"),
    [
        (sources.counting, {}, "counting"),
        (sources.one_sample, {"batch": False}, "one_sample"),
        (sources.pairs, {"num_outputs": 2, "cycle": "raise", "name": "p"}, "pairs"),
        (sources.Holder.static, {"no_copy": True}, "Holder.static"),
    ],
)
@for_each("how", ["function", "module", "name", "all"])
def test_functions_are_found_by_name(source, options, name, how):
    pipe = sourced(source, **options)
    data = pipe.serialize()
    reference = f"helpers.sources:{name}"
    assert json.loads(data)["sources"][0]["function"] == reference
    allow = {
        "function": [len, source],
        "module": "helpers.sources",
        "name": (reference,),
        "all": True,
    }[how]
    made = Pipeline.deserialize(data, allow=allow)
    assert made.serialize() == data
    for _ in range(3):
        for a, b in zip(pipe.run(), made.run(), strict=True):
            assert a.dtype == b.dtype
            assert torch.equal(a.as_torch(), b.as_torch())
    filled = Pipeline()
    filled.deserialize_and_build(data, allow=allow)
    assert len(filled.run()) == len(pipe._outputs)


def local_function(index):
    return sources.counting(index)


def changed(index):
    return sources.counting(index)


original = changed
changed = functools.wraps(original)(lambda index: original(index))


def inner():
    def nested(index):
        return sources.counting(index)

    return nested


@for_each(
    ("source", "text"),
    [
        (lambda: np.zeros((2, 1)), "is a lambda"),
        (inner(), "`inner.<locals>.nested`, which is defined inside a function"),
        (functools.partial(sources.counting, 1), r"is an object \(partial\)"),
        (sources.Holder().method, "`Holder.method` of an object"),
        (original, "is not what module `.*test_serialization` has as `changed`"),
        ([np.zeros((2, 1))], r"is an object \(list\)"),
        (iter([np.zeros((2, 1))]), r"is an object \(list_iterator\)"),
        (sources.pairs(), r"is an object \(generator\)"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_has_no_name_is_refused(source, text):
    pipe = sourced(source)  # the line of the source
    with pytest.raises(NotImplementedError, match=text) as caught:
        pipe.serialize()
    message = str(caught.value)
    assert "fn.external_source" in message
    assert "made = fn.external_source(source" in message
    assert "top level of a module" in message
    assert "feed_input" in message


def test_functions_of_the_main_program_are_refused(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "from torchdali import Pipeline, fn\n"
        "def source():\n    return np.zeros((2, 1))\n"
        "pipe = Pipeline(2, 1)\n"
        "pipe.set_outputs(fn.external_source(source))\n"
        "try:\n    pipe.serialize()\n"
        "except NotImplementedError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "`source` of the main program" in done.stdout
    assert "program.py:6" in done.stdout


def naming(function):
    document = document_of(sourced(sources.counting))
    document["sources"][0]["function"] = function
    return json.dumps(document)


@pytest.mark.parametrize("function", ["helpers.sources:counting", "os:abort", "this:d"])
def test_nothing_is_imported_or_called_that_was_not_allowed(function):
    sys.modules.pop("this", None)
    for allow in ((), False, "helpers", [len], ["helpers.sources:pairs"]):
        with pytest.raises(RuntimeError, match="was not allowed") as caught:
            Pipeline.deserialize(naming(function), allow=allow)
        assert f'allow="{function}"' in str(caught.value)
    assert "this" not in sys.modules


@for_each(
    ("function", "text"),
    [
        ("helpers.sources:np.full", "is the name of something else"),
        ("helpers.sources:np.testing.assert_equal", "is the name of something else"),
        ("helpers.sources:missing", "there is no"),
        ("helpers.absent:x", "there is no"),
        (
            "helpers.sources:Holder.__init__.__globals__",
            "is the name of something else|there is no",
        ),
        ("helpers.sources", "is no name of a function"),
        ("helpers.sources:", "is no name of a function"),
        ("helpers.sources:a b", "is no name of a function"),
        ("helpers.sources:..x", "is no name of a function"),
        ("helpers.sources:pairs:x", "is no name of a function"),
        ("", "is no name of a function"),
    ],
)
def test_an_allowed_module_is_no_way_out_of_it(function, text):
    with pytest.raises(RuntimeError, match=text):
        Pipeline.deserialize(naming(function), allow=["helpers.sources", "helpers.absent"])


@pytest.mark.parametrize("allow", [3, [3], [object()], None])
def test_what_is_allowed_is_named_or_given(allow):
    with pytest.raises(TypeError, match="`allow`"):
        Pipeline.deserialize(naming("helpers.sources:counting"), allow=allow)


# -- what is refused


def test_exactly_one_of_bytes_and_file_is_given(tmp_path):
    with pytest.raises(ValueError, match="got neither"):
        Pipeline.deserialize()
    with pytest.raises(ValueError, match="got both"):
        Pipeline.deserialize(b"x", "y")
    with pytest.raises(OSError, match="No such file"):
        Pipeline.deserialize(filename=tmp_path / "missing")
    with pytest.raises(OSError, match="Is a directory"):
        define().serialize(filename=tmp_path)
    with pytest.raises(TypeError, match="got int"):
        Pipeline.deserialize(3)


def put(*path):
    *parents, last, value = path

    def change(document):
        for key in parents:
            document = document[key]
        if value is KeyError:
            del document[last]
        else:
            document[last] = value

    return change


@for_each(
    ("change", "cls", "text"),
    [
        (put("version", 2), NotImplementedError, "has version 2 of its format.*reads 1"),
        (put("version", KeyError), ValueError, "has no `version`"),
        (put("version", True), ValueError, "version is no integer"),
        (put("format", "other"), ValueError, "has no `format`"),
        (put("nodes", 1, "operator", "spin"), ValueError, r"nodes\[1\].operator is 'spin'"),
        (put("nodes", 1, "arguments", "speed", 1), TypeError, "unexpected argument `speed`"),
        (put("nodes", 1, "arguments", "name", "x"), ValueError, "does not belong there"),
        (put("nodes", 1, "arguments", "probability", "x"), TypeError, "takes a number"),
        (put("nodes", 1, "arguments", "probability", None), ValueError, "is no value"),
        (put("nodes", 1, "device", "mixed"), NotImplementedError, 'device="mixed"'),
        (put("nodes", 1, "name", ""), ValueError, "name is empty"),
        (put("nodes", 1, "name", "data"), ValueError, "are named `data`"),
        (put("nodes", 1, "colour", 1), ValueError, "unknown entry 'colour'"),
        (put("nodes", 1, "source", [0, 0]), ValueError, "does not go with the operator"),
        (put("nodes", 0, "source", None), ValueError, "does not go with the operator"),
        (put("nodes", 0, "source", [1, 0]), ValueError, "is no integer of 0 to 0"),
        (put("nodes", 1, "inputs", [[1, 0]]), ValueError, "is no integer of 0 to 0"),
        (put("nodes", 2, "inputs", [[0, 0], [1, 0]]), ValueError, "takes 1 input"),
        (put("nodes", 1, "outputs", 2), ValueError, "is not 1, which this version makes"),
        (put("nodes", 1, "seed", -1), ValueError, "seed is no integer"),
        (put("outputs", []), ValueError, "outputs is empty"),
        (put("outputs", [[9, 0]]), ValueError, r"outputs\[0\]\[0\] is no integer"),
        (put("options", "batch_size", 0), ValueError, "`batch_size` is at least 1"),
        (put("options", "num_threads", 10**9), ValueError, "`num_threads` is at most"),
        (put("options", "checkpoint", "x"), ValueError, "is no option"),
        (put("options", "exec_async", "yes"), ValueError, "neither true nor false"),
        (put("options", "stream_policy", "x"), ValueError, "is no StreamPolicy"),
    ],
)
def test_a_document_that_does_not_fit_is_refused(change, cls, text):
    with pytest.raises(cls, match=text) as caught:
        Pipeline.deserialize(with_changes(change))
    assert isinstance(caught.value, errors.TorchdaliError)


@for_each(
    "data",
    [
        b"",
        b"x",
        b"\x08\x02\x10\x04*\x97\x01",  # how DALI's begin
        b"{",
        b"[]",
        b"{}",
        b'{"format": "torchdali.pipeline"}',
        b'{"format": "torchdali.pipeline", "version": NaN}',
        b'{"format": "torchdali.pipeline", "version": 1' + b"0" * 5000 + b"}",
        b'{"a": ' + b"[" * 100_000,
        b"{\xff}",
        "3",
        "{",
    ],
)
def test_what_is_no_document_is_refused(data):
    with pytest.raises(errors.TorchdaliError, match="serialized pipeline"):
        Pipeline.deserialize(data)


def test_dalis_form_is_told_apart():
    with pytest.raises(ValueError, match=r"what nvidia\.dali serialized has another format"):
        Pipeline.deserialize(b"\x08\x02\x10\x04*\x97\x01")


def every_path(value, path=()):
    yield path
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from every_path(item, (*path, key))


DOCUMENT = document_of(define(prefetch_queue_depth={"cpu_size": 2, "gpu_size": 1}))
PATHS = [path for path in every_path(DOCUMENT) if path]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(), max_size=4),
    st.sampled_from(["cpu", "flip", "copy", "external_source", "readers.file", "os:abort"]),
    st.lists(st.integers(-1, 5), max_size=3),
    st.dictionaries(st.sampled_from(["bytes", "float", "x"]), st.text(max_size=3), max_size=2),
    st.just(KeyError),
)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(PATHS), ODD), min_size=1, max_size=3))
def test_a_changed_document_is_a_pipeline_or_an_error_of_ours(changes):
    document = copy.deepcopy(DOCUMENT)
    for path, value in changes:
        try:
            put(*path, value)(document)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken the place away
    with contextlib.suppress(errors.TorchdaliError):
        Pipeline.deserialize(json.dumps(document)).close()


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_bytes_are_a_pipeline_or_an_error_of_ours(data):
    text = bytearray(json.dumps(DOCUMENT).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(errors.TorchdaliError):
        Pipeline.deserialize(bytes(text)).close()


def test_the_page_describes_every_entry():
    page = Path(__file__).parents[3] / "docs" / "design" / "serialization.md"
    text = page.read_text()
    entries = [DOCUMENT, DOCUMENT["nodes"][0], DOCUMENT["sources"][0]]
    missing = {key for entry in entries for key in entry if f'"{key}"' not in text}
    assert not missing


# -- values

VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.floats(),
        st.text(st.characters(exclude_categories=())),  # surrogates, too: bytes in file names
        st.binary(),
    ),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


def identical(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, float):
        same = math.isnan(a) and math.isnan(b)
        return type(b) is float and (same or a.hex() == b.hex())
    return type(a) is type(b) and a == b


@given(VALUES)
def test_arguments_keep_every_bit(value):
    text = dump({"value": encode(value)})
    assert text.isascii()
    read = load(text)["value"].value()
    assert identical(value, read)
    assert dump({"value": encode(read)}) == text


def test_a_file_name_with_odd_bytes_comes_back(tmp_path):
    root = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.makedirs(root + b"/a")
    with open(root + b"/a/x.bin", "wb") as file:
        file.write(b"12")
    pipe = Pipeline(1, 1)
    with pipe:
        data, _ = fn.readers.file(file_root=root, file_filters="*.bin")
        pipe.set_outputs(data)
    assert bytes(Pipeline.deserialize(pipe.serialize()).run()[0].as_torch()[0]) == b"12"


@for_each("bad", [{"bytes": "A"}, {"bytes": 3}, {"float": "1"}, {"x": "y"}, {}, None])
def test_a_value_of_no_kind_is_refused(bad):
    with pytest.raises(ValueError, match="the document.a"):
        Place({"a": [bad]}, "the document.a")["a"].value()


def test_an_argument_of_another_kind_is_named(monkeypatch):
    pipe = define()
    node = pipe._outputs[2].source
    monkeypatch.setitem(node.args, "mean", 1j)
    with pytest.raises(NotImplementedError, match=r"normal: argument `mean` .* is a complex"):
        pipe.serialize()


def test_functions_inside_a_pipeline_are_stored_by_name():
    @pipeline_def(batch_size=2, num_threads=1, seed=3)
    def definition(function):
        data = fn.random.uniform(range=[0, 1], shape=[2])
        return fn.python_function(data, function=function), data

    pipe = definition(sources.negated)
    data = pipe.serialize()
    assert b'"function": {"function": "helpers.sources:negated"}' in data
    with pytest.raises(errors.PipelineError, match="which was not allowed"):
        Pipeline.deserialize(data)
    again = Pipeline.deserialize(data, allow=sources.negated)
    assert again.serialize() == data
    for a, b in zip(pipe.run(), again.run(), strict=True):
        assert np.array_equal(a.as_array(), b.as_array())
    with pytest.raises(errors.UnsupportedError, match="`function` is a lambda"):
        definition(lambda x: x).serialize()
