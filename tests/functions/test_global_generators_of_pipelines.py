# SPDX-License-Identifier: Apache-2.0
"""Functions of several pipelines with seed_generators=True do not disturb each other."""

from __future__ import annotations

import random
import threading

import numpy as np

from torchdali import Pipeline, fn


def pipeline_of(function, seed):
    pipe = Pipeline(2, 1, None, seed=seed, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.python_function(function=function, seed_generators=True))
    pipe.build()
    return pipe


def value(pipe):
    return pipe.run()[0].as_array().tolist()


def draw(*, between=lambda: None):
    first = random.random()
    between()
    return np.array([first, random.random()])


def test_functions_of_two_pipelines_draw_from_their_own_seeds():
    expected = [value(pipeline_of(draw, seed)) for seed in (1, 2)]
    before = random.getstate()
    inside, may_go_on = threading.Event(), threading.Event()

    def waits():
        def wait():
            inside.set()
            may_go_on.wait(0.2)  # ends early if the other function runs in the meantime

        return draw(between=wait)

    def second():
        values = draw()
        may_go_on.set()
        return values

    got = {}
    pipes = {1: pipeline_of(waits, 1), 2: pipeline_of(second, 2)}
    threads = [
        threading.Thread(target=lambda s=s: got.update({s: value(pipes[s])})) for s in (1, 2)
    ]
    threads[0].start()
    inside.wait()
    threads[1].start()
    for thread in threads:
        thread.join()
    assert [got[1], got[2]] == expected
    assert random.getstate() == before


def test_a_function_that_runs_another_pipeline_draws_from_its_own_seed():
    inner = pipeline_of(draw, 1)
    expected = value(pipeline_of(draw, 1)), value(pipeline_of(draw, 2))
    got = []

    def outer():
        return draw(between=lambda: got.append(value(inner)))

    assert value(pipeline_of(outer, 2)) == expected[1]
    assert got[0] == expected[0]
