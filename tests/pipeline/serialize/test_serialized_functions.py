# SPDX-License-Identifier: Apache-2.0
"""Functions in serialized pipelines: stored by name, and called only if the caller allows it."""

from __future__ import annotations

import functools
import json
import sys

import numpy as np
import pytest
import torch
from helpers import programs, sources
from helpers.cases import for_each
from helpers.serializing import document_of

from torchdali import Pipeline, errors, fn, pipeline_def


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
def test_allowed_functions_are_imported_by_name(source, options, name, how):
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
    assert len(filled.run()) == pipe.num_outputs


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
        (original, "is not what module `.*test_serialized_functions` has as `changed`"),
        ([np.zeros((2, 1))], r"is an object \(list\)"),
        (iter([np.zeros((2, 1))]), r"is an object \(list_iterator\)"),
        (sources.pairs(), r"is an object \(generator\)"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_functions_without_an_importable_name_are_errors(source, text):
    pipe = sourced(source)  # the line of the source
    with pytest.raises(NotImplementedError, match=text) as caught:
        pipe.serialize()
    message = str(caught.value)
    assert "fn.external_source" in message
    assert "made = fn.external_source(source" in message
    assert "top level of a module" in message
    assert "feed_input" in message


def test_functions_of_the_main_program_are_errors(tmp_path):
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
    done = programs.run(program)
    assert done.returncode == 0, done.stderr
    assert "`source` of the main program" in done.stdout
    assert "program.py:6" in done.stdout


def naming(function):
    document = document_of(sourced(sources.counting))
    document["sources"][0]["function"] = function
    return json.dumps(document)


@pytest.mark.parametrize("function", ["helpers.sources:counting", "os:abort", "this:d"])
def test_functions_that_are_not_allowed_are_neither_imported_nor_called(function):
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
def test_an_allowed_module_does_not_allow_what_it_imports(function, text):
    with pytest.raises(RuntimeError, match=text):
        Pipeline.deserialize(naming(function), allow=["helpers.sources", "helpers.absent"])


@pytest.mark.parametrize("allow", [3, [3], [object()], None])
def test_allow_takes_names_and_functions_only(allow):
    with pytest.raises(TypeError, match="`allow`"):
        Pipeline.deserialize(naming("helpers.sources:counting"), allow=allow)


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
