# SPDX-License-Identifier: Apache-2.0
"""A LightningDataModule over pipeline functions or datasets. The one module that needs lightning.

What Lightning knows (rank, device, precision) is taken from the trainer; docs/guide/training.md.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import Dataset, DistributedSampler, IterableDataset

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader import DataLoader
from torchdali.loader._one_ahead import OneAhead
from torchdali.loader._pipeline.pipeline_loader import PipelineLoader
from torchdali.loader._pipeline.ranks import Ranks, find_ranks, local_rank
from torchdali.pipeline import Pipeline
from torchdali.pipeline._pipeline_def import is_pipeline_def

try:
    from lightning.pytorch import LightningDataModule
except ImportError as error:
    raise ImportError(
        "torchdali.lightning needs the package lightning\n"
        "  To fix it: pip install torchdali[lightning]"
    ) from error

__all__ = ["DataModule"]

_STAGES = ("train", "val", "test", "predict")
_OPTIONS = ("batch_size", "pipeline_args", "loader_args")


class DataModule(LightningDataModule, ListsBadSamples):
    """Gives Lightning's Trainer loaders over pipelines, one or several for each stage.

    Ranks come from the trainer, so that it has no sampler to inject; their batches are moved
    only if it is not on the trainer's device yet; their state is in Lightning's checkpoints, and
    a run that is resumed with `ckpt_path` continues in the middle of an epoch.

    A function's parameters named `rank`, `world_size`, `local_rank`, `device_id` and `precision`
    (Lightning's, such as "bf16-mixed") are filled from the trainer if `pipeline_args` has none.

    Args:
        train: what to train on: a function under pipeline_def, its import path
            ("package.module.function"), a dataset of torch, {"class_path": ..., "init_args": ...}
            as in configs; or a list or dict of these, which Lightning combines.
        val: what to validate on.
        test: what to test on.
        predict: what to predict.
        batch_size: of each process; None: as pipelines say, 1 for datasets.
        pipeline_args: keyword arguments of all functions.
        loader_args: arguments of PipelineLoader, or for datasets of torchdali.DataLoader, such as
            `on_error`. The samples that failed are in `errors`, those of all stages. With
            `fill_batches` Lightning fetches one training batch ahead, since len() is not known.
        stages: for some stages other values: {"val": {"batch_size": 256, "loader_args": ...}};
            `pipeline_args` and `loader_args` there are added to those of all stages.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.

    Example:
        data = DataModule(train_pipeline, val_pipeline, batch_size=64,
                          pipeline_args={"root": "photos", "num_threads": 4})
        Trainer(devices=2, strategy="ddp").fit(model, data)
    """

    def __init__(
        self,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        predict: Any = None,
        *,
        batch_size: int | None = None,
        pipeline_args: dict[str, Any] | None = None,
        loader_args: dict[str, Any] | None = None,
        stages: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        self._sources: dict[str, Any] = {}
        for stage, source in zip(_STAGES, (train, val, test, predict), strict=True):
            if source is not None:
                self._sources[stage] = _resolved(source)
                # Lightning finds the stages by their hooks.
                setattr(self, f"{stage}_dataloader", getattr(self, f"_{stage}_loaders"))
        if not self._sources:
            raise _make(
                ArgumentError, "DataModule: there is no data", fix="give `train` or another"
            )
        self._options = {
            "batch_size": batch_size,
            "pipeline_args": dict(pipeline_args or {}),
            "loader_args": dict(loader_args or {}),
        }
        self._of_stages = dict(stages or {})
        for stage, options in self._of_stages.items():
            for name, known in ((stage, tuple(self._sources)), *((n, _OPTIONS) for n in options)):
                if name not in known:
                    raise _make(
                        ArgumentError,
                        f'DataModule: `stages` has "{name}", expected some of {", ".join(known)}',
                    )
        self._check_pipeline_args()
        self._loaders: dict[str, list[Any]] = {}
        self._states: dict[str, list[Any]] = {}  # loaded, for loaders that are not made yet

    def _check_pipeline_args(self) -> None:
        """Raises ArgumentError for arguments of functions if there is no function."""
        with_functions = {stage for stage, s in self._sources.items() if _has_function(s)}
        wrong = [
            stage
            for stage, options in self._of_stages.items()
            if options.get("pipeline_args") and stage not in with_functions
        ]
        if wrong or (self._options["pipeline_args"] and not with_functions):
            raise _make(
                ArgumentError,
                "DataModule: `pipeline_args`"
                + (f" of `{wrong[0]}`" if wrong else "")
                + " are for functions, not for datasets and pipelines",
            )

    def _train_loaders(self) -> Any:
        return self._make("train")

    def _val_loaders(self) -> Any:
        return self._make("val")

    def _test_loaders(self) -> Any:
        return self._make("test")

    def _predict_loaders(self) -> Any:
        return self._make("predict")

    # -- what the trainer knows

    def _ranks(self) -> Ranks:
        trainer = self.trainer
        return find_ranks() if trainer is None else Ranks(trainer.global_rank, trainer.world_size)

    def _known(self) -> dict[str, Any]:
        """Returns arguments for the user's functions."""
        ranks, trainer = self._ranks(), self.trainer
        known: dict[str, Any] = {
            "rank": ranks.rank,
            "world_size": ranks.world_size,
            "local_rank": local_rank(),
            "device_id": None,
            "precision": "32-true",
        }
        if trainer is not None:
            device = trainer.strategy.root_device
            known["local_rank"] = trainer.local_rank
            known["precision"] = trainer.precision
            known["device_id"] = device.index if device.type == "cuda" else None
        return known

    # -- loaders

    def _option(self, stage: str, name: str) -> Any:
        common, own = self._options[name], self._of_stages.get(stage, {}).get(name)
        if isinstance(common, dict):
            return {**common, **(own or {})}
        return common if own is None else own

    def _make(self, stage: str) -> Any:
        """Returns the loaders of a stage; those made before (Lightning reloads) are closed."""
        for old in self._loaders.pop(stage, []):
            if isinstance(_inner(old), PipelineLoader):
                _inner(old).close()
        source = self._sources[stage]
        made: Any
        if isinstance(source, Mapping):
            made = {key: self._loader(stage, one) for key, one in source.items()}
            loaders = list(made.values())
        elif isinstance(source, list):
            made = loaders = [self._loader(stage, one) for one in source]
        else:
            made = self._loader(stage, source)
            loaders = [made]
        self._loaders[stage] = list(loaders)
        self._restore(stage)
        return made

    def _loader(self, stage: str, source: Any) -> Any:
        loader = self._new_loader(stage, source)
        # len() of a loader that fills its batches is a bound, and Lightning needs to know the last
        # batch of an epoch, to validate after it.
        fills = stage == "train" and self._option(stage, "loader_args").get("fill_batches")
        return OneAhead(loader) if fills else loader

    def _new_loader(self, stage: str, source: Any) -> Any:
        ranks = self._ranks()
        batch_size = self._option(stage, "batch_size")
        arguments = self._option(stage, "loader_args")
        overfits = getattr(self.trainer, "overfit_batches", 0) > 0
        if isinstance(source, Dataset):
            return _dataset_loader(source, batch_size or 1, arguments, ranks, stage, overfits)
        if overfits:  # the same batches in every epoch
            arguments["shuffle"] = False
        return PipelineLoader(
            source,
            batch_size=batch_size,
            pipeline_args=None if isinstance(source, Pipeline) else self._arguments(stage, source),
            **{"rank": ranks.rank, "world_size": ranks.world_size, **arguments},
        )

    def _arguments(self, stage: str, function: Callable[..., Any]) -> dict[str, Any]:
        given = self._option(stage, "pipeline_args")
        names = set(inspect.signature(function).parameters)
        known = self._known()
        if is_pipeline_def(function):
            # The pipeline's own arguments: it takes these too.
            given.setdefault("enable_checkpointing", True)
            if known["device_id"] is not None:
                names.add("device_id")
        return {**{name: known[name] for name in known if name in names}, **given}

    # -- batches

    def transfer_batch_to_device(
        self,
        batch: Any,
        device: torch.device,
        dataloader_idx: int,  # noqa: ARG002 (Lightning passes it)
    ) -> Any:
        """Returns the batch on a device: itself if all of its tensors are on it."""
        if all(tensor.device == device for tensor in _tensors(batch)):
            return batch
        return _moved(batch, device)

    def stats(self, reset: bool = False) -> dict[str, list[Any]]:
        """Returns how the time is spent, by stage and loader.

        Loaders without stats() are left out.

        Args:
            reset: reset the counters afterwards.
        """
        return {
            stage: [one.stats(reset=reset) for one in map(_inner, loaders) if hasattr(one, "stats")]
            for stage, loaders in self._loaders.items()
        }

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of samples that failed, of all loaders."""
        loaders = [_inner(one) for loaders in self._loaders.values() for one in loaders]
        return [log for loader in loaders for log in loader.__torchdali_bad_samples__()]

    # -- states

    def state_dict(self) -> dict[str, Any]:
        """Returns the positions of the training loaders, for Lightning's checkpoints."""
        loaders = self._loaders.get("train")
        if loaders is None:
            return {stage: list(states) for stage, states in self._states.items()}
        return {"train": [loader.state_dict() for loader in loaders]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resumes the training loaders where state_dict() was called."""
        self._states = {stage: list(states) for stage, states in state_dict.items()}
        for stage in list(self._loaders):
            self._restore(stage)

    def _restore(self, stage: str) -> None:
        states, loaders = self._states.pop(stage, None), self._loaders[stage]
        if states is None:
            return
        if len(states) != len(loaders):
            raise _make(
                ArgumentError,
                f"DataModule: the checkpoint has {len(states)} loaders for `{stage}`, there are "
                f"{len(loaders)}",
                fix="resume with the data that the checkpoint was made with",
            )
        for loader, state in zip(loaders, states, strict=True):
            loader.load_state_dict(state)


def _inner(loader: Any) -> Any:
    return loader.loader if isinstance(loader, OneAhead) else loader


def _dataset_loader(
    dataset: Any,
    batch_size: int,
    arguments: Mapping[str, Any],
    ranks: Ranks,
    stage: str,
    overfits: bool,
) -> Any:
    options = {"batch_size": batch_size, **arguments}
    orders = ("sampler", "batch_sampler")
    if not isinstance(dataset, IterableDataset) and not any(name in options for name in orders):
        shuffle = bool(options.pop("shuffle", stage == "train")) and not overfits
        if ranks.world_size == 1:
            options["shuffle"] = shuffle
        else:
            options["sampler"] = DistributedSampler(
                dataset, ranks.world_size, ranks.rank, shuffle=shuffle
            )
    return DataLoader(dataset, **options)


def _resolved(source: Any) -> Any:
    """Returns functions and datasets in place of import paths and configs."""
    if isinstance(source, str):
        return _imported(source)
    if isinstance(source, Mapping):
        if "class_path" in source:
            return _imported(source["class_path"])(**source.get("init_args", {}))
        return {key: _resolved(one) for key, one in source.items()}
    if isinstance(source, (list, tuple)):
        return [_resolved(one) for one in source]
    if isinstance(source, (Dataset, Pipeline)) or callable(source):
        return source
    raise _make(
        ArgumentTypeError,
        f"DataModule: got a {type(source).__name__}, expected a function under pipeline_def, its "
        "import path, or a dataset",
    )


def _has_function(source: Any) -> bool:
    """Returns whether there is a function that makes pipelines among the sources of a stage."""
    if isinstance(source, Mapping):
        return any(_has_function(one) for one in source.values())
    if isinstance(source, list):
        return any(_has_function(one) for one in source)
    return not isinstance(source, (Dataset, Pipeline))


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _make(
            ArgumentError,
            f'DataModule: "{path}" cannot be imported: {error}',
            fix='give "package.module.name", of something that Python can import here',
        ) from error


def _tensors(batch: Any) -> Iterator[Any]:
    """Yields whatever has a device in a structure."""
    if isinstance(batch, Mapping):
        batch = batch.values()
    elif _is_dataclass(batch):
        batch = [getattr(batch, field.name) for field in dataclasses.fields(batch)]
    elif not isinstance(batch, (list, tuple)):
        if isinstance(batch, torch.Tensor) or (hasattr(batch, "to") and hasattr(batch, "device")):
            yield batch
        return
    for item in batch:
        yield from _tensors(item)


def _moved(batch: Any, device: torch.device) -> Any:
    """Returns a structure with its tensors on a device. Frozen dataclasses may be in it."""
    if hasattr(batch, "to"):
        return batch.to(device, non_blocking=device.type == "cuda")
    if isinstance(batch, Mapping):
        # A mapping of another kind is made from a dict, as collate functions do.
        moved = {key: _moved(item, device) for key, item in batch.items()}
        return moved if type(batch) is dict else type(batch)(moved)  # type: ignore[call-arg]
    if isinstance(batch, (list, tuple)):
        items = [_moved(item, device) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    if _is_dataclass(batch):
        names = [field.name for field in dataclasses.fields(batch) if field.init]
        return dataclasses.replace(batch, **{n: _moved(getattr(batch, n), device) for n in names})
    return batch


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
