# SPDX-License-Identifier: Apache-2.0
"""Functions that a serialized pipeline finds by name."""

from __future__ import annotations

import numpy as np

import torchdali


def doubled(x):
    return x * 2


def noisy(x):
    return x + torchdali.current_sample().numpy.random(x.shape)


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return np.asarray(x) * self.factor
