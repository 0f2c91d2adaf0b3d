# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of automatic augmentations: messages and locations of their errors."""

from __future__ import annotations

import re

import auto_aug_programs as programs
import pytest
from helpers.cases import for_each

from torchdali import Pipeline, fn

REFUSED = {
    "augmentation of a number": "augmentation: 3 is no function",
    "augmentation twice": "is an augmentation already.*use its method augmentation",
    "one argument": "augmentation unary: .* takes fewer than two positional arguments",
    "no bin": "augmentation plain: needs the argument `magnitude_bin`",
    "no bins": "augmentation plain: needs the argument `num_magnitude_bins`",
    "other length": "`mag_range` has 5 magnitudes, and `num_magnitude_bins` is 6",
    "shapes differ": "float32 of shape .2,. for one magnitude and float32 of shape .1,. for",
    "a node": "`mag_to_param` returned a DataNode.*use operators in the augmentation itself",
    "three ends": r"`mag_range` takes \(low, high\) or an array of magnitudes, got \(0, 1, 2\)",
    "a float bin": "signed_bin: `magnitude_bin` takes an int or a DataNode of ints, got 1.5",
    "sign and seed": "`random_sign` replaces the draw",
    "sign and shape": "`random_sign` replaces the draw",
    "no shape": "augmentation translate_x: needs the argument `shape`.*translate_x_no_shape",
    "no shape in a suite": "augmentation translate_x: needs the argument `shape`.*pass shape=",
    "m too large": "`m` takes an int from 0 to 30, got 31",
    "m negative": "`m` takes an int from 0 to 30, got -1",
    "n negative": "`n` takes an int that is not negative, got -1",
    "no augmentations": "apply_rand_augment: `augmentations` is empty",
    "none to choose": "apply_trivial_augment: `augmentations` is empty",
    "unused": "apply_rand_augment: got `color`, which none of the augmentations takes",
    "unused trivial": "apply_trivial_augment: got `color`, which none",
    "unused of a policy": "apply_auto_augment: got `color`, which none",
    "excluded": "rand_augment: `excluded` has 'equalise', and the suite holds translate_x, ",
    "excluded trivial": "trivial_augment_wide: `excluded` has 'equalise'",
    "no bins for rand": "`num_magnitude_bins` takes a positive int, got 0",
    "no bins for trivial": "`num_magnitude_bins` takes a positive int, got 0",
    "abs with shape": "`max_translate_abs` has no use with .*pass `max_translate_rel`",
    "rel without": "`max_translate_rel` has no use without .*pass `max_translate_abs`",
    "use_shape": "`use_shape` takes True or False, got a DataNode",
    "policy": "`policy_name` takes 'reduced_image_net', .*, got 'imagenet'",
    "reduced policy": "'reduced_image_net' has no translations: `max_translate_abs` has no use",
    "no sub-policies": "apply_auto_augment: 'p' has no sub-policies",
    "policy bins": "Policy 'p': `num_magnitude_bins` takes a positive int, got 0",
    "policy type": "`sub_policies` takes a list of sub-policies, got {}",
    "sub-policy type": "a sub-policy is a list of steps, got 3",
    "step type": r"a step is \(augmentation, probability, magnitude bin\), got 3",
    "step length": r"a step is \(augmentation, probability, magnitude bin\), got \(Augmentation",
    "step of a function": "is no augmentation: @augmentation makes one",
    "probability": "the probability of plain is 0 to 1, got 1.5",
    "probability type": "the probability of plain is 0 to 1, got '1'",
    "step without a bin": "plain needs a magnitude bin, got None",
    "step bin": "the magnitude bin of plain is 0 to 2, got 3",
    "step bin type": "the magnitude bin of plain is 0 to 2, got 1.0",
}
WARNED = {
    "n=0": "apply_rand_augment was called with n=0: nothing is applied",
    "unsigned bin": "the magnitudes of shear_x are randomly negated",
    "probability 0": "plain has probability 0 in 'p'",
    "a bin without use": "invert has no magnitudes: bin 1 in 'p' has no effect",
}
TYPE_ERRORS = {
    *["augmentation of a number", "augmentation twice", "one argument", "shapes differ", "a node"],
    *["a float bin", "no shape", "no shape in a suite", "unused", "unused trivial", "use_shape"],
    *["unused of a policy", "policy type", "sub-policy type", "step type", "step length"],
    "step of a function",
}


def test_every_wrong_use_has_an_expected_message():
    assert programs._refusals("torchdali").keys() == REFUSED.keys() | WARNED.keys()


@for_each("name", REFUSED)
def test_wrong_uses_are_errors_at_their_line(name):
    kind = TypeError if name in TYPE_ERRORS else ValueError
    with Pipeline(batch_size=2, num_threads=1):
        data = fn.external_source(name="data", layout="HWC")
        use = programs._refusals("torchdali")[name]
        with pytest.raises(kind, match=f"(?s){REFUSED[name]}") as caught:
            use(data)
    assert "auto_aug_programs.py:" in str(caught.value)


@pytest.mark.parametrize("name", WARNED)
def test_doubtful_uses_warn_at_their_line(name):
    with Pipeline(batch_size=2, num_threads=1):
        data = fn.external_source(name="data", layout="HWC")
        use = programs._refusals("torchdali")[name]
        with pytest.warns(UserWarning, match=re.escape(WARNED[name])) as caught:
            made = use(data)
    assert caught[0].filename == programs.__file__
    if name == "n=0":
        assert made is data
