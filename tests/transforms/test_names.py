# SPDX-License-Identifier: Apache-2.0
"""Names of torchdali.transforms: the guide lists them, and those of torchvision that are absent.

tests/helpers/torchvision_classes.py compares them with torchvision's.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchdali
from torchdali import transforms as T
from torchdali.transforms._names import ABSENT

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "from_torchvision.md"
OWN = {"OnColumn", "Sample", "Transform", "equivalent", "parts", "takes_targets"}


def test_the_guide_lists_all():
    part = GUIDE.read_text().partition("### Classes of transforms.v2")[2].partition("\n### ")[0]
    named = set(re.findall(r"`(\w+)`", part)) - {"UnsupportedError", "fill"}
    assert named == set(T.__all__) - OWN | set(ABSENT)


@pytest.mark.parametrize("name", ABSENT)
def test_absent_names_say_why(name):
    assert not hasattr(T, name)
    reason, fix = ABSENT[name]
    with pytest.raises(torchdali.errors.UnsupportedError) as caught:
        getattr(T, name)
    assert f"transforms.{name} of torchvision: {reason}" in str(caught.value)
    assert fix in str(caught.value)


def test_other_names():
    with pytest.raises(AttributeError, match="has no attribute 'Rezise'"):
        T.Rezise  # noqa: B018


def test_enumerations():
    resize = T.Resize(3, T.InterpolationMode.NEAREST_EXACT)
    assert resize.interpolation == "nearest-exact"
    assert T.AutoAugment(T.AutoAugmentPolicy.SVHN).policy.value == "svhn"
