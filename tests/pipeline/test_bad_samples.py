# SPDX-License-Identifier: Apache-2.0
"""Pipelines with on_error: samples that fail are left out or replaced, in all outputs alike."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from helpers.bad_files import KINDS, decoded, numbers_of, write_files
from helpers.interruptions import interrupted

from torchdali import Pipeline, fn, pipeline_def
from torchdali.errors import ArgumentError, DataError, TorchdaliError, UnsupportedError

BAD = {1: "truncated", 2: "empty", 8: "missing", 15: "text"}


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path / "images", 24, BAD)


def batches(pipeline, count=3):
    """Returns the numbers that images show, and the labels, of each batch."""
    found = []
    for _ in range(count):
        images, labels, noise = pipeline.run()
        assert len(images) == len(labels) == len(noise)
        found.append((numbers_of(images.as_torch_list()), labels.as_torch().flatten().tolist()))
    return found


def good(numbers):
    return [number for number in numbers if number not in BAD]


@pytest.mark.parametrize("num_threads", [1, 4])
def test_skipped_samples_are_missing_in_all_outputs(paths, num_threads):
    pipeline = decoded(paths, on_error="skip", num_threads=num_threads)
    for first, (images, labels) in zip((0, 8, 16), batches(pipeline), strict=True):
        assert labels == images == good(range(first, first + 8))


@pytest.mark.parametrize("num_threads", [1, 4])
def test_replaced_samples_repeat_the_nearest_good_one(paths, num_threads):
    pipeline = decoded(paths, on_error="replace", num_threads=num_threads)
    wanted = [[0, 0, 0, *range(3, 8)], [9, 9, 10, 11, 12, 13, 14, 14], list(range(16, 24))]
    assert [labels for _, labels in batches(pipeline)] == wanted
    assert pipeline.error_count == 4


def test_replaced_images_are_those_of_their_labels(paths):
    for images, labels in batches(decoded(paths, on_error="replace")):
        assert images == labels


def test_random_values_of_good_samples_do_not_change(paths, tmp_path):
    good_files = write_files(tmp_path / "good", 24, {})
    wanted = [batch.as_torch() for _, _, batch in _runs(decoded(good_files, seed=3))]
    found = [batch.as_torch() for _, _, batch in _runs(decoded(paths, seed=3, on_error="skip"))]
    for first, (a, b) in zip((0, 8, 16), zip(wanted, found, strict=True), strict=True):
        rows = [i for i in range(8) if first + i not in BAD]
        assert torch.equal(a[rows], b)


def _runs(pipeline):
    return [pipeline.run() for _ in range(3)]


def test_records_name_sample_source_and_reason(paths):
    pipeline = decoded(paths, on_error="skip")
    batches(pipeline)
    errors = pipeline.errors
    assert [(e.epoch, e.batch, e.sample) for e in errors] == [
        (0, 0, 1),
        (0, 0, 2),
        (0, 1, 0),
        (0, 1, 7),
    ]
    assert [e.source for e in errors] == [paths[i] for i in BAD]
    assert [e.operator for e in errors] == [
        "fn.decoders.image",
        "fn.decoders.image",
        "fn.readers.file",
        "fn.decoders.image",
    ]
    assert [e.error for e in errors] == ["DataError", "DataError", "FileError", "DataError"]
    assert all(e.message for e in errors)


def test_only_batches_that_were_taken_are_listed(paths):
    pipeline = decoded(paths, on_error="skip", prefetch_queue_depth=3)
    batches(pipeline, 1)
    assert pipeline.error_count == 2


def test_records_do_not_depend_on_threads(paths):
    def records(num_threads):
        pipeline = decoded(paths, on_error="skip", num_threads=num_threads, prefetch_queue_depth=4)
        batches(pipeline, 9)
        return pipeline.errors

    assert records(1) == records(4)


def test_interrupted_calls_count_each_sample_once(paths):
    pipeline = decoded(paths, on_error="skip", max_errors=100_000)
    taken = 0
    for _, outputs in interrupted(pipeline.run):
        if outputs is None:
            pipeline.run()
        taken += 1
    bad = sum(number // 8 == batch % 3 for number in BAD for batch in range(taken))
    assert pipeline.error_count == len(pipeline.errors) == bad


def test_the_file_of_errors_has_one_record_a_line(paths, tmp_path):
    file = tmp_path / "errors.jsonl"
    pipeline = decoded(paths, on_error="skip", errors_file=file)
    batches(pipeline)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["source"] for line in lines] == [e.source for e in pipeline.errors]
    assert set(lines[0]) == {
        "epoch",
        "batch",
        "sample",
        "source",
        "operator",
        "error",
        "message",
    }


def test_by_default_the_iteration_fails_and_the_next_one_follows(paths):
    pipeline = decoded(paths)
    for first in (0, 8):
        with pytest.raises(TorchdaliError, match="sample"):
            pipeline.run()
        assert pipeline.errors == [], first
    assert batches(pipeline, 1)[0][1] == list(range(16, 24))


def test_more_failures_than_allowed_are_an_error_with_the_last_one_as_its_cause(paths):
    pipeline = decoded(paths, on_error="skip", max_errors=3)
    assert batches(pipeline, 1)[0][1] == good(range(8))
    with pytest.raises(DataError, match="4 samples of this epoch.*max_errors=3") as raised:
        pipeline.run()
    assert raised.value.__cause__.source == paths[15]
    assert batches(pipeline, 1)[0][1] == list(range(16, 24))


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_a_batch_without_good_samples_is_empty(tmp_path, on_error):
    paths = write_files(tmp_path, 16, dict.fromkeys(range(8), "text"))
    pipeline = decoded(paths, on_error=on_error)
    assert batches(pipeline, 2) == [([], []), (list(range(8, 16)), list(range(8, 16)))]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_bad_file_costs_one_sample(tmp_path, kind):
    pipeline = decoded(write_files(tmp_path, 8, {5: kind}), on_error="skip")
    assert batches(pipeline, 1)[0][1] == [0, 1, 2, 3, 4, 6, 7]


def test_a_resumed_pipeline_fails_for_the_same_samples(paths):
    def make(**options):
        return decoded(paths, True, on_error="skip", seed=5, enable_checkpointing=True, **options)

    whole = make()
    wanted = batches(whole, 6)
    first = make()
    batches(first, 2)
    resumed = make(checkpoint=first.checkpoint())
    assert batches(resumed, 4) == wanted[2:]
    assert first.errors + resumed.errors == whole.errors


def test_samples_in_a_later_stage_are_left_out_too(paths):
    seen = []

    def look(image):
        seen.append(numbers_of([image])[0])
        if seen[-1] == 5:
            raise ValueError("five")
        return image

    @pipeline_def(batch_size=8, num_threads=3, on_error="skip")
    def define():
        data, labels = fn.readers.file(files=paths, labels=list(range(24)))
        images = fn.python_function(fn.decoders.image(data), function=look)
        return fn.flip(images), labels, fn.random.uniform()

    pipeline = define()
    wanted = [[n for n in good(range(first, first + 8)) if n != 5] for first in (0, 8, 16)]
    assert [labels for _, labels in batches(pipeline)] == wanted
    assert [e.sample for e in pipeline.errors if e.error == "ValueError"] == [5]
    assert sorted(seen[: 24 - len(BAD)]) == good(range(24))  # once for each good sample


@pytest.mark.parametrize("workers", [None, "threads", "processes"])
def test_functions_that_raise_cost_their_sample(workers):
    def check(number):
        if number[0] % 5 == 3:
            raise ValueError(f"number {number[0]}")
        return number + 100

    @pipeline_def(
        batch_size=8, num_threads=2, on_error="skip", py_start_method="fork", py_num_workers=2
    )
    def define():
        numbers = fn.external_source(
            source=lambda i: np.arange(8 * i, 8 * i + 8, dtype=np.int32)[:, None]
        )
        return numbers, fn.python_function(numbers, function=check, workers=workers)

    pipeline = define()
    for first in (0, 8, 16):
        numbers, results = (batch.as_torch().flatten().tolist() for batch in pipeline.run())
        assert numbers == [n for n in range(first, first + 8) if n % 5 != 3]
        assert results == [n + 100 for n in numbers]
    assert [8 * e.batch + e.sample for e in pipeline.errors] == [3, 8, 13, 18, 23]
    assert {e.error for e in pipeline.errors} == {"ValueError"}
    pipeline.close()


def test_a_function_of_a_batch_that_raises_costs_the_batch():
    def check(numbers):
        if 9 in [int(number) for number in numbers]:
            raise ValueError("nine")
        return [number + 100 for number in numbers]

    @pipeline_def(batch_size=4, num_threads=2, on_error="skip")
    def define():
        numbers = fn.external_source(source=lambda i: np.arange(4 * i, 4 * i + 4, dtype=np.int32))
        return numbers, fn.python_function(numbers, function=check, batch_processing=True)

    pipeline = define()
    found = [pipeline.run()[1].as_torch().tolist() for _ in range(4)]
    assert found == [[100, 101, 102, 103], [104, 105, 106, 107], [], [112, 113, 114, 115]]
    assert pipeline.error_count == 4


def test_errors_of_a_batch_fail_the_iteration():
    @pipeline_def(batch_size=4, num_threads=2, on_error="skip")
    def define():
        numbers = fn.external_source(source=lambda i: np.arange(4, dtype=np.int32) + 4 * i)
        return fn.python_function(numbers, function=lambda n: n if n != 2 else n.astype(np.float32))

    pipeline = define()
    with pytest.raises(TorchdaliError, match="one type"):
        pipeline.run()
    assert pipeline.run()[0].as_torch().tolist() == [4, 5, 6, 7]


def test_data_of_the_user_is_returned_without_the_bad_samples(paths):
    @pipeline_def(batch_size=8, num_threads=2, on_error="replace")
    def define():
        def encoded(iteration):
            files = paths[8 * iteration : 8 * iteration + 8]
            return [np.fromfile(f, np.uint8) if f != paths[8] else empty for f in files]

        empty = np.zeros(0, np.uint8)

        data = fn.external_source(source=encoded)
        number = fn.external_source(source=lambda i: np.arange(8, dtype=np.uint16) + 8 * i)
        return fn.decoders.image(data), number, data

    pipeline = define()
    for _ in range(3):
        images, numbers, data = pipeline.run()
        assert numbers_of(images.as_torch_list()) == numbers.as_torch().tolist()
        assert len(data) == len(images)


def test_an_unknown_policy_is_an_error(paths):
    with pytest.raises(ArgumentError, match="`on_error` is \"?'?ignore"):
        decoded(paths, on_error="ignore")
    with pytest.raises(ArgumentError, match="max_errors"):
        decoded(paths, on_error="skip", max_errors=-1)


def test_debug_mode_refuses_the_option(paths):
    with pytest.raises(UnsupportedError, match="debug mode"):
        decoded(paths, on_error="skip", debug=True)


@pipeline_def(batch_size=8, num_threads=2)
def policies(paths, decoder, crop):
    """Decodes images, and crops them at a position that does not exist in number 3."""
    encoded, labels = fn.readers.file(files=paths, labels=list(range(len(paths))))
    images = fn.decoders.image(encoded, on_error=decoder)
    cropped = fn.crop(images, crop=(1, 1), crop_pos_x=9.0 * (labels == 3), on_error=crop)
    return cropped, labels


def test_operators_have_policies_of_their_own(paths):
    def labels(**options):
        pipeline = policies(paths, **options)
        restored = Pipeline.deserialize(pipeline.serialize())
        found = [p.run()[1].as_torch().flatten().tolist() for p in (pipeline, restored)]
        assert found[0] == found[1]
        return found[0]

    assert labels(decoder="skip", crop="skip") == [0, 4, 5, 6, 7]
    assert labels(decoder="skip", crop="replace") == [0, 0, 4, 5, 6, 7]
    assert labels(decoder=None, crop="skip", on_error="replace") == [0, 0, 0, 4, 5, 6, 7]
    for decoder, crop, on_error in [("skip", None, None), ("skip", "raise", "skip")]:
        with pytest.raises(TorchdaliError, match="fn.crop"):
            labels(decoder=decoder, crop=crop, on_error=on_error)


def test_operators_refuse_an_unknown_policy(paths):
    with pytest.raises(ArgumentError, match="`on_error` takes one of .*'ignore'"):
        policies(paths, "ignore", None)
    with pytest.raises(UnsupportedError, match="fn.decoders.image.*debug mode"):
        policies(paths, "skip", None, debug=True).run()
