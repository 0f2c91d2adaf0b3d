# SPDX-License-Identifier: Apache-2.0
"""Debug mode: operators run as they are called, and give what the pipeline without it gives."""

from __future__ import annotations

import gc
import inspect
import json
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.debug_mode import BATCH, assert_equal, both, debugged, images, values
from helpers.image_files import write_image_folder
from hypothesis import given
from hypothesis import strategies as st

from torchdali import Pipeline, errors, fn, math, newaxis, ops, pipeline_def, types
from torchdali.pipeline import experimental
from torchdali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from torchdali.tensors import TensorCPU, TensorListCPU

STEPS = {
    "copy": fn.copy,
    "flip": lambda x: fn.flip(x, horizontal=fn.random.coin_flip()),
    "vertical": lambda x: fn.flip(x, horizontal=0, vertical=fn.random.coin_flip(probability=0.3)),
    "cast": lambda x: fn.cast(x, dtype=types.FLOAT),
    "crop": lambda x: fn.crop(x, crop=[3, 4], crop_pos_x=fn.random.uniform(range=[0, 1])),
    "resize": lambda x: fn.resize(x, size=fn.random.uniform(range=[4, 9], shape=[2])),
    "random crop": lambda x: fn.random_resized_crop(x, size=[4, 6]),
}


@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6),
    st.lists(st.integers(1, BATCH), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_chains_of_operators_give_the_same(steps, sizes, num_threads):
    def definition():
        x = fn.external_source(name="x", layout="HWC")
        made = []
        for step in steps:
            x = STEPS[step](x)
            made.append(x)
        return tuple(made)

    def feed(pipe, iteration):
        pipe.feed_input("x", images(iteration, sizes[iteration]))

    both(definition, len(sizes), feed, num_threads=num_threads)


def test_a_training_pipeline_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_FUSION", "0")  # values between fused operators are not there
    root = write_image_folder(tmp_path / "images", per_class=7)

    def definition():
        encoded, labels = fn.readers.file(file_root=str(root), random_shuffle=True, name="files")
        decoded = fn.decoders.image(encoded)
        crops = fn.random_resized_crop(decoded, size=[16, 16])
        normal = fn.crop_mirror_normalize(
            crops, mirror=fn.random.coin_flip(), mean=[100.0], std=[50.0], output_layout="CHW"
        )
        return normal, labels, crops

    plain, debug = both(definition, 12, batch_size=5)
    assert debug.reader_meta("files") == plain.reader_meta("files")
    assert debug.epoch_size("files") == 14
    assert debug.epoch_size() == {"files": 14}


LANGUAGE = {
    "expressions": lambda x: (
        (x / 255.0 - 0.5) * fn.random.normal() + fn.random.uniform(),
        x * 3 - (x & 7) // 2,
        (x > 100) & ~(x == 7) | (fn.random.coin_flip() == 1),
        -x,
        2**x,
    ),
    "operands": lambda x: (
        x * np.array([0.5, 1.0, 2.0], np.float32),
        x + types.Constant(3).int16(),
        math.clamp(math.sqrt(x), 2, 9),
    ),
    "constants": lambda x: (
        types.Constant(np.ones((2, 2), np.float32), layout="HW"),
        3,
        [1.5, 2.0],
    ),
    "constant inputs": lambda x: (
        fn.cast(5, dtype=types.FLOAT),
        fn.cast([1, 2], dtype=types.UINT8),
    ),
    "subscripts": lambda x: (x[0], x[1:3, ::2], x[..., -1], x[:, newaxis]),
    "data in subscripts": lambda x: (x[fn.random.coin_flip()], x[fn.random.coin_flip() :, 1]),
    "shapes": lambda x: (x.shape(), x.shape(dtype=types.INT32)[0], fn.shapes(x)),
    "shapes as arguments": lambda x: fn.crop(
        x, crop_h=fn.cast(x.shape()[0], dtype=types.FLOAT), crop_w=2.0
    ),
    "properties": lambda x: (x.property("layout"), x.source_info()),
    "moves": lambda x: (+x, x.cpu()),
}


@for_each("name", LANGUAGE)
def test_the_language_gives_the_same(name):
    def definition():
        x = fn.external_source(name="x", layout="HWC")
        made = LANGUAGE[name](x)
        return (x, *(made if isinstance(made, tuple) else (made,)))

    both(definition, 3, lambda pipe, i: pipe.feed_input("x", images(i, [3, 1, 2][i])))


def test_samples_know_where_they_come_from(tmp_path):
    for name in "abcd":
        (tmp_path / name).write_bytes(name.encode())

    def definition():
        data, label = fn.readers.file(file_root=str(tmp_path), files=list("abcd"))
        return fn.copy(data).source_info(), fn.copy(data), fn.copy(fn.copy(label))

    plain, debug = both(definition, 2)
    outputs = debug.run()
    names = [bytes(v.tolist()).decode() for v in values(outputs[0])]
    assert [tensor.source_info() for tensor in outputs[1]] == names
    assert names[0].endswith("c")
    plain.close()


# -- what a node is


def test_a_node_has_its_values():
    seen = []

    def definition():
        x = fn.external_source(source=images, layout="HWC")
        y = fn.flip(x)
        seen.append((x, y, str(y)))
        return y

    (out,) = debugged(definition).run()
    x, y, text = seen[0]
    assert isinstance(y.get(), TensorListCPU)
    assert torch.equal(y.get().as_torch(), out.as_torch())
    assert torch.equal(y.get().as_torch(), x.get().as_torch().flip(2))
    assert (y.layout, y.ndim, y.dtype, y.device) == ("HWC", 3, types.UINT8, "cpu")
    assert text == repr(y)
    assert text.startswith('DataNodeDebug(\n    name="__Flip_')
    assert "dtype=DALIDataType.UINT8" in text
    assert str(int(y.get().at(0)[0, 0, 0])) in text


@pytest.mark.parametrize("use", [bool, iter, len])
def test_a_node_has_no_truth_value_and_no_items(use):
    def definition():
        return fn.copy(use(fn.random.coin_flip()))

    with pytest.raises(TypeError):
        debugged(definition).run()


def test_a_node_is_worth_nothing_outside():
    kept = []

    def definition():
        kept.append(fn.random.coin_flip())
        return kept[-1]

    pipe = debugged(definition)
    (batch,) = pipe.run()
    assert torch.equal(kept[0].get().as_torch(), batch.as_torch())
    with pytest.raises(errors.PipelineError, match=r"debug mode.*\n.*\n.*\n.*\.get\(\)"):
        fn.copy(kept[0])
    with pytest.raises(errors.PipelineError, match="debug mode"):
        pipeline_def(lambda: fn.copy(kept[0]), batch_size=1, num_threads=1)()
    with pytest.raises(errors.PipelineError, match="another pipeline"):
        debugged(lambda: fn.copy(kept[0])).run()


def test_a_node_from_outside_is_refused():
    outside = fn.random.coin_flip()
    with pytest.raises(errors.PipelineError, match="outside the definition"):
        debugged(lambda: fn.copy(outside)).run()
    with pytest.raises(errors.PipelineError, match="outside the definition"):
        debugged(lambda: outside).run()


# -- a debugger's view


def test_a_breakpoint_sees_and_changes_values(monkeypatch):
    frames = []

    def hook():
        local = sys._getframe(1).f_locals
        frames.append(local["x"].get().as_array().copy())
        local["box"].append(local["x"].get().as_array() // 2)

    monkeypatch.setattr(sys, "breakpointhook", hook)

    def definition():
        box = []
        x = fn.external_source(source=images, layout="HWC")
        breakpoint()
        changed = TensorListCPU(box[0], layout="HWC")
        return x, fn.flip(changed), fn.cast(box[0], dtype=types.FLOAT)

    x, flipped, cast = debugged(definition).run()
    before = x.as_torch()
    assert np.array_equal(frames[0], before.numpy())
    assert torch.equal(flipped.as_torch(), (before // 2).flip(2))
    assert torch.equal(cast.as_torch(), (before // 2).float())


def test_what_is_changed_in_place_is_changed():
    def definition():
        x = fn.external_source(source=images)
        x.get().as_array()[1:] = 7
        return fn.copy(x)

    (batch,) = debugged(definition).run()
    assert torch.equal(batch.as_torch()[0], images()[0])
    assert (batch.as_torch()[1:] == 7).all()


# -- data in place of nodes


@for_each(
    "convert",
    [
        lambda samples: samples,
        lambda samples: [s.numpy() for s in samples],
        lambda samples: [TensorCPU(s, layout="HWC") for s in samples],
        torch.stack,
        lambda samples: np.stack([s.numpy() for s in samples]),
        TensorListCPU,
        lambda samples: TensorListCPU(samples, layout="HWC"),
    ],
    ids=["torch list", "numpy list", "TensorCPU list", "torch", "numpy", "batch", "with layout"],
)
def test_inputs_may_be_batches(convert):
    (batch,) = debugged(lambda: fn.copy(convert(images()))).run()
    assert torch.equal(batch.as_torch(), torch.stack(images()))


def test_arguments_may_be_batches():
    flags = np.array([1, 0, 1], np.int32)

    def definition():
        x = fn.external_source(source=images, layout="HWC")
        given = [
            TensorListCPU(flags),
            [np.array(f) for f in flags],
            [torch.tensor(f) for f in flags],
        ]
        return tuple(fn.flip(x, horizontal=each) for each in given)

    expected = torch.stack([s.flip(1) if f else s for s, f in zip(images(), flags, strict=True)])
    for batch in debugged(definition).run():
        assert torch.equal(batch.as_torch(), expected)


def test_lists_of_batches_are_several_calls():
    def definition():
        x = fn.external_source(source=images, layout="HWC")
        both = fn.flip([x, x.get()])
        coins, more = fn.random.coin_flip(), fn.random.coin_flip()
        return (*both, *fn.copy([coins, more]))

    first, second, coins, more = debugged(definition).run()
    assert torch.equal(first.as_torch(), second.as_torch())
    assert len(coins) == len(more) == BATCH


def test_outputs_may_be_batches_and_there_may_be_none():
    def definition():
        return fn.copy(fn.external_source(source=images, layout="HWC")).get()

    (batch,) = debugged(definition).run()
    assert batch.layout() == "HWC"
    assert debugged(lambda: None).run() == ()
    with pytest.raises(TypeError, match="output 1 is a list"):
        debugged(lambda: (fn.random.coin_flip(), [fn.random.coin_flip()])).run()


# -- definitions that change


def test_another_operator_is_refused():
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


def test_more_operators_are_refused_and_fewer_are_not():
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
def test_arguments_that_change_are_refused(arguments, text):
    given = iter(arguments)

    def definition():
        return fn.flip(fn.external_source(source=images, layout="HWC"), **next(given))

    pipe = debugged(definition)
    pipe.run()
    with pytest.raises(errors.PipelineError, match=text) as info:
        pipe.run()
    assert "test_debug.py" in str(info.value)


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


def test_two_operators_of_one_name_are_refused():
    def definition():
        return fn.random.coin_flip(name="a"), fn.random.uniform(name="a")

    with pytest.raises(ValueError, match="two operators of one pipeline are named `a`"):
        debugged(definition).run()


def test_batches_of_one_run_have_one_size():
    def definition():
        first = fn.external_source(source=lambda: images(0, 3))
        return first, fn.external_source(source=lambda: images(0, 2))

    with pytest.raises(RuntimeError, match=r"2 samples, expected 3, from fn.external_source at"):
        debugged(definition).run()
    with pytest.raises(RuntimeError, match="expected 3"):
        debugged(lambda: (fn.random.coin_flip(), fn.copy(images(0, 2)))).run()


# -- errors


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


def test_after_an_error_the_pipeline_goes_on(tmp_path):
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


def test_another_pipeline_may_run_inside():
    inner = pipeline_def(fn.random.coin_flip, batch_size=BATCH, num_threads=1, seed=1)()

    def definition():
        return fn.copy(inner.run()[0]), Pipeline.current() is pipe and fn.random.coin_flip()

    pipe = debugged(definition)
    assert len(pipe.run()) == 2


# -- data from outside


def sources():
    def batches():
        for i in range(4):
            yield images(i)

    def samples():
        for i in range(4 * BATCH):
            yield images(i)[0]

    yield "iterable", lambda: {"source": list(batches())}
    yield "generator", lambda: {"source": batches()}
    yield "generator function", lambda: {"source": batches}
    yield "callable", lambda: {"source": lambda: images(1)}
    yield "with index", lambda: {"source": images}
    yield "batch info", lambda: {"source": lambda info: images(info.iteration), "batch_info": True}
    yield "samples", lambda: {"source": samples, "batch": False}
    yield (
        "sample info",
        lambda: {"source": lambda info: images(info.idx_in_epoch)[0], "batch": False},
    )
    yield "quiet cycle", lambda: {"source": list(batches())[:2], "cycle": "quiet"}
    yield "variable", lambda: {"source": [images(i, 1 + i % BATCH) for i in range(4)]}
    yield "no copy", lambda: {"source": list(batches()), "no_copy": True}


@for_each("make", [m for _, m in sources()], ids=[name for name, _ in sources()])
def test_external_sources_give_the_same(make):
    def run(debug):
        options = make()  # once: an iterator is what it is
        pipe = pipeline_def(
            lambda: fn.flip(fn.external_source(layout="HWC", **options)),
            batch_size=BATCH,
            num_threads=2,
            prefetch_queue_depth=1,
            debug=debug,
        )()
        return [pipe.run() for _ in range(4)]

    for ours, theirs in zip(run(True), run(False), strict=True):
        assert_equal(ours, theirs)


def test_a_source_with_several_outputs():
    def definition():
        x, y = fn.external_source(
            source=lambda i: (images(i), np.full((BATCH, 2), i)), num_outputs=2, layout=["HWC", "X"]
        )
        return fn.flip(x), y

    both(definition)


def test_the_end_of_the_data_and_the_next_epoch():
    runs = []

    def definition():
        runs.append(None)
        return fn.external_source(source=lambda i: images(i) if i < 2 else end())

    def end():
        raise StopIteration

    pipe = debugged(definition)
    for _ in range(2):
        assert [len(pipe.run()[0]) for _ in range(2)] == [BATCH, BATCH]
        for _ in range(2):
            with pytest.raises(StopIteration):
                pipe.run()
        pipe.reset()
    assert len(runs) == 6


def test_feeding():
    def definition():
        return fn.copy(fn.external_source(name="x", layout="HWC"))

    pipe = debugged(definition)
    data = torch.stack(images())
    pipe.feed_input("x", data)
    data.zero_()  # it was copied
    pipe.feed_input("x", images(1, 1))
    assert torch.equal(pipe.run()[0].as_torch(), torch.stack(images()))
    (second,) = pipe.run()
    assert len(second) == 1
    assert second.layout() == "HWC"
    with pytest.raises(errors.PipelineError, match="`x` has no data"):
        pipe.run()
    (third,) = pipe.run(x=images(2))
    assert torch.equal(third.as_torch(), torch.stack(images(2)))
    with pytest.raises(ValueError, match="no external source `y`"):
        pipe.feed_input("y", images())


def test_what_is_not_fed_leaves_the_rest_where_it_is():
    def definition():
        return fn.external_source(name="x"), fn.external_source(name="y")

    pipe = debugged(definition, batch_size=1)
    for i in range(3):
        pipe.feed_input("x", torch.full((1,), i))
        with pytest.raises(errors.PipelineError, match="`y` has no data"):
            pipe.run()
        pipe.feed_input("y", torch.full((1,), i))
        assert [int(batch.as_torch()) for batch in pipe.run()] == [i, i]


def test_the_last_batch_is_repeated_and_a_wait_ends():
    def definition():
        last = fn.external_source(name="last", repeat_last=True)
        return last, fn.external_source(name="later", blocking=True)

    pipe = debugged(definition)
    pipe.feed_input("last", images())
    for i in range(2):
        timer = threading.Timer(0.05, pipe.feed_input, ("later", images(i)))
        timer.start()
        if i == 0:
            timer.join()
        last, later = pipe.run()
        timer.join()
        assert torch.equal(last.as_torch(), torch.stack(images()))
        assert torch.equal(later.as_torch(), torch.stack(images(i)))


# -- real DALI: what its debug mode does without a GPU, which is all but running operators

PROGRAMS = {
    "nodes and outputs": """
x = fn.external_source(source=batches, layout="XY")
return x, 5, x
""",
    "print": """
x = fn.external_source(source=batches, name="x")
say(repr(x)[:16], str(x) == repr(x), x.get().shape(), x.device)
return x
""",
    "several outputs": """
return tuple(fn.external_source(source=lambda: (batches(), batches()), num_outputs=2))
""",
    "nothing": "fn.external_source(source=batches)",
    "nested": "return [fn.external_source(source=batches), [fn.external_source(source=batches)]]",
    "more": """
say(len(said))
for _ in range(len(said)):
    x = fn.external_source(source=batches)
return x
""",
    "fewer": """
x = fn.external_source(source=batches)
say(len(said))
if len(said) == 1:
    fn.external_source(source=batches)
return x
""",
    "sizes": """
return fn.external_source(source=batches), fn.external_source(source=lambda: batches()[:2])
""",
    "large": "return fn.external_source(source=lambda: 2 * batches())",
    "variable": """
say(len(said))
return fn.external_source(source=batches), fn.external_source(source=batches)
""",
    "truth": "return fn.external_source(source=batches) and 1",
    "items": "return list(fn.external_source(source=batches))",
    "end": "return fn.external_source(source=both)",
    "error": "raise KeyError",
    "with": "return pipe.__enter__()",
}


def tell(programs, module):
    """Runs the programs with DALI or with torchdali; returns what they do, as text."""
    import importlib

    np = importlib.import_module("numpy")
    modules = {name: importlib.import_module(f"{module}.{name}") for name in ("fn", "types")}
    decorate = importlib.import_module(f"{module}.pipeline").experimental.pipeline_def
    told = {}
    for name, text in programs.items():
        said, made = [], []

        def batches(said=said):
            count = 1 + len(said) % 3 if "variable" in told else 3
            return [np.arange(6, dtype=np.uint8).reshape(2, 3) + i for i in range(count)]

        def show(batch):
            return [np.array(batch.at(i)).tolist() for i in range(len(batch))], batch.layout()

        scope = {
            **modules,
            "batches": batches,
            "both": iter([batches(), batches()]),
            "said": said,
            "say": lambda *what, said=said: said.append(what),
            "pipe": type("", (), {"__enter__": lambda self, made=made: made[0].__enter__()})(),
        }
        body = "".join(f"    {line}\n" for line in text.strip().splitlines())
        exec(f"def definition():\n{body}", scope)
        options = {"batch_size": 3, "num_threads": 1, "device_id": None, "debug": True}
        pipe = decorate(scope["definition"], **options)()
        made.append(pipe)
        pipe.build()
        for _ in range(3):
            try:
                said.append([show(batch) for batch in pipe.run()])
            except Exception as error:
                kinds = [c for c in type(error).__mro__ if c.__module__ == "builtins"]
                kind = TypeError if isinstance(error, TypeError) else kinds[0]
                said.append(kind.__name__)
        told[name] = [repr(what) for what in said]
    return told


@pytest.mark.dali
def test_programs_do_what_they_do_in_dali(dali_python):
    code = "\n".join(
        [
            inspect.getsource(tell),
            f"PROGRAMS = {PROGRAMS!r}",
            "import json, sys",
            "json.dump(tell(PROGRAMS, 'nvidia.dali'), sys.stdout)",
        ]
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [dali_python, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    theirs = json.loads(done.stdout or "null")
    assert theirs is not None, done.stderr
    ours = tell(PROGRAMS, "torchdali")
    assert ours == theirs


# -- the pipeline around it


def test_every_way_to_debug_mode():
    calls = []

    def definition(debug=None):
        calls.append(debug)
        return fn.random.coin_flip()

    options = {"batch_size": 1, "num_threads": 1}
    for pipe in (
        pipeline_def(definition, debug=True, **options)(),
        pipeline_def(debug=True, **options)(definition)(),
        experimental.pipeline_def(debug=True, **options)(definition)(),
        pipeline_def(definition, **options)(debug=True),
    ):
        assert calls == []
        pipe.build()
        assert calls == []
        pipe.run()
        pipe.run()
        # A parameter of the function has the argument, too.
        assert calls in ([None, None], [True, True])
        calls.clear()
    from torchdali.pipeline.experimental import pipeline_def as same

    assert same is pipeline_def


def test_schedule_run_and_its_family():
    pipe = debugged(lambda: fn.random.coin_flip(), prefetch_queue_depth=3)
    assert pipe.empty()
    pipe.schedule_run()
    assert not pipe.empty()
    assert len(pipe.share_outputs()) == 1
    pipe.release_outputs()
    with pytest.raises(errors.PipelineError, match="mixed"):
        pipe.run()
    with pytest.raises(StopIteration):
        pipe.outputs()


def test_iterators(tmp_path):
    root = write_image_folder(tmp_path / "images", per_class=5)

    def epochs(debug):
        @pipeline_def(batch_size=4, num_threads=2, seed=2, debug=debug)
        def pipeline():
            encoded, label = fn.readers.file(file_root=str(root), random_shuffle=True, name="files")
            return fn.resize(fn.decoders.image(encoded), size=[8, 8]), label

        iterator = DALIGenericIterator(
            pipeline(),
            ["image", "label"],
            reader_name="files",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        return [
            (batch["image"].clone(), batch["label"].clone())
            for _ in range(2)
            for (batch,) in iterator
        ]

    for ours, theirs in zip(epochs(True), epochs(False), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_what_needs_a_graph_is_refused(tmp_path):
    pipe = debugged(lambda: fn.random.coin_flip())
    for refused in (
        pipe.serialize,
        pipe.checkpoint,
        lambda: pipe.save_graph_to_dot_file(str(tmp_path / "graph.dot")),
    ):
        with pytest.raises(errors.UnsupportedError, match="in debug mode"):
            refused()
    for refused in (
        pipe.__enter__,
        lambda: pipe.set_outputs(),
        lambda: pipe.build(define_graph=lambda: None),
    ):
        with pytest.raises(errors.PipelineError, match="debug mode.*pipeline_def"):
            refused()
    assert pipe.executor_statistics() == {}
    assert pipe.num_outputs == 1
    assert len(pipe.run()) == 1
    with pytest.raises(errors.UnsupportedError, match="GPU"):
        debugged(lambda: fn.random.coin_flip().gpu()).run()


def test_operators_outside_a_run_are_refused_while_the_pipeline_is_current():
    pipe = debugged(lambda: fn.random.coin_flip())
    Pipeline.push_current(pipe)
    try:
        node = fn.random.coin_flip()
    finally:
        Pipeline.pop_current()
    assert not hasattr(node, "get")


def test_operator_objects_and_side_effects():
    flip = ops.Flip(horizontal=1)

    def definition():
        x = fn.external_source(source=lambda: images(), layout="HWC")
        fn.copy(x, preserve=True)
        pipe.add_sink(fn.copy(x))
        return flip(x)

    pipe = debugged(definition)
    for _ in range(2):
        assert torch.equal(pipe.run()[0].as_torch(), torch.stack(images()).flip(2))
    assert [node.schema.name for node in pipe._nodes].count("copy") == 2


def test_outputs_are_held_against_what_is_declared():
    options = {"output_dtype": types.FLOAT}
    with pytest.raises(errors.PipelineError, match="`output_dtype` of output 0 is FLOAT"):
        debugged(lambda: fn.random.coin_flip(), **options).run()


def test_missing_and_wrong_options():
    with pytest.raises(ValueError, match="`batch_size` is missing"):
        pipeline_def(lambda: None, num_threads=1, debug=True)().run()
    with pytest.raises(TypeError, match="unexpected argument `debgu`"):
        pipeline_def(lambda: None, debgu=True)
    pipe = debugged(lambda: None)
    pipe.close()
    with pytest.raises(errors.PipelineError, match="closed"):
        pipe.run()


def test_many_operators_share_the_threads():
    def threads():
        return set(os.listdir("/proc/self/task"))

    def definition():
        x = fn.random.coin_flip()
        for _ in range(50):
            x = fn.copy(x)
        return x

    before = threads()
    pipe = debugged(definition, num_threads=3)
    pipe.run()
    assert len(threads() - before) == 3
    pipe.close()
    assert threads() <= before


def test_neither_pipeline_nor_data_is_kept_alive():
    kept = []

    def definition():
        x = fn.external_source(source=images, layout="HWC")
        for _ in range(3):
            x = fn.flip(x)
            kept.append(weakref.ref(x.get().as_torch()))
        return fn.copy(x)

    gc.disable()
    try:
        pipe = debugged(definition)
        for _ in range(3):
            pipe.run()
        assert [ref() for ref in kept] == [None] * 9
        reference = weakref.ref(pipe)
        del pipe
        assert reference() is None
    finally:
        gc.enable()


# -- conditions


@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 3, 2]], ids=str)
def test_conditions_give_the_same(sizes):
    def definition():
        x = fn.external_source(name="x", layout="HWC")
        coin, number = fn.random.coin_flip(), fn.random.uniform()
        if coin:
            y = fn.flip(x)
            noise = fn.random.normal()
            if number < 0.2 and fn.random.coin_flip() == 1:
                y, noise = fn.copy(y), fn.random.uniform(range=[10, 20])
        elif number > 0:
            y, noise = fn.flip(x, horizontal=fn.random.coin_flip()), number
        else:
            y, noise = x, 1.5 * number
        return y, noise, not coin, fn.random.uniform() if number > 0 else number

    both(
        definition,
        len(sizes),
        lambda pipe, i: pipe.feed_input("x", images(i, sizes[i])),
        enable_conditionals=True,
    )


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_a_branch_sees_its_samples(probability):
    seen = []

    def definition():
        coin = fn.random.coin_flip(probability=probability)
        x = fn.random.uniform()
        if coin:
            y = x + 10
            seen.append((coin.get().as_array(), x.get().as_array(), y.get()))
        else:
            y = x
        return y

    pipe = debugged(definition, batch_size=8, enable_conditionals=True, seed=1)
    for _ in range(3):
        (out,) = pipe.run()
        coin, x, y = seen[-1]
        taken = coin != 0
        assert len(y) == taken.sum()
        if taken.any():
            assert np.array_equal(y.as_array(), x[taken] + 10)
        assert np.array_equal(out.as_array(), np.where(taken, x + 10, x))


def test_a_batch_of_a_branch_may_be_changed():
    def definition():
        x = fn.random.uniform()
        if fn.random.coin_flip():
            fives = np.full(len(fn.copy(x).get()), 5, np.float32)
            y = fn.copy(TensorListCPU(fives))
        else:
            y = x
        return x, y

    pipe = debugged(definition, batch_size=8, enable_conditionals=True, seed=1)
    x, y = (batch.as_array() for batch in pipe.run())
    assert 0 < (y == 5).sum() < 8
    assert np.array_equal(x[y != 5], y[y != 5])


def test_a_value_of_one_branch_is_refused_outside():
    kept = []

    def definition():
        if fn.random.coin_flip():
            kept.append(fn.random.uniform())
        return fn.copy(kept[-1])

    with pytest.raises(errors.PipelineError, match="outside the branch"):
        debugged(definition, enable_conditionals=True).run()
