# SPDX-License-Identifier: Apache-2.0
"""Python functions: nested pipelines, closing, Ctrl-C and forks during a call."""

from __future__ import annotations

import gc
import signal
import textwrap
import threading
import time

import numpy as np
import pytest
from helpers import programs
from helpers.cases import for_each
from helpers.functions import SAMPLES, pipeline_of

from torchdali import Pipeline, errors, fn

pytestmark = pytest.mark.slow


# Limit for Ctrl-C and close() on a busy machine.
SOON_S = 10


@for_each("method", ["run", "close", "schedule_run", "share_outputs", "epoch_size"])
@for_each("workers", [None, "threads"])
def test_a_function_cannot_use_its_own_pipeline(method, workers):
    def function(x):
        if not failures:
            try:
                getattr(pipes[0], method)()
            except errors.TorchdaliError as error:
                failures.append(str(error))
        return x

    failures: list[str] = []
    extra = {"workers": workers} if workers else {}
    pipes = [pipeline_of(function, **extra)]
    api = method in ("schedule_run", "share_outputs")
    pipes[0].enable_api_check(False)
    outputs = pipes[0].run()
    np.testing.assert_array_equal(outputs[0].as_array(), SAMPLES)
    if method != "epoch_size":
        assert "cannot use the pipeline itself" in failures[0] or api
    np.testing.assert_array_equal(pipes[0].run()[0].as_array(), SAMPLES)


def test_a_function_may_build_and_run_another_pipeline():
    def function(x):
        with Pipeline(1, 2, None) as inner:
            inner.set_outputs(
                fn.python_function(
                    fn.external_source(lambda: [x], batch=True), function=lambda y: y + 1
                )
            )
        with_inner = np.array(inner.run()[0][0])
        inner.close()
        return with_inner

    np.testing.assert_array_equal(pipeline_of(function).run()[0].as_array(), np.add(SAMPLES, 1))


def test_a_pipeline_may_be_garbage_collected_on_its_own_thread():
    # Reference cycles are collected on any thread.
    entered, go_on, collected = threading.Event(), threading.Event(), threading.Event()

    def function(x):
        entered.set()
        go_on.wait(SOON_S)
        gc.collect()
        return x

    class Watched:
        def __init__(self, pipe):
            self.pipe, self.cycle = pipe, self

        def __del__(self):
            collected.set()

    watched = Watched(pipeline_of(function))
    watched.pipe.schedule_run()
    assert entered.wait(SOON_S)
    del watched
    go_on.set()
    assert collected.wait(SOON_S)


def test_closing_waits_for_the_current_call_only():
    def function(x):
        calls.append(time.monotonic())
        entered.set()
        time.sleep(0.2)
        return x

    calls: list[float] = []
    entered = threading.Event()
    pipe = pipeline_of(function)
    pipe.schedule_run()
    assert entered.wait(SOON_S)
    pipe.close()
    assert len(calls) == 1


def run_script(text, *, signals=(), expect=0):
    """Runs a program that prints "ready" and sends it signals; returns what it prints."""
    process = programs.start(
        "-c",
        textwrap.dedent(PRELUDE) + textwrap.dedent(text),
        env={"OMP_NUM_THREADS": "1"},
    )
    try:
        if signals:
            assert process.stdout.readline() == "ready\n"
        for pause, number in signals:
            time.sleep(pause)
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == expect, err
    return out, err


PRELUDE = """
import os, sys, threading, time
import numpy as np
from torchdali import Pipeline, fn

def pipeline_of(function, **args):
    with Pipeline(3, 2, None) as pipe:
        x = fn.external_source(lambda: [np.zeros(2)] * 3, batch=True)
        pipe.set_outputs(fn.python_function(x, function=function, **args))
    return pipe

first = threading.Event()
def say():
    if not first.is_set():
        first.set()
        print("ready", flush=True)
"""


@pytest.mark.parametrize("body", ["time.sleep(0.05)", "pass"])
def test_ctrl_c_ends_a_program_whose_function_hangs(body):
    # The first ends run(), the second the function, when the pipeline is closed at the exit.
    text = f"""
    def hang(x):
        say()
        while True:
            {body}
    pipe = pipeline_of(hang)
    try:
        pipe.run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    out, _ = run_script(text, signals=[(0.2, signal.SIGINT), (1.0, signal.SIGINT)])
    assert "interrupted" in out


def test_ctrl_c_ends_a_program_whose_function_hangs_outside_python():
    text = """
    def hang(x):
        say()
        time.sleep(1000)
    pipe = pipeline_of(hang)
    try:
        pipe.run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    presses = [(0.2, signal.SIGINT), (1.0, signal.SIGINT), (1.0, signal.SIGINT)]
    out, _ = run_script(text, signals=presses)
    assert "interrupted" in out


def test_a_fork_in_a_function_works():
    text = """
    def forked(x):
        child = os.fork()
        if child == 0:
            os._exit(7)
        return np.array(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(pipeline_of(forked).run()[0].as_array().tolist())
    """
    out, _ = run_script(text)
    assert out == "[7, 7, 7]\n"


def test_a_child_of_a_function_cannot_use_the_pipeline():
    text = """
    def forked(x):
        child = os.fork()
        if child == 0:
            try:
                pipe.run()
            except RuntimeError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        return np.array(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    pipe = pipeline_of(forked)
    print(pipe.run()[0].as_array().tolist())
    """
    out, _ = run_script(text)
    assert out == "[7, 7, 7]\n"
