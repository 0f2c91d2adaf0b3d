# SPDX-License-Identifier: Apache-2.0
"""Compares with real torchvision; a program for the Python of `make torchvision`.

Prints a JSON document: for each check, the traceback of its failure or null.
"""

from __future__ import annotations

# isort: off
import helpers.torchvision_import  # noqa: F401

# isort: on
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils.data
import torchvision.transforms as v1
from helpers.check_programs import run_checks
from helpers.transforms import apply, photos
from PIL import Image
from torchvision import datasets
from torchvision.transforms import v2

import torchdali
from torchdali import transforms as T

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BILINEAR = v2.InterpolationMode.BILINEAR
NEAREST = v2.InterpolationMode.NEAREST


def _differ(transform: Any, images: list[np.ndarray]) -> float:
    """Returns the greatest difference between torchvision and the engine, of 255."""
    greatest = 0.0
    made = apply(T.equivalent(transform), images)
    for image, ours in zip(images, made, strict=True):
        theirs = np.array(transform(Image.fromarray(image)))
        assert ours.shape == theirs.shape, (transform, image.shape, ours.shape, theirs.shape)
        assert ours.dtype == theirs.dtype, (transform, ours.dtype, theirs.dtype)
        scale = 1 if theirs.dtype == np.uint8 else 255
        greatest = max(greatest, np.abs(ours.astype(np.float64) - theirs).max() * scale)
    return greatest


def check_deterministic() -> None:
    """Results are equal, up to 1 of 255."""
    for transform in (
        v1.Compose([v1.Resize(64), v1.CenterCrop(50), v1.ToTensor(), v1.Normalize(MEAN, [1] * 3)]),
        v2.Compose([v2.Resize((64, 33), BILINEAR), v2.PILToTensor()]),
        v2.Compose([v2.Resize(50, NEAREST), v2.PILToTensor()]),
        v2.Compose([v2.Resize(50, max_size=60), v2.ToImage(), v2.ToDtype(torch.float32, True)]),
        v2.Compose([v2.PILToTensor(), v2.Resize(70), v2.ConvertImageDtype(torch.float32)]),
        v2.Compose([v2.PILToTensor(), v2.Resize(70, antialias=False)]),
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.Resize(31)]),
        v2.Compose([v2.CenterCrop((41, 170)), v2.ToImage(), v2.ToPureTensor()]),
        torch.nn.Sequential(v2.CenterCrop(30), v2.PILToTensor()),
        v2.Compose([v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(1), v2.PILToTensor()]),
        v2.Compose([v2.RandomResizedCrop(33, (1, 1), (0.2, 0.2)), v2.PILToTensor()]),
    ):
        assert _differ(transform, photos()) <= 1.001, transform


def check_windows() -> None:
    """Windows of RandomResizedCrop have torchvision's distribution."""
    from helpers.windows import kolmogorov_smirnov, windows_of

    count = 3000
    for height, width in ((100, 130), (30, 200)):
        for scale, ratio in (((0.08, 1.0), (3 / 4, 4 / 3)), ((0.7, 1.0), (0.5, 2.0))):
            theirs = v2.RandomResizedCrop(8, scale, ratio)
            image = torch.zeros(3, height, width)
            torch.manual_seed(1)
            drawn = [theirs.make_params([image]) for _ in range(count)]
            want = np.array([[p["top"], p["left"], p["height"], p["width"]] for p in drawn])
            made = windows_of(height, width, scale, ratio, count)
            for column in range(4):
                assert kolmogorov_smirnov(made[:, column], want[:, column]) < 0.05, column
            areas = [windows[:, 2] * windows[:, 3] for windows in (made, want)]
            assert kolmogorov_smirnov(*areas) < 0.05


def _folder(root: Path) -> None:
    for number, image in enumerate(photos(20)):
        target = root / f"class{number % 3}"
        target.mkdir(exist_ok=True)
        Image.fromarray(image).save(target / f"{number}.jpg", quality=95)
    Image.fromarray(photos(1)[0][..., 0]).save(root / "class0" / "gray.png")
    Image.fromarray(photos(1)[0]).convert("P").save(root / "class1" / "palette.png")
    rotated = Image.Exif()
    rotated[274] = 6
    Image.fromarray(photos(1)[0]).save(root / "class2" / "turned.jpg", exif=rotated)


def _same_batches(dataset: Any, **options: Any) -> None:
    assert torchdali.compile_dataset(dataset).is_compiled, torchdali.compile_dataset(dataset)
    torch.manual_seed(2)
    want = list(torch.utils.data.DataLoader(dataset, **options))
    torch.manual_seed(2)
    made = list(torchdali.DataLoader(dataset, accelerate=True, num_workers=2, **options))
    assert len(made) == len(want)
    for ours, theirs in zip(made, want, strict=True):
        assert type(ours) is type(theirs)
        assert torch.equal(ours[1], theirs[1])
        assert ours[0].is_contiguous()
        atol = 1.001 / (255 if ours[0].is_floating_point() else 1)
        torch.testing.assert_close(ours[0], theirs[0], rtol=0, atol=atol)


def check_folder() -> None:
    """Batches of an ImageFolder are equal: gray, palette and rotated images too."""
    transform = v1.Compose([v1.Resize((40, 44)), v1.ToTensor()])
    with tempfile.TemporaryDirectory() as folder:
        _folder(Path(folder))
        dataset = datasets.ImageFolder(folder, transform)
        _same_batches(dataset, batch_size=5, shuffle=True)
        _same_batches(torch.utils.data.Subset(dataset, range(3, 15)), batch_size=5)

        class Own(datasets.ImageFolder):
            def __getitem__(self, index: int) -> Any:
                return torch.zeros(2), index

        own = Own(folder, transform)
        assert not torchdali.compile_dataset(own).is_compiled
        batch = next(iter(torchdali.DataLoader(own, batch_size=4, accelerate=True)))
        assert batch[1].tolist() == [0, 1, 2, 3]


def check_arrays() -> None:
    """Batches of CIFAR and MNIST are equal; the files are not needed."""
    rng = np.random.default_rng(0)
    cifar = datasets.CIFAR10.__new__(datasets.CIFAR10)
    cifar.data = rng.integers(0, 256, (30, 32, 32, 3)).astype(np.uint8)
    mnist = datasets.FashionMNIST.__new__(datasets.FashionMNIST)
    mnist.data = torch.from_numpy(rng.integers(0, 256, (30, 28, 28)).astype(np.uint8))
    targets = list(range(30))
    cifar.targets, mnist.targets = targets, torch.tensor(targets)
    for dataset, mean in ((cifar, MEAN), (mnist, [0.13])):
        dataset.transform = v1.Compose([v1.ToTensor(), v1.Normalize(mean, [1.0] * len(mean))])
        dataset.target_transform = None
        _same_batches(dataset, batch_size=7, shuffle=True)
        dataset.transform = v2.Compose([v2.Resize(20), v2.ToImage()])
        _same_batches(dataset, batch_size=7)


def check_coco() -> None:
    """Images of CocoDetection are compiled, unless they are transformed with their targets."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        images, boxes = [], []
        for number, image in enumerate(photos(6)):
            Image.fromarray(image).save(root / f"{number}.png")
            images.append({"id": number, "file_name": f"{number}.png"})
            boxes.append({"id": number, "image_id": number, "bbox": [1, 2, 3, 4 + number]})
        (root / "all.json").write_text(json.dumps({"images": images, "annotations": boxes}))
        with contextlib.redirect_stdout(io.StringIO()):
            transform = v2.Compose([v2.Resize((20, 30)), v2.PILToTensor()])
            dataset = datasets.CocoDetection(folder, root / "all.json", transform)
        options: Any = {"batch_size": 6, "collate_fn": list}
        assert torchdali.compile_dataset(dataset).is_compiled
        (want,) = torch.utils.data.DataLoader(dataset, **options)
        (made,) = torchdali.DataLoader(dataset, accelerate=True, **options)
        for ours, theirs in zip(made, want, strict=True):
            torch.testing.assert_close(ours[0], theirs[0], rtol=0, atol=1)
            assert ours[1] == theirs[1]
        dataset.transforms = lambda image, target: (torch.zeros(1), len(target))
        report = torchdali.compile_dataset(dataset).report
        assert "`transforms` (check_coco.<locals>.<lambda>) gets images with their" in report
        batch = next(iter(torchdali.DataLoader(dataset, accelerate=True, **options)))
        assert [target for _, target in batch] == [1] * 6


def check_subclasses() -> None:
    """Transforms of the user's are not taken for those that they derive from."""

    class Other(v2.Resize):
        def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
            return inpt

    hooked = v2.Resize(5)
    hooked.register_forward_hook(lambda module, args, output: output)
    replaced = v1.ToTensor()
    replaced.__call__ = print  # type: ignore[method-assign]
    for transform in (Other(5), hooked, replaced):
        try:
            T.equivalent(v2.Compose([transform]))
        except NotImplementedError:
            continue
        raise AssertionError(transform)


def check_refusals() -> None:
    """Arguments that torchvision refuses are refused, with errors of the same classes."""
    for name, arguments in (
        ("Resize", {"size": (1, 2, 3)}),
        ("Resize", {"size": None}),
        ("CenterCrop", {"size": (1, 2, 3)}),
        ("RandomHorizontalFlip", {"p": 2}),
        ("RandomResizedCrop", {"size": 3, "scale": 0.5}),
        ("ToDtype", {"dtype": "float32"}),
        ("Compose", {"transforms": []}),
        ("Compose", {"transforms": 5}),
    ):
        errors = []
        for package in (v2, T):
            try:
                getattr(package, name)(**arguments)
            except (TypeError, ValueError) as error:
                errors.append(error)
            else:
                raise AssertionError(f"{package}.{name}({arguments}) was accepted")
        assert isinstance(errors[1], type(errors[0])), errors


if __name__ == "__main__":
    run_checks(globals())
