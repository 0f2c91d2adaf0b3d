# SPDX-License-Identifier: Apache-2.0
"""Lifetimes of inputs, outputs and functions; memory over many calls; exits of programs."""

from __future__ import annotations

import gc
import textwrap
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import programs

from torchdali import Pipeline, errors, fn, types

pytestmark = pytest.mark.slow

BATCH = 3
RUNS = 8
MATRICES = [np.arange(6, dtype=np.uint8).reshape(2, 3) + i for i in range(BATCH)]
PAGE = 4096
OPERATORS = ["python_function", "dl_tensor_python_function", "torch_python_function"]


def content(value):
    """Returns a copy of an input as an array."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return (value if torch.is_tensor(value) else torch.from_dlpack(value)).clone().numpy()


def fed():
    count = iter(range(1000))
    return fn.external_source(lambda: [m + next(count) for m in MATRICES], batch=True)


def fed_in_place():
    count = iter(range(1000))
    return fn.external_source(lambda: [m + next(count) for m in MATRICES], batch=True, no_copy=True)


def decoded():
    rng = np.random.default_rng(0)

    def encoded():
        image = rng.integers(0, 256, (5, 7, 3), np.uint8)
        return np.frombuffer(b"P6 7 5 255\n" + image.tobytes(), np.uint8)

    source = fn.external_source(lambda: [encoded() for _ in range(BATCH)], batch=True)
    return fn.decoders.image(source)


def constant():
    return types.Constant(np.arange(5, dtype=np.float32))


def random_values():
    return fn.random.uniform(shape=[100])


def of_a_function():
    count = iter(range(1000))
    return fn.python_function(function=lambda: np.full((2, 2), next(count)))


def of_strided():
    count = iter(range(1000))
    return fn.python_function(function=lambda: (np.arange(12).reshape(3, 4) + next(count)).T[::-1])


def computed():
    return fn.cast(random_values() * 100, dtype=types.INT32)


SOURCES = [fed, fed_in_place, decoded, constant, random_values, of_a_function, of_strided, computed]


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("source", SOURCES)
def test_inputs_that_a_function_keeps_do_not_change(source, operator, batch):
    def function(x):
        for sample in x if batch else [x]:
            array = sample
            if operator == "dl_tensor_python_function":
                array = torch.from_dlpack(sample)
            kept.append((array, content(array)))
        return [np.zeros(1)] * BATCH if batch else np.zeros(1)

    kept: list = []
    with Pipeline(BATCH, 2, None, seed=1) as pipe:
        made = getattr(fn, operator)(source(), function=function, batch_processing=batch)
        pipe.set_outputs(made)
    for _ in range(RUNS):
        pipe.run()
    pipe.close()
    del pipe
    gc.collect()
    scratch = [np.full(4096, 255, np.uint8) for _ in range(100)]  # overwrites freed memory
    assert len(kept) >= RUNS * BATCH
    for array, before in kept:
        np.testing.assert_array_equal(content(array), before)
    del scratch


def test_an_unused_capsule_keeps_its_input_alive():
    capsules: list = []
    with Pipeline(BATCH, 2, None) as pipe:
        made = fn.dl_tensor_python_function(
            fed(), function=lambda xs: (capsules.extend(xs), [np.zeros(1)] * BATCH)[1]
        )
        pipe.set_outputs(made)
    for _ in range(RUNS):
        pipe.run()
    pipe.close()
    for i, capsule in enumerate(capsules[: RUNS * BATCH]):
        expected = MATRICES[i % BATCH] + (i // BATCH) * BATCH + i % BATCH
        np.testing.assert_array_equal(torch.from_dlpack(capsule), expected)


@pytest.mark.parametrize("batch", [False, True])
def test_a_function_may_return_an_earlier_input(batch):
    def function(x):
        samples = x if batch else [x]
        before.append(samples)
        given = before[max(0, len(before) - 1 - (1 if batch else BATCH))]
        return given if batch else given[0]

    before: list = []
    with Pipeline(BATCH, 2, None) as pipe:
        pipe.set_outputs(fn.python_function(fed(), function=function, batch_processing=batch))
    first = [np.array(s) for s in pipe.run()[0]]
    second = [np.array(s) for s in pipe.run()[0]]
    if batch:
        np.testing.assert_array_equal(first, second)
    pipe.close()


class Watch:
    """Counts arrays that are alive."""

    class _Array(np.ndarray):
        pass

    def __init__(self):
        self.refs = []

    def array(self, values):
        """Returns the values as an array that is watched."""
        array = np.asarray(values).view(self._Array)
        self.refs.append(weakref.ref(array))
        return array

    def alive(self):
        """Returns how many are left."""
        gc.collect()
        return sum(ref() is not None for ref in self.refs)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("strided", [False, True])
def test_outputs_are_released_when_unused(batch, strided):
    def make():
        array = watch.array(np.zeros((4, 4)))
        return array.T if strided else array

    watch = Watch()
    with Pipeline(BATCH, 2, None) as pipe:
        made = fn.python_function(
            function=(lambda: [make() for _ in range(BATCH)]) if batch else make,
            batch_processing=batch,
        )
        pipe.set_outputs(made)
    for _ in range(20):
        pipe.run()
    assert len(watch.refs) >= 20 * BATCH
    assert watch.alive() <= BATCH * 3  # from the iterations in flight
    pipe.close()
    del pipe
    assert watch.alive() == 0


def test_outputs_of_the_pipeline_do_not_change():
    buffer = np.zeros(3, np.float32)

    def function():
        buffer[:] += 1  # the same memory again and again, as is often done
        return buffer

    with Pipeline(BATCH, 2, None, prefetch_queue_depth=1) as pipe:
        pipe.set_outputs(fn.copy(fn.python_function(function=function)))
    batches = [pipe.run()[0] for _ in range(4)]
    first = [b.as_array().copy() for b in batches]
    for _ in range(4):
        pipe.run()
    for batch, before in zip(batches, first, strict=True):
        np.testing.assert_array_equal(batch.as_array(), before)


def failing(error_at):
    count = iter(range(10**9))

    def function(x):
        if next(count) % error_at == 0:
            raise ValueError("now and then")
        return x + 1

    return function


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


CALLS = {
    "sample": ("python_function", lambda x: x + 1, {}),
    "batch": ("python_function", lambda xs: [x + 1 for x in xs], {"batch_processing": True}),
    "threads": ("python_function", lambda x: x + 1, {"workers": "threads"}),
    "seeded": ("python_function", lambda x: x + 1, {"seed_generators": True}),
    "nothing": ("python_function", lambda _x: None, {"num_outputs": 0}),
    "two": ("python_function", lambda x: (x, x[::-1]), {"num_outputs": 2}),
    "capsules": (
        "dl_tensor_python_function",
        lambda x: torch.from_dlpack(x).clone(),
        {"batch_processing": False},
    ),
    "capsules untouched": ("dl_tensor_python_function", lambda xs: xs, {}),
    "objects": ("dl_tensor_python_function", lambda xs: [np.zeros(9) for _ in xs], {}),
    "torch": ("torch_python_function", lambda x: x * 2, {}),
    "torch batch": ("torch_python_function", lambda xs: xs, {"batch_processing": True}),
    "failing": ("python_function", failing(100), {}),
    "failing threads": ("python_function", failing(100), {"workers": "threads"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_50_000_calls_leak_nothing(name):
    operator, function, args = CALLS[name]
    size = 64
    with Pipeline(size, 2, None, seed=1) as pipe:
        x = fn.random.uniform(shape=[200])
        made = getattr(fn, operator)(x, function=function, **args)
        outputs = made if isinstance(made, list) else [x if made is None else made]
        pipe.set_outputs(*outputs)

    def run(calls):
        samples = 1 if args.get("batch_processing") or operator.startswith("dl") else size
        for _ in range(min(calls // samples, 2000)):
            try:
                pipe.run()
            except errors.PipelineError as error:
                if not isinstance(error.__cause__, ValueError):
                    raise

    run(10_000)  # pools, caches and the heap have their size
    gc.collect()
    before, objects = resident_bytes(), len(gc.get_objects())
    run(50_000)
    gc.collect()
    assert len(gc.get_objects()) - objects < 500
    # A hundred bytes per call would be 5 MB.
    assert resident_bytes() - before < 5 << 20
    pipe.close()


@pytest.mark.parametrize("workers", [None, "threads"])
def test_failed_and_cancelled_iterations_release_everything(workers):
    def function(x):
        array = watch.array(x + 1)
        if len(watch.refs) % 5 == 4:
            raise ValueError("one of five")
        return array

    watch = Watch()
    extra = {"workers": workers} if workers else {}
    with Pipeline(BATCH, 2, None, prefetch_queue_depth=3) as pipe:
        pipe.set_outputs(fn.python_function(fed(), function=function, **extra))
    failed = 0
    for _ in range(20):
        try:
            pipe.run()
        except errors.PipelineError as error:
            failed += isinstance(error.__cause__, ValueError)
    assert failed
    pipe.close()  # with iterations in flight
    del pipe
    assert watch.alive() == 0


def test_the_function_is_freed_with_the_pipeline():
    class Function:
        def __call__(self, x):
            return x

    function = Function()
    gone = weakref.ref(function)
    with Pipeline(BATCH, 2, None) as pipe:
        pipe.set_outputs(fn.python_function(fed(), function=function))
    pipe.run()
    pipe.close()
    del pipe, function
    gc.collect()
    assert gone() is None


def test_a_pipeline_referenced_by_its_function_is_collected():
    class Holder:
        pass

    def make():
        holder = Holder()
        with Pipeline(BATCH, 2, None) as pipe:
            pipe.set_outputs(fn.python_function(fed(), function=lambda x: (holder, x)[1]))
        holder.pipe = pipe
        pipe.run()
        return weakref.ref(holder)

    gone = make()
    gc.collect()
    if gone() is not None:  # the engine refers to the function, which the collector cannot see
        gone().pipe.close()
        gc.collect()
    assert gone() is None


def test_thread_local_values_stay_between_calls():
    local = threading.local()

    def function(x):
        local.calls = getattr(local, "calls", 0) + 1
        return np.array(local.calls)

    with Pipeline(BATCH, 1, None) as pipe:
        pipe.set_outputs(fn.python_function(fed(), function=function))
    seen = [int(s) for _ in range(3) for s in pipe.run()[0].as_array()]
    assert seen == list(range(1, 10))


ENDS = {
    "never closed": "pipe.run()",
    "in flight": "pipe.schedule_run()",
    "a reference cycle": "pipe.run(); pipe.me = pipe",
    "kept in the module sys": "pipe.run(); sys.kept = pipe",
    "kept inputs": "sys.kept = []; pipe.run(); sys.kept += inputs",
    "a daemon thread": """
        def forever():
            try:
                while True:
                    pipe.run()
            except Exception:  # it was closed
                pass
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
    """,
    "an error on its way": "pipe.run(); raise SystemExit(0)",
    "closed at the exit": "import atexit; atexit.register(pipe.close); pipe.run()",
}


@pytest.mark.parametrize("workers", [None, "threads"])
@pytest.mark.parametrize("name", ENDS)
def test_a_program_exits_with_iterations_in_flight(name, workers):
    program = f"""
        import sys, threading, time
        import numpy as np
        from torchdali import Pipeline, fn
        inputs = []
        def function(x):
            inputs.append(x)
            return x + 1
        with Pipeline(3, 2, None, prefetch_queue_depth=3) as pipe:
            x = fn.random.uniform(shape=[4])
            y = fn.python_function(x, function=function, workers={workers!r})
            pipe.set_outputs(fn.python_function(y, function=lambda y: y[::-1]))
    """
    text = textwrap.dedent(program) + textwrap.dedent(ENDS[name])
    done = programs.run("-c", text)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
