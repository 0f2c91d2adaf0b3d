# SPDX-License-Identifier: Apache-2.0
"""What a worker knows about itself, be it a process or a thread."""

from __future__ import annotations

import threading
from typing import Any

from torch.utils.data._utils import worker as torch_worker

__all__ = ["get_worker_info", "set_thread_info", "worker_info"]

_of_thread = threading.local()


def worker_info(**fields: Any) -> Any:
    """Returns torch's WorkerInfo; its fields differ a little between releases."""
    info = torch_worker.WorkerInfo
    try:
        return info(**fields)
    except TypeError:  # releases that know no threads
        fields.pop("worker_method", None)
        return info(**fields)


def set_thread_info(info: Any) -> None:
    """Says what get_worker_info() returns in this thread."""
    _of_thread.info = info


def get_worker_info() -> Any:
    """Returns what torch.utils.data.get_worker_info() does, in worker threads too.

    Returns:
        In a worker an object with `id`, `num_workers`, `seed` and `dataset`, else None. In a worker
        thread torch's function returns None: it knows one worker a process.
    """
    info = getattr(_of_thread, "info", None)
    return torch_worker.get_worker_info() if info is None else info
