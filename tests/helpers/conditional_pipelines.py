# SPDX-License-Identifier: Apache-2.0
"""Data and pipelines for tests of conditionals."""

from __future__ import annotations

import numpy as np

from torchdali import fn, pipeline_def

FLAGS = np.bool_([True, False, True, True])


def batches(samples, **options):
    return fn.external_source(source=lambda: list(samples), **options)


def flags(values=FLAGS):
    return batches(np.asarray(values))


def images():
    return batches(np.arange(4 * 2 * 3 * 1, dtype=np.uint8).reshape(4, 2, 3, 1), layout="HWC")


def built(define, **options):
    options = {"batch_size": 4, "num_threads": 2, "enable_conditionals": True, **options}
    return pipeline_def(define, **options)()


def run(define, **options):
    """Returns the first batch, each output as a list of samples."""
    return [
        [np.asarray(s).tolist() for s in out.as_torch_list()]
        for out in built(define, **options).run()
    ]
