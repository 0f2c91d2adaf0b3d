# SPDX-License-Identifier: Apache-2.0
"""An iteration is taken whole or not at all, wherever it is interrupted."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
import torch
from helpers.interruptions import Interrupt, interrupted

from torchdali import Pipeline, PipelineLoader, errors, fn, pipeline_def
from torchdali.plugin.pytorch import DALIGenericIterator

BATCH = 2
FAR = 1 << 20


def rows(number):
    return np.full((BATCH, 1), number, np.int64)


def generate():
    return map(rows, itertools.count())


def generator():
    for number in itertools.count():
        yield rows(number)


def counter():
    numbers = itertools.count()
    return lambda: rows(next(numbers))


class Iterator:
    """Iterates in Python code."""

    def __init__(self):
        self.number = -1

    def __iter__(self):
        return self

    def __next__(self):
        self.number += 1
        return rows(self.number)


def of_sample(info):
    return np.array([info.iteration])


SOURCES = {
    "callable with index": lambda: fn.external_source(rows),
    "callable": lambda: fn.external_source(counter()),
    "iterator": lambda: fn.external_source(Iterator()),
    "generator": lambda: fn.external_source(generator),
    "cycle": lambda: fn.external_source([rows(n) for n in range(FAR // 256)], cycle="quiet"),
    "samples": lambda: fn.external_source(of_sample, batch=False),
    "outputs": lambda: fn.external_source(lambda n: (rows(n), rows(n)), num_outputs=2)[1],
}
PARALLEL = {
    "parallel": lambda: fn.external_source(rows, parallel=True),
    "parallel generator": lambda: fn.external_source(generator, parallel=True),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a list of files; the label of each is the number of its batch."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "one").write_bytes(b"x")
    (folder / "list").write_text("".join(f"one {n // BATCH}\n" for n in range(8000)))
    return folder


def make(sources, files=None, **options):
    @pipeline_def(
        batch_size=BATCH, num_threads=1, device_id=None, py_start_method="fork", **options
    )
    def definition():
        outputs = [make_source() for make_source in sources]
        if files is not None:
            reader = fn.readers.file(file_root=str(files), file_list=str(files / "list"))
            outputs.append(reader[1])
        return tuple(outputs)

    pipe = definition()
    pipe.build()
    return pipe


def numbers(outputs):
    return {int(batch.as_array().reshape(-1)[0]) for batch in outputs}


def check_none_lost(run, **options):
    """Checks that iterations come in order, the interrupted ones with the next call."""
    expected = max(numbers(run())) + 1
    for where, outputs in interrupted(run, **options):
        got = numbers(run() if outputs is None else outputs)
        assert got == {expected}, where
        expected += 1


@pytest.mark.parametrize("depth", [1, 2])
def test_all_kinds_of_sources_and_readers_stay_together(depth, files):
    pipe = make(SOURCES.values(), files, prefetch_queue_depth=depth)
    check_none_lost(pipe.run, step=2 * depth - 1)


@pytest.mark.parametrize("depth", [1, 2])
def test_sources_in_worker_processes_stay_together(depth, files):
    sources = [*PARALLEL.values(), SOURCES["iterator"]]
    pipe = make(sources, files, prefetch_queue_depth=depth, py_num_workers=1)
    check_none_lost(pipe.run)


def test_sources_stay_together_in_debug_mode(files):
    pipe = make([SOURCES["iterator"], SOURCES["samples"]], files, debug=True)
    check_none_lost(pipe.run, step=7)


def test_shared_outputs_stay_together(files):
    pipe = make([SOURCES["iterator"], SOURCES["callable"]], files)
    pipe.schedule_run()

    def share():
        outputs = pipe.share_outputs()
        return outputs

    for expected, (where, outputs) in enumerate(interrupted(share)):
        got = numbers(share() if outputs is None else outputs)
        assert got == {expected}, where
        pipe.schedule_run()


@pytest.mark.parametrize("depth", [1, 2])
def test_an_exception_costs_an_iteration_of_all_sources_or_none(depth, files):
    sources = [SOURCES["iterator"], SOURCES["callable"], SOURCES["samples"]]
    pipe = make(sources, files, prefetch_queue_depth=depth)

    def run():
        while True:
            try:
                return pipe.run()
            except RuntimeError:
                continue

    last = -1
    for where, outputs in interrupted(pipe.run, RuntimeError):
        (got,) = numbers(run() if outputs is None else outputs)
        assert last < got <= last + 2, where
        last = got


@pytest.mark.parametrize("queued", [False, True])
def test_run_takes_all_of_its_inputs_or_none(queued):
    pipe = Pipeline(BATCH, 1, None)
    with pipe:
        pipe.set_outputs(fn.external_source(name="a"), fn.external_source(name="b"))
    if queued:
        pipe.feed_input("a", rows(0))
        pipe.feed_input("b", rows(0))
    fed = [rows(int(queued))]

    def run():
        return pipe.run(a=fed[0], b=fed[0])

    for expected, (where, outputs) in enumerate(interrupted(run)):
        got = numbers(run() if outputs is None else outputs)
        assert got == {expected}, where
        fed[0] = rows(expected + 1 + queued)


def test_a_bad_input_of_run_takes_no_other():
    pipe = Pipeline(BATCH, 1, None)
    with pipe:
        pipe.set_outputs(
            fn.external_source(name="a"), fn.external_source(name="b", dtype=torch.int64)
        )
    for number in range(3):
        with pytest.raises(TypeError, match="INT64 data, got FLOAT"):
            pipe.run(a=rows(-1), b=rows(-1).astype(np.float32))
        with pytest.raises(ValueError, match="no external source"):
            pipe.run(a=rows(-1), c=rows(-1))
        assert numbers(pipe.run(a=rows(number), b=rows(number))) == {number}


def test_a_reader_skips_the_iteration_of_a_source_that_fails(files):
    def source(number):
        if number == 2:
            raise ValueError("two")
        return rows(number)

    pipe = make([lambda: fn.external_source(source)], files, prefetch_queue_depth=1)
    assert [numbers(pipe.run()) for _ in range(2)] == [{0}, {1}]
    with pytest.raises(ValueError, match="two"):
        pipe.run()
    assert numbers(pipe.run()) == {3}


def test_a_source_that_was_interrupted_in_its_own_code_says_so():
    def numbered():
        yield rows(0)
        raise Interrupt

    pipe = make([lambda: fn.external_source(numbered), SOURCES["iterator"]], prefetch_queue_depth=1)
    assert numbers(pipe.run()) == {0}
    with pytest.raises(Interrupt):
        pipe.run()
    with pytest.raises(errors.PipelineError, match="it is not known what it returns next"):
        pipe.run()
    pipe.reset()
    pipe.run()


def first_numbers(batch):
    return {int(field.reshape(-1)[0]) for field in batch}


def test_batches_of_an_iterator_over_pipelines_stay_together(files):
    pipes = [make([SOURCES["iterator"]], files) for _ in range(2)]
    iterator = DALIGenericIterator(pipes, ["source", "reader"], size=2 * BATCH * 2000)
    expected = int(next(iterator)[0]["source"][0]) + 1
    for where, batches in interrupted(iterator.__next__, returns=False):
        batches = next(iterator) if batches is None else batches
        got = set.union(*(first_numbers(batch.values()) for batch in batches))
        assert got == {expected}, where
        expected += 1


def test_batches_of_a_pipeline_loader_stay_together(files):
    pipes = [make([SOURCES["iterator"]]) for _ in range(2)]
    with torch.random.fork_rng(devices=[]):
        iterator = iter(PipelineLoader(pipes, size=FAR))
    for expected, (where, batches) in enumerate(interrupted(iterator.__next__, returns=False)):
        batches = next(iterator) if batches is None else batches
        assert set.union(*map(first_numbers, batches)) == {expected}, where


def waiting_source():
    """Returns a source that waits in its second batch; events: it waits, and it may go on."""
    inside, may_go_on = threading.Event(), threading.Event()

    def source(number):
        if number == 1:
            inside.set()
            may_go_on.wait()
        return rows(number)

    return source, inside, may_go_on


def test_a_second_thread_gets_an_error():
    source, inside, may_go_on = waiting_source()
    pipe = make([lambda: fn.external_source(source)], prefetch_queue_depth=1)
    pipe.enable_api_check(False)
    assert numbers(pipe.run()) == {0}
    got = []
    thread = threading.Thread(target=lambda: got.append(numbers(pipe.run())))
    thread.start()
    inside.wait()
    for use in (pipe.run, pipe.schedule_run, pipe.share_outputs, pipe.outputs, pipe.reset):
        with pytest.raises(errors.PipelineError, match="another thread is using the pipeline"):
            use()
    may_go_on.set()
    thread.join()
    assert got == [{1}]
    assert numbers(pipe.run()) == {2}


def test_a_pipeline_that_another_thread_closes_says_so():
    source, inside, may_go_on = waiting_source()
    pipe = make([lambda: fn.external_source(source)], prefetch_queue_depth=1)
    pipe.run()
    raised = []

    def run():
        try:
            pipe.run()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait()
    pipe.close()
    may_go_on.set()
    thread.join()
    assert isinstance(raised[0], errors.PipelineError)
    assert "closed" in str(raised[0])
