# SPDX-License-Identifier: Apache-2.0
"""Pipelines to serialize, and their documents."""

from __future__ import annotations

import json

import numpy as np

from torchdali import Pipeline, fn, pipeline_def, types

DATA = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)


def define(seed=7, **options):
    pipe = Pipeline(4, 2, None, seed=seed, **options)
    with pipe:
        data = fn.external_source(name="data", layout="HWC")
        coin = fn.random.coin_flip(probability=0.5)
        fn.copy(coin, preserve=True)
        noise = fn.random.uniform(range=[0.0, 0.1], shape=[2], seed=11)
        pipe.set_outputs(fn.flip(data, horizontal=coin), noise, fn.random.normal(name="bell"))
    return pipe


def document_of(pipe):
    return json.loads(pipe.serialize())


@pipeline_def(batch_size=8, num_threads=2, seed=6, enable_conditionals=True)
def branches():
    if fn.random.coin_flip():
        value = fn.random.uniform(shape=[2])
    elif fn.random.uniform() > 0.5:
        value = fn.random.normal(shape=[2], name="bell")
    else:
        value = types.Constant([1.0, 2.0], device="cpu")
    return value


def expressions():
    pipe = Pipeline(3, 2, seed=2)
    with pipe:
        data = fn.external_source(name="data", layout="HWC")
        table = types.Constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), device="cpu")
        value = (data - table) * 2.5 + float("inf") * (data > 100)
        pipe.set_outputs(value[:, 1:, 0], value.shape(), table, 3, np.float32(0.1), -data // 3)
    return pipe
