# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader with on_error: which samples an epoch has, counts, states, ranks."""

from __future__ import annotations

import pytest
from helpers.bad_files import decoded, numbers_of, write_files

from torchdali import fn, pipeline_def
from torchdali.errors import ArgumentError, DataError
from torchdali.loop import PipelineLoader

BAD = {1: "truncated", 2: "empty", 8: "missing", 15: "text"}
GOOD = [i for i in range(22) if i not in BAD]


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path, 22, BAD)


def loader(paths, *, on_error="skip", **options):
    return PipelineLoader(
        decoded, pipeline_args={"paths": paths}, on_error=on_error, shuffle=True, seed=4, **options
    )


def labels(batches):
    return [batch["label"].tolist() for batch in batches]


def test_an_epoch_has_all_good_samples_in_pairs(paths):
    batches = loader(paths)
    for epoch in range(2):
        found = []
        for batch in batches:
            assert numbers_of(batch["image"]) == batch["label"].tolist()
            found += batch["label"].tolist()
        assert sorted(found) == GOOD
        assert batches.error_count == 4
        assert {error.epoch for error in batches.errors} == {epoch}
        assert sorted(error.source for error in batches.errors) == [paths[i] for i in BAD]


def test_replaced_samples_keep_batches_full(paths):
    assert [len(batch) for batch in labels(loader(paths, on_error="replace"))] == [8, 8, 6]


def test_the_mask_is_that_of_the_samples_that_are_left(tmp_path):
    paths = write_files(tmp_path, 11, {1: "text", 9: "text"})
    batches = PipelineLoader(
        decoded, pipeline_args={"paths": paths}, on_error="skip", mask=True, pad_last=True
    )
    labels, mask = [(batch["label"].tolist(), mask.tolist()) for batch, mask in batches][1]
    assert labels == [8, 10, 0, 2, 3, 4]  # the padding is the order from its beginning
    assert mask == [True, True, False, False, False, False]
    assert batches.error_count == 2  # padding that fails does not count


def test_a_batch_without_good_samples_is_passed_over(tmp_path):
    paths = write_files(tmp_path, 20, dict.fromkeys(range(8, 16), "text"))
    batches = PipelineLoader(decoded, pipeline_args={"paths": paths}, on_error="skip")
    assert labels(batches) == [list(range(8)), list(range(16, 20))]
    assert {error.batch for error in batches.errors} == {1}


def test_a_resumed_epoch_has_the_same_failures_and_counts(paths):
    whole = loader(paths)
    wanted = labels(whole)
    first = loader(paths)
    iterator = iter(first)
    begin = [next(iterator)["label"].tolist() for _ in range(2)]
    resumed = loader(paths)
    resumed.load_state_dict(first.state_dict())
    assert begin + labels(resumed) == wanted
    assert resumed.error_count == whole.error_count == 4
    assert first.errors + resumed.errors == whole.errors
    labels(resumed)
    assert resumed.error_count == 4  # of the next epoch


def test_errors_before_a_resumption_count_for_max_errors(paths):
    first = loader(paths, max_errors=3)
    iterator = iter(first)
    next(iterator)
    assert 0 < first.error_count < 4
    resumed = loader(paths, max_errors=3)
    resumed.load_state_dict(first.state_dict())
    with pytest.raises(DataError, match="4 samples of this epoch"):
        list(resumed)


def test_ranks_leave_out_what_one_process_leaves_out(paths):
    ranks = [loader(paths, rank=rank, world_size=2, shards="exact") for rank in range(2)]
    found = [number for rank in ranks for batch in labels(rank) for number in batch]
    assert sorted(found) == GOOD
    failed = sorted(error.source for rank in ranks for error in rank.errors)
    assert failed == [paths[i] for i in BAD]


def test_a_rank_without_a_batch_is_an_error(tmp_path):
    paths = write_files(tmp_path, 16, dict.fromkeys(range(0, 16, 2), "text"))
    batches = PipelineLoader(
        decoded, pipeline_args={"paths": paths}, on_error="skip", rank=0, world_size=2
    )
    with pytest.raises(DataError, match="fewer batches than others"):
        next(iter(batches))


def test_the_policy_of_the_pipeline_is_taken_over(paths, tmp_path):
    file = tmp_path / "errors.jsonl"
    pipeline = decoded(paths, on_error="skip", max_errors=3, errors_file=file)
    batches = PipelineLoader(pipeline)
    with pytest.raises(DataError, match="max_errors=3"):
        list(batches)
    assert len(file.read_text().splitlines()) == 4
    assert pipeline.errors == batches.errors


def test_two_policies_contradict_each_other(paths):
    batches = PipelineLoader(decoded(paths, on_error="skip"), on_error="replace")
    with pytest.raises(ArgumentError, match='"replace", and that of the pipeline is "skip"'):
        len(batches)


def test_data_of_external_sources_stays_paired(paths):
    @pipeline_def(batch_size=8, num_threads=2)
    def define():
        data, labels = fn.readers.file(files=paths, labels=list(range(22)), name="files")
        return {
            "image": fn.decoders.image(data),
            "label": labels,
            "own": fn.external_source(source=lambda i: [[8 * i + k] for k in range(8)]),
        }

    for batch in PipelineLoader(define, on_error="skip"):
        assert batch["own"].tolist() == batch["label"].tolist()
