# SPDX-License-Identifier: Apache-2.0
"""DALI's iterators over pipelines with on_error."""

from __future__ import annotations

import pytest
from helpers.bad_files import decoded, numbers_of, write_files

from torchdali.errors import DataError
from torchdali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

NAMES = ["image", "label", "noise"]
BAD = {1: "truncated", 2: "empty", 8: "missing", 18: "text"}


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path, 20, BAD)


def iterate(pipeline, policy=LastBatchPolicy.PARTIAL, **options):
    return DALIGenericIterator(
        pipeline, NAMES, reader_name="files", last_batch_policy=policy, auto_reset=True, **options
    )


def labels(iterator):
    found = []
    for (batch,) in iterator:
        numbers = batch["label"].flatten().tolist()
        assert numbers_of(batch["image"]) == numbers
        found.append(numbers)
    return found


def test_every_epoch_has_the_good_samples(paths):
    iterator = iterate(decoded(paths, on_error="skip"))
    good = [[0, *range(3, 8)], list(range(9, 16)), [16, 17, 19]]
    assert labels(iterator) == good
    assert [(e.batch, e.sample) for e in iterator.errors] == [(0, 1), (0, 2), (1, 0), (2, 2)]
    rest = sorted(number for batch in labels(iterator) for number in batch)
    assert rest == [i for i in range(20) if i not in BAD]


def test_replaced_samples_count_for_the_last_batch(paths):
    iterator = iterate(decoded(paths, on_error="replace"))
    assert labels(iterator)[-1] == [16, 17, 17, 19]
    assert iterator.error_count == 4


def test_errors_are_counted_by_epoch(paths):
    iterator = iterate(decoded(paths, on_error="skip", max_errors=4))
    for epoch in range(3):
        for _ in iterator:
            assert {e.epoch for e in iterator.errors} <= {epoch}
        assert iterator.error_count == 4


def test_a_batch_without_good_samples_is_passed_over(tmp_path):
    paths = write_files(tmp_path, 20, dict.fromkeys(range(8), "text"))
    assert labels(iterate(decoded(paths, on_error="skip"))) == [
        list(range(8, 16)),
        list(range(16, 20)),
    ]


def test_more_failures_than_allowed_end_one_batch(paths):
    iterator = iterate(decoded(paths, on_error="skip", max_errors=2))
    assert next(iterator)[0]["label"].flatten().tolist() == [0, *range(3, 8)]
    with pytest.raises(DataError, match="3 samples of this epoch"):
        next(iterator)


def test_a_resumed_iterator_counts_on(paths):
    def make(**options):
        return decoded(paths, on_error="skip", enable_checkpointing=True, seed=1, **options)

    whole = iterate(make())
    wanted = labels(whole)
    first = iterate(make())
    begin = [next(first)[0]["label"].flatten().tolist() for _ in range(2)]
    resumed = iterate(make(checkpoint=first.checkpoints()[0]))
    assert begin + labels(resumed) == wanted
    assert first.errors + resumed.errors == whole.errors
