# SPDX-License-Identifier: Apache-2.0
"""The pipelines that are built and not closed. They are closed when the interpreter exits."""

from __future__ import annotations

import atexit
import weakref
from typing import Any

__all__ = ["live_pipelines"]

live_pipelines: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends threads and worker processes before the interpreter is gone that they call."""
    for pipeline in list(live_pipelines):
        pipeline.close()
