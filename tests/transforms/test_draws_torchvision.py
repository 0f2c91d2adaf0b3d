# SPDX-License-Identifier: Apache-2.0
"""Less common random transforms draw from torchvision's distributions."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import torch
from helpers.distributions import fits, same_counts, same_distribution
from helpers.torchvision_peer import run_torchvision
from helpers.transforms import apply, photos

from torchdali import Pipeline, fn, types
from torchdali import transforms as T

COUNT = 2000
PERMUTATIONS = list(itertools.permutations(range(3)))


def column(values):
    return torch.from_numpy(np.array(values, float))


def test_photometric_distort(monkeypatch):
    names = ("brightness", "contrast", "saturation", "hue")
    theirs = run_torchvision(f"""
distort = v2.RandomPhotometricDistort(hue=(-0.2, 0.1), p=0.3)
drawn = [distort.make_params([torch.zeros(3, 2, 2)]) for _ in range({COUNT})]
for name in {names}:
    factors = [d[name + "_factor"] for d in drawn]
    results[name] = [np.nan if f is None else f for f in factors]
results["first"] = [d["contrast_before"] for d in drawn if d["contrast_factor"] is not None]
results["permuted"] = [d["channel_permutation"] is not None for d in drawn]
""")
    nodes = []
    monkeypatch.setattr(
        "torchdali.transforms._channels.augment", lambda sample, *given: nodes.extend(given)
    )
    pipeline = Pipeline(batch_size=COUNT, num_threads=1, device_id=None, seed=11)
    with pipeline:
        image = fn.constant(idata=[0] * 3, shape=[1, 1, 3], dtype=types.UINT8, layout="HWC")
        T.RandomPhotometricDistort(hue=(-0.2, 0.1), p=0.3).record(T.Sample(image))
        pipeline.set_outputs(*nodes)
    pipeline.build()
    codes, factors = (
        np.stack([np.array(batch.at(i)) for i in range(COUNT)]) for batch in pipeline.run()
    )
    # Brightness, contrast, saturation, hue, contrast, permutation.
    for k, (code, name) in enumerate(zip((6, 8, 7, 15), names, strict=True)):
        want = theirs[name][~np.isnan(theirs[name])]
        used = codes[:, k] == code
        if name == "contrast":
            assert not (used & (codes[:, 4] == code)).any()
            assert same_counts(used[used | (codes[:, 4] == code)], theirs["first"])
            used |= codes[:, 4] == code
        assert same_counts(used, ~np.isnan(theirs[name]))
        assert same_distribution(column(factors[used, k]), column(want))
    np.testing.assert_array_equal(factors[:, 1], factors[:, 4])
    assert same_counts(codes[:, 5] == 19, theirs["permuted"])
    assert fits(np.bincount(factors[:, 5].astype(int), minlength=6), [1] * 6)


def test_channels():
    image = np.array([[[10, 20, 30]]], np.uint8)
    made = Counter(tuple(x[0, 0]) for x in apply(T.RandomChannelPermutation(), [image] * COUNT))
    assert fits([made[tuple(image[0, 0, list(p)])] for p in PERMUTATIONS], [1] * 6)
    assert sum(made.values()) == COUNT


SIZES = [
    "ScaleJitter((90, 40))",
    "ScaleJitter((30, 60), (0.5, 0.6))",
    "RandomShortestSize([9, 20, 21, 33])",
    "RandomShortestSize([20, 30], 36)",
    "RandomResize(9, 14)",
]


def test_sizes():
    theirs = run_torchvision(f"""
image = torch.zeros(3, 31, 44, dtype=torch.uint8)
for text in {SIZES}:
    resize = eval("v2." + text)
    results[text] = [resize(image).shape[1:] for _ in range({COUNT})]
""")
    for text in SIZES:
        made = apply(eval(f"T.{text}"), [np.zeros((31, 44, 3), np.uint8)] * COUNT)
        sizes = np.array([x.shape[:2] for x in made])
        pairs = [set(map(tuple, x.tolist())) for x in (sizes, theirs[text])]
        assert len(pairs[0] & pairs[1]) > 0.8 * len(pairs[1]), text
        for axis in range(2):
            assert same_distribution(column(sizes[:, axis]), column(theirs[text][:, axis])), text


def test_zoom_out():
    theirs = run_torchvision(f"""
image = torch.ones(1, 10, 14, dtype=torch.uint8)
zoom = v2.RandomZoomOut(side_range=(1.2, 3.0), p=0.6)
made = [zoom(image)[0] for _ in range({COUNT})]
results["places"] = [[*x.shape, *x.nonzero()[0].tolist()] for x in made]
""")["places"]
    zoom = T.RandomZoomOut(side_range=(1.2, 3.0), p=0.6)
    made = apply(zoom, [np.ones((10, 14, 1), np.uint8)] * COUNT)
    ours = np.array([[*x.shape[:2], *np.argwhere(x)[0, :2]] for x in made])
    assert all(x.sum() == 140 for x in made)
    for k in range(4):
        assert same_distribution(column(ours[:, k]), column(theirs[:, k]))
    assert same_counts(ours[:, 0] == 10, theirs[:, 0] == 10)


def test_noise():
    cases = [(0.02, 0.01, True), (0.0, 0.004, True), (0.03, 0.02, False)]
    theirs = run_torchvision(f"""
for k, case in enumerate({cases}):
    image = torch.full((3, 40, 50), 245, dtype=torch.uint8)
    results[f"bytes{{k}}"] = v2.GaussianNoise(*case)(image)
    results[f"floats{{k}}"] = v2.GaussianNoise(*case)(image / 255)
""")
    with torch.random.fork_rng():
        torch.manual_seed(4)
        for k, case in enumerate(cases):
            image = torch.full((3, 40, 50), 245, dtype=torch.uint8)
            made = T.GaussianNoise(*case)(image)
            assert same_counts(made.numpy().ravel(), theirs[f"bytes{k}"].ravel()), case
            floats = T.GaussianNoise(*case)(image / 255)
            assert same_distribution(floats, torch.from_numpy(theirs[f"floats{k}"])), case


def test_qualities():
    (image,) = photos(1)
    fixed = [apply(T.JPEG(quality), [image])[0].tobytes() for quality in (10, 11, 12)]
    made = Counter(x.tobytes() for x in apply(T.JPEG((10, 12)), [image] * 200))
    assert fits([made[x] for x in fixed], [1, 1, 1])
    assert sum(made.values()) == 200


def test_displacements(monkeypatch):
    """At pixels and between neighbors, each along x and y: means, deviations and smoothness."""
    theirs = run_torchvision("""
elastic = v2.ElasticTransform((300.0, 100.0), (1.0, 3.0))
image = torch.zeros(1, 30, 45)
drawn = [elastic.make_params([image])["displacement"][0] for _ in range(400)]
results["drawn"] = torch.stack(drawn) * torch.tensor([45, 30]) / 2
""")["drawn"]
    nodes = []

    def remember(image, x, y, **arguments):
        nodes[:] = [x, y]
        return image

    monkeypatch.setattr("torchdali.transforms._elastic.fn.experimental.remap", remember)
    pipeline = Pipeline(batch_size=400, num_threads=1, device_id=None, seed=5)
    with pipeline:
        image = fn.constant(idata=0, shape=[30, 45, 1], dtype=types.UINT8, layout="HWC")
        T.ElasticTransform((300.0, 100.0), (1.0, 3.0)).record(T.Sample(image))
        pipeline.set_outputs(*nodes)
    pipeline.build()
    ours = np.stack(
        [np.stack([np.array(batch.at(i)) for i in range(400)]) for batch in pipeline.run()], -1
    )
    y, x = np.mgrid[:30, :45]
    ours = ours - np.stack([x, y], -1)
    for y, x, (down, right) in [(15, 20, (0, 0)), (0, 44, (0, 0)), (9, 9, (2, 0)), (9, 9, (0, 2))]:
        for axis in range(2):
            a, b = (
                d[:, y, x, axis] - (d[:, y + down, x + right, axis] if down or right else 0)
                for d in (ours, theirs)
            )
            assert same_distribution(column(a), column(b)), (y, x, down, right, axis)
