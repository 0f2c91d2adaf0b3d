# SPDX-License-Identifier: Apache-2.0
"""fn.readers.sequence: consecutive images of folders, as sequences; parity with DALI."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.array_readers import assert_equal, build, read, read_in_dali
from helpers.cases import check_each, for_each
from helpers.encoded_images import PNG_RGB, decode, jpeg, png, ramp

from torchdali import types
from torchdali.errors import DataError, FileError

OP = "readers.sequence"
HEIGHT, WIDTH = 6, 8


def encoded(pixels):
    return png(pixels, 8, PNG_RGB)


def write_videos(folder):
    """Three videos of 4, 6 and 3 frames; other files and folders."""
    for name, frames in (("b", 6), ("a", 4), ("g", 3)):
        for i in range(frames):
            path = folder / name / f"{i:03}.{'PNG' if i % 2 else 'png'}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(encoded(ramp(HEIGHT, WIDTH, 3, seed=ord(name) * 10 + i)))
    for name in ("a/note.txt", "top.png", ".h/0.png", ".h/1.png", "a/.0.png", "a/deep/0.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"no image")
    (folder / "empty").mkdir()
    return {"file_root": str(folder), "sequence_length": 2}


# For the contract suite.
SOURCES = {OP: write_videos}


def frames(name, numbers):
    return np.stack([ramp(HEIGHT, WIDTH, 3, seed=ord(name) * 10 + i) for i in numbers])


@for_each(("length", "step", "stride"), itertools.product((1, 2, 3), (1, 2, 5), (1, 2)))
def test_sequences_are_consecutive_frames_of_a_video(length, step, stride, tmp_path):
    write_videos(tmp_path) if not (tmp_path / "a").exists() else None
    expected = [
        frames(name, range(first, first + length * stride, stride))
        for name, count in (("a", 4), ("b", 6), ("g", 3))
        for first in range(0, count, step)
        if first + (length - 1) * stride < count
    ]
    args = {"file_root": str(tmp_path), "sequence_length": length, "step": step, "stride": stride}
    pipe = build(OP, **args)
    assert pipe.reader_meta("reader")["epoch_size"] == len(expected)
    actual = read(OP, batches=len(expected), **args)[0]
    assert_equal(actual, [e.astype(np.uint8) for e in expected])
    assert pipe.run()[0].layout() == "FHWC"


@pytest.mark.dali
def test_sequences_are_those_of_dali(tmp_path):
    args = write_videos(tmp_path)
    cases = [{}, {"step": 2}, {"stride": 2}, {"sequence_length": 3, "stride": 2, "step": 2}]
    cases += [{"num_shards": 2, "shard_id": 1}, {"pad_last_batch": True, "batch_size": 4}]
    cases += [{"image_type": getattr(types, name)} for name in ("BGR", "GRAY", "ANY_DATA")]

    def check(case):
        case = {**args, "batches": 7, **case}
        assert_equal(read(OP, **case)[0], read_in_dali(OP, **case)[0][0])

    check_each(cases, check)


@pytest.mark.dali
def test_orientation_is_ignored_as_in_dali(tmp_path):
    (tmp_path / "a").mkdir()
    content = jpeg(ramp(10, 20, 3), orientation=6, quality=95, subsampling=0)
    (tmp_path / "a" / "0.jpg").write_bytes(content)
    args = {"file_root": str(tmp_path), "sequence_length": 1}
    (actual,) = read(OP, **args)[0]
    (expected,) = decode("decoders.image", [content], adjust_orientation=False)
    assert_equal([actual[0]], [expected])
    assert actual.shape == read_in_dali(OP, **args)[0][0][0].shape


def test_a_frame_that_cannot_be_used_is_named(tmp_path):
    args = write_videos(tmp_path)
    (tmp_path / "a" / "001.PNG").write_bytes(encoded(ramp(HEIGHT, WIDTH + 1, 3)))
    with pytest.raises(DataError, match=r"frame 1, .*001\.PNG.*6 x 9 pixels.*its sequence 6 x 8"):
        read(OP, **args)
    (tmp_path / "a" / "001.PNG").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"frame 1, .*001\.PNG"):
        read(OP, **args)
    (tmp_path / "a" / "001.PNG").unlink()
    pipe = build(OP, **args)
    (tmp_path / "a" / "000.png").unlink()
    with pytest.raises(FileError, match=r"cannot open .*000\.png"):
        [pipe.run() for _ in range(20)]


@for_each(
    ("args", "kind", "message"),
    [
        ({"sequence_length": 0}, ValueError, "`sequence_length` is 0, expected a number from 1"),
        ({"sequence_length": 2**31}, ValueError, "`sequence_length` is 2147483648"),
        ({"step": 0}, ValueError, "`step` is 0"),
        ({"stride": -1}, ValueError, "`stride` is -1"),
        ({"sequence_length": 100}, FileError, "has the images of a sequence, 100 or more"),
        ({"sequence_length": 3, "stride": 4}, FileError, "has the images of a sequence, 9 or more"),
        ({"file_root": "/nonexistent"}, FileError, 'cannot list the folder "/nonexistent"'),
    ],
)
def test_wrong_arguments_are_refused(args, kind, message, tmp_path):
    made = write_videos(tmp_path) if not (tmp_path / "a").exists() else {}
    with pytest.raises(kind, match=message):
        read(OP, **{"file_root": str(tmp_path), "sequence_length": 2, **made, **args})
