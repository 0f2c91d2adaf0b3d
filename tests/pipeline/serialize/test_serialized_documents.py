# SPDX-License-Identifier: Apache-2.0
"""Serialized pipelines as documents: damaged and foreign ones are errors, values keep every bit."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.parts import parts_of
from helpers.serializing import branches, define, document_of, expressions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchdali import Pipeline, errors, fn
from torchdali.pipeline._serialize.document import Place, dump, encode, load


def with_changes(change):
    document = document_of(define())
    change(document)
    return json.dumps(document)


def test_a_document_with_inconsistent_branches_is_an_error():
    document = document_of(branches())
    nodes = document["nodes"]
    merges = [i for i, node in enumerate(nodes) if node["operator"] == "conditional.merge"]
    predicates = [i for i, node in enumerate(nodes) if node["operator"] == "conditional.predicate"]
    bell = next(i for i, node in enumerate(nodes) if node["name"] == "bell")
    for change in (
        put("nodes", merges[0], "inputs", 2, [bell, 0]),  # some samples do not have it
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
def test_damaged_expressions_raise_torchdali_errors_only(replacements, random):
    document = document_of(expressions())
    nodes = [node for node in document["nodes"] if node["operator"] == "arithmetic"]
    for steps in replacements:
        random.choice(nodes)["arguments"]["steps"] = steps
    with contextlib.suppress(errors.TorchdaliError):
        Pipeline.deserialize(json.dumps(document)).close()


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
        (put("nodes", 1, "color", 1), ValueError, "unknown entry 'color'"),
        (put("nodes", 1, "source", [0, 0]), ValueError, "does not go with the operator"),
        (put("nodes", 0, "source", None), ValueError, "does not go with the operator"),
        (put("nodes", 0, "source", [1, 0]), ValueError, "is no integer of 0 to 0"),
        (put("nodes", 1, "inputs", [[1, 0]]), ValueError, "is no integer of 0 to 0"),
        (put("nodes", 2, "inputs", [[0, 0], [1, 0]]), ValueError, "takes 1 input"),
        (put("nodes", 1, "outputs", 2), ValueError, "is not 1, which this version makes"),
        (put("nodes", 1, "seed", -1), ValueError, "seed is no integer"),
        (lambda d: d.update(outputs=[], sinks=[]), ValueError, "outputs is empty"),
        (put("outputs", [[9, 0]]), ValueError, r"outputs\[0\]\[0\] is no integer"),
        (put("options", "batch_size", 0), ValueError, "`batch_size` is at least 1"),
        (put("options", "num_threads", 10**9), ValueError, "`num_threads` is at most"),
        (put("options", "checkpoint", "x"), ValueError, "is no option"),
        (put("options", "exec_async", "yes"), ValueError, "neither true nor false"),
        (put("options", "stream_policy", "x"), ValueError, "is no StreamPolicy"),
    ],
)
def test_a_document_with_a_wrong_entry_is_an_error(change, cls, text):
    with pytest.raises(cls, match=text) as caught:
        Pipeline.deserialize(with_changes(change))
    assert isinstance(caught.value, errors.TorchdaliError)


@for_each(
    "data",
    [
        b"",
        b"x",
        b"\x08\x02\x10\x04*\x97\x01",  # the first bytes of a document of DALI
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
def test_other_data_is_an_error(data):
    with pytest.raises(errors.TorchdaliError, match="serialized pipeline"):
        Pipeline.deserialize(data)


def test_documents_of_dali_are_recognized():
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
def test_changed_documents_raise_torchdali_errors_only(changes):
    document = copy.deepcopy(DOCUMENT)
    for path, value in changes:
        try:
            put(*path, value)(document)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has removed it
    with contextlib.suppress(errors.TorchdaliError):
        Pipeline.deserialize(json.dumps(document)).close()


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_documents_raise_torchdali_errors_only(data):
    text = bytearray(json.dumps(DOCUMENT).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(errors.TorchdaliError):
        Pipeline.deserialize(bytes(text)).close()


def test_the_page_about_serialization_describes_every_entry():
    page = Path(__file__).parents[3] / "docs" / "design" / "serialization.md"
    text = page.read_text()
    entries = [DOCUMENT, DOCUMENT["nodes"][0], DOCUMENT["sources"][0]]
    missing = {key for entry in entries for key in entry if f'"{key}"' not in text}
    assert not missing


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
def test_values_of_arguments_keep_every_bit(value):
    text = dump({"value": encode(value)})
    assert text.isascii()
    read = load(text)["value"].value()
    assert identical(value, read)
    assert dump({"value": encode(read)}) == text


def test_a_file_name_that_is_not_utf8_is_restored(tmp_path):
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
def test_a_value_of_unknown_form_is_an_error(bad):
    with pytest.raises(ValueError, match="the document.a"):
        Place({"a": [bad]}, "the document.a")["a"].value()


def test_an_argument_of_another_type_is_an_error_that_names_it(monkeypatch):
    pipe = define()
    node = parts_of(pipe).definition.outputs[2].source
    monkeypatch.setitem(node.args, "mean", 1j)
    with pytest.raises(NotImplementedError, match=r"normal: argument `mean` .* is a complex"):
        pipe.serialize()
