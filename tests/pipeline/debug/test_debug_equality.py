# SPDX-License-Identifier: Apache-2.0
"""Debug mode gives what the same pipeline gives without it.

tests/ops/test_debug_mode.py compares all operators.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.debug_mode import BATCH, assert_equal, both, images, some_images, values
from helpers.image_files import write_image_folder
from hypothesis import given
from hypothesis import strategies as st

from torchdali import fn, math, newaxis, pipeline_def, types
from torchdali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

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
def test_chains_of_operators_equal_the_pipeline(steps, sizes, num_threads):
    def definition():
        x = fn.external_source(name="x", layout="HWC")
        made = []
        for step in steps:
            x = STEPS[step](x)
            made.append(x)
        return tuple(made)

    def feed(pipe, iteration):
        pipe.feed_input("x", some_images(iteration, sizes[iteration]))

    both(definition, len(sizes), feed, num_threads=num_threads)


def test_a_training_pipeline_equals_itself_without_debug_mode(tmp_path, monkeypatch):
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
def test_expressions_constants_and_subscripts_equal_the_pipeline(name):
    def definition():
        x = fn.external_source(name="x", layout="HWC")
        made = LANGUAGE[name](x)
        return (x, *(made if isinstance(made, tuple) else (made,)))

    both(definition, 3, lambda pipe, i: pipe.feed_input("x", some_images(i, [3, 1, 2][i])))


def test_source_info_passes_through_operators(tmp_path):
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
    yield "variable", lambda: {"source": [some_images(i, 1 + i % BATCH) for i in range(4)]}
    yield "no copy", lambda: {"source": list(batches()), "no_copy": True}


@for_each("make", [m for _, m in sources()], ids=[name for name, _ in sources()])
def test_every_kind_of_external_source_equals_the_pipeline(make):
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


def test_a_source_with_several_outputs_equals_the_pipeline():
    def definition():
        x, y = fn.external_source(
            source=lambda i: (images(i), np.full((BATCH, 2), i)), num_outputs=2, layout=["HWC", "X"]
        )
        return fn.flip(x), y

    both(definition)


def test_iterators_over_both_give_the_same_batches(tmp_path):
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


@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 3, 2]], ids=str)
def test_conditions_equal_the_pipeline(sizes):
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
        lambda pipe, i: pipe.feed_input("x", some_images(i, sizes[i])),
        enable_conditionals=True,
    )
