# SPDX-License-Identifier: Apache-2.0
"""get_worker_info(), which also works in worker threads."""

from __future__ import annotations

import threading
from typing import Any

from torchdali.loader._dataset.torch_internals import torch_worker

__all__ = ["get_worker_info", "set_thread_info"]

_of_thread = threading.local()


def set_thread_info(info: Any) -> None:
    """Sets what get_worker_info() returns in this thread."""
    _of_thread.info = info


def get_worker_info() -> Any:
    """Returns what torch.utils.data.get_worker_info() does, in worker threads too.

    Returns:
        In a worker an object with `id`, `num_workers`, `seed` and `dataset`, else None. In a worker
        thread torch's function returns None, since it knows one worker per process.
    """
    info = getattr(_of_thread, "info", None)
    return torch_worker.get_worker_info() if info is None else info
