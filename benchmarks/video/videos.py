# SPDX-License-Identifier: Apache-2.0
"""Videos that the benchmarks make with the program ffmpeg: a zoom into a fractal, with noise."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

RATE = 30
COPIES = 160  # of a video, as files of a data set


@dataclass(frozen=True)
class Video:
    """How a video is made.

    Args:
        encoder: the encoder of ffmpeg, with its options.
        height: 360 or 1080.
        gop: most frames from one key frame to the next.
        frames: their number.
        variable: whether the frame rate varies.
    """

    encoder: str
    height: int
    gop: int
    frames: int
    variable: bool = False

    @property
    def bits(self) -> str:
        """The bit rate."""
        return "700k" if self.height == 360 else "5M"


_X264, _X265 = "libx264 -preset medium", "libx265 -preset fast -x265-params log-level=none"
_VP9 = "libvpx-vp9 -deadline realtime -cpu-used 7 -row-mt 1"
_AV1 = "libsvtav1 -preset 9"
VIDEOS = {
    "H.264, 360p, GOP 12": Video(_X264, 360, 12, 300),
    "H.264, 360p, GOP 250": Video(_X264, 360, 250, 300),
    "H.264, 360p, GOP 250, VFR": Video(_X264, 360, 250, 300, variable=True),
    "H.265, 360p, GOP 250": Video(_X265, 360, 250, 300),
    "VP9, 360p, GOP 250": Video(_VP9, 360, 250, 300),
    "AV1, 360p, GOP 250": Video(_AV1, 360, 250, 300),
    "H.264, 1080p, GOP 12": Video(_X264, 1080, 12, 90),
    "H.264, 1080p, GOP 250": Video(_X264, 1080, 250, 90),
    "H.265, 1080p, GOP 250": Video(_X265, 1080, 250, 90),
    "VP9, 1080p, GOP 250": Video(_VP9, 1080, 250, 90),
    "AV1, 1080p, GOP 250": Video(_AV1, 1080, 250, 90),
}


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"torchdali-videos-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    return folder


def one(name: str) -> str:
    """Returns the file of a video of VIDEOS; makes it if it is not there."""
    video = VIDEOS[name]
    path = _folder() / (name.replace(", ", "-").replace(" ", "") + ".mp4")
    if path.exists():
        return str(path)
    part = path.with_suffix(f".{os.getpid()}.mp4")
    size = f"{video.height * 16 // 9}x{video.height}"
    filters = f"scale={size.replace('x', ':')},noise=alls=4:allf=t"
    more = []
    if video.variable:
        filters += ",setpts='(N+0.4*mod(N,3)+4*floor(N/50))/30/TB'"
        more = ["-fps_mode", "passthrough"]
    made = f"mandelbrot=size=320x180:rate={RATE}:maxiter=500:end_scale=0.02:end_pts=400"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", made, "-vf", filters, *more]
    command += ["-frames:v", str(video.frames), "-pix_fmt", "yuv420p", "-g", str(video.gop)]
    command += ["-b:v", video.bits, "-c:v", *video.encoder.split(), str(part)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    part.rename(path)
    return str(path)


def many(name: str) -> list[str]:
    """Returns files of a data set, which are links to one video."""
    original = Path(one(name))
    folder = original.with_suffix("")
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{i}.mp4" for i in range(COPIES)]
    for path in paths:
        if not path.exists():
            path.hardlink_to(original)
    return [str(path) for path in paths]
