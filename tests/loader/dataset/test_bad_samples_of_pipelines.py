# SPDX-License-Identifier: Apache-2.0
"""DataLoader(pipeline=, on_error=): samples that fail in the dataset or in the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from helpers.bad_files import numbers_of, write_files

from torchdali import DataLoader, fn
from torchdali.errors import ArgumentError, DataError, TorchdaliError

BAD = {1: "truncated", 2: "empty", 9: "text", 15: "text"}


class Files(torch.utils.data.Dataset):
    """Encoded images and their numbers; `fails`: indices that cannot be read."""

    def __init__(self, paths, fails=()):
        self.paths, self.fails = paths, fails

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if index in self.fails:
            raise OSError(f"no {index}")
        return {"data": Path(self.paths[index]).read_bytes(), "label": index}


def images(data, label):
    return {"image": fn.decoders.image(data), "label": label}


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path, 20, BAD)


def make(dataset, on_error="skip", **options):
    return DataLoader(
        dataset, batch_size=8, on_error=on_error, pipeline=images,
        pipeline_options={"num_threads": 2}, **options,
    )  # fmt: skip


def labels(batches):
    found = []
    for batch in batches:
        numbers = batch["label"].flatten().tolist()
        assert numbers_of(batch["image"]) == numbers
        found.append(numbers)
    return found


@pytest.mark.filterwarnings("ignore:a sample of")
def test_samples_that_cannot_be_decoded_are_left_out(paths, parallel):
    loader = make(Files(paths, fails={4, 17}), **parallel)
    for epoch in range(2):
        assert labels(loader) == [[0, 3, 5, 6, 7], [8, 10, 11, 12, 13, 14], [16, 18, 19]]
        assert loader.error_count == 6
        assert {error.epoch for error in loader.errors} == {epoch}
    found = sorted((e.batch, e.source, e.operator) for e in loader.errors)
    decoder = "fn.decoders.image"
    assert found == sorted(
        [
            (0, "index 4", None),
            (2, "index 17", None),
            *((i // 8, f"index {i}", decoder) for i in BAD),
        ],
        key=lambda record: record[:2],
    )


@pytest.mark.filterwarnings("ignore:a sample of")
def test_samples_that_cannot_be_decoded_are_replaced(paths):
    loader = make(Files(paths, fails={4}), "replace")
    assert labels(loader) == [
        [0, 0, 0, 3, 3, 5, 6, 7],
        [8, 8, *range(10, 15), 14],
        [*range(16, 20)],
    ]
    assert loader.error_count == 5


def test_the_first_failure_in_the_engine_is_a_warning(paths):
    with pytest.warns(UserWarning, match="index 1: DataError"):
        labels(make(Files(paths)))


def test_by_default_a_batch_fails_and_the_next_one_follows(paths):
    iterator = iter(make(Files(paths), "raise"))
    for _ in range(2):
        with pytest.raises(TorchdaliError, match="sample"):
            next(iterator)
    assert next(iterator)["label"].flatten().tolist() == [16, 17, 18, 19]


@pytest.mark.filterwarnings("ignore:a sample of")
def test_failures_of_dataset_and_engine_share_the_limit(paths, tmp_path):
    file = tmp_path / "errors.jsonl"
    loader = make(Files(paths, fails={4, 17}), max_errors=5, errors_file=file)
    with pytest.raises(DataError, match="6 samples of this epoch"):
        labels(loader)
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 6
    assert len(labels(make(Files(paths, fails={4, 17}), max_errors=6))) == 3


@pytest.mark.filterwarnings("ignore:a sample of")
def test_a_batch_without_good_samples_is_passed_over(tmp_path):
    paths = write_files(tmp_path, 20, dict.fromkeys(range(8, 16), "text"))
    loader = make(Files(paths))
    assert labels(loader) == [list(range(8)), list(range(16, 20))]
    assert {error.batch for error in loader.errors} == {1}


@pytest.mark.filterwarnings("ignore:a sample of")
def test_a_resumed_loader_has_the_same_failures(paths, parallel):
    whole = make(Files(paths, fails={4, 17}), **parallel)
    wanted = labels(whole)
    first = make(Files(paths, fails={4, 17}), **parallel)
    begin = next(iter(first))["label"].flatten().tolist()
    resumed = make(Files(paths, fails={4, 17}), **parallel)
    resumed.load_state_dict(first.state_dict())
    assert [begin, *labels(resumed)] == wanted
    assert resumed.error_count == whole.error_count
    assert first.errors + resumed.errors == whole.errors


class Counted(Files):
    """The same, with the number of the sample among those that this copy has read."""

    read = 0

    def __getitem__(self, index):
        self.read += 1
        return {**super().__getitem__(index), "read": self.read}

    def state_dict(self):
        return {"read": self.read}

    def load_state_dict(self, state):
        self.read = state["read"]


def counted(data, label, read):
    return {**images(data, label), "read": read}


@pytest.mark.filterwarnings("ignore:a sample of")
@pytest.mark.parametrize("steps", [1, 5])
def test_batches_that_are_read_again_fail_again_and_count_once(tmp_path, parallel, steps):
    bad = {**BAD, **dict.fromkeys(range(4, 8), "text")}  # no good sample in one batch
    files = write_files(tmp_path, 20, bad)

    def loader():
        return DataLoader(
            Counted(files, fails={12, 17}), 2, on_error="skip", pipeline=counted,
            snapshot_every_n_steps=steps, **parallel,
        )  # fmt: skip

    def rest(batches):
        return [(b["label"].flatten().tolist(), b["read"].flatten().tolist()) for b in batches]

    whole = loader()
    wanted = rest(whole)
    for batches in range(1, len(wanted) + 1):
        first = loader()
        iterator = iter(first)
        for _ in range(batches):
            next(iterator)
        resumed = loader()
        resumed.load_state_dict(first.state_dict())
        assert rest(resumed) == wanted[batches:]
        assert first.errors + resumed.errors == whole.errors
        assert resumed.error_count == whole.error_count


@pytest.mark.filterwarnings("ignore:a sample of")
def test_failures_after_a_resume_between_epochs_have_the_next_epoch(paths):
    first, resumed = make(Files(paths)), make(Files(paths))
    for state in (first.state_dict(), None):
        resumed.load_state_dict(state or first.state_dict())
        labels(first)
        labels(resumed)
        assert resumed.errors == first.errors


def test_the_policy_is_an_argument_of_the_loader(paths):
    with pytest.raises(ArgumentError, match="pass it to the DataLoader"):
        DataLoader(Files(paths), 8, pipeline=images, pipeline_options={"on_error": "replace"})


class Paths(Files):
    """The same, with paths instead of bytes, and a name that travels beside the engine."""

    def __getitem__(self, index):
        return {
            "data": Path(self.paths[index]),
            "label": index,
            "name": f"image {index}",
            "size": {"of": index},
        }


def beside(data, label, name, size):
    return {"image": fn.decoders.image(data), "label": label, "name": name, "size": size}


@pytest.mark.filterwarnings("ignore:a sample of")
@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_fields_beside_the_engine_stay_paired(tmp_path, parallel, on_error):
    paths = write_files(tmp_path, 20, {**BAD, 3: "missing", 17: "missing", 8: "missing"})
    loader = DataLoader(
        Paths(paths), 8, on_error=on_error, pipeline=beside,
        pipeline_options={"num_threads": 2}, **parallel,
    )  # fmt: skip
    found = []
    for batch in loader:
        numbers = numbers_of(batch["image"])
        assert batch["label"].flatten().tolist() == numbers
        assert batch["name"] == [f"image {number}" for number in numbers]
        assert batch["size"]["of"].tolist() == numbers
        found.append(numbers)
    if on_error == "skip":
        assert found == [[0, 4, 5, 6, 7], [10, 11, 12, 13, 14], [16, 18, 19]]
    else:
        assert [len(batch) for batch in found] == [8, 8, 4]
    # A sample that replaces another one and fails in the engine is listed twice.
    assert len({error.source for error in loader.errors}) == 7
    missing = sorted(error.source for error in loader.errors if error.error == "FileError")
    assert missing == [paths[3], paths[8], paths[17]]


def test_an_operator_may_leave_out_samples(paths):
    def only_images(data, label):
        return fn.decoders.image(data, on_error="skip")

    loader = DataLoader(Files(paths), batch_size=8, pipeline=only_images)
    with pytest.warns(UserWarning, match=r"left out or replaced \(`on_error` of the operator\)"):
        assert [len(batch) for batch in loader] == [6, 6, 4]
    assert loader.error_count == len(BAD)

    def labeled(data, label):
        return fn.decoders.image(data, on_error="skip"), label

    with pytest.raises(ArgumentError, match="field `label` travels.*\n.*on_error="):
        next(iter(DataLoader(Files(paths), batch_size=8, pipeline=labeled)))
    loader = DataLoader(Files(paths), batch_size=8, pipeline=labeled, on_error="skip")
    with pytest.warns(UserWarning, match="left out"):
        assert next(iter(loader))[1].tolist() == [0, 3, 4, 5, 6, 7]
