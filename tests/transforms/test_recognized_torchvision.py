# SPDX-License-Identifier: Apache-2.0
"""Equivalents of objects of torchvision, made from the attributes that real ones have."""

from __future__ import annotations

import json

from helpers.torchvision_peer import run_torchvision

from torchdali import transforms as T

OBJECTS = [
    "ColorJitter(0.4, 0.3, (0.5, 2.0), 0.1)",
    "ColorJitter()",
    "Grayscale(3)",
    "RandomGrayscale()",
    "RandomInvert(0.2)",
    "RandomPosterize(3)",
    "RandomSolarize(128)",
    "RandomAdjustSharpness(2)",
    "RandomAutocontrast()",
    "RandomEqualize()",
    "RandAugment(3, 5)",
    "TrivialAugmentWide()",
    "AutoAugment()",
    "RandomRotation(30, fill=3)",
    "RandomAffine(10, (0.1, 0.2), (0.5, 2), 5)",
    "RandomPerspective(0.3, 0.9)",
    "Pad((1, 2), 7)",
    "RandomCrop(32, 4)",
    "RandomCrop((32, 30), [1, 2, 3, 4], padding_mode='reflect')",
    "RandomErasing(0.1, value='random')",
    "RandomErasing(0.1, value=3)",
    "GaussianBlur(5)",
    "ScaleJitter((50, 60), (0.5, 1.0))",
    "RandomShortestSize([40, 50], 60)",
    "RandomResize(30, 50)",
    "RandomZoomOut(3, (1.5, 2.0), 0.7)",
    "RandomPhotometricDistort(hue=(-0.1, 0.2), p=0.4)",
    "RandomChannelPermutation()",
    "RGB()",
    "Identity()",
    "GaussianNoise(0.1, 0.2, False)",
    "JPEG((20, 40))",
    "ElasticTransform(20.0, (3.0, 4.0), fill=7)",
    "ConvertBoundingBoxFormat('XYWH')",
    "ClampBoundingBoxes('hard')",
    "SetClampingMode(None)",
    "ClampKeyPoints()",
    "SanitizeKeyPoints('default')",
    "FiveCrop(20)",
    "TenCrop((20, 30), True)",
    "ToPILImage('RGB')",
]
# Attributes that the equivalent has in another form.
RESTATED = {"interpolation", "policy", "value", "padding", "kernel_size", "size", "sigma", "scale"}


def same(ours, theirs):
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours in (theirs, [theirs])


def test_equivalents():
    found = json.loads(
        str(
            run_torchvision(f"""
import enum, json
from torchvision.transforms import transforms as v1, autoaugment
out = []
for text in {OBJECTS}:
    for package in (v1, autoaugment, v2):
        if hasattr(package, text.partition("(")[0]):
            made = eval("package." + text)
            kept = {{}}
            for key, value in vars(made).items():
                value = value.value if isinstance(value, enum.Enum) else value
                if not key.startswith("_") and key != "training":
                    try: kept[key] = json.loads(json.dumps(value))
                    except TypeError: pass
            out.append([text, type(made).__module__, type(made).__name__, kept])
results["found"] = json.dumps(out)
""")["found"]
        )
    )
    assert {text for text, *_ in found} == set(OBJECTS)
    assert len(found) > 1.5 * len(OBJECTS)  # most are in both packages
    for text, module, name, kept in found:

        def call(self):
            """A method of torchvision's, as far as its name says."""

        call.__module__ = "torchvision"
        stub = type(name, (), {"__module__": module, "__call__": call})()
        vars(stub).update(kept)
        ours, direct = T.equivalent(stub), eval(f"T.{text}")
        assert type(ours) is getattr(T, name)
        for key, value in kept.items():
            if key not in RESTATED and hasattr(ours, key):
                assert same(getattr(ours, key), value), (text, module, key)
        for key, value in vars(direct).items():
            if isinstance(value, (int, float, list, tuple, dict)) and key not in RESTATED:
                assert same(getattr(ours, key), value), (text, module, key)
