# SPDX-License-Identifier: Apache-2.0
"""Functions with workers="processes": results, exceptions, killed and hanging workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from torchdali import fn, pipeline_def
from torchdali.errors import ArgumentTypeError, PipelineError
from torchdali.pickling import pickle_by_value

pytestmark = pytest.mark.slow

METHODS = ("fork", "forkserver", "spawn")
BATCH = 4


@pickle_by_value
def noisy(x):
    import numpy as np

    import torchdali

    return x * 2 + torchdali.current_sample().numpy.integers(0, 9, x.shape).astype(np.int64), x[:1]


@pickle_by_value
def torch_flip(x):
    return x.flip(0), x[:1]


@pickle_by_value
def same(x):
    return x, x


@pickle_by_value
def batch_of(xs):
    import numpy as np

    return [x + len(xs) for x in xs], np.stack([x[0] for x in xs])


def process_of(x):
    return np.array([os.getpid()])


def ragged(i):
    if i == 3:
        raise StopIteration
    return [np.arange(k + 2, dtype=np.int64) + 10 * i for k in range(BATCH - i)]


def build(function, *, op=fn.python_function, method="fork", count=2, **options):
    @pipeline_def(
        batch_size=BATCH, num_threads=2, seed=7, py_num_workers=count, py_start_method=method
    )
    def define():
        made = op(fn.external_source(ragged), function=function, **options)
        return tuple(made) if isinstance(made, list) else made

    return define()


def build_processes(function, **options):
    return build(function, workers="processes", **options)


def run_all(pipe):
    out = []
    try:
        while True:
            out += [[np.array(t).tolist() for t in batch] for batch in pipe.run()]
    except StopIteration:
        pipe.close()
        return out


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("op", "function", "whole"),
    [
        (fn.python_function, noisy, False),
        (fn.python_function, batch_of, True),
        (fn.dl_tensor_python_function, same, False),
        (fn.torch_python_function, torch_flip, False),
    ],
)
def test_results_equal_those_without_workers(op, function, whole, method):
    if method == "spawn" and op is fn.torch_python_function:
        pytest.skip("each worker loads torch; forkserver does the same")
    options = {"op": op, "num_outputs": 2, "batch_processing": whole}
    expected = run_all(build(function, **options))
    assert run_all(build_processes(function, method=method, **options)) == expected
    assert run_all(build_processes(function, count=0, **options)) == expected


def test_the_samples_of_a_batch_are_shared_among_the_workers():
    def slow(x):
        time.sleep(0.05)
        return process_of(x)

    pipe = build_processes(slow)
    pids = {int(t[0]) for t in np.array(pipe.run()[0].as_array())}
    pipe.close()
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_a_function_without_outputs_runs(tmp_path):
    def write(x):
        (tmp_path / str(int(x[0]) * 100 + len(x))).touch()

    @pipeline_def(batch_size=BATCH, num_threads=2, py_num_workers=2, py_start_method="fork")
    def define():
        data = fn.external_source(ragged)
        fn.python_function(data, function=write, num_outputs=0, workers="processes")
        return data

    run_all(define())
    assert len(list(tmp_path.iterdir())) == 4 + 3 + 2


def test_a_branch_is_called_for_its_samples_only():
    @pipeline_def(
        batch_size=BATCH,
        num_threads=2,
        enable_conditionals=True,
        py_num_workers=2,
        py_start_method="fork",
    )
    def define():
        data = fn.external_source(ragged)
        if fn.shapes(data)[0] > 3:
            out = fn.python_function(data, function=lambda x: -x, workers="processes")
        else:
            out = data + 0
        return out

    values = [np.array(t).tolist() for t in define().run()[0]]
    assert values == [[0, 1], [0, 1, 2], [0, -1, -2, -3], [0, -1, -2, -3, -4]]


def test_inputs_and_outputs_of_any_size_and_type():
    sizes = iter([(3, 0), (3, 1), (300, 500), (2, 2)])
    data = [np.full(size, 1, np.float16) for size in sizes]

    @pipeline_def(batch_size=4, num_threads=2, py_num_workers=2, py_start_method="fork")
    def define():
        return fn.python_function(
            fn.external_source(lambda: data),
            function=lambda x: np.repeat(x[:, ::-1].astype(np.float64), 3, axis=1),
            workers="processes",
        )

    pipe = define()
    for _ in range(30):
        (out,) = pipe.run()
        for actual, given in zip(out, data, strict=True):
            assert np.array_equal(np.array(actual), np.repeat(given.astype(np.float64), 3, axis=1))
    pipe.close()


def test_outputs_that_are_kept_do_not_change():
    pipe = build_processes(noisy, num_outputs=2)
    first = pipe.run()[0]
    before = [np.array(t).copy() for t in first]
    pipe.run()
    pipe.close()
    assert all(np.array_equal(np.array(t), b) for t, b in zip(first, before, strict=True))


def test_the_global_generators_are_seeded_in_the_worker():
    def draw(x):
        import random

        return np.array([random.random(), np.random.rand()])  # noqa: NPY002

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    runs = [run_all(build_processes(draw, seed_generators=True, count=n)) for n in (1, 2)]
    assert runs[0] == runs[1]
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("method", METHODS)
def test_exceptions_have_the_traceback_and_the_sample(method):
    def fails(x):
        if x[0] == 10 and len(x) == 4:
            raise KeyError("no such thing")
        return x

    pipe = build_processes(fails, method=method)
    pipe.run()
    with pytest.raises(
        PipelineError, match=r"(?s)function `.*fails`.*in fails.*no such thing"
    ) as e:
        pipe.run()
    assert e.value.sample == 2
    assert isinstance(e.value.__cause__, KeyError)
    assert "sample 2 of 3" in str(e.value)
    assert np.array(pipe.run()[0][0])[0] == 20  # the pipeline goes on
    pipe.close()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: None, "returned NoneType, `num_outputs` is 1"),
        (lambda x: (x, x), "returned 2 outputs, `num_outputs` is 1"),
        (lambda x: 3, "output 0 is no array"),
        (lambda x: x if len(x) > 2 else x.astype(np.uint8), "one type"),
        (lambda x: x.astype(complex), "no element type"),
    ],
)
def test_results_are_checked(function, text):
    pipe = build_processes(function)
    with pytest.raises(PipelineError, match=text):
        pipe.run()
    pipe.close()


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_costs_an_iteration(method):
    def dies(x):
        if x[0] == 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    pipe = build_processes(dies, method=method)
    pipe.run()
    with pytest.raises(PipelineError, match="SIGKILL"):
        pipe.run()
    assert np.array(pipe.run()[0][0])[0] == 20
    pipe.close()


def test_a_function_that_hangs_is_an_error_after_the_timeout(monkeypatch):
    monkeypatch.setenv("TORCHDALI_WORKER_TIMEOUT", "0.5")

    def hangs(x):
        if x[0] == 10:
            time.sleep(100)
        return x

    pipe = build_processes(hangs)
    pipe.run()
    with pytest.raises(PipelineError, match=r"in 0\.5 s"):
        pipe.run()
    pipe.close()


def test_closing_interrupts_a_call():
    pipe = build_processes(lambda x: time.sleep(1000))  # longer than the time limit of a test
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pipe.run()
    pipe.close()


def test_functions_that_cannot_be_pickled_are_errors():
    lock = threading.Lock()
    pipe = build_processes(lambda x: x + lock.locked(), method="forkserver")
    for _ in range(2):  # a second attempt does not go on without processes
        with pytest.raises(ArgumentTypeError, match="lock"):
            pipe.run()


def test_closing_leaves_no_processes_or_files():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def children():
        found = Path("/proc/self/task").glob("*/children")
        return {pid for path in found for pid in path.read_text().split()}

    def round_trip():
        pipe = build_processes(same, num_outputs=2)
        pipe.run()
        pipe.close()

    round_trip()
    before, server = descriptors(), children()
    for _ in range(20):
        round_trip()
    assert descriptors() <= before
    assert children() == server
