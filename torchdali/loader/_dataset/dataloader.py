# SPDX-License-Identifier: Apache-2.0
"""torchdali.DataLoader: torch's class, with workers that return batches in shared memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import torch
from torch.utils.data import DataLoader as _TorchLoader
from torch.utils.data import Dataset

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.accelerated import (
    CollateElsewhere,
    check_accelerated,
    is_compiled,
    user_collate,
)
from torchdali.loader._dataset.arguments import check_arguments, check_pipeline, check_steps
from torchdali.loader._dataset.bucketing import Lengths, bucketed_sampler
from torchdali.loader._dataset.fill_stage import check_filling
from torchdali.loader._dataset.iterators import InProcessIterator, LoaderIterator
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.progress import check_state, fresh_state
from torchdali.loader._dataset.randomness import Generators
from torchdali.loader._dataset.resuming import note_epochs
from torchdali.loader._dataset.shared_order import is_elsewhere, restore_epoch, translated
from torchdali.loader._dataset.stages import Stage
from torchdali.loader._dataset.torch_internals import drop_iterator
from torchdali.loader._dataset.worker_iterator import WorkerIterator
from torchdali.loader.fields import FieldMarks, File, Layout
from torchdali.stats import LoaderStats

__all__ = ["DataLoader"]

_T = TypeVar("_T", covariant=True)


class _Indexed(Protocol[_T]):
    """A dataset that is no torch.utils.data.Dataset, such as a list of samples."""

    def __getitem__(self, index: Any, /) -> _T: ...


class DataLoader(_TorchLoader[_T], ListsBadSamples):
    """Batches of a dataset; a replacement for torch.utils.data.DataLoader.

    The arguments up to `in_order` are torch's, with the same defaults, checks and errors, and the
    class derives from torch's. state_dict() and load_state_dict() are as in torchdata's
    StatefulDataLoader: also in the middle of an epoch, with workers, and for datasets, iterators
    and samplers that have these methods themselves.

    Args:
        dataset: an object with ``__getitem__()`` and ``__len__()``, or an IterableDataset.
        batch_size: samples of a batch; None: samples are returned as they are.
        shuffle: whether each epoch has another order.
        sampler: yields indices.
        batch_sampler: yields lists of indices.
        num_workers: how many workers; 0: batches are made in the process, when they are asked for.
        collate_fn: makes a batch of a list of samples; default: torch's default_collate.
        pin_memory: whether tensors are copied to page-locked memory.
        drop_last: whether the last batch is dropped if it is not full.
        timeout: seconds to wait for a batch from workers; 0: no limit.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how worker processes are started; default: torch's.
        generator: of the order, and of the workers' seeds.
        prefetch_factor: batches that each worker makes ahead; default: 2. Processes make at most
            128 ahead in all, or one each.
        persistent_workers: whether workers are kept for the next epoch.
        pin_memory_device: as in torch.
        in_order: whether batches come in the order of the sampler.
        snapshot_every_n_steps: as in torchdata: after how many batches workers send their states,
            for datasets whose state_dict() is large. A loader that is resumed repeats the batches
            since then in its workers. None: workers send no states.
        bucket_by: the lengths of all samples, or a function from an index to a length: a batch has
            samples of like length, so that little is padded. Each epoch has the same samples, and
            the last batch is what it is without it.
        bucket_window: with `bucket_by`: batches that are sorted together. More of them make lengths
            more alike, and the order less random.
        workers: "processes", or "threads" of this process: for datasets that spend their time
            outside the GIL (reading files, decoding), or return bytes and paths. Threads share the
            dataset; an IterableDataset is iterated over once.
        on_error: what happens to a sample that raises an Exception, in the dataset or in
            `pipeline`. "raise": the exception is raised. "skip": the batch has one sample less.
            "replace": the previous sample of the batch is used again (an iterable returns its next
            one). Such samples are listed in `errors`, and the first one is a warning.
        fill_batches: with on_error="skip": samples of the next batches take the places of those
            that were left out, so that all batches of an epoch but the last one are full. len() is
            then the greatest number of batches. In one process only.
        max_errors: with "skip" and "replace": failed samples tolerated per epoch.
        errors_file: path of a file that each of `errors` is appended to, as a line of JSON.
        device: where batches arrive. Copies to a GPU overlap with its work, one batch ahead; with
            None and "cpu" nothing is copied.
        pipeline: a function that takes one DataNode for each field of a sample and returns outputs,
            as for pipeline_def: the engine decodes and augments what the dataset returns (arrays,
            tensors, numbers, bytes, files as pathlib.Path). A batch has the structure that the
            function returns: tuple, list, dict, named tuple, dataclass. Fields that it returns as
            it got them travel beside the engine, whatever they are; strings, numbers, dicts and
            other objects are collated as by default_collate, None and unknown types to lists.
        pipeline_options: arguments of Pipeline, such as num_threads, seed and device_id, and
            `enable_conditionals` of pipeline_def. Without a seed, random values follow from
            `generator`, or else torch's global generator, as the seeds of workers do.
        fields: what the fields are, by their keys, or by their indices if samples are tuples:
            Layout("CHW"), or just "CHW", and File() for strings that are paths of files to read.
            The same marks may be annotations of the parameters of `pipeline`, or be in
            pipeline_options["fields"]. A field of three or four dimensions without a layout is
            channels-last or channels-first if only one of these axes has 1, 3 or 4 elements, in all
            samples of a batch; otherwise operators on images refuse it.
        accelerate: run in the engine what is recognized: datasets and transforms of torchvision,
            see compile_dataset(). Batches, and the order of samples, stay those of torch's loader;
            random transforms keep their distributions, and draw other values. `num_workers` is
            then the number of threads. One line says what is compiled, what runs in Python, and
            why. Always on for what compile_dataset() returns.
        jpeg_index: with `pipeline` or `accelerate`: where positions in JPEG files are stored, which
            make later epochs faster, with equal pixels: a file, or a folder for a file, that later
            runs use too; "cache": a file in the user's cache; "memory": for this run.

    Attributes:
        errors, error_count: samples of this epoch that failed, up to the last batch.
    """

    _state: LoaderState

    def __init__(
        self,
        dataset: Dataset[_T] | _Indexed[_T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        snapshot_every_n_steps: int | None = 1,
        bucket_by: Lengths | None = None,
        bucket_window: int = 100,
        workers: str = "processes",
        on_error: str = "raise",
        fill_batches: bool = False,
        max_errors: int = 100,
        errors_file: str | os.PathLike[str] | None = None,
        device: torch.device | str | int | None = None,
        pipeline: Callable[..., Any] | None = None,
        pipeline_options: Mapping[str, Any] | None = None,
        fields: Mapping[str | int, Layout | File | str] | None = None,
        accelerate: bool = False,
        jpeg_index: str | os.PathLike[str] | None = None,
    ) -> None:
        check_arguments(workers, on_error, max_errors, multiprocessing_context)
        check_steps(snapshot_every_n_steps)
        if fill_batches:
            check_filling(locals())
        if bucket_by is not None:
            sampler, shuffle = bucketed_sampler(locals()), None
        accelerate = accelerate or is_compiled(dataset)
        engine = {
            "pipeline_options": pipeline_options, "jpeg_index": jpeg_index, "fields": fields
        }  # fmt: skip
        if accelerate:
            check_accelerated(pipeline, engine)
        if pipeline is not None:
            check_pipeline(pipeline, batch_size, batch_sampler)
            collate_fn = _collate_for(pipeline, collate_fn, engine, on_error)
        elif not accelerate:
            for name, value in engine.items():
                if value is not None:
                    raise _make(ArgumentError, f"DataLoader: `{name}` without `pipeline`")
        collate_fn = user_collate(collate_fn)  # of a loader that Lightning makes another one of
        # Not by setattr(): Lightning records attributes that are set, to set them again.
        self.__dict__["_state"] = LoaderState()
        super().__init__(
            dataset,  # type: ignore[arg-type]  # torch accepts more than its annotation
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )
        note_epochs(self)
        self.bucket_by, self.bucket_window = bucket_by, bucket_window
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self.workers = workers
        self.on_error = on_error
        self.fill_batches = fill_batches
        self.max_errors = max_errors
        self.errors_file = errors_file
        self.device = None if device is None else torch.device(device)
        self.pipeline = pipeline
        self.pipeline_options = pipeline_options
        self.fields = fields
        self.accelerate = bool(accelerate)
        self.jpeg_index = jpeg_index
        if accelerate and not is_compiled(dataset):
            self.collate_fn = CollateElsewhere(self.collate_fn, type(dataset).__qualname__)
        if pipeline is not None:
            from torchdali.loader._dataset.late_pipeline import LatePipeline

            collate: Any = self.collate_fn
            collate.adopt(LatePipeline(self))

    def _get_iterator(self) -> LoaderIterator:
        """Overrides torch's method; see torch_internals.py."""
        resumed, self._state.loaded = self._state.loaded, None
        seen = self._seen_by_iterators(renew=True)
        if self.num_workers == 0:
            return InProcessIterator(seen, self._state, resumed)
        self.check_worker_number_rationality()
        return WorkerIterator(seen, self._state, resumed)

    def _seen_by_iterators(self, renew: bool = False) -> Any:
        """Returns this loader, or what iterators get in its place with `accelerate`.

        Args:
            renew: look at the dataset again, whose transform may be another one now.
        """
        state = self._state
        if self.accelerate and (renew or state.view is None):
            from torchdali.loader._compiled.loader_view import make_view

            before, state.view = state.view, None
            view = make_view(self, before)
            if view is not before:
                state.idle_pipelines.clear()
            state.view = view
        return self if state.view is None else state.view

    def __torchdali_stage__(self) -> Stage | None:
        """Returns what works on batches before the user gets them, for subclasses."""
        return None

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of samples that failed."""
        return [self._state.bad_samples]

    def stats(self, reset: bool = False) -> LoaderStats:
        """Returns how long the loop waits for this loader. The time inside workers is not measured.

        With `pipeline`, the figures of the engine are included.

        Args:
            reset: set the counters to zero after reading them.
        """
        workers = self._seen_by_iterators().workers if self.num_workers else ""
        return self._state.clock.stats(workers, reset)

    def __torchdali_trace_owners__(self) -> list[int]:
        """Returns the numbers that mark the events of `pipeline` in a profile."""
        reference = self._state.clock.pipeline
        pipeline = None if reference is None else reference()
        return [] if pipeline is None else pipeline.__torchdali_trace_owners__()

    def state_dict(self) -> dict[str, Any]:
        """Returns where this loader is: after the last batch that it returned.

        Batches that workers have made ahead do not count. The state has dicts, lists, numbers and
        tensors, and the states of the dataset and the sampler if they have any.
        """
        state = self._state
        if state.progress is not None:
            return state.progress.state(self._seen_by_iterators())
        seen = self._seen_by_iterators()
        return fresh_state(seen, state.generator) if state.loaded is None else state.loaded

    def load_state_dict(self, state_dict: Mapping[str, Any] | None) -> None:
        """Has the next iteration continue from a state.

        Workers end. If the epoch of the state has ended, the next iteration begins the one after
        it. `batch_size` may be another one; and with torch's samplers, DistributedSampler among
        them, so may the rank and the number of ranks: what is left of the epoch is divided anew.

        Args:
            state_dict: what state_dict() of such a loader has returned. If it is empty or None, the
                next iteration begins an epoch.

        Raises:
            ArgumentError: it is the state of another loader, for example with another number of
                workers that have a state each.
            ArgumentTypeError: it is no dict.
        """
        is_empty = state_dict is None or state_dict == {}
        loaded = None if is_empty else self._own_state(state_dict)
        drop_iterator(self)
        self._state.progress = None
        self._state.loaded = loaded
        self._state.bad_samples.begin_epoch(-1)

    def _own_state(self, state_dict: Any) -> dict[str, Any]:
        """Checks a state; returns what it is on this rank."""
        seen = self._seen_by_iterators()
        check_state(seen, state_dict)
        state = dict(state_dict)
        if is_elsewhere(seen, state):
            return translated(seen, state, Generators(seen, self._state.generator).state())
        restore_epoch(seen, state)
        return state

    def __getstate__(self) -> dict[str, Any]:
        # A copy, here or in another process, has its own workers and epoch.
        return {**self.__dict__, "_iterator": None, "_state": LoaderState()}


def _collate_for(
    pipeline: Callable[..., Any],
    collate_fn: Callable[[Any], Any] | None,
    engine: Mapping[str, Any],
    on_error: str,
) -> Callable[[Any], Any]:
    """Returns the `collate_fn` of a loader with a pipeline."""
    from torchdali.loader._dataset.columns import FieldCollate
    from torchdali.loader._dataset.pipeline_options import PipelineOptions

    options = PipelineOptions(engine["pipeline_options"], engine["jpeg_index"])
    policies = {on_error, options.arguments.get("on_error")}
    samples_fail = bool(policies & {"skip", "replace"})
    marks = FieldMarks(pipeline, engine["fields"], options.fields)
    collate = FieldCollate(marks, keeps_values=samples_fail)
    # Lightning creates another loader from the attributes of one, and passes our function.
    if collate_fn is not None and collate_fn != collate:
        raise _make(
            ArgumentError,
            "DataLoader: `pipeline` with a `collate_fn`: the pipeline makes the batch",
        )
    return collate
