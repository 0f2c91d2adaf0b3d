# SPDX-License-Identifier: Apache-2.0
"""Videos that the program ffmpeg makes, and their frames as it decodes them: the oracle.

Files are made once for each session. Without the program or without the engine's video library, a
test is skipped; with ``video`` in TORCHDALI_REQUIRE it fails.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from torchdali import _C

# What makes each kind of file: the options of ffmpeg, and the suffix of the file.
H264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p")
KINDS: dict[str, tuple[Sequence[str], str]] = {
    "h264": ((*H264, "-g", "12", "-bf", "3"), ".mp4"),
    "open_gop": ((*H264, "-x264-params", "open-gop=1:keyint=12:bframes=3:b-pyramid=2"), ".mp4"),
    "intra_refresh": ((*H264, "-x264-params", "intra-refresh=1:keyint=12"), ".mp4"),
    "one_key": ((*H264, "-x264-params", "keyint=infinite"), ".mp4"),
    "fragments": ((*H264, "-g", "12", "-movflags", "frag_keyframe+empty_moov"), ".mp4"),
    "interlaced": ((*H264, "-flags", "+ildct+ilme", "-g", "12"), ".ts"),
    "vfr": (
        (*H264, "-vf", "select='not(mod(n,3))+eq(mod(n,7),1)'", "-fps_mode", "vfr", "-g", "12"),
        ".mp4",
    ),
    "odd_444": (("-c:v", "libx264", "-pix_fmt", "yuv444p", "-s", "97x63", "-g", "12"), ".mp4"),
    "ten_bits": (("-c:v", "libx264", "-pix_fmt", "yuv420p10le", "-g", "12"), ".mkv"),
    "h264_mkv": ((*H264, "-g", "12", "-bf", "3"), ".mkv"),
    "h264_avi": ((*H264, "-g", "12", "-bf", "3"), ".avi"),  # without times of presentation
    "h264_raw": ((*H264, "-g", "12", "-bf", "3"), ".h264"),
    "h264_ts": ((*H264, "-g", "12"), ".ts"),
    "hevc": (
        ("-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params", "keyint=12:open-gop=1"),
        ".mp4",
    ),
    "vp8": (("-c:v", "libvpx", "-g", "20", "-auto-alt-ref", "1", "-lag-in-frames", "16"), ".webm"),
    "vp9": (
        ("-c:v", "libvpx-vp9", "-g", "20", "-auto-alt-ref", "1", "-lag-in-frames", "16"),
        ".webm",
    ),
    "av1": (("-c:v", "libsvtav1", "-preset", "10", "-g", "40"), ".mp4"),
    "av1_mkv": (("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "40"), ".mkv"),
    "mpeg2_ts": (("-c:v", "mpeg2video", "-g", "12", "-bf", "2"), ".ts"),
    "mpeg2_ps": (("-c:v", "mpeg2video", "-g", "12", "-bf", "2"), ".mpg"),
    "mpeg4_avi": (("-c:v", "mpeg4", "-g", "12", "-bf", "2"), ".avi"),
    "mjpeg": (("-c:v", "mjpeg", "-pix_fmt", "yuvj420p"), ".avi"),
    "png": (("-c:v", "png"), ".mov"),
    "gif": ((), ".gif"),
    "rgb": (("-c:v", "libx264rgb", "-g", "12"), ".mp4"),
}

_program = shutil.which("ffmpeg")


def library_missing() -> str:
    """Returns why the engine decodes no videos, or ""."""
    reason = _C.video_library()[2]
    if reason and "video" in os.environ.get("TORCHDALI_REQUIRE", "").split(","):
        pytest.fail(f"TORCHDALI_REQUIRE has video, but {reason}")
    return reason


def require() -> None:
    """Skips the test, or fails it, if there is no program ffmpeg."""
    if _program is None:
        reason = "there is no program ffmpeg, which makes the videos"
        if "video" in os.environ.get("TORCHDALI_REQUIRE", "").split(","):
            pytest.fail(f"TORCHDALI_REQUIRE has video, but {reason}")
        pytest.skip(reason)


def ffmpeg(*args: str | Path, data: bytes | None = None) -> bytes:
    """Runs ffmpeg with `data` as its standard input; returns what it writes to its output."""
    require()
    command = [str(_program), "-v", "error", "-y", *map(str, args)]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode and b"Unknown encoder" in done.stderr:
        pytest.skip(done.stderr.decode().splitlines()[0])
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@functools.cache
def folder() -> Path:
    """Returns the folder of this session's videos."""
    path = tempfile.mkdtemp(prefix="torchdali-videos-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


@functools.cache
def video(kind: str, seconds: float = 2.0, size: str = "96x64", rate: int = 25) -> Path:
    """Returns a file of moving test patterns with sound, of one of KINDS."""
    options, suffix = KINDS[kind]
    path = folder() / f"{kind}-{seconds}-{size}-{rate}{suffix}"
    source = f"testsrc2=size={size}:rate={rate}:duration={seconds}"
    ffmpeg("-f", "lavfi", "-i", source, *options, path)
    return path


def raw_frames(path: Path, *options: str) -> list[bytes]:
    """Returns the frames of a file as ffmpeg decodes them, in the pixel format of the file."""
    probe = ffmpeg("-noautorotate", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
                   *options, "-f", "framecrc", "-")  # fmt: skip
    count = sum(1 for line in probe.splitlines() if line and not line.startswith(b"#"))
    data = ffmpeg("-noautorotate", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
                  *options, "-f", "rawvideo", "-")  # fmt: skip
    size = len(data) // count
    assert size * count == len(data)
    return [data[i * size : (i + 1) * size] for i in range(count)]


def size_of(path: Path) -> tuple[int, int]:
    """Returns the width and the height of the pictures of a file."""
    frame = ffmpeg("-noautorotate", "-i", path, "-frames:v", "1", "-f", "image2pipe", "-c:v", "ppm",
                   "-")  # fmt: skip
    width, height = map(int, frame.split(maxsplit=3)[1:3])
    return width, height


def as_tensor(file: bytes | Path) -> torch.Tensor:
    """Returns a file as the decoder takes it."""
    data = file.read_bytes() if isinstance(file, Path) else file
    return torch.from_numpy(np.frombuffer(data, np.uint8).copy())


def committed_path(name: str) -> Path:
    """Returns the path of a file of 12 frames, 48x32, in tests/data/videos.

    ffmpeg 5.1 made them of ``nullsrc=s=48x32:r=10:d=1.2,geq=lum='mod(X*4+N*20,256)':cb='100+N*5':
    cr='100+X+Y'``: by ``-c:v libx264 -g 6 -bf 2 -crf 24``, the same turned by
    ``-metadata:s:v:0 rotate=90``, and by ``-c:v libvpx-vp9 -g 6 -b:v 50k``.
    """
    return Path(__file__).parents[1] / "data" / "videos" / name


def committed(name: str) -> torch.Tensor:
    """Returns a file of tests/data/videos. In a test, skips without the video library."""
    if "PYTEST_CURRENT_TEST" in os.environ and (reason := library_missing()):
        pytest.skip(reason)
    return as_tensor(committed_path(name))
