# SPDX-License-Identifier: Apache-2.0
"""Indices of videos that are kept: where, when they are used, and when they are made again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import torch
from helpers import programs, videos
from helpers.array_readers import read
from helpers.cases import for_each
from helpers.numbered_videos import numbers_of, write_video

from torchdali import Pipeline, fn
from torchdali.errors import DataError

OPERATORS = ["readers.video", "readers.video_resize", "experimental.readers.video"]
COUNT = 20


@pytest.fixture
def video(tmp_path):
    """A video in a folder of its own, so that what is kept beside it can be listed."""
    return Path(write_video(tmp_path / "videos" / "x.mp4", COUNT))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The cache folder, which does not exist yet."""
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def beside(video: Path) -> Path:
    return video.with_name(video.name + ".tdvi")


def in_cache(cache: Path) -> list[Path]:
    """All indices in the cache folder, which has remote files, too."""
    return [path for path in (cache / "index").rglob("*") if path.is_file()]


def shown(video: Path) -> list[int]:
    """Opens a video, and returns the numbers that its frames show."""
    ((frames,),) = read("readers.video", filenames=[str(video)], sequence_length=COUNT)
    return numbers_of(frames)


def identity(index: Path) -> tuple[int, int]:
    """Differs if the index was stored again."""
    status = index.stat()
    return status.st_ino, status.st_mtime_ns


def hide_header(video: Path) -> None:
    """Makes a video unreadable without its index; its packets, size and time stay."""
    times = video.stat()
    data = video.read_bytes()
    assert data.count(b"moov") == 1
    video.write_bytes(data.replace(b"moov", b"none"))
    os.utime(video, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_an_index_is_kept_beside_the_file_and_used(video, cache):
    assert shown(video) == list(range(COUNT))
    assert sorted(p.name for p in video.parent.iterdir()) == ["x.mp4", "x.mp4.tdvi"]
    assert not cache.exists()
    hide_header(video)
    before = identity(beside(video))
    assert shown(video) == list(range(COUNT))
    assert identity(beside(video)) == before
    beside(video).unlink()
    with pytest.raises(DataError, match="not a video that FFmpeg can read"):
        shown(video)


def test_an_index_that_cannot_be_beside_the_file_is_in_the_cache(video, cache):
    beside(video).mkdir()  # in the way, also for root, who may write to any folder
    assert shown(video) == list(range(COUNT))
    (kept,) = in_cache(cache)
    assert kept.suffix == ".tdvi"
    hide_header(video)
    before = identity(kept)
    assert shown(video) == list(range(COUNT))
    assert identity(kept) == before
    assert sorted(p.name for p in video.parent.iterdir()) == ["x.mp4", "x.mp4.tdvi"]


def test_without_a_place_for_the_index_videos_are_read(video, cache):
    beside(video).mkdir()
    cache.write_text("no folder")
    assert shown(video) == list(range(COUNT))
    assert sorted(p.name for p in video.parent.iterdir()) == ["x.mp4", "x.mp4.tdvi"]


@for_each(
    "damage",
    [
        lambda text: b"",
        lambda text: text[:10],
        lambda text: text[:-1],
        lambda text: text + b"\0",
        lambda text: text[:4] + b"\xff" + text[5:],  # another version
        lambda text: text[:20] + bytes([text[20] ^ 1]) + text[21:],
        lambda text: text[:-3] + bytes([text[-3] ^ 128]) + text[-2:],
    ],
    ids=["empty", "header", "cut", "longer", "version", "front", "end"],
)
def test_a_damaged_index_is_made_again(damage, video):
    shown(video)
    whole = beside(video).read_bytes()
    beside(video).write_bytes(damage(whole))
    assert shown(video) == list(range(COUNT))
    assert beside(video).read_bytes() == whole


def test_the_index_of_a_file_that_was_replaced_is_made_again(video, tmp_path):
    shown(video)
    before = beside(video).read_bytes()
    write_video(video, COUNT, first=100, gop=3)
    assert shown(video) == list(range(100, 100 + COUNT))
    after = beside(video).read_bytes()
    assert after != before
    # The same bytes with another time may be another file: its index is made again, too.
    os.utime(video, ns=(1, 1))
    kept = identity(beside(video))
    assert shown(video) == list(range(100, 100 + COUNT))
    assert identity(beside(video)) != kept
    # That of another file is not used.
    other = Path(write_video(tmp_path / "other" / "x.mp4", COUNT, first=50))
    shutil.copy2(beside(video), beside(other))
    assert shown(other) == list(range(50, 50 + COUNT))


def packets_of(video: Path) -> list[tuple[int, int]]:
    """The places and sizes of the packets of a file, in the order of decoding."""
    probe = shutil.which("ffprobe")
    if probe is None:
        pytest.skip("ffprobe, which finds the packets, is not installed")
    show = ["-v", "error", "-select_streams", "v", "-show_entries", "packet=pos,size"]
    command = [probe, *show, "-of", "csv=p=0:nk=0", str(video)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [dict(field.split("=") for field in line.split(",")) for line in done.stdout.split()]
    return [(int(row["pos"]), int(row["size"])) for row in rows]


@for_each("kind", ["av1", "h264", "hevc", "mpeg4_avi"])
def test_pictures_that_nothing_refers_to_are_not_read_for_others(kind, tmp_path):
    video = Path(shutil.copy(videos.video(kind), tmp_path))
    last = 11  # before the next key frame
    ranges = tmp_path / "list.txt"
    ranges.write_text(f"{video} 0 {last} {last + 1}\n")

    def frame():
        args = {"file_list": str(ranges), "file_list_frame_num": True, "sequence_length": 1}
        return read("readers.video", **args)[0][0]

    whole, times = video.read_bytes(), video.stat()
    expected = frame()
    passed_over = 0
    for place, size in packets_of(video)[: last + 1]:
        video.write_bytes(whole[:place] + bytes(size) + whole[place + size :])
        os.utime(video, ns=(times.st_atime_ns, times.st_mtime_ns))
        with contextlib.suppress(DataError):
            passed_over += torch.equal(frame(), expected)
    assert passed_over >= 3


def relabel_layers(video: Path) -> None:
    """Says of B pictures of HEVC that others refer to that those are of a higher temporal layer."""
    references, others = (1, 9), (0, 8)  # types of units: TRAIL_R and RASL_R, TRAIL_N and RASL_N
    data = bytearray(video.read_bytes())
    slices = []  # where units of pictures begin
    for place, size in packets_of(video):
        at = place
        while at < place + size:
            if data[at + 4] >> 1 < 32:
                slices.append(at + 4)
            at += 4 + int.from_bytes(data[at : at + 4], "big")
    types = [data[at] >> 1 for at in slices]
    relabelled = 0
    for i, at in enumerate(slices):
        if types[i] in others:
            data[at + 1] += 1  # nuh_temporal_id_plus1
        elif types[i] in references and types[i + 1 : i + 2] and types[i + 1] in others:
            data[at] -= 2  # no reference of its own layer
            relabelled += 1
    assert relabelled >= 3
    video.write_bytes(data)


def test_references_of_higher_layers_are_decoded(tmp_path):
    video = tmp_path / "layers.mp4"
    options = "keyint=12:bframes=3:b-adapt=0:b-pyramid=1:log-level=none"
    videos.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=1", "-pix_fmt",
                  "yuv420p", "-c:v", "libx265", "-x265-params", options, video)  # fmt: skip
    relabel_layers(video)
    ((all_frames,),) = read("readers.video", filenames=[str(video)], sequence_length=25)
    ranges = tmp_path / "list.txt"
    for i in range(25):
        ranges.write_text(f"{video} 0 {i} {i + 1}\n")
        args = {"file_list": str(ranges), "file_list_frame_num": True, "sequence_length": 1}
        assert torch.equal(read("readers.video", **args)[0][0][0], all_frames[i]), i


def test_damage_after_a_clip_costs_it_nothing(video):
    """Decoders read ahead where clips follow one another."""
    write_video(video, COUNT, gop=10)
    shown(video)
    data, times = bytearray(video.read_bytes()), video.stat()
    for place, size in packets_of(video)[10:]:
        data[place : place + size] = b"\xff" * size
    video.write_bytes(data)
    os.utime(video, ns=(times.st_atime_ns, times.st_mtime_ns))
    pipe = Pipeline(2, 1, device_id=None, on_error="skip")
    with pipe:
        pipe.set_outputs(fn.readers.video(filenames=[str(video)], sequence_length=10))
    (batch,) = pipe.run()
    assert [numbers_of(frames) for frames in batch.as_torch_list()] == [list(range(10))]
    assert [error.sample for error in pipe.errors] == [1]


# Opens videos. Files may grow up to argv[1] bytes, then the process gets a signal, which kills it
# or is ignored.
LIMITED = """
import resource, signal, sys
from torchdali import Pipeline, fn
pipe = Pipeline(1, 1, device_id=None)
with pipe:
    pipe.set_outputs(fn.readers.video(filenames=sys.argv[3:], sequence_length=1))
signal.signal(signal.SIGXFSZ, getattr(signal, sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
pipe.build()
"""


def test_an_index_is_whole_or_absent_if_the_process_is_killed(video):
    done = programs.run("-c", LIMITED, "50", "SIG_DFL", video)
    assert done.returncode != 0
    part, whole = sorted(path for path in video.parent.iterdir())[::-1]
    assert (part.suffix, whole) == (".part", video)
    assert part.stat().st_size == 50
    assert shown(video) == list(range(COUNT))
    assert beside(video).stat().st_size > 50


def test_an_index_that_cannot_be_written_leaves_nothing(video, cache):
    done = programs.run("-c", LIMITED, "50", "SIG_IGN", video)
    assert done.returncode == 0, done.stderr
    assert [*video.parent.iterdir(), *in_cache(cache)] == [video]


# Waits for the file argv[1], opens videos, each of which has one frame, and writes the mean of each
# frame.
AT_ONCE = """
import pathlib, sys, time
from torchdali import Pipeline, fn
pipe = Pipeline(1, 2, device_id=None)
with pipe:
    pipe.set_outputs(fn.readers.video(filenames=sys.argv[2:], sequence_length=1, step=1000))
print("ready", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.001)
pipe.build()
print([round(float(pipe.run()[0].as_torch_list()[0].float().mean()), 3) for _ in sys.argv[2:]])
"""


def test_processes_make_the_same_indices_at_once(tmp_path):
    files = [
        write_video(tmp_path / "videos" / f"{i}.mp4", 3, first=10 * (i % 3)) for i in range(15)
    ]
    files += files[:2]  # and threads
    go = tmp_path / "go"
    running = [programs.start("-c", AT_ONCE, go, *files) for _ in range(3)]
    try:
        for program in running:
            assert program.stdout.readline() == "ready\n"
        go.touch()
        written = [program.communicate() for program in running]
    finally:
        for program in running:
            program.kill()
    assert [program.returncode for program in running] == [0, 0, 0], written
    means = [eval(out) for out, _ in written]
    assert means[0] == means[1] == means[2]
    assert len(set(means[0])) == 3
    names = sorted(path.name for path in (tmp_path / "videos").iterdir())
    assert names == sorted(f"{i}.mp4{end}" for i in range(15) for end in ("", ".tdvi"))
    kept = [identity(beside(Path(path))) for path in files]
    time.sleep(0.01)
    read("readers.video", filenames=files, sequence_length=1)
    assert [identity(beside(Path(path))) for path in files] == kept
