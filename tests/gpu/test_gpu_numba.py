# SPDX-License-Identifier: Apache-2.0
"""numba_function on the GPU: kernels of numba.cuda, emulated in Numba's simulator.

The simulator must be selected before Numba is imported, so each program is a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("numba")
pytestmark = [pytest.mark.on_gpu("plugin.numba.fn.experimental.numba_function"), pytest.mark.slow]

PREAMBLE = """
import numpy as np
from numba import cuda
from torchdali import Pipeline, errors, fn, pipeline_def, types
from torchdali.plugin.numba.experimental import NumbaFunction
from torchdali.plugin.numba.fn.experimental import numba_function

GRID = {"blocks": [2, 1, 1], "threads_per_block": [8, 8, 1]}
ONE = {"in_types": types.UINT8, "out_types": types.UINT8, "ins_ndim": 2, "outs_ndim": 2}

def transpose(out, data):
    x, y = cuda.grid(2)
    if x < data.shape[0] and y < data.shape[1]:
        out[y, x] = data[x, y]

def exchanged(outs, ins):
    for i in range(len(outs[0])):
        outs[0][i][0] = ins[0][i][1]
        outs[0][i][1] = ins[0][i][0]

def double(out, data):
    x, y = cuda.grid(2)
    if x < data.shape[0] and y < data.shape[1]:
        out[x, y] = 2 * data[x, y]

rng = np.random.default_rng(1)
data = [rng.integers(0, 100, shape, np.uint8) for shape in ((3, 5), (9, 2), (16, 8), (0, 4))]

def pipeline(define, **options):
    return pipeline_def(
        define, batch_size=len(data), num_threads=2, device_id=None, **options)()

def run(define, iterations=1, **options):
    pipe = pipeline(define, **options)
    for _ in range(iterations):
        outputs = pipe.run()
    return [[s.cpu().numpy().copy() for s in out.as_torch_list()] for out in outputs]

def same(actual, expected):
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        assert a.dtype == e.dtype and np.array_equal(a, e), (a, e)

def source(samples=data, **options):
    return fn.external_source([samples], cycle=True, **options)

def fails(error, text, call):
    try:
        call()
    except error as raised:
        assert text in str(raised), raised
        return str(raised)
    raise AssertionError(text)
"""


@pytest.fixture
def run(backend, tmp_path):
    def call(program: str, **environment: str) -> None:
        simulated = {"NUMBA_ENABLE_CUDASIM": "1"} if backend == "cpu" else {}
        path = tmp_path / "program.py"
        path.write_text(PREAMBLE + textwrap.dedent(program))
        root = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join([str(tmp_path), root, os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", "import program"],  # a module, whose functions have names
            cwd=tmp_path,
            env={**os.environ, **simulated, "PYTHONPATH": paths, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    return call


def test_a_kernel_runs_per_sample_with_the_shape_of_its_setup_function(run):
    run("""
        for decorate in (lambda f: f, cuda.jit):
            kernel = decorate(transpose)
            def define():
                x = source()
                y = numba_function(
                    x.gpu(), run_fn=kernel, setup_fn=exchanged, device="gpu", **GRID, **ONE)
                assert y.device == "gpu"
                z = numba_function(x, run_fn=double, device="gpu", **GRID, **ONE)  # is copied
                return y, fn.cast(y, dtype=types.FLOAT), z
            y, floats, z = run(define, 3)
            same(y, [d.T for d in data])
            same(floats, [d.T.astype(np.float32) for d in data])
            same(z, [2 * d for d in data])
    """)


def test_kernels_may_have_several_inputs_and_outputs(run):
    run("""
        def add(total, more, flags, a, b):
            x = cuda.grid(1)
            if x < a.shape[0]:
                total[x] = a[x] + b[x]
                more[x] = a[x] + 0.5
                flags[x] = a[x] > 2

        a = [np.arange(n, dtype=np.int32) for n in (4, 0, 16, 7)]
        b = [np.arange(n, dtype=np.int64) * 10 for n in (4, 0, 16, 7)]
        def shapes(outs, ins):
            for o in range(3):
                for s in range(len(ins[0])):
                    outs[o][s][0] = ins[0][s][0]
        def define():
            return tuple(numba_function(
                source(a), source(b), run_fn=add, setup_fn=shapes, device="gpu",
                blocks=[1, 1, 1], threads_per_block=[32, 1, 1],
                in_types=[types.INT32, types.INT64], ins_ndim=[1, 1],
                out_types=[types.INT64, types.FLOAT, types.BOOL], outs_ndim=[1, 1, 1]))
        total, more, flags = run(define)
        same(total, [x + y for x, y in zip(a, b)])
        same(more, [(x + 0.5).astype(np.float32) for x in a])
        same(flags, [x > 2 for x in a])
    """)


def test_a_kernel_in_a_branch_runs_for_its_samples(run):
    run("""
        odd = [np.array(bool(i % 2)) for i in range(len(data))]
        def define():
            x = source().gpu()
            if source(odd):
                x = numba_function(x, run_fn=double, device="gpu", **GRID, **ONE)
            return x
        (out,) = run(define, 2, enable_conditionals=True)
        same(out, [d * (1 + i % 2) for i, d in enumerate(data)])
    """)


def test_the_class_and_a_deserialized_pipeline_give_the_same(run):
    run("""
        operator = NumbaFunction(double, types.UINT8, types.UINT8, 2, 2, device="gpu", **GRID)
        assert operator.device == "gpu"
        def define():
            return operator(source()), operator(source())
        for out in run(define):
            same(out, [2 * d for d in data])

        pipe = Pipeline(len(data), 1, None)
        with pipe:
            x = fn.external_source(name="x")
            pipe.set_outputs(numba_function(
                x, run_fn=transpose, setup_fn=exchanged, device="gpu", **GRID, **ONE))
        again = Pipeline.deserialize(pipe.serialize(), allow=["program"])
        again.feed_input("x", data)
        same([s.cpu().numpy() for s in again.run()[0].as_torch_list()], [d.T for d in data])
    """)


def test_wrong_uses_are_errors(run):
    run("""
        def negative(outs, ins):
            for i in range(len(outs[0])):
                outs[0][i][0] = -1
        def raises(outs, ins):
            raise ValueError("no shape")
        def uses(**options):
            given = {"run_fn": transpose, "setup_fn": exchanged, "device": "gpu", **GRID, **ONE}
            return lambda: run(lambda: numba_function(source(), **{**given, **options}))
        error = errors.TorchdaliError
        text = fails(error, "with a negative extent", uses(setup_fn=negative))
        assert "program.py" in text and "sample 0 of 4" in text, text
        fails(error, "raised ValueError: no shape", uses(setup_fn=raises))
        fails(errors.ArgumentError, "needs `blocks` and `threads_per_block`", uses(blocks=None))
        fails(errors.ArgumentError, "3 positive numbers", uses(blocks=[1, 1]))
        fails(errors.ArgumentError, "does not go with batch_processing", uses(
            batch_processing=True))
        fails(error, "but `in_types` says", uses(in_types=types.FLOAT))
        fails(error, "but `ins_ndim` says 3", uses(ins_ndim=3, setup_fn=negative))
    """)


def test_a_failing_kernel_names_the_sample_and_the_pipeline_continues(run, backend):
    if backend == "cuda":
        pytest.skip("a kernel raises nothing on a GPU")
    run("""
        def picky(out, data):
            x, y = cuda.grid(2)
            if data.shape[0] == 9 and data[0, 0] == 255:
                raise ValueError("no 255")
            if x < data.shape[0] and y < data.shape[1]:
                out[x, y] = data[x, y]
        bad = [d.copy() for d in data]
        bad[1][0, 0] = 255
        def define():
            x = fn.external_source([bad, data])
            return numba_function(x, run_fn=picky, device="gpu", **GRID, **ONE)
        pipe = pipeline(define)
        text = fails(errors.PipelineError, "`picky` (program.py:55) failed: ", pipe.run)
        assert "no 255" in text and "sample 1 of 4" in text, text
        same([s.numpy() for s in pipe.run()[0].as_torch_list()], data)
    """)


def test_emulation_needs_the_simulator(run, backend):
    if backend == "cuda":
        pytest.skip("there the simulator is not used")
    run(
        """
        def define():
            return numba_function(source(), run_fn=double, device="gpu", **GRID, **ONE)
        fails(errors.PipelineError, "set both NUMBA_ENABLE_CUDASIM=1", lambda: run(define))
        """,
        NUMBA_ENABLE_CUDASIM="0",
    )
