# SPDX-License-Identifier: Apache-2.0
"""What a serialized pipeline may do: files are written only if allowed, sizes have limits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.encoded_images import jpeg, ramp
from helpers.serializing import document_of

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali._engine.schema import registry
from torchdali.errors import ArgumentError, PipelineError


@pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1)
def indexed(path):
    data = fn.external_source(name="data")
    return fn.decoders.image_crop(data, jpeg_index=path, crop=(4, 4))


@pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1)
def dumped():
    return fn.dump_image(fn.constant(idata=[0] * 12, shape=[2, 2, 3], dtype=types.UINT8))


def run_and_close(pipe, kind):
    if kind == "index":
        pipe.feed_input("data", [np.frombuffer(jpeg(ramp(40, 40, 3)), np.uint8)])
    pipe.run()
    pipe.close()


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("kind", ["index", "dump"])
def test_files_are_written_only_where_that_is_allowed(kind, relative, tmp_path, monkeypatch):
    folder = tmp_path / "allowed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = "index" if relative else str(folder / "index")
    data = (indexed(path) if kind == "index" else dumped()).serialize()
    for allow in ((), "module", [tmp_path / "other"], Path("/proc")):
        with pytest.raises(PipelineError, match="not allowed") as caught:
            Pipeline.deserialize(data, allow=allow)
        assert f"allow=pathlib.Path({str(folder)!r})" in str(caught.value)
    assert os.listdir(folder) == []
    for allow in (folder, [tmp_path], True):
        run_and_close(Pipeline.deserialize(data, allow=allow), kind)
        (made,) = folder.iterdir()
        made.unlink()


def test_no_path_leads_out_of_an_allowed_folder(tmp_path):
    folder, other = tmp_path / "allowed", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (folder / "link").symlink_to(other)
    for path in (folder / "link" / "index", folder / ".." / "index"):
        with pytest.raises(PipelineError, match="not allowed"):
            Pipeline.deserialize(indexed(str(path)).serialize(), allow=folder)


def test_an_index_in_memory_needs_no_permission():
    run_and_close(Pipeline.deserialize(indexed("memory").serialize()), "index")


def test_an_operator_with_side_effects_calls_a_function_or_is_known_to_write_files():
    """A new one must be added to pipeline/_serialize/written_files.py."""
    others = {
        schema.name
        for schema in registry().values()
        if schema.side_effects and all(arg.type != "function" for arg in schema.args)
    }
    assert others == {"dump_image"}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("prefetch_queue_depth", 1 << 31),
        ("prefetch_queue_depth", {"cpu_size": 1 << 31, "gpu_size": 1}),
        ("py_num_workers", 1 << 31),
        ("num_threads", 1 << 31),
        ("batch_size", 1 << 31),
    ],
)
def test_sizes_have_limits(option, value):
    document = document_of(indexed("memory"))
    document["options"][option] = value
    with pytest.raises(ArgumentError, match=f"`{option}` is at most"):
        Pipeline.deserialize(json.dumps(document))


@pytest.mark.parametrize("option", ["prefetch_queue_depth", "bytes_per_sample_hint"])
def test_sizes_of_a_parallel_source_have_limits(option):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None, py_num_workers=1)
    def define():
        return fn.external_source(lambda i: i, parallel=True, **{option: 1 << 70})

    with pytest.raises(ArgumentError, match=f"`{option}` is at most"):
        define().build()


@pytest.mark.parametrize("argument", ["file_root", "files", "layout"])
def test_a_lone_surrogate_is_an_error_that_names_the_argument(argument):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define(text):
        if argument == "layout":
            return fn.reshape(fn.constant(idata=1), shape=[1], layout=text)
        return fn.readers.file(**{argument: [text] if argument == "files" else text})

    with pytest.raises(ArgumentError, match=f"argument `{argument}` takes a string"):
        define("\ud800").build()


def test_a_lone_surrogate_in_a_document_is_an_error_that_names_the_argument():
    document = document_of(indexed("memory"))
    document["nodes"][1]["arguments"]["jpeg_index"] = "\ud800"
    with pytest.raises(ArgumentError, match="`jpeg_index` takes a string without lone surrogates"):
        Pipeline.deserialize(json.dumps(document))
