# SPDX-License-Identifier: Apache-2.0
"""The peers' ways to read frames of a file: each opens it and returns RGB frames [F, H, W, 3].

Decoders have one thread; the benchmarks run as many calls at a time as they have threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

# Opens a file.
Open = Callable[[str, int], Any]


class _PyAV:
    """PyAV: seeks to a time, and decodes until the frames come."""

    def __init__(self, path: str, size: int) -> None:
        import av

        self.container = av.open(path)
        self.stream = self.container.streams.video[0]
        self.stream.thread_type = "NONE"
        self.stream.codec_context.thread_count = 1
        self.size = {"width": size, "height": size} if size else {}

    def __len__(self) -> int:
        return int(self.stream.frames)

    def read(self, first: int, count: int) -> np.ndarray:
        start = float(first / self.stream.average_rate)
        base = float(self.stream.time_base)
        self.container.seek(int(start / base), stream=self.stream)
        made = []
        for frame in self.container.decode(self.stream):
            if frame.pts * base < start - 1e-3:
                continue
            made.append(frame.reformat(format="rgb24", **self.size).to_ndarray())
            if len(made) == count:
                break
        return np.stack(made)


class _OpenCV:
    def __init__(self, path: str, size: int) -> None:
        import os

        os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "threads;1"
        import cv2

        cv2.setNumThreads(1)
        self.cv2, self.size = cv2, size
        self.capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG)

    def __len__(self) -> int:
        return int(self.capture.get(self.cv2.CAP_PROP_FRAME_COUNT))

    def read(self, first: int, count: int) -> np.ndarray:
        if first != int(self.capture.get(self.cv2.CAP_PROP_POS_FRAMES)):
            self.capture.set(self.cv2.CAP_PROP_POS_FRAMES, first)
        made = []
        for _ in range(count):
            _, frame = self.capture.read()
            if self.size:
                frame = self.cv2.resize(frame, (self.size, self.size))
            made.append(self.cv2.cvtColor(frame, self.cv2.COLOR_BGR2RGB))
        return np.stack(made)


class _Decord:
    def __init__(self, path: str, size: int) -> None:
        import decord

        sizes = {"width": size, "height": size} if size else {}
        self.reader = decord.VideoReader(path, num_threads=1, **sizes)

    def __len__(self) -> int:
        return len(self.reader)

    def read(self, first: int, count: int) -> np.ndarray:
        frames: np.ndarray = self.reader.get_batch(range(first, first + count)).asnumpy()
        return frames


class _TorchCodec:
    def __init__(self, path: str, size: int, *, mode: str) -> None:
        from torchcodec.decoders import VideoDecoder
        from torchcodec.transforms import Resize

        options = {"dimension_order": "NHWC", "num_ffmpeg_threads": 1, "seek_mode": mode}
        if size:
            options["transforms"] = [Resize((size, size))]
        self.decoder = VideoDecoder(path, **options)

    def __len__(self) -> int:
        return len(self.decoder)

    def read(self, first: int, count: int) -> Any:
        return self.decoder.get_frames_in_range(first, first + count).data


OPEN: dict[str, Open] = {
    "pyav": _PyAV,
    "opencv": _OpenCV,
    "decord": _Decord,
    "torchcodec": functools.partial(_TorchCodec, mode="exact"),
    "torchcodec-approximate": functools.partial(_TorchCodec, mode="approximate"),
}
PEERS = ["torchdali", *OPEN, "dali"]
