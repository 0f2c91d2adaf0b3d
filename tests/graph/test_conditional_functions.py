# SPDX-License-Identifier: Apache-2.0
"""Conditionals: which functions a definition converts, and what do_not_convert does."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from helpers.conditional_pipelines import FLAGS, flags, run

from torchdali import Pipeline, pipeline_def
from torchdali.pipeline import do_not_convert


def test_a_function_under_do_not_convert_is_not_converted():
    @do_not_convert
    def plain(p):
        return 1 if p else 2

    @do_not_convert()
    def also(p):
        return p

    def define():
        assert also(3) == 3
        return plain(flags())

    with pytest.raises(TypeError, match="under do_not_convert"):
        run(define)


def test_a_definition_cannot_be_under_do_not_convert():
    def define():
        return flags()

    with pytest.raises(ValueError, match="cannot be under do_not_convert"):
        pipeline_def(do_not_convert(define), enable_conditionals=True)
    with pytest.raises(ValueError, match="cannot be under do_not_convert"):
        do_not_convert(pipeline_def(enable_conditionals=True)(lambda: None))


def test_lambdas_partials_and_callable_objects_are_converted():
    class Callable:
        def __call__(self, p):
            return 1 if p else 2

    inside = lambda p: 3 if p else 4  # noqa: E731
    one, other = (lambda p: 5 if p else 6), (lambda p: 7 if p else 8)

    def define():
        p = flags()
        return Callable()(p), inside(p), functools.partial(inside, p)(), one(p), other(p)

    assert [out[:2] for out in run(define)] == [[1, 2], [3, 4], [3, 4], [5, 6], [7, 8]]


def test_a_function_without_source_is_an_error():
    space = {}
    exec("def made(p):\n    return 1 if p else 2\n", space)

    def define():
        return space["made"](flags())

    with pytest.raises(TypeError, match=r"its source \(<string>\) is not there"):
        run(define)


def test_functions_of_the_standard_library_are_not_converted():
    def define():
        return functools.reduce(lambda a, b: a and b, [flags(), flags([True] * 4)])

    assert run(define) == [FLAGS.tolist()]  # the lambda is part of the definition

    def one_more():
        return json.dumps(1, skipkeys=flags())

    with pytest.raises(TypeError, match="`dumps` is called as it is: .* Python's library"):
        run(one_more)


def test_enable_conditionals_may_be_given_when_the_pipeline_is_made():
    @pipeline_def(batch_size=4, num_threads=1)
    def define():
        return 1 if flags() else 2

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        define()
    assert len(define(enable_conditionals=True).run()[0]) == 4

    class Sub(Pipeline):
        def define_graph(self):
            return 1 if flags() else 2

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        Sub(batch_size=4, num_threads=1).build()


def test_a_definition_keeps_defaults_closures_and_globals():
    offset = 2

    @pipeline_def(batch_size=4, num_threads=1, enable_conditionals=True)
    def define(scale=3, *rest, low=1):
        nonlocal offset
        offset += 1
        numbers = np.int32([scale, low, offset, *rest, len(FLAGS)])
        return numbers if flags() else 0 * numbers

    pipe = define(4, 5, low=6)
    (out,) = pipe.run()
    assert np.asarray(out.as_torch_list()[0]).tolist() == [4, 6, 3, 5, 4]
    assert define.__name__ == "define"
