# SPDX-License-Identifier: Apache-2.0
"""DataLoader with pipeline=: what operators get of a sample, and what travels beside them."""

from __future__ import annotations

import pathlib
from typing import Annotated

import numpy as np
import pytest
import torch
from helpers.both_loaders import same
from helpers.datasets import Point
from torch.utils.data import default_collate

from torchdali import DataLoader, fn
from torchdali.errors import ArgumentError, ArgumentTypeError, DataError, FileError
from torchdali.loader import File, Layout


def batches(samples, pipeline, **options):
    return list(DataLoader(samples, batch_size=2, pipeline=pipeline, **options))


VALUES = {
    "str": lambda i: f"a dog {i}",
    "int": lambda i: i,
    "float": lambda i: i / 2,
    "bool": lambda i: i % 2 == 0,
    "numpy": lambda i: np.float32(i),
    "mixed": lambda i: i if i % 2 == 0 else i / 2,
    "tensor": lambda i: torch.full((2, 3), i, dtype=torch.bfloat16),
    "array": lambda i: np.full((2, 3), i, np.int16),
    "scalar": lambda i: torch.tensor(i),
    "dict": lambda i: {"id": i, "text": [f"t{i}"], "inner": {"x": torch.tensor([i])}},
    "tuple": lambda i: (i, f"t{i}"),
    "list": lambda i: [i, i + 1],
    "point": lambda i: Point(i, torch.tensor(i)),
}


@pytest.mark.parametrize("kind", VALUES)
def test_fields_that_are_returned_untouched_are_as_default_collate_makes_them(kind, parallel):
    samples = [{"image": np.full((5, 6, 3), i, np.uint8), "it": VALUES[kind](i)} for i in range(5)]
    found = batches(samples, lambda image, it: (fn.flip(image), it), **parallel)
    for k, (_, it) in enumerate(found):
        same(it, default_collate([sample["it"] for sample in samples[2 * k : 2 * k + 2]]))


class Own:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    __hash__ = None


@pytest.mark.parametrize(
    "values",
    [
        (None, None),
        ("a", None),
        (3, None),
        (None, 3.5),
        (Own(1), Own(2)),
        ({1}, {2}),
        (b"ab", b"c"),
        (torch.zeros(2), None),
    ],
)
def test_none_and_objects_travel_as_a_list(values, parallel):
    samples = [(torch.zeros(5, 6, 3), value) for value in values]
    (found,) = batches(samples, lambda image, it: (fn.flip(image), it), **parallel)
    if isinstance(values[0], bytes):  # data for operators
        assert [bytes(one.numpy()) for one in found[1]] == list(values)
    elif isinstance(values[0], torch.Tensor):
        assert found[1][0].tolist() == [0, 0]
        assert found[1][1] is None
    else:
        assert found[1] == list(values)


def test_none_in_a_dict_travels():
    samples = [(torch.zeros(2), {"a": i, "b": None if i else 3}) for i in range(2)]
    (found,) = batches(samples, lambda x, it: (x + 1, it))
    assert found[1]["a"].tolist() == [0, 1]
    assert found[1]["b"] == [3, None]


def test_the_fields_of_each_batch_decide_how_they_travel():
    # The first batch has tensors in both fields, the second one None and other types.
    values = [torch.ones(2), torch.ones(2), None, "text"]
    found = batches([(torch.zeros(2), v) for v in values], lambda x, it: {"x": x + 1, "it": it})
    assert found[0]["it"].tolist() == [[1, 1], [1, 1]]
    assert found[1]["it"] == [None, "text"]
    assert found[1]["x"].tolist() == [[1, 1], [1, 1]]


def test_a_pipeline_may_return_nothing_but_untouched_fields(parallel):
    found = batches([("a", 1), ("b", 2), ("c", 3)], lambda text, n: (n, text), **parallel)
    assert [(n.tolist(), list(text)) for n, text in found] == [([1, 2], ["a", "b"]), ([3], ["c"])]


def test_operators_take_numbers_and_lists_of_numbers(parallel):
    samples = [(i, [i, 1.5], [[i, 1], [2, 3]]) for i in range(4)]
    found = batches(samples, lambda n, pair, rows: (n + 1, pair + n, rows * 2, n), **parallel)
    assert found[1][0].tolist() == [3, 4]
    assert found[1][1].tolist() == [[4, 3.5], [6, 4.5]]
    assert found[1][2].tolist() == [[[4, 2], [4, 6]], [[6, 2], [4, 6]]]
    assert found[1][3].tolist() == [2, 3]


def marked(file: Annotated[object, File()], caption):
    return file, caption


@pytest.mark.parametrize(
    ("pipeline", "options"),
    [
        (marked, {}),
        (lambda file, caption: (file, caption), {"fields": {0: File()}}),
        (lambda file, caption: (file, caption), {"fields": {"file": File()}}),
        (lambda file, caption: (file, caption), {"pipeline_options": {"fields": {0: File()}}}),
    ],
)
def test_only_paths_and_marked_strings_are_read(pipeline, options, parallel, tmp_path):
    for i in range(4):
        (tmp_path / str(i)).write_bytes(bytes(range(i + 1)))
    samples = [(str(tmp_path / str(i)), str(tmp_path / str(i))) for i in range(4)]
    found = batches(samples, pipeline, **options, **parallel)
    assert [len(file) for batch in found for file in batch[0]] == [1, 2, 3, 4]
    assert [text for batch in found for text in batch[1]] == [text for _, text in samples]
    paths = [(pathlib.Path(file), text) for file, text in samples]
    found = batches(paths, lambda file, text: (file, text), **parallel)
    assert [len(file) for batch in found for file in batch[0]] == [1, 2, 3, 4]


def test_files_of_hugging_face_datasets_are_read(parallel, tmp_path):
    (tmp_path / "1").write_bytes(b"abc")
    samples = [
        {"image": {"bytes": b"x", "path": None}, "other": {"bytes": b"x"}},
        {"image": {"bytes": None, "path": str(tmp_path / "1")}, "other": {"bytes": b"y"}},
    ]
    found = batches(samples, lambda image, other: (image, other), **parallel)
    assert [bytes(file.numpy()) for file in found[0][0]] == [b"x", b"abc"]
    assert found[0][1] == {"bytes": [b"x", b"y"]}


class Missing(torch.utils.data.Dataset):
    """Sample 1 is what a test says."""

    def __init__(self, other, good):
        self.other, self.good = other, good

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.other if index else self.good


@pytest.mark.parametrize(
    ("good", "other", "options", "error", "text"),
    [
        ({"f": b"1"}, {"f": pathlib.Path("/nowhere")}, {}, FileError, 'field `f`.*"/nowhere"'),
        ({"f": b"1"}, {"f": "text"}, {}, ArgumentTypeError, "field `f` is a str"),
        ({"f": b"1"}, {"f": None}, {}, ArgumentTypeError, "field `f` is a NoneType"),
        ({"f": 1}, {"f": "x"}, {}, ArgumentTypeError, "field `f` is a str"),
        (
            {"f": torch.zeros(2)},
            {"f": torch.zeros(2, dtype=torch.uint8)},
            {},
            ArgumentTypeError,
            "field `f`: samples of one batch have one type",
        ),
        ({"f": b"1"}, {"f": {1}}, {}, ArgumentTypeError, "field `f` is a set"),
        ({"f": b"1"}, {"f": 3}, {"fields": {"f": File()}}, ArgumentTypeError, "marked File"),
        ((b"1",), (object(),), {}, ArgumentTypeError, "field 0 is a object"),
        ({"f": b"1"}, {"g": b"1"}, {}, ArgumentError, "sample 1 has no field `f`"),
        ((b"1",), (b"1", b"2"), {}, ArgumentError, "sample 1 has 2 fields, sample 0 has 1"),
    ],
)
def test_errors_name_the_field_and_the_sample(good, other, options, error, text, parallel):
    loader = DataLoader(
        Missing(other, good), batch_size=2, pipeline=lambda f: fn.cast(f, dtype=fn_uint8()),
        **options, **parallel,
    )  # fmt: skip
    if "fields" in options:
        good["f"] = __file__
    with pytest.raises(error, match=text) as caught:
        next(iter(loader))
    assert "sample 1" in str(caught.value)


def fn_uint8():
    from torchdali import types

    return types.UINT8


def test_a_field_that_cannot_be_collated_is_an_error_if_it_is_returned():
    samples = [(torch.zeros(2), ["a"] * (i + 1)) for i in range(2)]
    with pytest.raises(DataError, match="field 1 cannot be collated.*equal size"):
        batches(samples, lambda x, it: (x + 1, it))
    assert len(batches(samples, lambda x, it: x + 1)) == 1


@pytest.mark.parametrize(
    ("sample", "pipeline", "text"),
    [
        ({"image": 1, "label": 2}, lambda image, lable: image, "`image`, `label`"),
        ({"image": 1}, lambda image, label: image, "missing a required argument: 'label'"),
        ((1, 2), lambda image: image, "2 fields"),
        ({1: 2}, lambda image: image, "strings"),
        ({"image": 1}, lambda image: None, "returns nothing"),
    ],
)
def test_a_pipeline_that_does_not_take_the_fields_is_an_error(sample, pipeline, text):
    with pytest.raises(ArgumentTypeError, match=text) as caught:
        batches([sample] * 2, pipeline)
    assert "test_pipeline_fields.py" in str(caught.value)


def test_marks_are_values():
    assert Layout("CHW") == Layout("CHW") != Layout("HWC")
    assert File() == File()
