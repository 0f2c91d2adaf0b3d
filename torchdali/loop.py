# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: what a training loop iterates over, made of pipelines.

How epochs, ranks and states hang together: docs/design/loop.md. DALI's iterators are in plugin/.
"""

from __future__ import annotations

from torchdali.loader._pipeline.outputs import Padded
from torchdali.loader._pipeline.pipeline_loader import PipelineLoader

__all__ = ["Padded", "PipelineLoader"]
