# SPDX-License-Identifier: Apache-2.0
"""torchdali.DataLoader: torch's, with workers that hand batches over in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader as _TorchLoader

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._dataset.clock import Waits
from torchdali.loader._dataset.iterators import LoaderIter, SingleIter, WorkersIter
from torchdali.loader._dataset.progress import Progress, check_state, fresh_state
from torchdali.stats import LoaderStats

__all__ = ["DataLoader"]

_T = TypeVar("_T", covariant=True)
_WORKERS = ("processes", "threads")
_ON_ERROR = ("raise", "skip", "replace")


class DataLoader(_TorchLoader[_T]):
    """Batches of a dataset; takes the place of torch.utils.data.DataLoader.

    The arguments up to `in_order` are torch's, with the same defaults, checks and errors, and it is
    an instance of torch's class. state_dict() and load_state_dict() are as in torchdata's
    StatefulDataLoader: also in the middle of an epoch, with workers, and for datasets, iterators
    and samplers that have these methods themselves.

    Args:
        dataset: an object with ``__getitem__()`` and ``__len__()``, or an IterableDataset.
        batch_size: samples of a batch; None: samples are given as they are.
        shuffle: whether the order is drawn anew in each epoch.
        sampler: gives indices.
        batch_sampler: gives lists of indices.
        num_workers: how many workers; 0: batches are made in the process, when asked for.
        collate_fn: makes a batch of a list of samples; default: torch's default_collate.
        pin_memory: whether tensors are copied to page-locked memory.
        drop_last: whether a last batch that is not full is left out.
        timeout: seconds to wait for a batch from workers; 0: for ever.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how worker processes are started; default: torch's.
        generator: of the order, and of the workers' seeds.
        prefetch_factor: batches that each worker makes ahead; default: 2.
        persistent_workers: whether workers live on between epochs.
        pin_memory_device: as in torch.
        in_order: whether batches come in the order of the sampler.
        workers: "processes", or "threads" of this process: for datasets that spend their time
            outside the GIL (reading files, decoding), or return bytes and paths. Threads share the
            dataset; an IterableDataset is iterated over once.
        on_error: what is done about a sample that raises an Exception: "raise" that; "skip": its
            batch has one less; "replace": the one before it in the batch is given again (an
            iterable gives its next one). They are counted in `error_count`; the first one is a
            warning.
        max_errors: with "skip" and "replace": so many in an epoch are borne.
        device: where batches arrive. A GPU is given them by copies that run beside its work, one
            batch ahead; None and "cpu": nothing is done.
        pipeline: a function from one DataNode a field of a sample to outputs, as for pipeline_def:
            the engine decodes and augments what the dataset returns (arrays, tensors, numbers,
            bytes, paths of files to read). A batch has the structure that the function returns:
            tuple, list, dict, named tuple, dataclass.
        pipeline_options: arguments of Pipeline: num_threads, seed, device_id,
            prefetch_queue_depth.

    Attributes:
        error_count: samples of this epoch that could not be read, as far as it was given.
    """

    _pipelines: list[Any]  # those that no iterator has
    _progress: Progress | None
    _loaded: dict[str, Any] | None
    _waits: Waits

    def __init__(
        self,
        dataset: Any,
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
        workers: str = "processes",
        on_error: str = "raise",
        max_errors: int = 100,
        device: torch.device | str | int | None = None,
        pipeline: Callable[..., Any] | None = None,
        pipeline_options: Mapping[str, Any] | None = None,
    ) -> None:
        _check_choice("workers", workers, _WORKERS)
        _check_choice("on_error", on_error, _ON_ERROR)
        if isinstance(max_errors, bool) or not isinstance(max_errors, int):
            raise _make(
                ArgumentTypeError,
                f"DataLoader: `max_errors` is {max_errors!r}, expected an integer",
            )
        if max_errors < 0:
            raise _make(
                ArgumentError, f"DataLoader: `max_errors` is {max_errors}, expected 0 or more"
            )
        if workers == "threads" and multiprocessing_context is not None:
            raise _make(
                ArgumentError,
                'DataLoader: `multiprocessing_context` is of processes, with workers="threads" '
                "there are none",
            )
        if pipeline is None and pipeline_options is not None:
            raise _make(ArgumentError, "DataLoader: `pipeline_options` without `pipeline`")
        if pipeline is not None:
            from torchdali.loader._dataset.pipeline import fields_of
            from torchdali.pipeline._pipeline_def import is_pipeline_def

            # Who makes a loader anew, as Lightning does, passes what it finds.
            own_collate, collate_fn = collate_fn, fields_of
        if pipeline is not None and own_collate not in (None, fields_of):
            raise _make(
                ArgumentError,
                "DataLoader: `pipeline` with a `collate_fn`: the pipeline makes the batch",
            )
        if pipeline is not None and batch_size is None and batch_sampler is None:
            raise _make(
                ArgumentError,
                "DataLoader: a pipeline works on batches; `batch_size` is None",
                fix="pass a `batch_size`, or a `batch_sampler`",
            )
        if pipeline is not None and is_pipeline_def(pipeline):
            raise _make(
                ArgumentTypeError,
                "DataLoader: `pipeline` is a function that makes a Pipeline",
                fix="leave @pipeline_def out, and pass its arguments as `pipeline_options`",
            )
        self._set(_pipelines=[], _progress=None, _loaded=None, _waits=Waits())
        super().__init__(
            dataset,
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
        self.workers = workers
        self.on_error = on_error
        self.max_errors = max_errors
        self.device = None if device is None else torch.device(device)
        self.pipeline = pipeline
        self.pipeline_options = pipeline_options

    def _set(self, **attributes: Any) -> None:
        """Sets what changes from epoch to epoch.

        Not by setattr(): Lightning records that, to do it again to a loader that it makes anew.
        """
        self.__dict__.update(attributes)

    def _get_iterator(self) -> LoaderIter:
        state = self._loaded
        self._set(_loaded=None)
        if self.num_workers == 0:
            return SingleIter(self, state)
        self.check_worker_number_rationality()
        return WorkersIter(self, state)

    @property
    def error_count(self) -> int:
        """Samples of this epoch that could not be read."""
        return 0 if self._progress is None else self._progress.errors

    def stats(self, reset: bool = False) -> LoaderStats:
        """Returns how long the loop waits for this loader; what workers do inside is not known.

        With `pipeline=` it has the figures of the engine, too.

        Args:
            reset: begin to count anew, behind what is returned.
        """
        return self._waits.stats(self.workers if self.num_workers else "", reset)

    def __torchdali_trace_owners__(self) -> list[int]:
        """Returns the numbers that mark the events of `pipeline` in a profile."""
        engine = None if self._waits.engine is None else self._waits.engine()
        return [] if engine is None else engine.__torchdali_trace_owners__()

    def state_dict(self) -> dict[str, Any]:
        """Returns where this loader is: behind the last batch that was given.

        What workers have made ahead does not count. Dicts, lists, numbers and tensors, and the
        states of the dataset and the sampler where they have any.
        """
        if self._progress is not None:
            return self._progress.state(self)
        return fresh_state(self) if self._loaded is None else self._loaded

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration go on behind a state.

        Workers end; where the epoch had ended, the next iteration begins the one after it.

        Args:
            state_dict: what state_dict() of such a loader has returned. An empty one: the next
                iteration begins an epoch.

        Raises:
            ArgumentError: it is not of such a loader: another number of workers, say.
        """
        if state_dict:
            check_state(self, state_dict)
        self._iterator = None
        self._set(_progress=None, _loaded=dict(state_dict) or None)

    def __getstate__(self) -> dict[str, Any]:
        # A copy, here or in another process, has workers and an epoch of its own.
        own: dict[str, Any] = {
            "_iterator": None,
            "_progress": None,
            "_pipelines": [],
            "_waits": Waits(),
        }
        return {**self.__dict__, **own}


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise _make(
            ArgumentError,
            f"DataLoader: `{name}` is {value!r}, expected one of "
            + ", ".join(f'"{choice}"' for choice in choices),
        )
