# SPDX-License-Identifier: Apache-2.0
"""More scenes of tools/digests.py: iterators, loaders, debug mode, serialization, checkpoints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import digest_data as data
import torch
from digest_scenes import Setting, batches, branching, copied, scene, training

from torchdali import DataLoader, Pipeline, PipelineLoader, fn, pipeline_def
from torchdali.plugin.pytorch import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
)

SHARDS = {"num_shards": 3, "pad_last_batch": True}


@scene
def dali_iterators(setting: Setting) -> Iterator[tuple[str, Any]]:
    """DALI's iterators over two epochs, with each policy for the last batch."""
    for policy in LastBatchPolicy:
        for shards in (1, 3):
            pipes = [
                training(setting, {**SHARDS, "shard_id": shard}, **setting.options())
                for shard in range(shards)
            ]
            iterator = DALIClassificationIterator(
                pipes, reader_name="Reader", last_batch_policy=policy, auto_reset=True
            )
            epochs = [[cloned(batch) for batch in iterator] for _ in range(2)]
            yield f"{policy.name}-{shards}", (epochs, len(iterator))
            close(pipes)
    pipe = training(setting, {}, **setting.options())
    by_size = DALIGenericIterator(pipe, ["data", "label"], size=18, auto_reset=True)
    yield "size", [cloned(batch) for batch in by_size]
    close([pipe])
    pipe = Pipeline(**setting.options())
    with pipe:
        pipe.set_outputs(fn.external_source(list(data.photo_batches()), cycle="raise"))
    kinds = [DALIRaggedIterator.SPARSE_LIST_TAG]
    ragged = DALIRaggedIterator(pipe, ["images"], output_types=kinds, auto_reset=True)
    yield "ragged", [cloned(batch) for batch in ragged]
    close([pipe])


def close(pipes: list[Pipeline]) -> None:
    """Closes pipelines."""
    for pipe in pipes:
        pipe.close()


def cloned(value: Any) -> Any:
    """Returns a deep copy of a structure of tensors."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: cloned(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [cloned(one) for one in value]
    return value


@pipeline_def
def named(setting: Setting) -> Any:
    """A pipeline for PipelineLoader; its outputs are a dict."""
    images, label = fn.readers.file(file_root=str(setting.images), random_shuffle=True)
    images = fn.resize(setting.place(fn.decoders.image(images)), size=[24, 24])
    return {"image": fn.flip(images, horizontal=fn.random.coin_flip()), "label": label}


def loader_of(setting: Setting, **options: Any) -> PipelineLoader:
    """Returns a PipelineLoader of `named`."""
    arguments = setting.options()
    batch_size = arguments.pop("batch_size")
    return PipelineLoader(
        named, batch_size=batch_size, pipeline_args={"setting": setting, **arguments}, **options
    )


@scene
def pipeline_loader(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Epochs, ranks, padding, and going on from a state on other ranks."""
    for name, options in {
        "equal": {},
        "exact": {"shards": "exact"},
        "padded": {"shards": "padded", "pad_last": True, "mask": "valid"},
        "drop_last": {"drop_last": True, "seed": 5},
    }.items():
        for rank in range(3):
            loader = loader_of(setting, rank=rank, world_size=3, **options)
            epochs = [[cloned(batch) for batch in loader] for _ in range(2)]
            yield f"{name}-rank{rank}", (epochs, len(loader))
    loader = loader_of(setting)
    loop = iter(loader)
    yield "before", [cloned(next(loop)) for _ in range(2)]
    state = loader.state_dict()
    for rank in range(2):
        again = loader_of(setting, rank=rank, world_size=2)
        again.load_state_dict(state)
        yield f"resumed-rank{rank}", [[cloned(b) for b in again] for _ in range(2)]


def halve(image: Any, label: Any) -> Any:
    """A pipeline behind a dataset."""
    return {"image": fn.resize(fn.flip(image), size=[16, 20]), "label": label}


@scene
def data_loader(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Workers as processes and threads, shuffling, pipelines, states."""
    options: dict[str, dict[str, Any]] = {
        "in_process": {},
        "processes": {"num_workers": 2},
        "threads": {"num_workers": 2, "workers": "threads"},
        "pipeline": {
            "num_workers": 2,
            "pipeline": halve,
            "pipeline_options": {"num_threads": setting.threads, "seed": 4},
        },
    }
    for name, more in options.items():
        loader = data_loader_of(data.Photos(), shuffle=True, **more)
        yield name, [[cloned(batch) for batch in loader] for _ in range(2)]
    for workers in (0, 2):
        loader = data_loader_of(data.Numbers(), num_workers=workers)
        yield f"iterable-{workers}", [cloned(batch) for batch in loader]
    loader = data_loader_of(data.Photos(), shuffle=True, num_workers=2)
    loop = iter(loader)
    first = [cloned(next(loop)) for _ in range(2)]
    again = data_loader_of(data.Photos(), shuffle=True, num_workers=2)
    again.load_state_dict(loader.state_dict())
    yield "resumed", (first, [cloned(batch) for batch in again])


def data_loader_of(dataset: Any, **options: Any) -> DataLoader[Any]:
    """Returns a loader with an order of its own seed."""
    generator = torch.Generator().manual_seed(3)
    torch.manual_seed(3)
    return DataLoader(dataset, batch_size=4, generator=generator, **options)


@scene
def debug(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Debug mode."""
    yield "training", batches(training(setting, {}, **setting.options(debug=True)))
    yield "branching", batches(branching(setting.place, **setting.options(debug=True)))


@scene
def serialization(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Pipelines made again from their text."""
    makers: dict[str, Callable[[], Pipeline]] = {
        "training": lambda: training(setting, {}, **setting.options()),
        "named": lambda: named(setting, **setting.options()),
    }
    for name, make in makers.items():
        pipe = make()
        text = pipe.serialize()
        pipe.close()
        yield name, batches(Pipeline.deserialize(text), 4)


@scene
def checkpoints(setting: Setting) -> Iterator[tuple[str, Any]]:
    """Pipelines that go on from a checkpoint."""
    makers: dict[str, Callable[..., Pipeline]] = {
        "training": lambda **more: training(setting, {}, **setting.options(**more)),
        "branching": lambda **more: branching(setting.place, **setting.options(**more)),
        "sampled": lambda **more: sampled(setting, **setting.options(**more)),
    }
    for name, make in makers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipe = make(enable_checkpointing=True)
            first = [copied(pipe.run()) for _ in range(2)]
            saved = pipe.checkpoint()
            pipe.close()
            resumed = make(enable_checkpointing=True, checkpoint=saved)
            yield name, (first, batches(resumed, 6))


@pipeline_def
def sampled(setting: Setting) -> Any:
    """A pipeline over a source of samples."""
    images, position = fn.external_source(
        data.photo_of_sample, batch=False, num_outputs=2, layout=["HWC", ""]
    )
    cropped = fn.random_resized_crop(setting.place(images), size=[16, 18])
    return fn.noise.gaussian(cropped, stddev=9.0), position
