# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of iterators: a resumed iterator has the same batches and ends of epochs."""

import re
import warnings

import numpy as np
import pytest
from helpers.cases import for_each
from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchdali import Pipeline, errors, fn
from torchdali.plugin.pytorch import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
)

MOST_FILES = 19
END = "end"


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i in range(MOST_FILES):
        (folder / f"{i}.bin").write_bytes(bytes([i]) * 2)
    return [str(folder / f"{i}.bin") for i in range(MOST_FILES)]


def make_pipelines(paths, case, checkpoints=None, depth=2, enabled=True):
    pipes = []
    for i in range(case["pipelines"]):
        pipe = Pipeline(
            case["batch"],
            2,
            prefetch_queue_depth=depth,
            enable_checkpointing=enabled,
            checkpoint=checkpoints[i] if checkpoints else None,
        )
        with pipe:
            label = fn.readers.file(
                files=paths[: case["files"]],
                name="reader",
                num_shards=case["shards"],
                shard_id=case["shard"] + i,
                random_shuffle=case["shuffle"],
                pad_last_batch=case["pad"],
                stick_to_shard=case["stick"],
            )[1]
            pipe.set_outputs(label, fn.random.uniform())
        pipes.append(pipe)
    return pipes


def iterate_over(pipes, case, **changes):
    options = {
        "auto_reset": case["auto_reset"],
        "last_batch_policy": case["policy"],
        "prepare_first_batch": case["prepare"],
        **changes,
    }
    if case["by_size"]:
        options |= {"size": case["files"], "last_batch_padded": case["pad"]}
    else:
        options["reader_name"] = "reader"
    return DALIGenericIterator(pipes, ["label", "drawn"], **options)


def events(iterator, count):
    """Returns the results of calls of next(): batches, or END, after which the epoch is reset."""
    seen = []
    for _ in range(count):
        try:
            batch = next(iterator)
            seen.append([{name: t.tolist() for name, t in part.items()} for part in batch])
        except StopIteration:
            seen.append(END)
            if not iterator._auto_reset:
                iterator.reset()
    return seen


@st.composite
def cases(draw):
    pipelines = draw(st.integers(1, 2))
    shards = pipelines + draw(st.integers(0, 2))
    return {
        "pipelines": pipelines,
        "shards": shards,
        "shard": draw(st.integers(0, shards - pipelines)),
        "files": draw(st.integers(max(shards, 6), MOST_FILES)),
        "batch": draw(st.integers(1, 3)),
        "shuffle": draw(st.booleans()),
        "pad": draw(st.booleans()),
        "stick": draw(st.booleans()),
        "by_size": draw(st.booleans()),
        "policy": draw(st.sampled_from(LastBatchPolicy)),
        "auto_reset": draw(st.booleans()),
        "prepare": draw(st.booleans()),
    }


# Shards of one and of two samples, kept by their ranks: the smaller ones get ever further ahead.
UNEVEN = {
    "pipelines": 2, "shards": 4, "shard": 0, "files": 6, "batch": 2, "shuffle": False, "pad": False,
    "stick": True, "by_size": False, "policy": LastBatchPolicy.FILL, "auto_reset": False,
    "prepare": False,
}  # fmt: skip


@settings(max_examples=120)
@example(case=UNEVEN, taken=18, depths=(1, 1))
@given(
    case=cases(), taken=st.integers(0, 25), depths=st.tuples(st.integers(1, 4), st.integers(1, 4))
)
def test_a_new_iterator_continues_where_the_checkpoint_was_made(paths, case, taken, depths):
    pipes = make_pipelines(paths, case, depth=depths[0])
    try:
        iterator = iterate_over(pipes, case)
    except errors.PipelineError:  # there is no batch in an epoch
        return
    events(iterator, taken)
    checkpoints = iterator.checkpoints()
    resumed = make_pipelines(paths, case, checkpoints, depth=depths[1])
    again = iterate_over(resumed, case, prepare_first_batch=not case["prepare"])
    assert again.checkpoints() == checkpoints
    assert len(again) == len(iterator)
    assert again.size == iterator.size
    assert events(again, 20) == events(iterator, 20)
    assert again.checkpoints() == iterator.checkpoints()
    for pipe in pipes + resumed:
        pipe.close()


CASE = {
    "pipelines": 1,
    "shards": 1,
    "shard": 0,
    "files": 10,
    "batch": 4,
    "shuffle": True,
    "pad": False,
    "stick": False,
    "by_size": False,
    "policy": LastBatchPolicy.PARTIAL,
    "auto_reset": True,
    "prepare": True,
}


def test_a_prepared_batch_does_not_count_as_taken(paths):
    iterator = iterate_over(make_pipelines(paths, CASE), CASE)
    before = iterator.checkpoints()
    first = events(iterator, 1)
    again = iterate_over(make_pipelines(paths, CASE, before), CASE)
    assert events(again, 1) == first


def test_a_loop_over_the_rest_of_an_epoch_does_not_warn(paths):
    iterator = iterate_over(make_pipelines(paths, CASE), CASE)
    next(iterator)
    for changes in ({}, {"prepare_first_batch": False}):
        resumed = make_pipelines(paths, CASE, iterator.checkpoints())
        again = iterate_over(resumed, CASE, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(list(again)) == 2
            assert len(list(again)) == 3
        next(again)
        with pytest.warns(RuntimeWarning, match="not over yet"):
            iter(again)


@pytest.mark.parametrize("auto_reset", [True, False])
def test_a_checkpoint_at_the_end_of_an_epoch_resumes_there(paths, auto_reset):
    case = {**CASE, "auto_reset": auto_reset}
    iterator = iterate_over(make_pipelines(paths, case), case)
    events(iterator, 3)
    at_end = iterate_over(make_pipelines(paths, case, iterator.checkpoints()), case)
    with pytest.raises(StopIteration):
        next(at_end)
    with pytest.raises(StopIteration):
        next(iterator)
    behind = iterate_over(make_pipelines(paths, case, iterator.checkpoints()), case)
    if not auto_reset:
        with pytest.raises(StopIteration):
            next(behind)
        behind.reset()
        iterator.reset()
    assert events(behind, 5) == events(iterator, 5)


@for_each("taken", range(9))
@for_each("depth", [1, 3])
def test_a_checkpoint_at_the_end_of_a_source_resumes_there(taken, depth):
    def source(index):
        if index == 3:
            raise StopIteration
        return np.full((2, 1), index)

    def make(checkpoint=None):
        pipe = Pipeline(
            2, 1, prefetch_queue_depth=depth, enable_checkpointing=True, checkpoint=checkpoint
        )
        with pipe:
            pipe.set_outputs(fn.external_source(source), fn.random.uniform())
        return DALIGenericIterator(pipe, ["label", "drawn"], auto_reset=taken % 2 == 0)

    iterator = make()
    events(iterator, taken)
    again = make(iterator.checkpoints()[0])
    assert events(again, 9) == events(iterator, 9)


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("taken", range(1, 13))
def test_a_checkpoint_of_the_pipeline_resumes_an_iterator(paths, policy, taken):
    """It has no position in the epoch, which follows from the number of iterations."""
    case = {**CASE, "policy": policy, "prepare": False, "shards": 2}
    pipes = make_pipelines(paths, case)
    iterator = iterate_over(pipes, case)
    events(iterator, taken)
    again = iterate_over(make_pipelines(paths, case, [pipes[0].checkpoint()]), case)
    expected = events(iterator, 8)
    seen = events(again, 9)
    # After the last batch of an epoch the checkpoint does not show whether the end was seen.
    assert seen[seen[0] == END and expected[0] != END :][:8] == expected


def test_an_iterator_made_later_starts_a_new_epoch(paths):
    pipes = make_pipelines(paths, CASE)
    first = iterate_over(pipes, CASE)
    next(first)
    resumed = make_pipelines(paths, CASE, first.checkpoints())
    resumed[0].enable_api_check(False)
    resumed[0].run()
    assert len(list(iterate_over(resumed, CASE))) == 3


def test_every_kind_of_iterator_has_checkpoints(paths):
    (pipe,) = make_pipelines(paths, CASE)
    iterator = DALIClassificationIterator(pipe, reader_name="reader")
    next(iterator)
    (pipe,) = make_pipelines(paths, CASE, iterator.checkpoints())
    ragged = DALIRaggedIterator(pipe, ["a", "b"], reader_name="reader")
    assert next(ragged)[0]["a"].tolist() == next(iterator)[0]["data"].tolist()
    assert len(ragged.checkpoints()) == 1


def test_checkpoints_without_enable_checkpointing_are_errors(paths):
    iterator = iterate_over(make_pipelines(paths, CASE, enabled=False), CASE)
    with pytest.raises(ValueError, match="without enable_checkpointing") as caught:
        iterator.checkpoints()
    assert isinstance(caught.value, errors.TorchdaliError)


def test_checkpoints_of_other_pipelines_are_errors(paths):
    case = {**CASE, "pipelines": 2, "shards": 2}
    mixed = [make_pipelines(paths, case)[0], make_pipelines(paths, case, enabled=False)[1]]
    with pytest.raises(errors.ArgumentError, match="some of the pipelines"):
        iterate_over(mixed, case)
    iterator = iterate_over(make_pipelines(paths, case), case)
    early = iterator.checkpoints()
    next(iterator)
    next(iterator)
    late = iterator.checkpoints()
    for checkpoints in ([early[0], late[1]], [early[0], None], [None, late[1]]):
        pipes = make_pipelines(paths, case, checkpoints)
        with pytest.raises(errors.ArgumentError, match="do not belong together"):
            iterate_over(pipes, case)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"policy": LastBatchPolicy.DROP}, "`policy` of the iterator is 'DROP', .* is 'PARTIAL'"),
        ({"by_size": True}, "`size` of the iterator is 10, .* None"),
    ],
)
def test_checkpoints_of_other_iterators_are_errors(paths, change, text):
    iterator = iterate_over(make_pipelines(paths, CASE), CASE)
    next(iterator)
    other = {**CASE, **change}
    pipes = make_pipelines(paths, other, iterator.checkpoints())
    with pytest.raises(errors.ArgumentError, match=text):
        iterate_over(pipes, other)


@pytest.mark.parametrize("taken", [-1, "x", None])
def test_a_damaged_position_is_an_error(paths, taken):
    iterator = iterate_over(make_pipelines(paths, CASE), CASE)
    next(iterator)
    iterator._taken = taken
    pipes = make_pipelines(paths, CASE, iterator.checkpoints())
    with pytest.raises(errors.ArgumentError, match=re.escape(f"`taken` is {taken!r}")):
        iterate_over(pipes, CASE)
