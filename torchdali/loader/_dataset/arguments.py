# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of DataLoader that torch does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchdali._common.bad_samples import ON_ERROR
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["check_arguments", "check_pipeline", "check_steps"]

_WORKERS = ("processes", "threads")


def check_arguments(
    workers: str, on_error: str, max_errors: int, multiprocessing_context: Any
) -> None:
    """Checks single arguments.

    Raises:
        ArgumentError, ArgumentTypeError: one is wrong.
    """
    _check_choice("workers", workers, _WORKERS)
    _check_choice("on_error", on_error, ON_ERROR)
    if isinstance(max_errors, bool) or not isinstance(max_errors, int):
        raise _make(
            ArgumentTypeError,
            f"DataLoader: `max_errors` is {max_errors!r}, expected an integer",
        )
    if max_errors < 0:
        raise _make(ArgumentError, f"DataLoader: `max_errors` is {max_errors}, expected 0 or more")
    if workers == "threads" and multiprocessing_context is not None:
        raise _make(
            ArgumentError,
            'DataLoader: `multiprocessing_context` is for processes, and workers="threads" starts '
            "none",
        )


def check_steps(steps: Any) -> None:
    """Checks `snapshot_every_n_steps`."""
    if steps is None:
        return
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise _make(
            ArgumentTypeError,
            f"DataLoader: `snapshot_every_n_steps` is {steps!r}, expected an integer or None",
        )
    if steps < 0:
        raise _make(
            ArgumentError, f"DataLoader: `snapshot_every_n_steps` is {steps}, expected 0 or more"
        )


def check_pipeline(
    pipeline: Callable[..., Any], batch_size: int | None, batch_sampler: Iterable[Any] | None
) -> None:
    """Checks the arguments of a loader with a pipeline."""
    from torchdali.pipeline._pipeline_def import is_pipeline_def

    if not callable(pipeline):
        raise _make(
            ArgumentTypeError,
            f"DataLoader: `pipeline` is a {type(pipeline).__name__}, expected a function of data "
            "nodes",
        )
    if batch_size is None and batch_sampler is None:
        raise _make(
            ArgumentError,
            "DataLoader: a pipeline works on batches; `batch_size` is None",
            fix="pass a `batch_size`, or a `batch_sampler`",
        )
    if is_pipeline_def(pipeline):
        raise _make(
            ArgumentTypeError,
            "DataLoader: `pipeline` is a function that makes a Pipeline",
            fix="leave out @pipeline_def, and pass its arguments as `pipeline_options`",
        )


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise _make(
            ArgumentError,
            f"DataLoader: `{name}` is {value!r}, expected one of "
            + ", ".join(f'"{choice}"' for choice in choices),
        )
