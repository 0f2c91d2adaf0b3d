# SPDX-License-Identifier: Apache-2.0
"""Iterators over pipelines whose outputs are known."""

from fake_pipeline import FakePipeline, reader_pipeline
from iterator_cases import case

from torchdali.plugin.pytorch import DALIGenericIterator

TEN = case(10, 1, [0], 4, policy="FILL")


def over_reader(**options):
    options = {"reader_name": "files", **options}
    return DALIGenericIterator(reader_pipeline(TEN, 0), ["label"], **options)


def pipeline(*outputs, batch_size=2, batches=None):
    """A pipeline that returns the same outputs `batches` times per epoch (None: endlessly)."""
    left = [batches]

    def make():
        if left[0] == 0:
            raise StopIteration
        left[0] = left[0] if left[0] is None else left[0] - 1
        return list(outputs)

    return FakePipeline(batch_size, make, restart=lambda: left.__setitem__(0, batches))
