# SPDX-License-Identifier: Apache-2.0
"""Targets beside images, without torchvision; with it: helpers/torchvision_detection.py."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.transforms import photos
from PIL import Image

import torchdali
from torchdali import Pipeline, fn
from torchdali import transforms as T
from torchdali.errors import UnsupportedError
from torchdali.transforms._follow import leaves_of, replaced

COUNT = 9


@pytest.fixture(autouse=True)
def _random_state(keep_random_state):
    pass


class Described(torch.utils.data.Dataset):
    """Has transforms of images and their descriptions."""

    def __init__(self, folder, transforms):
        self.folder, self.transforms = folder, transforms
        for number, pixels in enumerate(photos(COUNT)):
            Image.fromarray(pixels).save(folder / f"{number}.png")

    def __len__(self):
        return COUNT

    def encoded_sample(self, index):
        return self.folder / f"{index}.png", {"label": index, "outline": [1.5, index]}

    def __getitem__(self, index):
        file, target = self.encoded_sample(index)
        return self.transforms(Image.open(file).convert("RGB"), target)


@for_each("workers", [0, 2])
def test_targets_stay_with_their_images(tmp_path, workers):
    dataset = Described(tmp_path, T.Compose([T.Resize((20, 30)), T.ToTensor()]))
    compiled = torchdali.compile_dataset(dataset)
    assert compiled.is_compiled
    want = list(torch.utils.data.DataLoader(dataset, 4))
    made = list(torchdali.DataLoader(dataset, 4, num_workers=workers, accelerate=True))
    singles = list(torch.utils.data.DataLoader(compiled, 4))
    for batches in (made, singles):
        for ours, theirs in zip(batches, want, strict=True):
            assert torch.equal(ours[0], theirs[0])
            assert str(ours[1]) == str(theirs[1])


def test_images_of_several_sizes_fail_as_in_torch(tmp_path):
    dataset = Described(tmp_path, T.Compose([T.Resize(20), T.ToTensor()]))
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        next(iter(torchdali.DataLoader(dataset, 4, accelerate=True)))


def test_transforms_that_may_be_anything_are_not_compiled(tmp_path):
    compiled = torchdali.compile_dataset(Described(tmp_path, lambda image, target: target))
    assert compiled.transform is None
    assert "`transforms` is not of torchvision.transforms.v2" in compiled.report
    assert compiled[3] == {"label": 3, "outline": [1.5, 3]}


@for_each(
    "transform",
    [
        T.RandomHorizontalFlip(),
        T.Resize(9),
        T.CenterCrop(9),
        T.RandomResizedCrop(9),
        T.RandomCrop(9),
        T.Pad(2),
        T.RandomRotation(9),
        T.RandomAffine(9),
        T.RandomPerspective(),
    ],
)
def test_boxes_that_are_nodes_are_refused(transform):
    with Pipeline(batch_size=1, num_threads=1, device_id=None):
        sample = T.Sample(fn.external_source(name="image", ndim=3))
        sample.boxes = fn.external_source(name="boxes", ndim=2)
        with pytest.raises(UnsupportedError, match=r"nodes of a pipeline.*\n.*accelerate=True"):
            transform.record(sample)


def test_a_transform_of_boxes_says_what_is_missing(tmp_path):
    pixels = photos(1)[0]
    Image.fromarray(pixels).save(tmp_path / "a.png")
    data = np.fromfile(tmp_path / "a.png", np.uint8)
    for transform in (T.RandomIoUCrop(), T.Compose([T.Resize(9), T.RandomIoUCrop()])):
        with pytest.raises(TypeError, match="RandomIoUCrop: there are no BoundingBoxes"):
            transform.decode(data)


def test_values_in_structures_are_found_and_replaced():
    one, two = torch.zeros(1), torch.ones(1)
    given = {"a": [one, {"b": (two, "text")}], "c": [1.5, 2, None], "d": [], "e": [3, one]}
    assert [x for x in leaves_of(given) if isinstance(x, torch.Tensor)] == [one, two, one]
    made = replaced(given, {id(one): "new"})
    assert made == {
        "a": ["new", {"b": (two, "text")}],
        "c": [1.5, 2, None],
        "d": [],
        "e": [3, "new"],
    }
