# SPDX-License-Identifier: Apache-2.0
"""Debug mode: definitions that change from run to run, and errors in a definition."""

from __future__ import annotations

import pytest
import torch
from helpers.debug_mode import BATCH, assert_equal, debugged, images, some_images

from torchdali import Pipeline, errors, fn, pipeline_def


def test_another_operator_in_a_later_run_is_an_error():
    runs = []

    def definition():
        runs.append(None)
        if len(runs) == 1:
            return fn.random.coin_flip()
        return fn.random.uniform()

    pipe = debugged(definition)
    pipe.run()
    with pytest.raises(RuntimeError, match=r"fn.random.uniform: unexpected operator.*coin_flip"):
        pipe.run()


def test_more_operators_in_a_later_run_are_an_error_and_fewer_are_not():
    runs = []

    def definition():
        runs.append(None)
        x = fn.random.coin_flip()
        if len(runs) in (1, 3):
            return fn.copy(x)
        return fn.copy(x) if len(runs) == 4 else x

    pipe = debugged(definition)
    pipe.run()
    pipe.run()
    pipe.run()
    with pytest.raises(errors.PipelineError, match=r"unexpected operator.*fn.copy at .*\.py:\d+"):
        pipe.run()
    counts = iter([1, 2])
    pipe = debugged(lambda: tuple(fn.random.coin_flip() for _ in range(next(counts))))
    pipe.run()
    with pytest.raises(errors.PipelineError, match="the first run ended before it"):
        pipe.run()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([{"horizontal": 0}, {"horizontal": 1}], r"argument `horizontal` .* from 0 to 1"),
        ([{}, {"vertical": 1}], r"argument `vertical` .* from None to 1"),
        ([{"name": "a"}, {"name": "b"}], r"`name` .* from 'a' to 'b'"),
        ([{"seed": 1}, {"seed": 2}], r"`seed` .* from 1 to 2"),
    ],
    ids=["changed", "more", "name", "seed"],
)
def test_arguments_that_change_are_an_error(arguments, text):
    given = iter(arguments)

    def definition():
        return fn.flip(fn.external_source(source=images, layout="HWC"), **next(given))

    pipe = debugged(definition)
    pipe.run()
    with pytest.raises(errors.PipelineError, match=text) as info:
        pipe.run()
    assert "test_debug_errors.py" in str(info.value)


def test_a_constant_cannot_become_a_batch():
    def definition():
        flag = fn.random.coin_flip()
        x = fn.external_source(source=images, layout="HWC")
        return fn.flip(x, horizontal=next(given)(flag))

    given = iter([lambda flag: 1, lambda flag: flag])
    pipe = debugged(definition)
    pipe.run()
    with pytest.raises(errors.PipelineError, match="`horizontal` .* from 1 to 'a batch'"):
        pipe.run()


def test_two_operators_of_one_name_are_an_error():
    def definition():
        return fn.random.coin_flip(name="a"), fn.random.uniform(name="a")

    with pytest.raises(ValueError, match="two operators of one pipeline are named `a`"):
        debugged(definition).run()


def test_batches_of_different_sizes_in_one_run_are_an_error():
    def definition():
        first = fn.external_source(source=lambda: some_images(0, 3))
        return first, fn.external_source(source=lambda: some_images(0, 2))

    with pytest.raises(RuntimeError, match=r"2 samples, expected 3, from fn.external_source at"):
        debugged(definition).run()
    with pytest.raises(RuntimeError, match="expected 3"):
        debugged(lambda: (fn.random.coin_flip(), fn.copy(some_images(0, 2)))).run()


def test_an_error_points_at_the_call():
    def definition():
        x = fn.external_source(name="x", layout="HWC")
        return fn.crop(x, crop=[100, 100])  # the line

    pipe = debugged(definition)
    pipe.feed_input("x", images())
    with pytest.raises(errors.TorchdaliError, match=r"fn\.crop: (.|\n)*# the line") as info:
        pipe.run()
    lines = [str(entry.statement) for entry in info.traceback]
    assert any("# the line" in line for line in lines)


def test_the_pipeline_runs_again_after_an_error(tmp_path):
    for i in range(8):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]))
    files = [str(tmp_path / f"{i}.bin") for i in range(8)]

    def definition(fails):
        data, _ = fn.readers.file(files=files)
        noise = fn.random.uniform()
        if next(fails):
            raise ZeroDivisionError
        again, _ = fn.readers.file(files=files)
        return data, again, fn.external_source(source=lambda i: torch.full((2,), i)), noise

    make = pipeline_def(definition, batch_size=2, num_threads=2, seed=3)
    plain, pipe = make(iter([False])), make(iter([False, True, False, False]), debug=True)
    for iteration in range(4):
        expected = plain.run()
        if iteration != 1:
            assert_equal(pipe.run(), expected)
            continue
        with pytest.raises(ZeroDivisionError):
            pipe.run()
        assert Pipeline.current() is None


def test_a_first_run_that_fails_starts_over(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    attempts = []

    def definition():
        attempts.append(None)
        data, _ = fn.readers.file(files=[str(tmp_path / "a"), str(tmp_path / "b")])
        x = fn.external_source(name="x")
        if len(attempts) == 1:
            raise ZeroDivisionError
        return data, fn.copy(x)

    pipe = debugged(definition, batch_size=1)
    for i in range(3):
        pipe.feed_input("x", torch.full((1, 1), i))
    with pytest.raises(ZeroDivisionError):
        pipe.run()
    found = [[batch.as_torch().flatten().tolist() for batch in pipe.run()] for _ in range(2)]
    assert found == [[[ord("a")], [0]], [[ord("b")], [1]]]


def test_a_pipeline_cannot_run_itself():
    def definition():
        pipe.run()

    pipe = debugged(definition)
    with pytest.raises(errors.PipelineError, match="cannot run the pipeline that it defines"):
        pipe.run()


def test_another_pipeline_may_run_inside_the_definition():
    inner = pipeline_def(fn.random.coin_flip, batch_size=BATCH, num_threads=1, seed=1)()

    def definition():
        return fn.copy(inner.run()[0]), Pipeline.current() is pipe and fn.random.coin_flip()

    pipe = debugged(definition)
    assert len(pipe.run()) == 2
