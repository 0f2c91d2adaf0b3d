# SPDX-License-Identifier: Apache-2.0
"""Adapters of torchdali: PipelineLoader over each reader, and DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, DistributedSampler

from benchmarks.elastic.adapter import Batch, Setup
from torchdali import DataLoader, PipelineLoader, fn, pipeline_def, tfrecord

__all__ = ["READERS", "Numbers", "number_of", "numbered"]

_Read = Callable[[Path], Any]  # returns the node that has the number of the sample


def _paths(folder: Path, pattern: str) -> list[str]:
    return [str(path) for path in sorted(folder.glob(pattern))]


def _file(data: Path) -> Any:
    return fn.readers.file(file_list=str(data / "files" / "list.txt"))[1]


def _webdataset(data: Path) -> Any:
    return fn.readers.webdataset(paths=_paths(data / "tar", "*.tar"), ext=["jpg", "cls"])[0]


def _tfrecord(data: Path) -> Any:
    features = {"label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)}
    paths = _paths(data / "tfrecord", "*.tfrecord")
    indexes = [str(Path(path).with_suffix(".idx")) for path in paths]
    return fn.readers.tfrecord(path=paths, index_path=indexes, features=features)["label"]


def _recordio(data: Path) -> Any:
    paths = _paths(data / "recordio", "*.rec")
    indexes = [str(Path(path).with_suffix(".idx")) for path in paths]
    return fn.readers.mxnet(path=paths, index_path=indexes)[1]


def _lmdb(data: Path) -> Any:
    return fn.readers.caffe(path=str(data / "lmdb"))[1]


def _parquet(data: Path) -> Any:
    return fn.readers.parquet(paths=_paths(data / "tables", "*.parquet"), columns=["label"])


def _arrow(data: Path) -> Any:
    return fn.readers.arrow(paths=_paths(data / "tables", "*.arrow"), columns=["label"])


def _numpy(data: Path) -> Any:
    return fn.readers.numpy(file_root=str(data / "arrays"), file_filter="*.npy")


def _coco(data: Path) -> Any:
    return fn.readers.coco(
        file_root=str(data / "coco" / "images"),
        annotations_file=str(data / "coco" / "annotations.json"),
        image_ids=True,
    )[3]


def _speech(data: Path) -> Any:
    audio = fn.readers.nemo_asr(
        manifest_filepaths=[str(data / "speech" / "manifest.json")], read_idxs=True
    )
    return audio[-1]


READERS: Mapping[str, _Read] = {
    "file": _file,
    "webdataset": _webdataset,
    "tfrecord": _tfrecord,
    "mxnet": _recordio,
    "caffe": _lmdb,
    "parquet": _parquet,
    "arrow": _arrow,
    "numpy": _numpy,
    "coco": _coco,
    "nemo_asr": _speech,
}


@pipeline_def(enable_checkpointing=True, device_id=None)
def numbered(reader: str, data: str) -> Any:
    """A pipeline whose samples are their numbers, and random values."""
    return READERS[reader](Path(data)), fn.random.uniform(range=[0.0, 1.0])


def number_of(value: torch.Tensor) -> int:
    """Returns the number of a sample: it is a number itself, or begins a file of data.py."""
    if value.dtype == torch.uint8 and value.numel() > 1:
        return int(np.frombuffer(value.numpy().tobytes()[:4], "<i4")[0])
    return int(value.reshape(-1)[0])


class _Pipeline:
    """PipelineLoader over one reader."""

    def __init__(self, reader: str, setup: Setup) -> None:
        self._loader = PipelineLoader(
            numbered,
            batch_size=setup.batch_size,
            pipeline_args={"reader": reader, "data": setup.data, "num_threads": setup.threads},
            shuffle=True,
            seed=setup.seed,
            rank=setup.rank,
            world_size=setup.world_size,
            shards="exact",
            ragged="list",
        )

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[-1])  # that of any rank

    def epoch(self, number: int) -> Iterator[Batch]:
        self._loader.set_epoch(number)
        for values, noise in self._loader:
            yield Batch([number_of(one) for one in values], [float(one) for one in noise])

    def state(self) -> Any:
        return self._loader.state_dict()


class Numbers(Dataset[int]):
    """The data set whose samples are their numbers."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> int:
        return index


class _Dataset:
    """torchdali.DataLoader with torch's DistributedSampler."""

    def __init__(self, workers: str, setup: Setup) -> None:
        dataset = Numbers(setup.size)
        self._sampler = DistributedSampler(
            dataset, setup.world_size, setup.rank, shuffle=True, seed=setup.seed
        )
        self._loader = DataLoader(
            dataset,
            batch_size=setup.batch_size,
            sampler=self._sampler,
            num_workers=setup.threads,
            workers=workers,
        )
        self._rank = setup.rank

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[min(self._rank, len(states) - 1)])

    def epoch(self, number: int) -> Iterator[Batch]:
        self._sampler.set_epoch(number)
        for batch in self._loader:
            yield Batch(batch.tolist())

    def state(self) -> Any:
        return self._loader.state_dict()


def _maker(reader: str) -> Callable[[Setup], _Pipeline]:
    return lambda setup: _Pipeline(reader, setup)


def __getattr__(name: str) -> Any:
    if name.startswith("reader_"):
        return _maker(name.removeprefix("reader_"))
    raise AttributeError(name)


def processes(setup: Setup) -> _Dataset:
    """DataLoader with worker processes."""
    return _Dataset("processes", setup)


def threads(setup: Setup) -> _Dataset:
    """DataLoader with threads."""
    return _Dataset("threads", setup)
