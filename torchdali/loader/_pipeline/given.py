# SPDX-License-Identifier: Apache-2.0
"""Checks of the pipelines that a loader is given."""

from __future__ import annotations

from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline import Pipeline
from torchdali.pipeline._driver import driver_of

__all__ = ["as_pipeline", "check_usable"]


def check_usable(pipeline: Pipeline, *, resumes: bool) -> None:
    """Raises TorchdaliError for a built pipeline that a loader cannot drive.

    Args:
        pipeline: built.
        resumes: whether the loader has set the checkpoint of the pipeline.
    """
    if not driver_of(pipeline).follows_epoch_plans:
        raise _make(
            UnsupportedError,
            "a PipelineLoader cannot drive a pipeline in debug mode, whose operators run as they "
            "are called",
            fix="call run() of the pipeline, or make it without debug=True",
        )
    if pipeline.is_restored_from_checkpoint and not resumes:
        raise _make(
            ArgumentError,
            "a pipeline with `checkpoint` cannot be in a PipelineLoader",
            fix="resume with load_state_dict() of the loader",
        )


def as_pipeline(made: Any) -> Pipeline:
    """Returns what a function has made; raises ArgumentTypeError if it is no pipeline."""
    if not isinstance(made, Pipeline):
        raise _make(
            ArgumentTypeError,
            f"`pipelines` has a function that returns a {type(made).__name__}, expected a Pipeline",
            fix="put the function under pipeline_def",
        )
    return made
