# SPDX-License-Identifier: Apache-2.0
"""External sources in debug mode: ends of epochs, feeding, blocking."""

from __future__ import annotations

import threading

import pytest
import torch
from helpers.debug_mode import BATCH, debugged, images, some_images

from torchdali import errors, fn


def test_reset_starts_the_next_epoch_of_a_source():
    runs = []

    def definition():
        runs.append(None)
        return fn.external_source(source=lambda i: images(i) if i < 2 else end())

    def end():
        raise StopIteration

    pipe = debugged(definition)
    for _ in range(2):
        assert [len(pipe.run()[0]) for _ in range(2)] == [BATCH, BATCH]
        for _ in range(2):
            with pytest.raises(StopIteration):
                pipe.run()
        pipe.reset()
    assert len(runs) == 6


def test_fed_batches_are_copied_and_taken_in_order():
    def definition():
        return fn.copy(fn.external_source(name="x", layout="HWC"))

    pipe = debugged(definition)
    data = torch.stack(images())
    pipe.feed_input("x", data)
    data.zero_()  # it was copied
    pipe.feed_input("x", some_images(1, 1))
    assert torch.equal(pipe.run()[0].as_torch(), torch.stack(images()))
    (second,) = pipe.run()
    assert len(second) == 1
    assert second.layout() == "HWC"
    with pytest.raises(errors.PipelineError, match="`x` has no data"):
        pipe.run()
    (third,) = pipe.run(x=images(2))
    assert torch.equal(third.as_torch(), torch.stack(images(2)))
    with pytest.raises(ValueError, match="no external source `y`"):
        pipe.feed_input("y", images())


def test_a_run_without_data_takes_nothing_from_other_sources():
    def definition():
        return fn.external_source(name="x"), fn.external_source(name="y")

    pipe = debugged(definition, batch_size=1)
    for i in range(3):
        pipe.feed_input("x", torch.full((1,), i))
        with pytest.raises(errors.PipelineError, match="`y` has no data"):
            pipe.run()
        pipe.feed_input("y", torch.full((1,), i))
        assert [int(batch.as_torch()) for batch in pipe.run()] == [i, i]


def test_repeat_last_repeats_and_blocking_waits():
    def definition():
        last = fn.external_source(name="last", repeat_last=True)
        return last, fn.external_source(name="later", blocking=True)

    pipe = debugged(definition)
    pipe.feed_input("last", images())
    for i in range(2):
        timer = threading.Timer(0.05, pipe.feed_input, ("later", images(i)))
        timer.start()
        if i == 0:
            timer.join()
        last, later = pipe.run()
        timer.join()
        assert torch.equal(last.as_torch(), torch.stack(images()))
        assert torch.equal(later.as_torch(), torch.stack(images(i)))


def test_arguments_that_debug_mode_does_not_use_cause_a_warning():
    def definition():
        return fn.external_source(source=lambda i: images(i), parallel=True, prefetch_queue_depth=3)

    with pytest.warns(UserWarning, match="`parallel`, `prefetch_queue_depth`") as caught:
        batch = debugged(definition).run()[0]
    assert len(batch) == BATCH
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"layout": 3}, "`layout` takes a string"),
        ({"cuda_stream": "own"}, "expected a CUDA stream"),
        ({"use_copy_kernel": "yes"}, "`use_copy_kernel` takes True or False"),
    ],
)
def test_arguments_of_feed_input_are_checked_before_the_first_run(options, text):
    pipe = debugged(lambda: fn.external_source(name="x"))
    for _ in range(2):
        with pytest.raises(TypeError, match=f"feed_input: .*{text}"):
            pipe.feed_input("x", images(), **options)
        pipe.feed_input("x", images())
        pipe.run()


def test_several_outputs_are_fed_one_by_one():
    def definition():
        return fn.external_source(num_outputs=2, name="x")

    pipe = debugged(definition)
    for run in range(2):
        pipe.feed_input("x[1]", torch.full((BATCH,), 10 + run))
        pipe.feed_input("x[0]", torch.full((BATCH,), 20 + run))
        assert [int(batch.as_torch()[0]) for batch in pipe.run()] == [20 + run, 10 + run]


def test_a_program_with_checkpoints_runs_and_makes_none():
    with pytest.warns(UserWarning, match="debug mode makes no checkpoints"):
        pipe = debugged(lambda: fn.external_source(source=images), enable_checkpointing=True)
    assert len(pipe.run()[0]) == BATCH
    with pytest.raises(errors.UnsupportedError, match=r"checkpoint\(\) in debug mode"):
        pipe.checkpoint()


def test_memory_is_not_measured():
    with pytest.warns(UserWarning, match="`enable_memory_stats` has no effect"):
        pipe = debugged(lambda: fn.external_source(source=images), enable_memory_stats=True)
    pipe.run()
    assert pipe.executor_statistics() == {}
