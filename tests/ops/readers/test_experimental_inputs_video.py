# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.inputs.video: sequences of videos that are fed; parity with DALI 1.35."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from helpers import video_input_program
from helpers.cases import for_each
from helpers.dali_oracle import call
from helpers.numbered_videos import numbers_of, write_video

from torchdali import Pipeline, errors, fn, ops, pipeline_def

NAME = "input"


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Returns two videos, of 10 and 7 frames: those with the numbers 0 to 9 and 50 to 56."""
    folder = tmp_path_factory.mktemp("videos")
    paths = [
        write_video(folder / "0.mp4", 10, gop=4),
        write_video(folder / "1.mp4", 7, first=50),
    ]
    return [np.fromfile(path, np.uint8) for path in paths]


def build(batch_size=2, depth=2, checkpoint=None, **args):
    pipe = Pipeline(
        batch_size,
        2,
        device_id=None,
        prefetch_queue_depth=depth,
        enable_checkpointing=True,
        checkpoint=checkpoint,
    )
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(name=NAME, **args))
    pipe.build()
    return pipe


def numbers(pipe):
    """Returns the numbers of the frames of each sequence of the next batch."""
    (batch,) = pipe.run()
    assert batch.layout() == "FHWC"
    return [numbers_of(sequence) for sequence in batch.as_torch_list()]


EXPECTED = [
    [[0, 1, 2], [3, 4, 5]],
    [[6, 7, 8], [9]],
    [[50, 51, 52], [53, 54, 55]],
    [[56]],  # the batches of a video are its own
]


@for_each("depth", [1, 2, 5])
def test_one_video_gives_many_batches_and_the_next_one_begins_a_batch(depth, videos):
    pipe = build(depth=depth, sequence_length=3)
    for video in videos:
        pipe.feed_input(NAME, [video])
    assert [numbers(pipe) for _ in EXPECTED] == EXPECTED
    with pytest.raises(errors.PipelineError, match=r"`input` has no data"):
        pipe.run()
    pipe.feed_input(NAME, videos[1][None])  # it continues, as an array with the batch as first axis
    assert numbers(pipe) == EXPECTED[2]


def test_a_padded_sequence_ends_with_black_frames(videos):
    pipe = build(batch_size=4, sequence_length=4, last_sequence_policy="pad")
    pipe.feed_input(NAME, [videos[1]])
    first, last = pipe.run()[0].as_torch_list()
    assert numbers_of(first) == [50, 51, 52, 53]
    assert numbers_of(last[:3]) == [54, 55, 56]
    assert last.shape == first.shape
    assert not last[3].any()


@pytest.mark.dali
@for_each(
    ("batch_size", "args"),
    [
        (3, {"sequence_length": 2}),
        (2, {"sequence_length": 3}),
        (2, {"sequence_length": 20}),
        (5, {"sequence_length": 1, "last_sequence_policy": "partial"}),
    ],
)
def test_batches_are_those_of_dali(batch_size, args, videos):
    theirs = call(video_input_program.__file__, "batches", videos, batch_size, args)
    ours = video_input_program.batches("torchdali", videos, batch_size, args)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert [a.shape for a in mine] == [b.shape for b in other]
        for a, b in zip(mine, other, strict=True):
            assert np.abs(a.astype(int) - b.astype(int)).max() <= 4  # swscale's tables


def test_a_blocking_input_waits_for_another_thread(videos):
    pipe = build(sequence_length=3, blocking=True)
    for video, expected in zip(videos, (EXPECTED[:2], EXPECTED[2:]), strict=True):
        timer = threading.Timer(0.2, pipe.feed_input, (NAME, [video]))
        timer.start()
        assert [numbers(pipe) for _ in expected] == expected
        timer.join()


def test_a_video_is_copied_unless_no_copy(videos):
    file = videos[0].copy()
    pipe = build(sequence_length=3)
    pipe.feed_input(NAME, [file])
    file[:] = 0
    assert numbers(pipe) == EXPECTED[0]
    kept = videos[0].copy()
    pipe = build(sequence_length=3, no_copy=True)
    pipe.feed_input(NAME, [kept])
    assert [numbers(pipe), numbers(pipe)] == EXPECTED[:2]


def test_run_takes_a_video_and_operators_follow(videos):
    pipe = Pipeline(2, 2, device_id=None)
    with pipe:
        frames = ops.experimental.inputs.Video(sequence_length=3)(name=NAME)
        pipe.set_outputs(frames, fn.resize(frames, size=[24, 64]))
    frames, small = pipe.run(**{NAME: [videos[0]]})
    assert [numbers_of(x) for x in small.as_torch_list()] == EXPECTED[0]
    assert small.shape() == [(3, 24, 64, 3)] * 2
    assert [numbers_of(x) for x in pipe.run()[0].as_torch_list()] == EXPECTED[1]


def test_two_inputs_with_equal_arguments_are_two(videos):
    pipe = Pipeline(2, 2, device_id=None)
    with pipe:
        inputs = [fn.experimental.inputs.video(sequence_length=5) for _ in videos]
        pipe.set_outputs(*inputs)
    pipe.build()
    pipe.feed_input(inputs[0], [videos[0]])
    pipe.feed_input(inputs[1].name, [videos[0][:]])
    assert [numbers_of(x) for out in pipe.run() for x in out.as_torch_list()] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
    ] * 2


@for_each("taken", range(5))
def test_resuming_continues_in_the_video_that_is_fed_again(taken, videos):
    pipe = build(sequence_length=3)
    for video in videos:
        pipe.feed_input(NAME, [video])
    for _ in range(taken):
        pipe.run()
    resumed = build(sequence_length=3, checkpoint=pipe.checkpoint())
    for video in [*videos, videos[0]][taken // 2 :]:
        resumed.feed_input(NAME, [video])
    assert [numbers(resumed) for _ in EXPECTED[taken:]] == EXPECTED[taken:]


def test_resuming_needs_the_video_that_was_read(videos):
    pipe = build(batch_size=1, sequence_length=1)
    pipe.feed_input(NAME, [videos[0]])
    for _ in range(8):
        pipe.run()
    resumed = build(batch_size=1, sequence_length=1, checkpoint=pipe.checkpoint())
    with pytest.raises(errors.ArgumentError, match="after 8 batches .*this has 7"):
        resumed.feed_input(NAME, [videos[1]])
    resumed.feed_input(NAME, [videos[0]])
    assert numbers(resumed) == [[8]]


@for_each(
    ("data", "kind", "text"),
    [
        (lambda video: [video.view(np.int8)], "ArgumentTypeError", "1-D tensor of uint8, got int8"),
        (lambda video: [video[:, None]], "ArgumentTypeError", r"of shape \["),
        (lambda video: [video, video], "ArgumentError", "one video at a time.*got 2.*one after"),
        (lambda video: video, "ArgumentError", r"a 1-D array.*\[data\]"),
        (lambda video: [np.zeros(100, np.uint8)], "DataError", "inputs.video"),
        (lambda video: [video[:0]], "DataError", "inputs.video"),
    ],
)
def test_data_that_is_no_video_is_an_error_where_it_is_fed(data, kind, text, videos):
    pipe = build(sequence_length=3)
    with pytest.raises(getattr(errors, kind), match=f"(?s)experimental.inputs.video.*{text}"):
        pipe.feed_input(NAME, data(videos[0]))
    pipe.feed_input(NAME, [videos[0]])  # nothing of it was queued
    assert numbers(pipe) == EXPECTED[0]


@for_each(
    ("args", "text"),
    [
        ({"sequence_length": 0}, "`sequence_length` is 0"),
        ({"sequence_length": 2, "last_sequence_policy": "drop"}, "`last_sequence_policy` is"),
    ],
)
def test_wrong_arguments_are_errors_of_the_build(args, text):
    with pytest.raises(errors.ArgumentError, match=text):
        build(**args)


def test_a_layout_is_refused(videos):
    with pytest.raises(errors.ArgumentError, match="no `layout`"):
        build(sequence_length=3).feed_input(NAME, [videos[0]], layout="X")


def test_debug_mode_is_refused():
    @pipeline_def(batch_size=2, num_threads=1, debug=True)
    def define():
        return fn.experimental.inputs.video(sequence_length=3)

    pipe = define()
    with pytest.raises(errors.UnsupportedError, match="debug"):
        pipe.run()


def test_damaged_frames_cost_their_sequences(videos):
    """A packet that does not decode fails in run(), as the sample that needs it."""
    video = videos[0].copy()
    data = video.tobytes()
    at = data.index(b"mdat") + 4
    video[at + (len(data) - at) // 3 : at + (len(data) - at) // 2] = 255
    pipe = Pipeline(10, 2, device_id=None, on_error="skip")
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(name=NAME, sequence_length=1))
    (batch,) = pipe.run(**{NAME: [video]})
    assert len(batch) + len(pipe.errors) == 10
    assert pipe.errors
