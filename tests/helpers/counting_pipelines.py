# SPDX-License-Identifier: Apache-2.0
"""Pipelines that feed themselves: they count, and some fail."""

from __future__ import annotations

import numpy as np

from torchdali import Pipeline, fn


class Counting(Pipeline):
    """Feeds 0, 1, 2, ... from iter_setup and counts its calls."""

    def __init__(self, last=None, **kwargs):
        super().__init__(**{"batch_size": 2, "num_threads": 1, **kwargs})
        self.calls = 0
        self.last = last

    def define_graph(self):
        self.data = fn.external_source(name="data")
        return fn.copy(self.data)

    def iter_setup(self):
        if self.calls == self.last:
            raise StopIteration
        self.feed_input(self.data, np.full((2, 3), self.calls))
        self.calls += 1


def value(outputs):
    return int(outputs[0].as_torch()[0, 0])


class Failing(Pipeline):
    """A crop of batches; every third one is smaller than the window."""

    def __init__(self, **kwargs):
        super().__init__(batch_size=2, num_threads=2, **kwargs)
        self.calls = 0

    def define_graph(self):
        self.data = fn.external_source(name="data")
        return fn.crop(self.data, crop=[4, 4])  # the line that crops

    def iter_setup(self):
        extent = 2 if self.calls % 3 == 2 else 4
        data = np.full((2, extent, extent, 3), self.calls, np.uint8)
        self.feed_input(self.data, data, layout="HWC")
        self.calls += 1


class FailingSetup(Counting):
    """Its iter_setup fails once."""

    def iter_setup(self):
        if self.calls == 2:
            self.calls += 1
            raise ZeroDivisionError("mine")
        super().iter_setup()
