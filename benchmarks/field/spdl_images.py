# SPDX-License-Identifier: Apache-2.0
"""SPDL's comparison of threads with processes: images per second, CPU time and memory.

Files are decoded and resized to 224 x 224, as in SPDL's example of ImageNet: batches of bytes,
which a GPU would normalize. Axes: ``threads`` (or worker processes), ``batch``, ``seed``,
``data`` (folder).
"""

from __future__ import annotations

import atexit
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.peers import Peer, api, memory_bytes
from benchmarks.pipelines.files import SIZE, find_files
from benchmarks.pipelines.imagenet_peers import endless_batches

PEERS = ["torchdali", "spdl", "dali", "dataloader-torchvision", "dataloader"]
BATCH = 32
WARM_UP = 4

Axes = dict[str, Any]
Step = Callable[[], int]


class Loader:
    """The step of the benchmark, which knows how much memory it has added."""

    def __init__(self, imports: list[str], begin: Callable[[Axes], Step], axes: Axes) -> None:
        for name in imports:  # before, because packages of different size are not to be compared
            __import__(name)
        self._before = memory_bytes()
        self._step = begin(axes)

    def __call__(self) -> int:
        """Makes a batch and returns its size."""
        return self._step()

    def added(self) -> int:
        """Returns the bytes of memory that all processes of the loader use."""
        return memory_bytes() - self._before


def _pipeline(dali: Any, axes: Axes) -> Step:
    fn, types = dali.fn, dali.types

    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def loading() -> tuple[Any, Any]:
        jpegs, labels = fn.readers.file(
            files=find_files(axes["data"]), random_shuffle=True, name="Reader"
        )
        images = fn.decoders.image(jpegs, output_type=types.RGB)
        return fn.resize(images, size=[SIZE, SIZE], interp_type=types.INTERP_TRIANGULAR), labels

    pipeline = loading()
    pipeline.build()
    return lambda: len(pipeline.run()[0])


def _dataloader(axes: Axes, load: Callable[[str], Any]) -> Step:
    import torch

    class Images(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
        files = find_files(axes["data"])

        def __len__(self) -> int:
            return len(self.files)

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            return load(self.files[index]), index

    batches = endless_batches(Images(), axes)
    return lambda: len(next(batches)[0])


def _torchvision(axes: Axes) -> Step:
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2

    resize = v2.Resize((SIZE, SIZE), antialias=True)
    return _dataloader(axes, lambda path: resize(decode_image(read_file(path), ImageReadMode.RGB)))


def _pillow(axes: Axes) -> Step:
    import numpy as np
    import torch
    from PIL import Image

    def load(path: str) -> Any:
        with Image.open(path) as image:
            small = image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(small))

    return _dataloader(axes, load)


def _spdl(axes: Axes) -> Step:
    import spdl.io
    from spdl.pipeline import PipelineBuilder

    files = find_files(axes["data"])
    rng = random.Random(axes["seed"])
    filters = f"scale={SIZE}:{SIZE}:flags=bilinear,format=rgb24"

    def paths() -> Iterator[str]:
        while True:
            yield rng.choice(files)

    def decode(path: str) -> Any:
        return spdl.io.decode_packets(spdl.io.demux_image(path), filter_desc=filters)

    pipeline = (
        PipelineBuilder()
        .add_source(paths())
        .pipe(decode, concurrency=axes["threads"])
        .aggregate(axes["batch"])
        .pipe(lambda frames: spdl.io.to_torch(spdl.io.convert_frames(frames)))
        .add_sink(2)
        .build(num_threads=axes["threads"])
    )
    pipeline.start()
    atexit.register(pipeline.stop)
    batches = iter(pipeline)
    counter = itertools.count()

    def step() -> int:
        batch = next(batches)
        if next(counter) == 0:
            assert tuple(batch.shape[1:]) == (SIZE, SIZE, 3), batch.shape
        return len(batch)

    return step


def make(peer: str, axes: Axes) -> Loader:
    """Returns a loader whose memory can be asked for."""
    if peer in ("torchdali", "dali"):
        module = api(peer)
        packages = ["torch"] if peer == "torchdali" else []
        return Loader(packages, lambda axes: _pipeline(module, axes), axes)
    if peer == "spdl":
        return Loader(["torch", "spdl.io", "spdl.pipeline"], _spdl, axes)
    if peer == "dataloader":
        return Loader(["torch", "PIL.Image"], _pillow, axes)
    return Loader(["torch", "torchvision.io", "torchvision.transforms.v2"], _torchvision, axes)


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all peers."""

    def one_round(peer: Peer) -> dict[str, float]:
        measured = peer.measure(options.seconds, WARM_UP)
        return {
            **harness.throughput(measured),
            "cpus": measured["cpu_s"] / measured["wall_s"],
            "added_mb": peer.ask("call", method="added") / 1e6,
        }

    return harness.measure_by(
        __name__,
        options.chosen(PEERS),
        [options.axes(batch=BATCH)],
        one_round,
        rounds=options.rounds,
    )
