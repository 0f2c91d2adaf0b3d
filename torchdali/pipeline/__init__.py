# SPDX-License-Identifier: Apache-2.0
"""Pipeline: a definition, built into a plan, run ahead of the loop that takes its batches."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of
from torchdali._graph import node_methods
from torchdali.data_node import DataNode
from torchdali.pipeline._options import OperatorConcurrency, StreamPolicy
from torchdali.pipeline._pipeline import Pipeline
from torchdali.pipeline._pipeline_def import do_not_convert, pipeline_def

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "pipeline_def",
]

node_methods.connect()

# Users know the class by its public module: in help(), error messages and pickles.
Pipeline.__module__ = __name__

# DALI 1.35 has debug mode under this name only.
experimental = ModuleType("torchdali.pipeline.experimental", "Another name of pipeline_def.")
experimental.pipeline_def = pipeline_def  # type: ignore[attr-defined]
sys.modules[experimental.__name__] = experimental

if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
