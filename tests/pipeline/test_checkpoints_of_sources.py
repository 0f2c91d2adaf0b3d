# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of pipelines with external sources: where a source continues, and what it needs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from helpers.parts import parts_of

from torchdali import Pipeline, errors, fn
from torchdali.pickling import pickle_by_value
from torchdali.pipeline._checkpoint_format import Checkpoint

pytestmark = pytest.mark.slow


def from_source(source, checkpoint=None, depth=2, **args):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(?s).*items are skipped")
        warnings.filterwarnings("ignore", "(?s).*how many items a `source`")
        pipe = Pipeline(
            3,
            2,
            prefetch_queue_depth=depth,
            enable_checkpointing=True,
            checkpoint=checkpoint,
        )
        with pipe:
            pipe.set_outputs(fn.external_source(source, **args), fn.random.uniform())
        pipe.build()
    return pipe


def events(pipe, count):
    """Returns the batches of some runs; "end" marks an end, after which the pipeline is reset."""
    seen = []
    for _ in range(count):
        try:
            seen.append([out.as_array().tolist() for out in pipe.run()])
        except StopIteration:
            seen.append("end")
            pipe.reset()
    return seen


# Stored by value, so that worker processes need not import this module, and torch with it.
@pickle_by_value
def by_index(index):
    if index == 4:
        raise StopIteration
    return np.full((3, 1), index)


def by_batch_info(info):
    if info.iteration == 5:
        raise StopIteration
    return np.array([[info.iteration, info.epoch_idx]] * 3)


@pickle_by_value
def by_sample_info(info):
    if info.iteration == 3:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx])


class Dataset:
    """Counts, and has a state."""

    def __init__(self, length=7):
        self.length, self.at, self.loaded = length, 0, 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]
        self.loaded += 1


class IterableDataset(Dataset):
    def __iter__(self):
        while self.at < self.length:
            self.at += 1
            yield np.full((3, 1), self.at)
        self.at = 0


class CallableDataset(Dataset):
    def __call__(self):
        if self.at % self.length == self.length - 1:
            self.at += 1
            raise StopIteration
        self.at += 1
        return np.full((3, 1), self.at)


SOURCES = {
    "index": (lambda: by_index, {}),
    "batch info": (lambda: by_batch_info, {"batch_info": True}),
    "sample info": (lambda: by_sample_info, {"batch": False}),
    "several outputs": (lambda: lambda i: (by_index(i),), {"num_outputs": 1}),
    "callable with state": (CallableDataset, {}),
    "iterable with state": (IterableDataset, {"cycle": "raise"}),
    "endless iterable with state": (IterableDataset, {"cycle": "quiet"}),
    # A resumed pipeline skips the items of these, with a warning.
    "iterable": (lambda: [np.full((3, 1), i) for i in range(6)], {"cycle": "raise"}),
    "endless iterable": (lambda: [np.full((3, 1), i) for i in range(6)], {"cycle": "quiet"}),
    "finite iterable": (lambda: [np.full((3, 1), i) for i in range(6)], {"cycle": "no"}),
    "generator": (lambda: (np.full((3, 1), i) for i in range(6)), {}),
    "iterable of samples": (lambda: [np.full(2, i) for i in range(17)], {"batch": False}),
    "parallel samples": (lambda: by_sample_info, {"batch": False, "parallel": True}),
    "parallel batches": (lambda: by_index, {"parallel": True, "prefetch_queue_depth": 3}),
    "parallel iterable": (
        lambda: [np.full((3, 1), i) for i in range(6)],
        {"cycle": "raise", "parallel": True, "prefetch_queue_depth": 2},
    ),
}
POINTS = 13


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_continues_at_any_point_of_its_epochs(name, depth):
    make_source, args = SOURCES[name]

    def outputs(source, checkpoint=None):
        if args.get("num_outputs"):
            pipe = Pipeline(3, 2, enable_checkpointing=True, checkpoint=checkpoint)
            with pipe:
                pipe.set_outputs(*fn.external_source(source, **args), fn.random.uniform())
            return pipe
        return from_source(source, checkpoint, depth, **args)

    pipe, checkpoints, seen = outputs(make_source()), [], []
    for _ in range(POINTS):
        checkpoints.append(pipe.checkpoint())
        seen += events(pipe, 1)
    seen += events(pipe, 14)
    pipe.close()
    for taken, checkpoint in enumerate(checkpoints):
        resumed = outputs(make_source(), checkpoint)
        assert resumed.checkpoint() == checkpoint
        assert events(resumed, 14) == seen[taken : taken + 14], f"after {taken} batches"
        resumed.close()


def test_a_checkpoint_holds_a_reset_that_came_before_the_end():
    """A deep queue can reach the end of the source while earlier batches are still in it."""
    pipe = from_source(by_index, depth=4)
    pipe.run()
    pipe.run()  # has asked for all four batches and seen the end
    pipe.reset()
    expected = [[2, 3, 0], [3, 0, 1], [0, 1, 2], [1, 2, 3], [2, 3, "end"]]
    while expected:
        again = from_source(by_index, pipe.checkpoint())
        seen = events(again, 7)
        assert seen[:1] == events(pipe, 1)
        assert [one if one == "end" else one[0][0][0] for one in seen[:3]] == expected.pop(0)


def test_a_resumed_pipeline_does_not_ask_for_an_end_it_has_seen():
    asked = []

    def source(index):
        asked.append(index)
        return by_index(index)

    pipe = from_source(source)
    assert events(pipe, 4)[-1] != "end"
    with pytest.raises(StopIteration):
        pipe.run()
    checkpoint, asked[:] = pipe.checkpoint(), []
    again = from_source(source, checkpoint)
    with pytest.raises(StopIteration):
        again.run()
    assert asked == []
    again.reset()
    assert again.run()[0].as_array()[0, 0] == 0


def test_the_state_of_a_source_belongs_to_the_last_batch_taken():
    pipe = from_source(IterableDataset(100), depth=5)
    pipe.run()
    state = Checkpoint.decode(pipe.checkpoint()).inputs
    assert state == [{"iteration": 1, "epoch": 0, "source": {"at": 1}}]
    assert len(parts_of(pipe).run.positions) <= 7
    for _ in range(50):
        pipe.run()
    assert len(parts_of(pipe).run.positions) <= 7


def test_a_source_without_a_position_is_warned_about():
    def source():
        return np.zeros((3, 1))

    text = "a callable without parameters"

    def build(**options):
        pipe = Pipeline(3, 1, **options)
        with pipe:
            pipe.set_outputs(fn.external_source(source))
        pipe.build()
        return pipe

    with pytest.warns(UserWarning, match=text) as caught:
        pipe = build(enable_checkpointing=True)
    assert caught[0].filename == __file__
    pipe.run()
    with pytest.warns(UserWarning, match=text):
        build(enable_checkpointing=True, checkpoint=pipe.checkpoint()).run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build().run()


@pytest.mark.parametrize("parallel", [False, True])
def test_an_iterable_is_warned_about_where_checkpoints_are_possible(parallel):
    def build(source, **options):
        pipe = Pipeline(3, 1, py_start_method="fork", **options)
        with pipe:
            pipe.set_outputs(fn.external_source(source, parallel=parallel))
        pipe.build()
        pipe.close()

    items = [np.zeros((3, 1))]
    with pytest.warns(UserWarning, match="how many items a `source` without state_dict") as caught:
        build(items, enable_checkpointing=True)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(items)
        build(lambda index: items[index % 1], enable_checkpointing=True)


def test_a_resumed_iterable_skips_items_with_a_warning():
    def build(length, **options):
        pipe = Pipeline(3, 1, enable_checkpointing=True, **options)
        with pipe:
            pipe.set_outputs(fn.external_source([np.zeros((3, 1))] * length))
        pipe.build()
        return pipe

    pipe = build(9)
    for _ in range(4):
        pipe.run()
    checkpoint = pipe.checkpoint()
    with pytest.warns(UserWarning, match="first 4 items are skipped") as caught:
        build(9, checkpoint=checkpoint)
    assert caught[0].filename == __file__
    with pytest.raises(errors.ArgumentError, match="fewer items"), pytest.warns(match="skipped"):
        build(3, checkpoint=checkpoint)


def test_a_state_that_is_not_json_is_an_error():
    class Odd(CallableDataset):
        def state_dict(self):
            return {"at": torch.zeros(3)}

    with pytest.raises(errors.ArgumentTypeError, match=r"state_dict\(\) returns: .*Tensor"):
        from_source(Odd())


def test_a_source_must_keep_or_lack_its_state():
    checkpoint = from_source(CallableDataset()).checkpoint()
    with pytest.raises(errors.ArgumentError, match="which has no load_state_dict"):
        from_source(by_index, checkpoint)
    checkpoint = from_source(by_index).checkpoint()
    with pytest.raises(errors.ArgumentError, match=r"no state of the source, which has"):
        from_source(CallableDataset(), checkpoint)


def test_a_resumed_pipeline_takes_the_next_fed_batch():
    def make(checkpoint=None):
        pipe = Pipeline(4, 2, seed=1, enable_checkpointing=True, checkpoint=checkpoint)
        with pipe:
            pipe.set_outputs(fn.external_source(name="x"), fn.random.uniform())
        return pipe

    def run(pipe, sizes):
        result = []
        for size in sizes:
            pipe.feed_input("x", np.arange(size))
            result.append([out.as_array().tolist() for out in pipe.run()])
        return result

    whole = run(make(), [4, 2, 1, 3, 4])
    pipe = make()
    assert run(pipe, [4, 2]) == whole[:2]
    pipe.feed_input("x", np.arange(1))  # not taken
    assert run(make(pipe.checkpoint()), [1, 3, 4]) == whole[2:]
