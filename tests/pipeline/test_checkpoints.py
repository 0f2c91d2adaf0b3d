# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a pipeline: a fresh one goes on with the batch behind the last one taken."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdali import Pipeline, errors, fn, pipeline_def
from torchdali.pipeline._checkpoint import Checkpoint
from torchdali.types import BatchInfo, SampleInfo

FILES = 23


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i in range(FILES):
        (folder / f"{i}.bin").write_bytes(bytes([i]) * (1 + i % 3))
    return [str(folder / f"{i}.bin") for i in range(FILES)]


def read_and_draw(paths, second_reader=False, batch_size=4, **options):
    """Returns a pipeline of readers and random operators, with arguments of both in `options`."""
    mine = ("random_shuffle", "shuffle_after_epoch", "pad_last_batch", "stick_to_shard")
    mine += ("num_shards", "shard_id", "lazy_init", "read_ahead", "shuffle_after_epoch_seed")
    args = {name: options.pop(name) for name in mine if name in options}
    options = {"num_threads": 2, "device_id": None, "enable_checkpointing": True, **options}
    pipe = Pipeline(batch_size=batch_size, **options)
    with pipe:
        data, label = fn.readers.file(files=paths, name="files", **args)
        outputs = [data, label, fn.random.uniform(range=[0, 1]), fn.random.normal(seed=5)]
        if second_reader:
            outputs += fn.readers.file(files=paths[:7], random_shuffle=True)
        pipe.set_outputs(*outputs, fn.random.coin_flip())
    return pipe


def take(pipe, iterations):
    """Returns all samples of some iterations, as bytes."""
    return [
        [[bytes(sample.numpy()) for sample in out.as_torch_list()] for out in pipe.run()]
        for _ in range(iterations)
    ]


@st.composite
def readers(draw):
    shards = draw(st.integers(1, 4))
    shuffle = draw(st.sampled_from([{}, {"random_shuffle": True}, {"shuffle_after_epoch": True}]))
    return {
        "num_shards": shards,
        "shard_id": draw(st.integers(0, shards - 1)),
        "pad_last_batch": draw(st.booleans()),
        "stick_to_shard": "shuffle_after_epoch" not in shuffle and draw(st.booleans()),
        "lazy_init": draw(st.booleans()),
        "batch_size": draw(st.sampled_from([1, 3, 4, 8, 30])),
        **shuffle,
    }


run_options = st.fixed_dictionaries(
    {
        "prefetch_queue_depth": st.integers(1, 5),
        "num_threads": st.integers(1, 3),
        "exec_pipelined": st.booleans(),
    }
)


@settings(max_examples=60)
@given(reader=readers(), first=run_options, second=run_options, taken=st.integers(0, 20))
def test_a_fresh_pipeline_goes_on_where_the_checkpoint_was_made(
    paths, reader, first, second, taken
):
    pipe = read_and_draw(paths, **reader, **first)  # its seed is a random one
    take(pipe, taken)
    checkpoint = pipe.checkpoint()
    expected = take(pipe, 12)
    again = read_and_draw(paths, **reader, **second, checkpoint=checkpoint)
    again.build()
    assert again.is_restored_from_checkpoint
    assert again.checkpoint() == checkpoint
    assert take(again, 12) == expected
    assert again.checkpoint() == pipe.checkpoint()
    pipe.close()
    again.close()


@pytest.mark.parametrize("taken", range(0, 14, 3))
def test_several_readers_keep_their_own_positions(paths, taken):
    pipe = read_and_draw(paths, second_reader=True, random_shuffle=True)
    take(pipe, taken)
    again = read_and_draw(
        paths, second_reader=True, random_shuffle=True, checkpoint=pipe.checkpoint()
    )
    assert take(again, 9) == take(pipe, 9)


def test_checkpoints_of_checkpoints_go_on(paths):
    whole = take(read_and_draw(paths, seed=3, random_shuffle=True), 20)
    checkpoint, pieces = None, []
    for count in (1, 0, 5, 2, 12):
        pipe = read_and_draw(paths, seed=3, random_shuffle=True, checkpoint=checkpoint)
        pieces += take(pipe, count)
        checkpoint = pipe.checkpoint()
        pipe.close()
    assert pieces == whole


def test_what_was_scheduled_and_not_taken_is_not_lost(paths):
    pipe = read_and_draw(paths, prefetch_queue_depth=6, random_shuffle=True)
    pipe.schedule_run()
    taken = [pipe.share_outputs() for _ in range(2)]
    assert len(taken) == 2
    again = read_and_draw(paths, checkpoint=pipe.checkpoint(), random_shuffle=True)
    for _ in range(4):
        left = pipe.share_outputs()
        assert left[1].as_array().tolist() == again.run()[1].as_array().tolist()


def test_the_seed_in_the_checkpoint_counts(paths):
    pipe = read_and_draw(paths, seed=11, random_shuffle=True)
    take(pipe, 3)
    for seed in (11, 12, -1, None):
        again = read_and_draw(paths, seed=seed, random_shuffle=True, checkpoint=pipe.checkpoint())
        assert again.seed == (None if seed == -1 else seed)
        pipe = read_and_draw(paths, checkpoint=pipe.checkpoint(), random_shuffle=True)
        assert take(again, 1) == take(pipe, 1)


def test_a_new_process_goes_on(paths, tmp_path):
    script = textwrap.dedent(
        """
        import json, pathlib, sys
        from torchdali import fn, pipeline_def
        paths, checkpoint, runs = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])

        @pipeline_def(batch_size=5, num_threads=2, enable_checkpointing=True)
        def pipeline():
            return fn.readers.file(files=paths, random_shuffle=True)[1], fn.random.uniform()

        found = pathlib.Path(checkpoint)
        pipe = pipeline(checkpoint=found.read_bytes() if found.exists() else None)
        print(json.dumps([[o.as_array().tolist() for o in pipe.run()] for _ in range(runs)]))
        pipe.checkpoint(checkpoint)
        print(json.dumps([[o.as_array().tolist() for o in pipe.run()] for _ in range(runs)]))
        """
    )
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script, json.dumps(paths), str(tmp_path / "cpt"), "4"],
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout.splitlines())
    assert outputs[1][0] == outputs[0][1]
    assert outputs[1][0] != outputs[0][0]


def test_a_batch_that_failed_was_taken(paths, tmp_path):
    missing = [*paths[:5], str(tmp_path / "missing"), *paths[5:]]

    def after(pipe, count):
        events = []
        for _ in range(count):
            try:
                events.append(take(pipe, 1))
            except errors.FileError:
                events.append("failed")
        return events

    pipe = read_and_draw(missing, prefetch_queue_depth=3)
    assert after(pipe, 2)[1] == "failed"
    again = read_and_draw(missing, checkpoint=pipe.checkpoint())
    assert after(again, 8) == after(pipe, 8)


# -- sources in Python


def from_source(source, checkpoint=None, depth=2, **args):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(?s).*items are passed over")
        pipe = Pipeline(3, 2, enable_checkpointing=True, checkpoint=checkpoint)
        pipe._depth = depth
        with pipe:
            pipe.set_outputs(fn.external_source(source, **args), fn.random.uniform())
        pipe.build()
    return pipe


def events(pipe, count):
    """Returns what some runs give: batches, or "end", after which the pipeline is reset."""
    seen = []
    for _ in range(count):
        try:
            seen.append([out.as_array().tolist() for out in pipe.run()])
        except StopIteration:
            seen.append("end")
            pipe.reset()
    return seen


def by_index(index):
    if index == 4:
        raise StopIteration
    return np.full((3, 1), index)


def by_batch_info(info: BatchInfo):
    if info.iteration == 5:
        raise StopIteration
    return np.array([[info.iteration, info.epoch_idx]] * 3)


def by_sample_info(info: SampleInfo):
    if info.iteration == 3:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx])


class Dataset:
    """Counts, and says how far."""

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
    # These are iterated over up to where they were, and say so.
    "iterable": (lambda: [np.full((3, 1), i) for i in range(6)], {"cycle": "raise"}),
    "endless iterable": (lambda: [np.full((3, 1), i) for i in range(6)], {"cycle": "quiet"}),
    "finite iterable": (lambda: [np.full((3, 1), i) for i in range(6)], {"cycle": "no"}),
    "generator": (lambda: (np.full((3, 1), i) for i in range(6)), {}),
    "iterable of samples": (lambda: [np.full(2, i) for i in range(17)], {"batch": False}),
    # In worker processes, which take seconds to start: each with one depth.
    "parallel samples": (lambda: by_sample_info, {"batch": False, "parallel": True}),
    "parallel batches": (lambda: by_index, {"parallel": True, "prefetch_queue_depth": 3}),
    "parallel iterable": (
        lambda: [np.full((3, 1), i) for i in range(6)],
        {"cycle": "raise", "parallel": True, "prefetch_queue_depth": 2},
    ),
}


ONE_DEPTH = {"parallel samples": 5, "parallel batches": 2, "parallel iterable": 1}


@pytest.mark.parametrize(
    ("name", "depth"),
    [(n, depth) for n in SOURCES for depth in (1, 2, 5) if ONE_DEPTH.get(n, depth) == depth],
)
@pytest.mark.parametrize("taken", range(13))
def test_a_source_goes_on_at_any_point_of_its_epochs(name, depth, taken):
    make, args = SOURCES[name]

    def outputs(source, checkpoint=None):
        if args.get("num_outputs"):
            pipe = Pipeline(3, 2, enable_checkpointing=True, checkpoint=checkpoint)
            with pipe:
                pipe.set_outputs(*fn.external_source(source, **args), fn.random.uniform())
            return pipe
        return from_source(source, checkpoint, depth, **args)

    pipe = outputs(make())
    events(pipe, taken)
    checkpoint = pipe.checkpoint()
    again = outputs(make(), checkpoint)
    assert again.checkpoint() == checkpoint
    assert events(again, 14) == events(pipe, 14)


def test_a_reset_ahead_of_the_end_is_remembered():
    """With deep queues the end is known, and can be passed, before the batches before it come."""
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


def test_an_end_that_was_reached_is_not_asked_for_again():
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


def test_states_of_sources_are_those_of_their_own_batch():
    pipe = from_source(IterableDataset(100), depth=5)
    pipe.run()
    state = Checkpoint.decode(pipe.checkpoint()).inputs
    assert state == [{"iteration": 1, "epoch": 0, "source": {"at": 1}}]
    assert len(pipe._marks) <= 7
    for _ in range(50):
        pipe.run()
    assert len(pipe._marks) <= 7


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (lambda: np.zeros((3, 1)), "a callable without parameters"),
    ],
    ids=["callable"],
)
def test_sources_whose_position_is_unknown_are_warned_of(source, text):
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


def test_what_an_iterable_has_given_is_passed_over_with_a_warning():
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
    with pytest.warns(UserWarning, match="first 4 items are passed over") as caught:
        build(9, checkpoint=checkpoint)
    assert caught[0].filename == __file__
    with pytest.raises(errors.ArgumentError, match="fewer items"), pytest.warns(match="passed"):
        build(3, checkpoint=checkpoint)


def test_a_state_that_json_cannot_hold_is_named():
    class Odd(CallableDataset):
        def state_dict(self):
            return {"at": torch.zeros(3)}

    with pytest.raises(errors.ArgumentTypeError, match=r"state_dict\(\) gives: .*Tensor"):
        from_source(Odd())


def test_a_source_that_lost_its_state_is_named():
    checkpoint = from_source(CallableDataset()).checkpoint()
    with pytest.raises(errors.ArgumentError, match="which has no load_state_dict"):
        from_source(by_index, checkpoint)
    checkpoint = from_source(by_index).checkpoint()
    with pytest.raises(errors.ArgumentError, match=r"no state of the source, which has"):
        from_source(CallableDataset(), checkpoint)


def test_fed_data_goes_on_with_what_is_fed_next():
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


# -- what it costs


def test_resuming_far_behind_the_start_replays_nothing(paths):
    many = paths * 8000
    pipe = read_and_draw(many, batch_size=64, random_shuffle=True, seed=1)
    pipe.build()
    content = Checkpoint.decode(pipe.checkpoint())
    assert content.operators[0].state is not None
    far = dataclasses.replace(
        content,
        operators=[
            dataclasses.replace(
                content.operators[0],
                state={**content.operators[0].state, "epoch": 10**9, "consumed": len(many) - 3},
            ),
            *content.operators[1:],
        ],
    )
    again = read_and_draw(many, batch_size=64, random_shuffle=True, checkpoint=far.encode())
    again.run()  # would not end otherwise
    state = Checkpoint.decode(again.checkpoint()).operators[0].state
    assert (state["epoch"], state["consumed"]) == (10**9 + 1, 61)
    assert len(again.checkpoint()) < 1000


# -- files


def test_a_checkpoint_is_written_to_a_file_as_a_whole(paths, tmp_path):
    pipe = read_and_draw(paths)
    target = tmp_path / "state.cpt"
    target.write_bytes(b"x" * 10000)
    link = tmp_path / "link"
    link.symlink_to(target)
    take(pipe, 2)
    returned = pipe.checkpoint(link)
    assert isinstance(returned, bytes)
    assert target.read_bytes() == returned
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "state.cpt"]
    assert pipe.checkpoint(str(target)) == pipe.checkpoint(filename=os.fspath(target)) == returned
    pipe.checkpoint(os.devnull)
    assert not os.path.isfile(os.devnull)
    with pytest.raises(OSError, match=r"cannot be written to .*missing") as caught:
        pipe.checkpoint(tmp_path / "missing" / "cpt")
    assert isinstance(caught.value, errors.FileError)


# -- errors


def test_without_enable_checkpointing_there_are_none(paths):
    pipe = read_and_draw(paths, enable_checkpointing=False)
    pipe.build()
    with pytest.raises(errors.PipelineError, match="without enable_checkpointing"):
        pipe.checkpoint()
    data = read_and_draw(paths).checkpoint()
    with pytest.raises(errors.PipelineError, match="without enable_checkpointing"):
        Pipeline(4, 1, checkpoint=data)
    closed = read_and_draw(paths)
    closed.build()
    closed.close()
    with pytest.raises(errors.PipelineError, match="closed"):
        closed.checkpoint()


def test_a_pipeline_says_whether_it_was_restored(paths):
    pipe = read_and_draw(paths)
    assert not pipe.is_restored_from_checkpoint
    take(pipe, 1)
    assert not pipe.is_restored_from_checkpoint
    again = read_and_draw(paths, checkpoint=pipe.checkpoint())
    assert not again.is_restored_from_checkpoint
    again.build()
    assert again.is_restored_from_checkpoint


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"batch_size": 5}, "`batch_size` is 5, in the checkpoint it is 4"),
        ({"second_reader": True}, "it has 5 operators with state .* there are 4"),
        ({"random_shuffle": True}, "`random_shuffle` is 1, in the checkpoint it is 0"),
        ({"pad_last_batch": True}, "`pad_last_batch` is 1"),
        ({"stick_to_shard": True}, "`stick_to_shard` is 1"),
        ({"num_shards": 2}, "`num_shards` is 2"),
        ({"shuffle_after_epoch": True}, "`shuffle_after_epoch` is 1"),
        ({"paths": 22}, "`epoch_size` is 22, in the checkpoint it is 23"),
    ],
    ids=str,
)
def test_a_checkpoint_of_another_pipeline_is_refused(paths, change, text):
    data = read_and_draw(paths).checkpoint()
    change = dict(change)
    files = paths[: change.pop("paths", FILES)]
    pipe = read_and_draw(files, checkpoint=data, **change)
    for _ in range(2):
        with pytest.raises(errors.ArgumentError, match=text):
            pipe.build()
    assert not pipe.is_restored_from_checkpoint


def test_the_order_of_another_seed_is_refused(paths):
    data = read_and_draw(paths, shuffle_after_epoch=True).checkpoint()
    other = {"shuffle_after_epoch": True, "shuffle_after_epoch_seed": 1}
    with pytest.raises(errors.ArgumentError, match="`shuffle_seed` is 1, in the checkpoint it is"):
        read_and_draw(paths, checkpoint=data, **other).build()


def test_operators_names_and_seeds_are_compared():
    def make(define, checkpoint=None):
        return pipeline_def(define)(
            batch_size=2, num_threads=1, enable_checkpointing=True, checkpoint=checkpoint
        )

    data = make(lambda: fn.random.uniform(name="u", seed=3)).checkpoint()
    make(lambda: fn.copy(fn.random.uniform(name="u", seed=3)), data).build()
    others = {
        "fn.random.normal": lambda: fn.random.normal(name="u", seed=3),
        'named "v"': lambda: fn.random.uniform(name="v", seed=3),
        "seed .* is 4, in the checkpoint 3": lambda: fn.random.uniform(name="u", seed=4),
    }
    for text, define in others.items():
        with pytest.raises(errors.ArgumentError, match=f"another pipeline: .*{text}"):
            make(define, data).build()
    data = make(lambda: fn.external_source(by_index)).checkpoint()
    with pytest.raises(errors.ArgumentError, match="get their data in another way"):
        make(lambda: fn.external_source(), data).build()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data.replace(b'"iterations":2', b'"iterations":3'),
        lambda data: data.replace(b'"files"', b'"filer"'),
        lambda data: b"[" * 100000,
        lambda data: b"\xff" + data,
        lambda data: b"{}",
        lambda data: b"3",
    ],
)
def test_damaged_bytes_are_refused(paths, damage):
    pipe = read_and_draw(paths)
    take(pipe, 2)
    with pytest.raises(errors.DataError, match="damaged"):
        read_and_draw(paths, checkpoint=damage(pipe.checkpoint()))


def test_other_types_and_versions_are_named(paths):
    data = read_and_draw(paths).checkpoint()
    assert read_and_draw(paths, checkpoint=data.decode()).checkpoint() == data
    assert read_and_draw(paths, checkpoint=bytearray(data)).checkpoint() == data
    with pytest.raises(errors.ArgumentTypeError, match="got int"):
        read_and_draw(paths, checkpoint=3)
    newer = data.replace(b'"version":1', b'"version":7')
    with pytest.raises(errors.ArgumentError, match="has version 7 of the format"):
        read_and_draw(paths, checkpoint=newer)


@settings(max_examples=200)
@given(data=st.data())
def test_no_bytes_lead_to_anything_but_errors_of_ours(paths, data):
    good = read_and_draw(paths, second_reader=True, seed=1).checkpoint()
    at = data.draw(st.integers(0, len(good) - 1))
    piece = data.draw(st.binary(max_size=8))
    bad = good[:at] + piece + good[at + data.draw(st.integers(0, 8)) :]
    with contextlib.suppress(ValueError):  # space between words changes nothing
        if json.loads(bad) == json.loads(good):
            return
    with pytest.raises(errors.TorchdaliError):
        read_and_draw(paths, second_reader=True, checkpoint=bad)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=300)
@given(data=st.data(), value=values)
def test_no_content_leads_to_anything_but_errors_of_ours(paths, data, value):
    """Contents with a right check sum: an entry anywhere is replaced by something else."""
    from torchdali.pipeline._checkpoint import _check_sum

    content = json.loads(read_and_draw(paths, second_reader=True, seed=1).checkpoint())
    del content["crc32"]
    where, key = content, data.draw(st.sampled_from(sorted(content)))
    while isinstance(where[key], dict | list) and where[key] and data.draw(st.booleans()):
        where = where[key]
        keys = sorted(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
    where[key] = value
    content["crc32"] = _check_sum(content)
    try:
        pipe = read_and_draw(paths, second_reader=True, checkpoint=json.dumps(content))
        take(pipe, 2)
    except errors.TorchdaliError:
        pass
    except StopIteration:
        assert content["ended"]
