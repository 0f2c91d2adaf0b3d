# SPDX-License-Identifier: Apache-2.0
"""DataLoader(pipeline_options=): checked, and divided among what they are for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torchdali._common.cpus import granted_cpus
from torchdali._common.location import find_user_location
from torchdali._graph.arguments import unknown_name
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline import Pipeline
from torchdali.pipeline._driver import driver_of

__all__ = ["PipelineOptions"]

_DEPTH = 2  # batches in work in the engine
# Arguments of Pipeline that a loader has its own for.
_REFUSED = {
    **dict.fromkeys(
        ("batch_size", "on_error", "max_errors", "errors_file"), "pass it to the DataLoader"
    ),
    "checkpoint": "use load_state_dict() of the loader",
    "enable_memory_stats": "leave it out: a loader has no executor_statistics()",
    "debug": "leave it out: put breakpoints in the dataset, or run the function under pipeline_def",
}
_OUTPUT_FACTS = ("output_dtype", "output_ndim", "output_layout")
_OWN = ("enable_conditionals", "fields")


class PipelineOptions:
    """The options of the pipeline of a loader.

    Args:
        given: by the user; None: nothing.
        jpeg_index: the argument of the loader, which is an argument of Pipeline, too.

    Attributes:
        arguments: of Pipeline, without `batch_size`, `seed` and those in `declared`.
        declared: what is declared about the outputs.
        seed: of random operators; None: one is drawn for each epoch.
        depth: batches in work.
        fields: marks of fields.
        enable_conditionals: as in pipeline_def.

    Raises:
        ArgumentError, ArgumentTypeError, UnsupportedError: an option is wrong, or without effect.
    """

    def __init__(self, given: Mapping[str, Any] | None, jpeg_index: Any) -> None:
        options = dict(given or {})
        if jpeg_index is not None:
            if "jpeg_index" in options:
                raise _make(
                    ArgumentError,
                    "DataLoader: `jpeg_index` is in `pipeline_options` too",
                    location=find_user_location(),
                    fix="leave one of them out",
                )
            options["jpeg_index"] = jpeg_index
        known = set(inspect.signature(Pipeline.__init__).parameters) - {"self"}
        for name in options:
            if name in _REFUSED:
                raise _make(
                    UnsupportedError if name == "debug" else ArgumentError,
                    f"DataLoader: `pipeline_options` has `{name}`",
                    location=find_user_location(),
                    fix=_REFUSED[name],
                )
            if name not in known and name not in _OWN:
                expected = sorted(known.union(_OWN).difference(_REFUSED))
                raise unknown_name(
                    "DataLoader(pipeline_options=)", name, expected, find_user_location()
                )
        self.fields = options.pop("fields", None)
        self.enable_conditionals = options.pop("enable_conditionals", False)
        if not isinstance(self.enable_conditionals, bool):
            raise _make(
                ArgumentTypeError,
                f"DataLoader: `enable_conditionals` is {self.enable_conditionals!r}, expected a "
                "bool",
                location=find_user_location(),
            )
        defaults = {
            "num_threads": granted_cpus(),
            "prefetch_queue_depth": _DEPTH,
            "enable_checkpointing": True,  # each epoch begins at a checkpoint
        }
        # Checks the options where the loader is made, and not in the middle of its first epoch.
        checked = driver_of(Pipeline(batch_size=1, **{**defaults, **options})).options
        self.seed = checked.seed
        self.depth = checked.iterations_in_flight
        self.arguments = {**defaults, **options}
        self.arguments.pop("seed", None)
        self.declared = {
            name: self.arguments.pop(name) for name in _OUTPUT_FACTS if name in self.arguments
        }
