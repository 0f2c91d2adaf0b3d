# SPDX-License-Identifier: Apache-2.0
"""Automatic augmentations against real DALI: results, suites, policies, errors."""

from __future__ import annotations

from pathlib import Path

import auto_aug_programs as programs
import numpy as np
import pytest
from helpers import dali_oracle
from helpers.cases import for_each
from helpers.distributions import same_counts

pytestmark = [pytest.mark.dali, pytest.mark.slow]
PATH = Path(programs.__file__)
GEOMETRIC = [name for name in programs.ALONE if name.split("_")[0] in {"shear", "translate"}]


def both(function, *args):
    return (
        getattr(programs, function)("torchdali", *args),
        dali_oracle.call(PATH, function, *args),
    )


def assert_near(ours, theirs):
    assert len(ours) == len(theirs)
    for i, (mine, reference) in enumerate(zip(ours, theirs, strict=True)):
        assert mine.dtype == reference.dtype
        assert mine.shape == reference.shape
        distance = np.abs(mine.astype(int) - reference.astype(int)).max()
        assert distance <= 1, f"sample {i}: {distance}"


@for_each("frames", [0, 2], ids=["HWC", "FHWC"])
@for_each("name", programs.ALONE)
def test_an_augmentation_equals_dali(name, frames):
    options = {"use_shape": True} if name in {"translate_x", "translate_y"} else {}
    assert_near(*both("augmented", "augmentations", name, frames, False, options))
    assert_near(*both("augmented", "augmentations", name, frames, True, options))


@for_each("name", programs.IN_SUITES)
@for_each("suite", programs.SUITES)
def test_an_augmentation_of_a_suite_equals_dali(suite, name):
    assert_near(*both("augmented", suite, name, 0, False, {}))
    if name.startswith("translate"):
        assert_near(*both("augmented", suite, name, 0, False, {"use_shape": True}))


@for_each("name", [*GEOMETRIC, "rotate"])
@for_each("frames", [0, 2], ids=["HWC", "FHWC"])
@for_each("options", [{"fill_value": None}, {"fill_value": 7}, {"nearest": True}])
def test_geometric_augmentations_fill_and_interpolate_as_in_dali(name, options, frames):
    if name in {"translate_x", "translate_y"}:
        options = {**options, "use_shape": True}
    assert_near(*both("augmented", "augmentations", name, frames, False, options))


def assert_equal(ours, theirs):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        if theirs.get("name") == "sharpness":  # fn.filter takes its kernel on the host
            theirs = {**theirs, "device": "cpu"}
        for key, value in theirs.items():
            assert_equal(ours[key], value)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for mine, reference in zip(ours, theirs, strict=True):
            assert_equal(mine, reference)
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    else:
        assert ours == theirs


@for_each(
    ("what", "arguments"),
    [
        ("augmentations", []),
        *((name, []) for name in programs.SUITES),
        *((name, [False, 40]) for name in programs.SUITES),
        *((name, [True, None, [0.3, 0.4]]) for name in programs.SUITES),
        *((name, []) for name in programs.POLICIES),
        *((n, [False, [40, 50]]) for n in programs.POLICIES if n != "reduced_image_net"),
        *((n, [True, None, 0.4]) for n in programs.POLICIES if n != "reduced_image_net"),
    ],
    ids=repr,
)
def test_suites_and_policies_are_those_of_dali(what, arguments):
    assert_equal(*both("described", what, arguments))


def test_functions_have_the_parameters_and_defaults_of_dali():
    ours, theirs = both("signatures")
    assert {name: ours.get(name) for name in theirs} == theirs


@pytest.mark.parametrize("name", programs._refusals("torchdali"))
def test_wrong_uses_are_errors_or_warnings_as_in_dali(name, answered):
    ours, theirs = answered
    assert ours[name] == theirs[name]


@pytest.fixture(scope="module")
def answered():
    dali_oracle.skip_without_dali()
    return both("answers")


@pytest.mark.parametrize("family", ["rand", "trivial", "auto"])
def test_choices_have_the_frequencies_of_dali(family):
    ours, theirs = both("draws", family, 40, {})
    assert same_counts(ours, theirs)
