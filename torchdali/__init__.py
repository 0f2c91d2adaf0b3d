# SPDX-License-Identifier: Apache-2.0
"""A data loader for PyTorch with the language of NVIDIA DALI and a native engine."""

import torchdali._constants  # they give DataNode and types what these cannot import
import torchdali._subscript  # noqa: F401
from torchdali import backend, data_node, errors, fn, math, ops, pipeline, tensors, types
from torchdali._build_info import VERSION as __version__
from torchdali.data_node import newaxis
from torchdali.pipeline import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def

__all__ = [
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "__version__",
    "backend",
    "data_node",
    "errors",
    "fn",
    "math",
    "newaxis",
    "ops",
    "pipeline",
    "pipeline_def",
    "tensors",
    "types",
]
