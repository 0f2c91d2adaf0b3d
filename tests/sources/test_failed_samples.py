# SPDX-License-Identifier: Apache-2.0
"""External sources that raise for a sample, in pipelines with on_error."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pytest
import torch
from helpers.interruptions import interrupted

from torchdali import fn, pipeline_def
from torchdali.errors import DataError

BATCH = 4
# The first sample of a batch, several, the last one of a batch, all of a batch.
BAD = {4, 9, 10, 15, *range(20, 24)}


def number_of(info, bad):
    if info.idx_in_epoch in bad:
        raise KeyError(f"sample {info.idx_in_epoch}")
    return np.array([info.idx_in_epoch], np.int32)


def sample_of(info):
    return number_of(info, BAD)


@pytest.fixture
def files(tmp_path):
    """A list of files; the label of each is its number."""
    (tmp_path / "one").write_bytes(b"x")
    (tmp_path / "list").write_text("".join(f"one {n}\n" for n in range(4000)))
    return {"file_root": str(tmp_path), "file_list": str(tmp_path / "list")}


def make(files, source=sample_of, num_outputs=None, **options):
    options = {"on_error": "skip", "num_threads": 2, **options}

    @pipeline_def(batch_size=BATCH, device_id=None, **options)
    def define():
        own = fn.external_source(source, num_outputs, batch=False)
        outputs = [own] if num_outputs is None else own
        _, label = fn.readers.file(**files)
        batches = fn.external_source(lambda i: np.arange(BATCH * i, BATCH * i + BATCH)[:, None])
        return *outputs, outputs[0] + 0, label, batches

    return define()


def run(pipeline):
    """Returns the numbers of a batch, which all outputs have."""
    first, *others = (batch.as_torch().flatten().tolist() for batch in pipeline.run())
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("num_threads", [1, 4])
def test_skip_leaves_the_sample_out_of_all_outputs(files, num_threads):
    pipeline = make(files, num_threads=num_threads)
    assert [run(pipeline) for _ in range(7)] == [
        [n for n in range(first, first + BATCH) if n not in BAD] for first in range(0, 28, BATCH)
    ]


@pytest.mark.parametrize("num_threads", [1, 4])
def test_replace_repeats_the_nearest_good_sample_in_all_outputs(files, num_threads):
    pipeline = make(files, num_threads=num_threads, on_error="replace")
    assert [run(pipeline) for _ in range(7)] == [
        [0, 1, 2, 3],
        [5, 5, 6, 7],
        [8, 8, 8, 11],
        [12, 13, 14, 14],
        [16, 17, 18, 19],
        [],
        [24, 25, 26, 27],
    ]


def test_records_name_the_sample_the_source_and_the_reason(files):
    pipeline = make(files)
    for _ in range(7):
        run(pipeline)
    assert [(e.batch, e.sample) for e in pipeline.errors] == [divmod(n, BATCH) for n in sorted(BAD)]
    for error, number in zip(pipeline.errors, sorted(BAD), strict=True):
        assert (error.operator, error.error) == ("fn.external_source", "KeyError")
        assert f"the source raised KeyError: 'sample {number}' at " in error.message
        assert "test_failed_samples.py" in error.message


def test_max_errors_limits_them(files):
    pipeline = make(files, max_errors=2)
    assert [run(pipeline) for _ in range(2)] == [[0, 1, 2, 3], [5, 6, 7]]
    with pytest.raises(DataError, match="3 samples of this epoch have failed"):
        run(pipeline)
    pipeline = make(files, max_errors=len(BAD))
    for _ in range(7):
        run(pipeline)


def test_a_first_batch_without_good_samples_is_empty(files):
    pipeline = make(files, lambda info: number_of(info, range(BATCH)))
    assert [run(pipeline) for _ in range(2)] == [[], [4, 5, 6, 7]]


def test_all_outputs_of_a_source_lose_the_sample(files):
    pipeline = make(files, lambda info: (number_of(info, ()), sample_of(info)), num_outputs=2)
    assert [run(pipeline) for _ in range(3)] == [[0, 1, 2, 3], [5, 6, 7], [8, 11]]
    assert pipeline.error_count == 3


def test_two_sources_that_fail_for_a_sample_count_once():
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, on_error="skip")
    def define():
        others = fn.external_source(lambda info: number_of(info, {4, 5}), batch=False)
        return fn.external_source(sample_of, batch=False), others

    pipeline = define()
    assert [run(pipeline) for _ in range(2)] == [[0, 1, 2, 3], [6, 7]]
    assert pipeline.error_count == 2


def test_a_callable_without_an_index_is_called_once_for_each_sample(files):
    numbers = itertools.count()

    def source():
        number = next(numbers)
        if number in BAD:
            raise OSError(f"sample {number}")
        return torch.tensor([number])

    pipeline = make(files, source)
    assert [run(pipeline) for _ in range(3)] == [[0, 1, 2, 3], [5, 6, 7], [8, 11]]


def test_stop_iteration_ends_the_data(files):
    def source(info):
        if info.idx_in_epoch == 6:
            raise StopIteration
        return sample_of(info)

    pipeline = make(files, source)
    assert run(pipeline) == [0, 1, 2, 3]
    with pytest.raises(StopIteration):
        pipeline.run()
    assert pipeline.error_count == 0


def test_without_on_error_it_fails_the_iteration(files):
    pipeline = make(files, on_error="raise")
    assert run(pipeline) == [0, 1, 2, 3]
    with pytest.raises(KeyError, match="sample 4"):
        pipeline.run()
    with pytest.raises(KeyError, match="sample 9"):
        pipeline.run()


def test_a_pipeline_that_is_dropped_with_failed_samples_in_flight_is_freed(files):
    pipeline = make(files)
    run(pipeline)
    dropped = weakref.ref(pipeline)
    gc.disable()
    try:
        del pipeline
        assert dropped() is None
    finally:
        gc.enable()


def test_the_last_error_has_its_traceback_as_text(files):
    pipeline = make(files, max_errors=0)
    run(pipeline)
    with pytest.raises(DataError) as caught:
        pipeline.run()
    raised = caught.value.__cause__.__cause__
    assert isinstance(raised, KeyError)
    assert 'raise KeyError(f"sample {info.idx_in_epoch}")' in str(raised.__cause__)


def test_interruptions_neither_lose_samples_nor_count_them_twice(files):
    bad = range(2, 4000, 3)
    pipeline = make(files, lambda info: number_of(info, bad), max_errors=4000)
    run(pipeline)
    taken = 1
    for where, outputs in interrupted(pipeline.run):
        first = taken * BATCH
        own = pipeline.run() if outputs is None else outputs
        found = [batch.as_torch().flatten().tolist() for batch in own]
        assert found == 4 * [[n for n in range(first, first + BATCH) if n not in bad]], where
        taken += 1
    assert pipeline.error_count == sum(n in bad for n in range(taken * BATCH))


def test_an_interrupt_in_the_callable_is_no_failure_of_the_sample(files):
    interrupts = [6]

    def source(info):
        if info.idx_in_epoch in interrupts:
            interrupts.clear()
            raise KeyboardInterrupt
        return sample_of(info)

    pipeline = make(files, source, prefetch_queue_depth=1)
    assert run(pipeline) == [0, 1, 2, 3]
    with pytest.raises(KeyboardInterrupt):
        pipeline.run()
    assert [run(pipeline) for _ in range(2)] == [[5, 6, 7], [8, 11]]
    assert pipeline.error_count == 3
