# SPDX-License-Identifier: Apache-2.0
"""The pipelines whose counts are taken; each is made for a number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TINY_BATCH = 256
Step = Callable[[], int]


def _imagenet(axes: dict[str, Any]) -> Step:
    from benchmarks.pipelines import imagenet

    return imagenet.make("torchdali-plain", axes)


def _tiny(axes: dict[str, Any]) -> Step:
    from torchdali import fn, pipeline_def

    @pipeline_def(
        batch_size=TINY_BATCH, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def define() -> Any:
        return fn.reshape(fn.random.uniform(range=[0.0, 1.0], shape=[16]), shape=[4, 4])

    pipeline = define()
    pipeline.build()
    return lambda: len(pipeline.run()[0])


def _loader(axes: dict[str, Any]) -> Step:
    from benchmarks.pipelines import loader

    axes = {**axes, "work": "pipeline", "workers": axes["threads"], "persistent": True}
    data = loader.Paths(axes["data"], batches=100)  # an epoch is longer than what is counted
    sizes = loader._epochs(loader.loader_of("torchdali", axes, data))
    return lambda: next(sizes)


def _processes(axes: dict[str, Any]) -> Step:
    from benchmarks.pipelines import loader

    count = axes["threads"]
    return loader.make(  # type: ignore[return-value]  # "start" alone returns a time
        "torchdali",
        {"work": "tensors", "workers": count, "persistent": True, "data": axes["data"]},
    )


def _container(kind: str) -> Callable[[dict[str, Any]], Step]:
    def make(axes: dict[str, Any]) -> Step:
        import torchdali
        from benchmarks.pipelines import containers

        shards = containers.shards_of(kind, axes["data"])
        pipeline = containers._pipeline(
            torchdali, {**axes, "container": kind, "work": "read"}, shards
        )
        return lambda: len(pipeline.run()[0])

    return make


@dataclass(frozen=True)
class Workload:
    """A pipeline.

    Attributes:
        title: what it does.
        make: makes a function that makes one batch and returns its size.
        samples: how many are counted.
        most: threads.
    """

    title: str
    make: Callable[[dict[str, Any]], Step]
    samples: int
    most: int = 64


WORKLOADS = {
    "imagenet": Workload("ImageNet training", _imagenet, 2048),
    "tiny": Workload("16 random numbers", _tiny, 65536),
    # More threads read more batches ahead than are counted.
    "loader": Workload("`DataLoader` with `pipeline=`", _loader, 1024, most=16),
    "processes": Workload("`DataLoader` with processes, tensors", _processes, 6400, most=16),
    "webdataset": Workload("webdataset, bytes", _container("webdataset"), 16384),
    "tfrecord": Workload("TFRecord, bytes", _container("tfrecord"), 16384),
}
