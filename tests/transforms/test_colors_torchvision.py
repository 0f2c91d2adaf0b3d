# SPDX-License-Identifier: Apache-2.0
"""Transforms of colors and policies against real torchvision: results, and what is drawn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from helpers.cases import for_each
from helpers.distributions import fits, same_distribution
from helpers.torchvision_peer import run_torchvision
from helpers.transforms import apply, photos

from torchdali import Pipeline, fn, types
from torchdali import transforms as T
from torchdali.transforms import Sample

# Expressions that make the same transform of both packages; without chance.
CERTAIN = [
    "ColorJitter(brightness=(0.4, 0.4))",
    "ColorJitter(contrast=(1.7, 1.7))",
    "ColorJitter(saturation=(0, 0))",
    "ColorJitter(saturation=(1.8, 1.8))",
    "ColorJitter(hue=(-0.37, -0.37))",
    "ColorJitter(hue=(0.5, 0.5))",
    "Grayscale()",
    "Grayscale(3)",
    "RandomGrayscale(1)",
    "RandomInvert(1)",
    "RandomAutocontrast(1)",
    "RandomEqualize(1)",
    "RandomPosterize(3, 1)",
    "RandomSolarize({threshold}, 1)",
    "RandomAdjustSharpness(0.3, 1)",
    "RandomAdjustSharpness(4, 1)",
]


def named(images):
    return {f"image{i}": image for i, image in enumerate(images)}


def test_results():
    images = photos()
    makers = {"pil": "pillow(x)", "tensor": "tensor(x)", "float": "tensor(x).float() / 255"}
    cases = [
        (kind, text.format(threshold=0.5 if kind == "float" else 128))
        for kind in makers
        for text in CERTAIN
    ]
    program = "".join(
        f"""
for name, x in given.items():
    results[{str(number)!r} + name] = array(v2.{expression}({makers[kind]}))
"""
        for number, (kind, expression) in enumerate(cases)
    )
    theirs = run_torchvision(program, **named(images))
    for number, (kind, expression) in enumerate(cases):
        chain = [eval(f"T.{expression}")]
        if kind != "pil":
            chain.insert(0, T.ToTensor() if kind == "float" else T.ToImage())
        for i, made in enumerate(apply(T.Compose(chain), images)):
            want = theirs[f"{number}image{i}"]
            made = made.transpose(1, 2, 0) if kind != "pil" else made
            assert made.shape == want.shape
            assert made.dtype == want.dtype
            scale = 255 if kind == "float" else 1
            difference = np.abs(made.astype(float) - want.astype(float)).max() * scale
            assert difference <= 1, (kind, expression)


def drawn(transform, count, monkeypatch, module):
    """Returns what a transform passes to fn.augment, as arrays: one row a sample."""
    nodes = {}

    def remember(sample, operations, magnitudes, **arguments):
        nodes.update(operations=operations, magnitudes=magnitudes, order=arguments.get("order"))

    monkeypatch.setattr(f"torchdali.transforms.{module}.augment", remember)
    pipeline = Pipeline(batch_size=count, num_threads=1, device_id=None, seed=11)
    with pipeline:
        image = fn.constant(idata=[0] * 3, shape=[1, 1, 3], dtype=types.UINT8, layout="HWC")
        transform.record(Sample(image))
        found = {
            name: node for name, node in nodes.items() if not isinstance(node, (list, type(None)))
        }
        pipeline.set_outputs(*found.values())
    pipeline.build()
    return {
        name: np.stack([np.array(batch.at(i)) for i in range(count)])
        for name, batch in zip(found, pipeline.run(), strict=True)
    }


COUNT = 4000


def test_color_jitter_draws(monkeypatch):
    theirs = run_torchvision(f"""
jitter = v2.ColorJitter(0.4, (0.5, 2.0), 0.3, 0.2)
drawn = [jitter.make_params([]) for _ in range({COUNT})]
for name in ("brightness", "contrast", "saturation", "hue"):
    results[name] = [d[name + "_factor"] for d in drawn]
results["order"] = [[int(i) for i in d["fn_idx"]] for d in drawn]
""")
    ours = drawn(T.ColorJitter(0.4, (0.5, 2.0), 0.3, 0.2), COUNT, monkeypatch, "_color")
    for k, name in enumerate(("brightness", "contrast", "saturation", "hue")):
        assert same_distribution(
            torch.from_numpy(ours["magnitudes"][:, k].copy()), torch.from_numpy(theirs[name])
        )
    assert fits(np.bincount(ours["order"].ravel(), minlength=24), [1] * 24)
    assert len({tuple(order) for order in theirs["order"]}) == 24


LOG = """
log = []
def note(self, image, name, magnitude, **rest):
    log.append((name, round(float(magnitude), 4)))
    return image
"""
PATCH = """
from torchvision.transforms.v2 import _auto_augment
_auto_augment._AutoAugmentBase._apply_image_or_video_transform = note
"""
NAMES = {
    "Identity": 0, "ShearX": 1, "ShearY": 2, "TranslateX": 3, "TranslateY": 4, "Rotate": 5,
    "Brightness": 6, "Color": 7, "Contrast": 8, "Sharpness": 9, "Posterize": 10, "Solarize": 11,
    "AutoContrast": 12, "Equalize": 13, "Invert": 14,
}  # fmt: skip


POLICIES = [
    "RandAugment()",
    "RandAugment(1, 30)",
    "TrivialAugmentWide(5)",
    "TrivialAugmentWide()",
    "AutoAugment({policy}('imagenet'))",
    "AutoAugment({policy}('cifar10'))",
    "AutoAugment({policy}('svhn'))",
]


def same_counts(ours, theirs, total):
    """Whether two counters are of one distribution; outcomes seen rarely are counted together."""
    often = [key for key in set(ours) | set(theirs) if ours[key] + theirs[key] >= 20]
    a = np.array([ours[key] for key in often], float)
    b = np.array([theirs[key] for key in often], float)
    a, b = np.append(a, total - a.sum()), np.append(b, total - b.sum())
    statistic = ((a - b) ** 2 / np.maximum(a + b, 1)).sum()
    return statistic < len(often) + 4 * np.sqrt(2 * len(often) + 1)


def key(operation, magnitude):
    return int(operation), round(float(magnitude) + 0.00013, 3)


def test_policies_draw(monkeypatch):
    count = 6000
    logs = run_torchvision(
        LOG
        + PATCH
        + f"""
image = torch.zeros(3, 330, 331, dtype=torch.uint8)
for i, text in enumerate({POLICIES}):
    transform = eval("v2." + text.format(policy="v2.AutoAugmentPolicy"))
    log.clear()
    for _ in range({count}):
        log.append(("next", 0))
        transform(image)
    results[f"names{{i}}"] = [name for name, _ in log]
    results[f"magnitudes{{i}}"] = [m for _, m in log]
"""
    )
    for i, expression in enumerate(POLICIES):
        theirs, pairs = Counter(), []
        for name, magnitude in zip(logs[f"names{i}"], logs[f"magnitudes{i}"], strict=True):
            if name == "next":
                pairs.append([])
            elif name != "Identity":
                pairs[-1].append(key(NAMES[str(name)], magnitude))
        theirs = Counter(tuple(pair) for pair in pairs)
        own = eval(f"T.{expression.format(policy='')}")
        values = drawn(own, count, monkeypatch, "_auto_augment")
        ours = Counter()
        for row in zip(values["operations"].astype(int), values["magnitudes"], strict=True):
            pair = []
            for op, magnitude in zip(*row, strict=True):
                if op in (17, 18):
                    pair.append(key(op - 14, magnitude * (331 if op == 17 else 330)))
                elif op != 0:
                    pair.append(key(op, magnitude - (op in (6, 7, 8, 9))))
            ours[tuple(pair)] += 1
        assert same_counts(ours, theirs, count), expression


@for_each("p", [0.0, 0.3, 1.0])
def test_probability(p):
    images = [np.full((1, 1, 3), 10, np.uint8)] * 2000
    changed = sum(int(made[0, 0, 0] != 10) for made in apply(T.RandomInvert(p), images))
    assert abs(changed - 2000 * p) <= 4 * np.sqrt(2000 * p * (1 - p))
