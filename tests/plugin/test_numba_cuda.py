# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba.cuda in Numba's simulator, which has to be chosen before Numba is imported."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("numba")

PREAMBLE = """
import numpy as np
from numba import cuda
from torchdali.errors import ArgumentError, PipelineError
from torchdali.plugin.numba._cuda import CudaKernel
from torchdali.plugin.numba._wrappers import Array

UINT8 = Array("uint8", 2, True), Array("uint8", 2, False)
GRID = {"blocks": [2, 1, 1], "threads_per_block": [8, 8, 1]}

def transpose(out, data):
    x, y = cuda.grid(2)
    if x < data.shape[0] and y < data.shape[1]:
        out[y, x] = data[x, y]

def exchanged(outs, ins):
    for i in range(len(outs[0])):
        outs[0][i][0] = ins[0][i][1]
        outs[0][i][1] = ins[0][i][0]

def make(run_fn=transpose, setup_fn=exchanged, outs=UINT8[:1], ins=UINT8[1:], grid=GRID):
    return CudaKernel(run_fn, outs, ins, setup_fn=setup_fn, **grid)

rng = np.random.default_rng(1)
data = [rng.integers(0, 255, shape, np.uint8) for shape in ((3, 5), (9, 2), (16, 8))]

def fails(error, text, call):
    try:
        call()
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(text)
"""


def run(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(program)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_kernel_runs_for_each_sample_in_the_shape_of_its_setup_function():
    run("""
        for decorate in (lambda f: f, cuda.jit):
            kernel = make(decorate(transpose))
            shapes = kernel.output_shapes([[d.shape for d in data]])
            assert shapes == [[(5, 3), (2, 9), (8, 16)]]
            outputs = [[np.zeros(shape, np.uint8) for shape in shapes[0]]]
            kernel.launch(outputs, [data], 0)
            for out, d in zip(outputs[0], data):
                assert np.array_equal(out, d.T)
    """)


def test_without_a_setup_function_shapes_are_those_of_the_inputs():
    run("""
        def add(total, more, a, b):
            x = cuda.grid(1)
            if x < a.shape[0]:
                total[x] = a[x] + b[x]
                more[x] = a[x] + 0.5

        floats, ints = Array("float32", 1, True), Array("int32", 1, True)
        kernel = make(add, None, [ints, floats], [ints, ints])
        a = [np.arange(n, dtype=np.int32) for n in (4, 0, 16)]
        shapes = kernel.output_shapes([[d.shape for d in a]] * 2)
        assert shapes == [[(4,), (0,), (16,)]] * 2
        totals = [np.zeros(s, np.int32) for s in shapes[0]]
        more = [np.zeros(s, np.float32) for s in shapes[1]]
        kernel.launch([totals, more], [a, a], 0)
        for t, m, d in zip(totals, more, a):
            assert np.array_equal(t, d + d)
            assert np.array_equal(m, d + np.float32(0.5))
    """)


def test_what_does_not_fit_is_named():
    run("""
        def negative(outs, ins):
            for i in range(len(outs[0])):
                outs[0][i][0] = -1
        def raises(outs, ins):
            raise ValueError("no shape")
        shapes = [[d.shape for d in data]]
        fails(ArgumentError, "with a negative extent", lambda: make(
            setup_fn=negative).output_shapes(shapes))
        fails(PipelineError, "raised ValueError: no shape", lambda: make(
            setup_fn=raises).output_shapes(shapes))
        fails(ArgumentError, "needs `blocks` and `threads_per_block`", lambda: make(
            grid={"blocks": None, "threads_per_block": None}))
        wrong = [[np.zeros((5, 3), np.float32)] * 3]
        fails(ArgumentError, "output 0 of `transpose`", lambda: make().launch(wrong, [data], 0))
        fails(ArgumentError, "input 0 of `transpose`", lambda: make().launch(
            [data], [[d.reshape(-1) for d in data]], 0))
    """)
