# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a pipeline: a new pipeline continues after the last batch taken.

test_checkpoints_of_sources.py has pipelines with external sources.
"""

import contextlib
import dataclasses
import json
import os
import textwrap

import pytest
from helpers import programs
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdali import Pipeline, errors, fn, pipeline_def
from torchdali.pipeline._checkpoint_format import Checkpoint

FILES = 23


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i in range(FILES):
        (folder / f"{i}.bin").write_bytes(bytes([i]) * (1 + i % 3))
    return [str(folder / f"{i}.bin") for i in range(FILES)]


def read_and_draw(paths, second_reader=False, batch_size=4, **options):
    """Returns a pipeline of readers and random operators; `options` has arguments of both."""
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
def test_a_new_pipeline_continues_where_the_checkpoint_was_made(
    paths, reader, first, second, taken
):
    pipe = read_and_draw(paths, **reader, **first)  # the seed is random
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


def test_a_resumed_pipeline_can_be_checkpointed(paths):
    whole = take(read_and_draw(paths, seed=3, random_shuffle=True), 20)
    checkpoint, pieces = None, []
    for count in (1, 0, 5, 2, 12):
        pipe = read_and_draw(paths, seed=3, random_shuffle=True, checkpoint=checkpoint)
        pieces += take(pipe, count)
        checkpoint = pipe.checkpoint()
        pipe.close()
    assert pieces == whole


def test_scheduled_batches_that_were_not_taken_come_again(paths):
    pipe = read_and_draw(paths, prefetch_queue_depth=6, random_shuffle=True)
    pipe.schedule_run()
    taken = [pipe.share_outputs() for _ in range(2)]
    assert len(taken) == 2
    again = read_and_draw(paths, checkpoint=pipe.checkpoint(), random_shuffle=True)
    for _ in range(4):
        left = pipe.share_outputs()
        assert left[1].as_array().tolist() == again.run()[1].as_array().tolist()


def test_the_seed_of_the_checkpoint_takes_precedence(paths):
    pipe = read_and_draw(paths, seed=11, random_shuffle=True)
    take(pipe, 3)
    for seed in (11, 12, -1, None):
        again = read_and_draw(paths, seed=seed, random_shuffle=True, checkpoint=pipe.checkpoint())
        assert again.seed == (None if seed == -1 else seed)
        pipe = read_and_draw(paths, checkpoint=pipe.checkpoint(), random_shuffle=True)
        assert take(again, 1) == take(pipe, 1)


def test_a_new_process_continues(paths, tmp_path):
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
        done = programs.run("-c", script, json.dumps(paths), tmp_path / "cpt", "4")
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    assert outputs[1][0] == outputs[0][1]
    assert outputs[1][0] != outputs[0][0]


def test_a_failed_batch_counts_as_taken(paths, tmp_path):
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


def test_resuming_in_a_late_epoch_replays_nothing(paths):
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
    again.run()  # replaying a billion epochs would not end
    state = Checkpoint.decode(again.checkpoint()).operators[0].state
    assert (state["epoch"], state["consumed"]) == (10**9 + 1, 61)
    assert len(again.checkpoint()) < 1000


def test_a_checkpoint_file_is_replaced_as_a_whole(paths, tmp_path):
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


def test_without_enable_checkpointing_checkpoints_are_errors(paths):
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


def test_operators_names_and_seeds_must_match():
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
    data = make(lambda: fn.external_source(lambda index: [index] * 2)).checkpoint()
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


def test_checkpoints_of_other_types_and_versions_are_errors(paths):
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
def test_changed_bytes_raise_torchdali_errors_only(paths, data):
    good = read_and_draw(paths, second_reader=True, seed=1).checkpoint()
    at = data.draw(st.integers(0, len(good) - 1))
    piece = data.draw(st.binary(max_size=8))
    bad = good[:at] + piece + good[at + data.draw(st.integers(0, 8)) :]
    with contextlib.suppress(ValueError):  # white space may change
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
def test_changed_contents_raise_torchdali_errors_only(paths, data, value):
    """The checksum is right, and a random entry is replaced."""
    from torchdali.pipeline._checkpoint_format import _check_sum

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
