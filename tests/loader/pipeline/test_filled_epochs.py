# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader(fill_batches=True): batches stay full where samples fail."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from helpers.bad_files import decoded, numbers_of, write_files
from helpers.both_loaders import flat, same
from helpers.interruptions import interrupted

from torchdali import PipelineLoader, fn, pipeline_def
from torchdali.errors import ArgumentError, DataError

BAD = {1: "truncated", 2: "empty", 8: "missing", 15: "text", **dict.fromkeys(range(16, 20), "text")}
GOOD = [i for i in range(22) if i not in BAD]
FAR = 1 << 20


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path, 22, BAD)


@pipeline_def(batch_size=4, num_threads=2, prefetch_queue_depth=2, enable_checkpointing=True)
def with_source(paths, size=4):
    """Files, and data of an external source beside them."""
    data, labels = fn.readers.file(files=paths, labels=list(range(len(paths))), name="files")
    return {
        "image": fn.decoders.image(data),
        "label": labels,
        "own": fn.external_source(source=lambda i: np.arange(size * i, size * i + size)[:, None]),
    }


@pipeline_def(batch_size=4, num_threads=2, prefetch_queue_depth=2, enable_checkpointing=True)
def only_source(paths):
    """An external source that ends; the size of its data is not known."""

    def files(iteration):
        names = paths[4 * iteration : 4 * iteration + 4]
        if not names:
            raise StopIteration
        numbers = range(4 * iteration, 4 * iteration + len(names))
        data = [
            np.zeros(1, np.uint8) if n in BAD else np.fromfile(paths[n], np.uint8) for n in numbers
        ]
        return data, [np.array([n]) for n in numbers]

    data, labels = fn.external_source(source=files, num_outputs=2)
    return {"image": fn.decoders.image(data), "label": labels}


KINDS = {
    "reader": (decoded, {"shuffle": True, "seed": 4, "batch_size": 4}),
    "source beside a reader": (with_source, {"shuffle": False}),
    "source": (only_source, {}),
}


def make(kind, paths, **options):
    define, own = KINDS[kind]
    return PipelineLoader(
        define, pipeline_args={"paths": paths, "seed": 2}, fill_batches=True,
        **{"on_error": "skip", **own, **options},
    )  # fmt: skip


def drops(kind):
    return [{}, {"drop_last": True}] if kind != "source" else [{}]


CASES = [(kind, options) for kind in KINDS for options in drops(kind)]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_batches_are_those_of_the_good_samples(paths, kind, options):
    loader = make(kind, paths, **options)
    plain = PipelineLoader(
        decoded, pipeline_args={"paths": paths}, on_error="skip", **KINDS[kind][1]
    )
    for epoch in range(2):
        order = GOOD if kind != "reader" else [n for b in plain for n in b["label"].tolist()]
        found = list(loader)
        sizes = [len(batch["label"]) for batch in found]
        assert sizes == [4, 4, 4] + [2] * (not options)
        assert flat(batch["label"].flatten().tolist() for batch in found) == order[: sum(sizes)]
        for batch in found:
            assert numbers_of(batch["image"]) == batch["label"].flatten().tolist()
            if "own" in batch:
                assert torch.equal(batch["own"], batch["label"])
        assert loader.error_count == len(BAD)
        assert {error.epoch for error in loader.errors} == {epoch}
        if kind != "source":
            assert len(loader) == 22 // 4 + (not options)


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_every_position_is_resumed_exactly(paths, kind, options):
    whole = make(kind, paths, **options)
    wanted, second = list(whole), list(whole)
    for batches in range(len(wanted) + 1):
        first = make(kind, paths, **options)
        list(itertools.islice(first, batches))
        state = first.state_dict()
        resumed = make(kind, paths, **options)
        resumed.load_state_dict(state)
        same(list(resumed), wanted[batches:])
        assert resumed.error_count == whole.error_count
        same(list(resumed), second)
        resumed.load_state_dict(state)  # in place
        assert resumed.state_dict() == state
        same(list(resumed), wanted[batches:])


def test_a_state_inside_a_batch_resumes_with_another_batch_size(paths):
    wanted = [n for batch in make("reader", paths) for n in batch["label"].tolist()]
    first = make("reader", paths)
    begin = flat(batch["label"].tolist() for batch in itertools.islice(first, 2))
    state = first.state_dict()
    assert state["rows"]
    for size in (1, 3, 16):
        resumed = make("reader", paths, batch_size=size)
        resumed.load_state_dict(state)
        batches = [batch["label"].tolist() for batch in resumed]
        assert begin + flat(batches) == wanted
        assert {len(batch) for batch in batches[:-1]} <= {size}
        assert resumed.error_count == len(BAD)
    plain = PipelineLoader(
        decoded, pipeline_args={"paths": paths}, on_error="skip", **KINDS["reader"][1]
    )
    plain.load_state_dict(state)
    with pytest.raises(ArgumentError, match="fill_batches=True"):
        next(iter(plain))


@pipeline_def(batch_size=4, num_threads=2)
def shapes(sequences):
    """Values of 1, 2, ... elements, some of which fail."""

    def one(value):
        if int(value[0]) in (1, 2, 6):
            raise ValueError("no such value")
        return value

    values = fn.external_source(source=lambda i: sequences[4 * i : 4 * i + 4] or stop())
    return {"values": fn.python_function(values, function=one), "same": values}


def stop():
    raise StopIteration


@pytest.mark.parametrize("form", ["list", "padded", "nested"])
def test_forms_of_ragged_outputs_are_those_of_a_full_batch(form):
    sequences = [np.full(1 + i % 5, i, np.float32) for i in range(11)]
    loader = PipelineLoader(
        shapes, pipeline_args={"sequences": sequences}, ragged=form, on_error="skip",
        fill_batches=True, mask="valid",
    )  # fmt: skip
    good = [torch.from_numpy(s) for i, s in enumerate(sequences) if i not in (1, 2, 6)]
    found = list(loader)
    assert [len(batch["valid"]) for batch in found] == [4, 4]
    for number, batch in enumerate(found):
        wanted = good[4 * number : 4 * number + 4]
        for name in ("values", "same"):
            output = batch[name]
            if form == "padded":
                assert output.data.shape[1] == max(len(sample) for sample in wanted)
                output = [row[: int(n)] for row, n in zip(output.data, output.lengths, strict=True)]
            assert all(map(torch.equal, output, wanted))
        assert batch["valid"].all()


def test_outputs_that_do_not_fit_together_are_an_error():
    values = [np.zeros(4, np.float32)] * 4 + [np.zeros(4, np.int32)] * 8

    @pipeline_def(batch_size=4, num_threads=1)
    def types():
        number = fn.external_source(source=lambda i: np.arange(4 * i, 4 * i + 4), batch=True)
        return fn.python_function(
            number, function=lambda n: values[int(n)] if int(n) != 2 else 1 / 0
        )

    batches = iter(PipelineLoader(types, size=12, on_error="skip", fill_batches=True))
    with pytest.raises(DataError, match="FLOAT of 1 dimensions and .*INT32 of 1"):
        next(batches)
    assert [batch.dtype for batch in batches] == [torch.int32, torch.int32]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["reader", "source beside a reader"])
def test_interruptions_lose_and_repeat_nothing(tmp_path, kind):
    paths = write_files(tmp_path, 1, {}) * 2 + [str(tmp_path / "missing")]
    define = {"reader": decoded, "source beside a reader": with_source}[kind]

    def endless():
        return PipelineLoader(
            define, pipeline_args={"paths": paths * 4000}, on_error="skip", fill_batches=True,
            batch_size=4, shuffle=False, max_errors=FAR,
        )  # fmt: skip

    good = (i for i in itertools.count() if i % 3 != 2)
    loader = endless()
    iterator = iter(loader)
    for number, (where, batch) in enumerate(interrupted(iterator.__next__, returns=False)):
        state = loader.state_dict()
        got = next(iterator) if batch is None else batch
        expected = list(itertools.islice(good, 4))
        assert got["label"].tolist() == expected, where
        if "own" in got:
            assert got["own"].tolist() == expected, where
        if number % 11 == 0 and batch is None:
            resumed = endless()
            resumed.load_state_dict(state)
            assert next(iter(resumed))["label"].tolist() == expected, where
            resumed.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "replace"}, "on_error='replace'"),
        ({"on_error": None}, "on_error='raise'"),
        ({"rank": 0, "world_size": 2, "shards": "exact"}, "2 ranks"),
        ({"pad_last": True}, "`pad_last` exclude each other"),
    ],
)
def test_what_cannot_be_filled_is_an_error(paths, options, message):
    with pytest.raises(ArgumentError, match=message):
        len(make("reader", paths, **options))


def test_several_pipelines_are_an_error(paths):
    with pytest.raises(ArgumentError, match="2 ranks"):
        PipelineLoader([decoded(paths)] * 2, on_error="skip", fill_batches=True)


def test_the_policy_of_the_pipeline_is_taken_over(paths):
    (batch, *_) = PipelineLoader([decoded(paths, on_error="skip")], fill_batches=True)
    assert [len(one["label"]) for one in batch] == [8]
