# SPDX-License-Identifier: Apache-2.0
"""A DataLoader that takes the place of torch's; see docs/guide/loader.md."""

from __future__ import annotations

from torchdali.loader._dataset.dataloader import DataLoader
from torchdali.loader._dataset.worker_info import get_worker_info
from torchdali.loader.fields import File, Layout
from torchdali.loader.shuffle_window import ShuffleWindow

__all__ = ["DataLoader", "File", "Layout", "ShuffleWindow", "get_worker_info"]
