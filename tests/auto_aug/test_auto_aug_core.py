# SPDX-License-Identifier: Apache-2.0
"""Parts of policies: augmentations, bins with signs, select, Policy, and their errors."""

from __future__ import annotations

import re

import auto_aug_programs as programs
import numpy as np
import pytest
from helpers.cases import for_each

from torchdali import errors, fn, pipeline_def, types
from torchdali.auto_aug import augmentations as a
from torchdali.auto_aug import auto_augment, rand_augment, trivial_augment
from torchdali.auto_aug.core import Policy, _Augmentation, augmentation, select, signed_bin
from torchdali.data_node import DataNode

BATCH = 4
NUMBERS = np.arange(BATCH, dtype=np.int32)


def each(values):
    return fn.external_source(source=lambda: list(np.asarray(values)), batch=True)


def run(define, **options):
    """Returns the samples of the first output."""
    options = {"batch_size": BATCH, "num_threads": 2, **options}
    out = pipeline_def(define, **options)().run()[0]
    return [np.asarray(sample) for sample in out.as_torch_list()]


def plus(data, parameter, more=0):
    return data + parameter + more


# -- augmentation()


def test_decorator_and_function_make_an_augmentation():
    @augmentation
    def bare(data, _):
        return data

    @augmentation(mag_range=(0, 3), randomly_negate=True, name="other", param_device="gpu")
    def decorated(data, parameter):
        return data + parameter

    called = augmentation(plus, mag_range=(1, 2))
    assert (bare.name, bare.mag_range, bare.randomly_negate) == ("bare", None, False)
    assert (bare.param_device, bare.mag_to_param) == ("cpu", np.array)
    assert (decorated.name, decorated.mag_range) == ("other", (0, 3))
    assert (decorated.randomly_negate, decorated.param_device) == (True, "gpu")
    assert (called.name, called.op) == ("plus", plus)


def test_augmentation_changes_the_named_settings_only():
    class Own(_Augmentation):
        pass

    one = augmentation(plus, mag_range=(0, 9), randomly_negate=True, mag_to_param=np.int32)
    other = one.augmentation((1, 2), name="other")
    assert (other.mag_range, other.randomly_negate, other.name) == ((1, 2), True, "other")
    assert (other.mag_to_param, other.op) == (np.int32, plus)
    assert one.mag_range == (0, 9)
    assert one.augmentation(randomly_negate=None, mag_to_param=None).mag_to_param is np.array
    assert one.augmentation(mag_range=None).mag_range is None
    assert type(one.augmentation(augmentation_cls=Own).augmentation()) is Own
    assert type(augmentation(augmentation_cls=Own)(plus)) is Own


def test_the_text_of_an_augmentation_has_its_settings():
    one = augmentation(plus, mag_range=(0, 9), name="sum")
    assert re.fullmatch(
        r"Augmentation\(<function plus at .*>, mag_range=\(0, 9\), name='sum'\)", repr(one)
    )


@pytest.mark.parametrize("whole", [True, False])
def test_bins_divide_a_range_evenly(whole):
    one = augmentation(plus, mag_range=(10, 13), mag_to_param=np.int32)
    bins = 2 if whole else each(NUMBERS)
    out = run(lambda: one(each(100 * NUMBERS), magnitude_bin=bins, num_magnitude_bins=4))
    expected = 100 * NUMBERS + 10 + (2 if whole else NUMBERS)
    assert [int(x) for x in out] == expected.tolist()


def test_an_array_has_the_magnitude_of_each_bin():
    one = augmentation(plus, mag_range=np.array([5, 1, 7, 30]))
    assert [int(x) for x in run(lambda: one(each(NUMBERS), magnitude_bin=each(NUMBERS)))] == [
        *[5, 2, 9, 33]
    ]


def test_a_range_may_fall_and_a_parameter_may_be_an_array():
    one = augmentation(plus, mag_range=(3, 0), mag_to_param=lambda m: [m, -2 * m])
    out = run(lambda: one(each(NUMBERS), magnitude_bin=each(NUMBERS), num_magnitude_bins=4))
    np.testing.assert_allclose(out, [[i + 3 - i, i - 2 * (3 - i)] for i in range(4)])


@pytest.mark.parametrize("whole", [True, False])
def test_signs_negate_magnitudes_before_they_become_parameters(whole):
    one = augmentation(
        plus, mag_range=(0, 3), randomly_negate=True, mag_to_param=lambda m: np.float32(m + 100)
    )

    def define():
        signed = signed_bin(2 if whole else each(NUMBERS), random_sign=each([0, 1, 0, 1]))
        return one(each(np.zeros(BATCH, np.float32)), magnitude_bin=signed, num_magnitude_bins=4)

    expected = [102, 98, 102, 98] if whole else [100, 99, 102, 97]
    assert [float(x) for x in run(define)] == expected


def test_an_augmentation_without_magnitudes_needs_no_bins():
    seen = []

    @augmentation
    def one(data, parameter):
        seen.append(parameter)
        return data

    assert [int(x) for x in run(lambda: one(each(NUMBERS)))] == NUMBERS.tolist()
    run(lambda: one(each(NUMBERS), magnitude_bin=3, num_magnitude_bins=9))
    assert seen == [None, None]


def test_signed_augmentations_accept_unsigned_bins():
    one = augmentation(plus, mag_range=(5, 6), mag_to_param=np.int32)
    out = run(lambda: one(each(NUMBERS), magnitude_bin=signed_bin(1), num_magnitude_bins=2))
    assert [int(x) for x in out] == (NUMBERS + 6).tolist()


def test_an_operation_gets_the_arguments_that_it_takes():
    one = augmentation(plus, mag_range=(0, 0), mag_to_param=np.int32)
    out = run(lambda: one(each(NUMBERS), magnitude_bin=0, num_magnitude_bins=1, more=7, other=3))
    assert [int(x) for x in out] == (NUMBERS + 7).tolist()


def test_one_bin_has_the_low_end_of_the_range():
    one = augmentation(plus, mag_range=(4, 9), mag_to_param=np.int32)
    out = run(lambda: one(each(NUMBERS), magnitude_bin=0, num_magnitude_bins=1))
    assert [int(x) for x in out] == (NUMBERS + 4).tolist()


def test_an_augmentation_has_the_docstring_of_its_operation():
    assert a.invert.__doc__ == "Takes values from 255."
    assert a.shear_x.augmentation(mag_range=(0, 1)).__doc__ == a.shear_x.__doc__


# -- signed_bin()


def test_signed_bins_have_two_entries_per_bin():
    def define():
        signed = signed_bin(each(NUMBERS), random_sign=each([0, 1, 1, 0]))
        assert isinstance(signed.bin, DataNode)
        return signed.signed_magnitude_idx, signed.random_sign, signed.bin

    index, sign, number = (
        [int(x) for x in out.as_torch_list()]
        for out in pipeline_def(define, batch_size=BATCH, num_threads=1)().run()
    )
    assert index == [0, 3, 5, 6]
    assert sign == [0, 1, 1, 0]
    assert number == [0, 1, 2, 3]


def test_several_bins_are_signed_together():
    def define():
        signed = signed_bin(3, seed=5, shape=[6])
        return fn.stack(*(signed[i].signed_magnitude_idx for i in range(6)))

    together = run(lambda: signed_bin(3, seed=5, shape=[6]).signed_magnitude_idx)
    np.testing.assert_array_equal(run(define), together)
    assert set(np.ravel(together)) == {6, 7}


# -- select()


def multiplied(factor):
    return lambda data, plus=0: data * factor + plus


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_each_sample_passes_through_its_selected_operation(count):
    ops = [multiplied(10 ** (i + 1)) for i in range(count)]
    index = np.array([0, count - 1, count // 2, 1 % count], np.int32)
    out = run(lambda: select(ops, each(index), each(NUMBERS + 1), plus=5))
    assert [int(x) for x in out] == ((NUMBERS + 1) * 10 ** (index + 1) + 5).tolist()


def test_selections_out_of_range_are_clamped():
    ops = [multiplied(10), multiplied(100), multiplied(1000)]
    out = run(lambda: select(ops, each([-7, 3, 99, 1]), each(NUMBERS + 1)))
    assert [int(x) for x in out] == [10, 2000, 3000, 400]


def test_results_may_be_tuples():
    ops = [lambda x: (x, x + 1), lambda x: (x * 10, x * 100)]
    out = run(lambda: select(ops, each([0, 1, 0, 1]), each(NUMBERS))[1])
    assert [int(x) for x in out] == [1, 100, 3, 300]


def test_selections_may_be_nested():
    def nested(x):
        return select([multiplied(2), multiplied(3)], each([0, 1, 1, 0]), x)

    out = run(lambda: select([nested, multiplied(5)], each([0, 0, 1, 1]), each(NUMBERS + 1)))
    assert [int(x) for x in out] == [2, 6, 15, 20]


def test_selecting_from_no_operations_is_an_error():
    with pytest.raises(errors.ArgumentError, match=r"select: `ops` is empty"):
        run(lambda: select([], each(NUMBERS), each(NUMBERS)))


# -- Policy


def policy():
    one, two = augmentation(plus, mag_range=(0, 1)), augmentation(plus, name="two")
    return Policy("mine", 3, [[(one, 0.5, 2), (two, 1, None)], ((two, 0.25, None),)])


def test_the_repr_of_a_policy_shows_its_steps():
    text = repr(policy())
    assert text.startswith("Policy(name='mine', num_magnitude_bins=3, sub_policies=[")
    assert "\n\t[('plus', 0.5, 2), ('two', 1, None)],\n\t[('two', 0.25, None)],]" in text
    assert "\n\t'two': Augmentation(" in text
    assert isinstance(policy().sub_policies, tuple)
    assert list(policy().augmentations) == ["plus", "two"]


def test_augmentations_that_share_a_name_are_numbered():
    one, two = augmentation(plus, mag_range=(0, 1)), augmentation(plus)
    made = Policy("p", 3, [[(one, 0.5, 2), (two, 1, None)], [(one, 0.5, 1)]])
    assert list(made.augmentations) == ["0__plus", "1__plus"]
    assert made.sub_policies[1][0][0] is made.sub_policies[0][0][0]
    assert made.augmentations["1__plus"].mag_range is None


def test_a_step_with_probability_1_is_always_taken_and_one_with_0_never():
    steps = [augmentation(lambda d, _, i=i: d + 10**i, name=str(i)) for i in range(3)]
    with pytest.warns(UserWarning, match="1 has probability 0 in 'p'"):
        made = Policy("p", 3, [[(steps[0], 1.0, None), (steps[1], 0, None), (steps[2], 1, None)]])
    out = run(lambda: auto_augment.apply_auto_augment(made, each(np.zeros(BATCH, np.int32))))
    assert [int(x) for x in out] == [101] * BATCH


# -- parameters


def test_a_bin_out_of_range_is_an_error():
    one = augmentation(plus, mag_range=(0, 1))
    for number in (-1, 3):
        with pytest.raises(errors.ArgumentError, match=f"`magnitude_bin` is {number}, of 3 bins"):
            run(
                lambda number=number: one(each(NUMBERS), magnitude_bin=number, num_magnitude_bins=3)
            )


def test_solarize_add_rejects_sums_above_255():
    assert a.solarize_add_shift(127) == 127
    for shift in (-1, 128, float("nan")):
        with pytest.raises(ValueError, match="takes shifts of 0 to 127"):
            a.solarize_add_shift(shift)


@for_each(
    ("magnitude", "mask"), [(-3, 128), (0, 128), (1, 128), (4, 240), (4.6, 248), (8, 255), (9, 255)]
)
def test_posterize_keeps_one_to_eight_bits(magnitude, mask):
    assert a.poster_mask_uint8(magnitude) == mask
    assert a.poster_mask_uint8(magnitude).dtype == np.uint8


def test_kernels_of_sharpness_keep_the_mean():
    for magnitude in (-0.9, 0, 0.5):
        assert a.sharpness_kernel(magnitude).sum() == pytest.approx(1)
        np.testing.assert_allclose(
            a.sharpness_kernel_shifted(1 + magnitude), a.sharpness_kernel(magnitude), atol=1e-6
        )
    np.testing.assert_array_equal(a.sharpness_kernel(0), [[0, 0, 0], [0, 1, 0], [0, 0, 0]])


# -- suites


def test_excluded_augmentations_are_never_drawn():
    names = [one.name for one in rand_augment.get_rand_augment_suite()]
    image = np.full((BATCH, 5, 6, 3), 9, np.uint8)

    def define(family, **options):
        data = fn.external_source(source=lambda: list(image), layout="HWC")
        return family(data, excluded=[n for n in names if n != "identity"], **options)

    for family, options in (
        (rand_augment.rand_augment, {"n": 3, "m": 30}),
        (trivial_augment.trivial_augment_wide, {}),
    ):
        out = run(lambda family=family, options=options: define(family, **options))
        np.testing.assert_array_equal(out, image)


def test_a_range_of_translations_may_differ_by_axis():
    x, y, *_ = rand_augment.get_rand_augment_suite(max_translate_abs=(10, 20))
    assert (x.mag_range, y.mag_range) == ((0, 20), (0, 10))
    x, y, *_ = trivial_augment.get_trivial_augment_wide_suite(True, None, (0.1, 0.2))
    assert (x.mag_range, y.mag_range) == ((0, 0.2), (0, 0.1))


@pytest.mark.parametrize("name", programs.POLICIES)
def test_every_policy_runs(name):
    images = [image for image in programs.images() if image.shape[0] > 1][:BATCH]

    def define():
        data = fn.external_source(source=lambda: images, layout="HWC")
        return auto_augment.auto_augment(data, name, seed=3, interp_type=types.INTERP_NN)

    out = run(define)
    assert [(x.shape, x.dtype) for x in out] == [(x.shape, x.dtype) for x in images]
    assert any((x != y).any() for x, y in zip(out, images, strict=True))
