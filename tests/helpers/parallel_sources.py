# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one external source in worker processes."""

from __future__ import annotations

import numpy as np
from helpers.parts import worker_pids
from helpers.processes import kill

from torchdali import fn, pipeline_def
from torchdali.pickling import pickle_by_value

METHODS = ("fork", "forkserver", "spawn")


BATCH = 4


def build(source, *, method="fork", batch_size=BATCH, workers=2, on_error=None, **options):
    """Returns a pipeline of one source in workers."""

    @pipeline_def(
        batch_size=batch_size,
        num_threads=2,
        py_num_workers=workers,
        py_start_method=method,
        on_error=on_error,
    )
    def define():
        made = fn.external_source(source, parallel=True, **options)
        return tuple(made) if isinstance(made, list) else made

    return define()


def epoch(pipe):
    """Returns the batches of an epoch as lists of arrays, one list per output."""
    out = []
    try:
        while True:
            out.append([[np.array(t) for t in batch] for batch in pipe.run()])
    except StopIteration:
        return out


# Stored by value, so that worker processes need not import this module, and torch with it.
@pickle_by_value
def boom(info):
    if info.idx_in_epoch == 6:
        raise ValueError("boom")
    return np.zeros(3, np.uint8)


def kill_a_worker(pipe):
    kill(worker_pids(pipe)[-1])
