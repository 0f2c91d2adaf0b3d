# SPDX-License-Identifier: Apache-2.0
"""RandomApply, RandomChoice, RandomOrder, CutMix, MixUp."""

from __future__ import annotations

import io
from collections import Counter

import numpy as np
import pytest
import torch
from helpers.distributions import fits, same_distribution
from helpers.torchvision_peer import run_torchvision
from helpers.transforms import apply
from PIL import Image

import torchdali
from torchdali import transforms as T

COUNT = 2000
# Transforms of a pixel, which do not commute.
STEPS = [T.RandomInvert(1), T.RandomSolarize(100, 1), T.RandomPosterize(4, 1)]
FUNCTIONS = [lambda v: 255 - v, lambda v: v if v < 100 else 255 - v, lambda v: v & 0xF0]


def counts(transform, value=37):
    made = apply(transform, [np.full((1, 1, 3), value, np.uint8)] * COUNT)
    return Counter(int(image[0, 0, 0]) for image in made)


def test_random_apply():
    seen = counts(T.RandomApply([STEPS[0], STEPS[2]], p=0.3))
    assert set(seen) == {37, (255 - 37) & 0xF0}
    assert fits([seen[37], COUNT - seen[37]], [0.7, 0.3])
    assert set(counts(T.RandomApply([STEPS[0]], p=0))) == {37}
    assert set(counts(T.RandomApply([STEPS[0]], p=1))) == {218}


def test_random_choice():
    seen = counts(T.RandomChoice(STEPS[:1] + STEPS[2:], p=[3, 1]))
    assert fits([seen[218], seen[32]], [3, 1])
    assert sum(seen.values()) == seen[218] + seen[32]


def test_random_order():
    value = 37
    want = Counter()
    for order in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        result = value
        for k in order:
            result = FUNCTIONS[k](result)
        want[result] += 1
    seen = counts(T.RandomOrder(STEPS), value)
    assert set(seen) == set(want)
    assert fits([seen[key] for key in want], list(want.values()))


def test_branches_may_have_other_sizes():
    crops = T.RandomChoice([T.CenterCrop(2), T.CenterCrop(4)])
    made = apply(T.Compose([crops, T.ToTensor()]), [np.ones((6, 6, 3), np.uint8)] * 50)
    assert {image.shape for image in made} == {(3, 2, 2), (3, 4, 4)}


def test_branches_keep_the_type_and_the_channels():
    with pytest.raises(NotImplementedError, match="ToTensor would change the type or"):
        apply(T.RandomApply([T.ToTensor()]), [np.ones((6, 6, 3), np.uint8)])
    with pytest.raises(NotImplementedError, match="the channels of some images only"):
        apply(T.RandomApply([T.Grayscale(1)]), [np.ones((6, 6, 3), np.uint8)])


def test_functions_are_named():
    def mine(x):
        return x

    with pytest.raises(NotImplementedError, match=r"the function .*mine runs in Python only"):
        apply(T.Lambda(mine), [np.ones((6, 6, 3), np.uint8)])


@pytest.mark.parametrize(
    "make",
    [
        lambda: T.RandomApply([]),
        lambda: T.RandomApply([T.ToImage()], p=2),
        lambda: T.RandomChoice([T.ToImage()], p=[1, 2]),
        lambda: T.RandomOrder([]),
        lambda: T.MixUp()(torch.zeros(2, 3, 4, 4), torch.tensor([0, 1])),
        lambda: T.MixUp(num_classes=3)(torch.zeros(2, 3, 4, 4), torch.zeros(2, 4)),
        lambda: T.CutMix(num_classes=3)(torch.zeros(3, 4, 4), torch.tensor([0, 1, 2])),
        lambda: T.CutMix(num_classes=3)(torch.zeros(3, 3, 4, 4), torch.tensor([0, 1])),
        lambda: T.CutMix(alpha=0),
    ],
)
def test_refused_as_by_torchvision(make):
    with pytest.raises(ValueError, match=r"^(RandomApply|RandomChoice|RandomOrder|MixUp|CutMix): "):
        make()


@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_mixed_batches(name):
    theirs = run_torchvision(f"""
from torch.distributions import Beta
images = torch.arange(4 * 3 * 6 * 8).reshape(4, 3, 6, 8).float()
labels = torch.tensor([0, 2, 1, 1])
torch.manual_seed(3)
for i in range(50):
    made, mixed = v2.{name}(alpha=0.7, num_classes=3)(images, labels)
    results[f"images{{i}}"], results[f"labels{{i}}"] = made.numpy(), mixed.numpy()
""")
    images = torch.arange(4 * 3 * 6 * 8).reshape(4, 3, 6, 8).float()
    labels = torch.tensor([0, 2, 1, 1])
    with torch.random.fork_rng():
        torch.manual_seed(3)
        mix = getattr(T, name)(alpha=0.7, num_classes=3)
        mine = [mix(images, labels) for _ in range(50)]
    # The shares are the draws; torch's beta distribution may differ between its versions.
    ours = torch.stack([mixed[0] for _, mixed in mine])
    want = torch.stack([torch.from_numpy(theirs[f"labels{i}"])[0] for i in range(50)])
    assert same_distribution(ours[:, 0], want[:, 0])
    for made, mixed in mine:
        share = mixed[0, 0]
        assert torch.allclose(mixed.sum(1), torch.ones(4))
        if name == "MixUp":
            assert torch.allclose(made, images * share + images.roll(1, 0) * (1 - share))
        else:
            rolled = (made != images).float().mean().item()
            assert rolled == pytest.approx(1 - share.item(), abs=1e-5)


def test_batches_of_dicts_and_no_pipeline():
    batch = {"image": torch.eye(4).expand(2, 3, 4, 4), "label": torch.eye(2), "name": ["a", "b"]}
    with torch.random.fork_rng():
        made = T.MixUp()(batch)
    assert made["name"] == ["a", "b"]
    assert made["label"].shape == (2, 2)
    with (
        pytest.raises(NotImplementedError, match="MixUp: works on batches"),
        torchdali.Pipeline(batch_size=1, num_threads=1, device_id=None),
    ):
        T.MixUp()(torchdali.fn.constant(idata=[1, 2]))


def test_calls_on_images():
    x = torch.full((3, 2, 2), 37, dtype=torch.uint8)
    chain = T.Compose(
        [
            T.RandomApply([T.RandomChoice([STEPS[0], STEPS[2]])], p=0.5),
            T.Lambda(lambda image: image + 1, torch.Tensor),
            T.Compose([T.RandomOrder([T.ToImage(), T.ToDtype(torch.float32, scale=False)])]),
        ]
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        made = [chain(x, "label") for _ in range(200)]
    assert all(label == "label" for _, label in made)
    seen = Counter(float(image[0, 0, 0]) for image, _ in made)
    assert set(seen) == {38.0, 219.0, 33.0}
    assert fits([seen[38.0], seen[219.0], seen[33.0]], [2, 1, 1])


def test_files_are_decoded_before_a_choice():
    image = np.full((4, 6, 3), 37, np.uint8)
    data = io.BytesIO()
    Image.fromarray(image).save(data, "png")
    chain = T.Compose([T.CenterCrop(2), T.RandomApply([STEPS[0]], 0.5), T.ToTensor()])
    with torch.random.fork_rng():
        torch.manual_seed(1)
        made = [chain.decode(data.getvalue()) for _ in range(60)]
        alone = T.RandomApply([STEPS[0]], 0.5).decode(data.getvalue())
    assert {tuple(x.shape) for x in made} == {(3, 2, 2)}
    assert {round(float(x[0, 0, 0]) * 255) for x in made} == {37, 218}
    assert alone.size == (6, 4)
