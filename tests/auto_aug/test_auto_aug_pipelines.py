# SPDX-License-Identifier: Apache-2.0
"""Automatic augmentations in every kind of pipeline, and how many operations run."""

from __future__ import annotations

import collections
import threading

import auto_aug_programs as programs
import numpy as np
import pytest
import torch
from helpers.image_files import encode

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.auto_aug import auto_augment, rand_augment, trivial_augment
from torchdali.auto_aug.core import Policy, augmentation
from torchdali.loader import DataLoader

BATCH = 12
IMAGES = [image for image in programs.images() * 2 if image.shape[0] > 1][:BATCH]
FAMILIES = {
    "rand": lambda x, **given: rand_augment.rand_augment(x, n=2, m=15, seed=3, **given),
    "trivial": lambda x, **given: trivial_augment.trivial_augment_wide(x, seed=3, **given),
    "auto": lambda x, **given: auto_augment.auto_augment(x, seed=3, **given),
}
each_family = pytest.mark.parametrize("family", FAMILIES)


def images():
    return IMAGES


def source():
    return fn.external_source(source=images, layout="HWC")


def samples(pipe, batches=1):
    """Returns the samples of the first output."""
    return [x.clone().numpy() for _ in range(batches) for x in pipe.run()[0].as_torch_list()]


def built(define, **options):
    return pipeline_def(define, **{"batch_size": BATCH, "num_threads": 2, **options})()


def assert_same(ours, others):
    assert len(ours) == len(others)
    for a, b in zip(ours, others, strict=True):
        np.testing.assert_array_equal(a, b)


def plain(family, batches=1, **given):
    return samples(built(lambda: FAMILIES[family](source(), **given)), batches)


# -- a sample pays for what was drawn for it


class Counted:
    """Augmentations that count the samples they run for."""

    def __init__(self, count):
        self.calls = collections.Counter()
        self._lock = threading.Lock()
        self.all = [self._one(number) for number in range(count)]

    def _one(self, number):
        def function(data):
            with self._lock:
                self.calls[number] += 1
            return data * 10 + number

        return augmentation(
            lambda data, _: fn.python_function(data, function=function), name=f"count{number}"
        )


def run_counted(define, batches=4, **options):
    options = {"exec_async": False, "exec_pipelined": False, "seed": 3, **options}
    pipe = built(define, prefetch_queue_depth=1, **options)
    return [int(x) for x in samples(pipe, batches)]


def zeros():
    return fn.external_source(source=lambda: [np.int64(0)] * BATCH)


@pytest.mark.parametrize("conditionals", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_rand_augment_runs_n_operations_per_sample(n, conditionals):
    counted = Counted(7)
    codes = run_counted(
        lambda: rand_augment.apply_rand_augment(counted.all, zeros(), n, 0),
        enable_conditionals=conditionals,
    )
    drawn = collections.Counter(int(digit) for code in codes for digit in f"{code:0{n}}")
    assert drawn == counted.calls
    assert drawn.total() == n * len(codes)


def test_trivial_augment_runs_one_operation_per_sample():
    counted = Counted(7)
    codes = run_counted(lambda: trivial_augment.apply_trivial_augment(counted.all, zeros()))
    assert collections.Counter(codes) == counted.calls


def test_auto_augment_runs_the_selected_steps_only():
    counted = Counted(4)
    one, two, three, never = counted.all[1], counted.all[2], counted.all[3], counted.all[0]
    with pytest.warns(UserWarning, match="probability 0"):
        policy = Policy(
            "counted",
            3,
            [[(one, 0.5, None), (two, 0.5, None)], [(three, 1, None)], [(never, 0, None)]],
        )
    codes = run_counted(lambda: auto_augment.apply_auto_augment(policy, zeros()))
    drawn = collections.Counter(int(digit) for code in codes for digit in str(code) if code)
    assert drawn == counted.calls
    assert set(codes) == {0, 1, 2, 12, 3}


def test_an_operation_fails_only_for_samples_that_selected_it():
    def fail(data):
        raise RuntimeError("no sample should come here")

    broken = augmentation(lambda data, _: fn.python_function(data, function=fail), name="broken")
    fine = augmentation(lambda data, _: data + 1, name="fine")
    policy = Policy("p", 3, [[(fine, 1, None), (broken, 1e-9, None)]])
    codes = run_counted(lambda: auto_augment.apply_auto_augment(policy, zeros()))
    assert set(codes) == {1}


# -- every kind of pipeline


@each_family
def test_ragged_images_keep_their_shapes_and_types(family):
    out = plain(family)
    assert [(x.shape, x.dtype) for x in out] == [(x.shape, x.dtype) for x in IMAGES]
    assert any((x != y).any() for x, y in zip(out, IMAGES, strict=True))


@each_family
def test_all_frames_of_a_sequence_get_one_choice(family):
    frames = [np.stack([image] * 3) for image in IMAGES]
    pipe = built(lambda: FAMILIES[family](fn.external_source(source=lambda: frames, layout="FHWC")))
    for out, image in zip(samples(pipe), plain(family), strict=True):
        assert out.shape == (3, *image.shape)
        np.testing.assert_array_equal(out, np.stack([image] * 3))


@each_family
def test_enable_conditionals_does_not_change_the_results(family):
    pipe = built(lambda: FAMILIES[family](source()), enable_conditionals=True)
    assert_same(samples(pipe, 2), plain(family, 2))


@each_family
def test_an_augmentation_inside_a_branch_runs_for_its_samples(family):
    flags = np.arange(BATCH) % 3 == 0

    def define():
        data = source()
        if fn.external_source(source=lambda: list(flags)):
            data = FAMILIES[family](data)
        return data

    out = samples(built(define, enable_conditionals=True))
    expected = [a if f else i for a, i, f in zip(plain(family), IMAGES, flags, strict=True)]
    assert_same(out, expected)


@each_family
def test_debug_mode_gives_the_same_results(family):
    pipe = built(lambda: FAMILIES[family](source()), debug=True)
    assert_same(samples(pipe, 2), plain(family, 2))


@each_family
def test_a_deserialized_pipeline_gives_the_same_results(family):
    define = built(lambda: FAMILIES[family](fn.external_source(name="images", layout="HWC")))
    again = Pipeline.deserialize(define.serialize())
    for _ in range(2):
        again.feed_input("images", IMAGES)
    assert_same(samples(again, 2), plain(family, 2))


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return BATCH

    def __getitem__(self, index):
        return IMAGES[index]


@each_family
def test_a_loader_augments_batches_of_a_dataset(family):
    def augment(image):
        return FAMILIES[family](fn.reshape(image, layout="HWC"))

    loader = DataLoader(
        Images(),
        batch_size=BATCH,
        pipeline=augment,
        pipeline_options={"num_threads": 2},
        generator=torch.Generator(),
    )
    (batch,) = loader
    assert_same([np.asarray(x) for x in batch], plain(family))


@each_family
def test_translations_may_be_relative_to_the_shapes_of_encoded_images(family):
    files = [np.frombuffer(encode(image), np.uint8) for image in IMAGES]

    def define(peeked):
        encoded = fn.external_source(source=lambda: files)
        shape = fn.peek_image_shape(encoded) if peeked else fn.external_source(source=shapes)
        return FAMILIES[family](source(), shape=shape, max_translate_rel=0.4)

    def shapes():
        return [np.array(image.shape, np.int64) for image in IMAGES]

    out = samples(built(lambda: define(True)), 2)
    assert_same(out, samples(built(lambda: define(False)), 2))


@each_family
def test_one_shape_may_apply_to_all_samples(family):
    same = [IMAGES[0]] * BATCH

    def define(shape):
        data = fn.external_source(source=lambda: same, layout="HWC")
        return FAMILIES[family](data, shape=shape, max_translate_rel=0.4)

    expected = samples(
        built(lambda: define(types.Constant(np.int64(IMAGES[0].shape), device="cpu")))
    )
    assert_same(samples(built(lambda: define(IMAGES[0].shape[:2]))), expected)


@pytest.mark.parametrize("family", ["rand", "trivial"])
def test_without_a_fill_value_the_border_is_repeated(family):
    white = [np.full((8, 9, 3), 255, np.uint8)] * BATCH
    colors = ["brightness", "contrast", "color", "sharpness", "posterize", "solarize"]

    def define(fill_value):
        data = fn.external_source(source=lambda: white, layout="HWC")
        return FAMILIES[family](data, fill_value=fill_value, excluded=colors)

    assert_same(samples(built(lambda: define(None)), 2), white * 2)
    assert any((x == 7).any() for x in samples(built(lambda: define(7)), 2))
