# SPDX-License-Identifier: Apache-2.0
"""Videos whose frames show their numbers as bars, made by the program ffmpeg."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from . import videos

HEIGHT, WIDTH, BITS = 48, 128, 8
CODECS = {
    "h264": ["-c:v", "libx264", "-preset", "fast"],
    "hevc": ["-c:v", "libx265", "-preset", "fast", "-x265-params", "bframes=0:log-level=none"],
    "vp9": ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"],
    "mjpeg": ["-c:v", "mjpeg", "-q:v", "2"],
}


def picture(number: int) -> np.ndarray:
    """Returns a frame: a bar for each bit of its number, from the highest on, on a color."""
    frame = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    frame[:] = [60 + 3 * number % 120, 90, 150]
    for bit in range(BITS):
        bar = frame[HEIGHT // 2 :, bit * WIDTH // BITS : (bit + 1) * WIDTH // BITS]
        bar[:] = 235 if number >> (BITS - 1 - bit) & 1 else 20
    return frame


def numbers_of(frames: torch.Tensor) -> list[int]:
    """Returns the numbers that frames of any size show, [F, H, W, C] of bytes; black: 0."""
    _, height, width, _ = frames.shape
    found = []
    for frame in frames:
        rows = frame[height * 5 // 8 : height * 7 // 8].float().mean(dim=(0, 2))
        bars = [rows[int((bit + 0.5) * width / BITS)] > 128 for bit in range(BITS)]
        found.append(sum(1 << (BITS - 1 - bit) for bit, is_set in enumerate(bars) if is_set))
    return found


@functools.cache
def _encoded(
    suffix: str, first: int, count: int, codec: str, gop: int, times: tuple[int, ...]
) -> bytes:
    frames = b"".join(picture(i).tobytes() for i in range(first, first + count))
    more: list[str] = []
    if times:  # in milliseconds, chosen frame by frame
        choice = "+".join(f"eq(N,{i})*{time}" for i, time in enumerate(times))
        more = ["-vf", f"settb=1/1000,setpts='{choice}'", "-fps_mode", "passthrough"]
        more += ["-enc_time_base", "1/1000"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"video{suffix}"
        command = ["-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{WIDTH}x{HEIGHT}", "-r", "25", "-i", "-", *more, *CODECS[codec]]
        command += ["-pix_fmt", "yuvj420p" if codec == "mjpeg" else "yuv420p", "-g", str(gop)]
        videos.ffmpeg(*command, path, data=frames)
        return path.read_bytes()


def write_video(
    path: Path,
    count: int = 50,
    *,
    first: int = 0,
    codec: str = "h264",
    gop: int = 12,
    times: Sequence[int] = (),
) -> str:
    """Writes a video of 25 frames per second; returns its path.

    Args:
        path: its suffix is the container.
        count: number of frames.
        first: the number that the first frame shows.
        codec: a name of CODECS.
        gop: most frames from one key frame to the next.
        times: presentation times of the frames in milliseconds instead of the rate.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_encoded(path.suffix, first, count, codec, gop, tuple(times)))
    return str(path)
