# SPDX-License-Identifier: Apache-2.0
"""Compares compiled detection datasets with real torchvision; see torchvision_program.py."""

from __future__ import annotations

# isort: off
import helpers.torchvision_import  # noqa: F401

# isort: on
import contextlib
import functools
import io
import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.transforms as v1
from helpers.check_programs import run_checks
from helpers.detection_files import COUNT, write_coco, write_pets, write_voc
from helpers.named_boxes import Boxes
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision import tv_tensors as tv
from torchvision.transforms import v2

import torchdali
from torchdali import transforms as T

WRAPPED = datasets.wrap_dataset_for_transforms_v2
TO_FLOAT = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
CERTAIN = [
    [v2.Resize((60, 64)), v2.CenterCrop(50), *TO_FLOAT, v2.SanitizeBoundingBoxes()],
    [v2.RandomHorizontalFlip(1.0), *TO_FLOAT, v2.SanitizeBoundingBoxes(9.0), v2.ToPureTensor()],
    [v2.CenterCrop(40), v2.SanitizeBoundingBoxes(), v2.RandomVerticalFlip(1.0), v2.PILToTensor()],
    [v2.Compose([v2.Pad(9), v2.RandomRotation((20, 20), expand=True)]), v2.Resize(50), *TO_FLOAT],
    [v2.RandomAffine((9, 9), scale=(0.8, 0.8)), v2.RandomApply([v2.Grayscale(3)], 1.0), *TO_FLOAT],
    [*TO_FLOAT, v2.Normalize([0.5] * 3, [1.0] * 3), v2.Resize((40, 30))],
    [
        v2.SetClampingMode(None),
        v2.CenterCrop(40),
        v2.ConvertBoundingBoxFormat("CXCYWH"),
        v2.ClampBoundingBoxes("soft"),
        v2.ScaleJitter((90, 90), (1.0, 1.0)),
        *TO_FLOAT,
    ],
]
FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # go with the program


@functools.cache
def _folder(kind: str) -> Path:
    FOLDERS.append(tempfile.TemporaryDirectory())
    folder = Path(FOLDERS[-1].name)
    if kind.endswith("coco"):
        write_coco(folder, kind == "plain coco")
    else:
        {"voc": write_voc, "pets": write_pets}[kind](folder)
    return folder


def _coco(transforms: Any, kind: str = "coco", cls: Any = datasets.CocoDetection) -> Any:
    folder = _folder(kind)
    with contextlib.redirect_stdout(io.StringIO()):
        return cls(folder, folder / "all.json", transforms=transforms)


def _detection(transforms: Any, kind: str = "plain coco") -> Any:
    return WRAPPED(_coco(transforms, kind), target_keys=["boxes", "labels", "masks"])


def _same(ours: Any, theirs: Any) -> None:
    """Compares samples: floats of images up to 1 of 255, of boxes up to 0.001 pixels."""
    assert type(ours) is type(theirs), (type(ours), type(theirs))
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            _same(one, other)
    elif isinstance(theirs, torch.Tensor):
        if isinstance(theirs, tv.BoundingBoxes):
            assert ours.canvas_size == theirs.canvas_size
            assert ours.format == theirs.format
        is_image = theirs.ndim >= 3 and theirs.shape[-3] == 3 and not isinstance(theirs, tv.Mask)
        exact = not (is_image or theirs.is_floating_point())
        atol = 0.0 if exact else 1e-3
        if is_image:
            atol = 1.001 / (255 if theirs.is_floating_point() else 1)
        ours, theirs = (x.as_subclass(torch.Tensor) for x in (ours, theirs))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)
    else:
        assert ours == theirs


def _same_batches(dataset: Any, **options: Any) -> None:
    compiled = torchdali.compile_dataset(dataset)
    assert compiled.is_compiled, compiled
    want = list(DataLoader(dataset, 5, **options))
    for workers in (0, 2):
        made = list(
            torchdali.DataLoader(dataset, 5, num_workers=workers, accelerate=True, **options)
        )
        _same(made, want)
    _same(list(DataLoader(compiled, 5, **options)), want)  # sample by sample


def check_detection() -> None:
    """Images, boxes of floats and integers, and masks are those of torchvision."""
    for steps in CERTAIN:
        transforms = v2.Compose(steps)
        coco = WRAPPED(
            _coco(transforms), target_keys=["boxes", "labels", "masks", "image_id", "bbox"]
        )
        voc = WRAPPED(datasets.VOCDetection(_folder("voc"), transforms=transforms))
        for dataset in (coco, voc):
            _same_batches(dataset, collate_fn=list)


def check_segmentation() -> None:
    """Masks of files follow; batches of tensors of one size are stacked."""
    for steps in CERTAIN:
        steps = [step for step in steps if not isinstance(step, v2.SanitizeBoundingBoxes)]
        transforms = v2.Compose(steps)
        voc = datasets.VOCSegmentation(_folder("voc"), transforms=transforms)
        pet = datasets.OxfordIIITPet(
            _folder("pets"), target_types=["category", "segmentation"], transforms=transforms
        )
        parts = [Subset(WRAPPED(voc), range(3, 9)), Subset(WRAPPED(pet), [2, 0])]
        for part in parts:
            _same_batches(part, collate_fn=list)
        one_size = isinstance(steps[0], v2.Resize) or isinstance(steps[-1], v2.Resize)
        if one_size and not isinstance(steps[-2], v2.RandomRotation):
            _same_batches(parts[0])
            _same_batches(parts[1])


def check_targets() -> None:
    """Targets without boxes stay; what has transforms of the image only is as before."""
    transforms = v2.Compose([v2.Resize((30, 40)), v2.PILToTensor()])
    _same_batches(_coco(transforms), collate_fn=list)
    joined = ConcatDataset([_coco(transforms), Subset(_coco(transforms), [3, 1])])
    _same_batches(joined, collate_fn=list)
    _same_batches(datasets.VOCDetection(_folder("voc"), transforms=transforms), collate_fn=list)
    pets = datasets.OxfordIIITPet(
        _folder("pets"),
        target_types=["segmentation", "binary-category"],
        transform=transforms,
        target_transform=lambda target: (np.array(target[0]).sum(), target[1]),
    )
    _same_batches(pets, collate_fn=list)
    pets = datasets.OxfordIIITPet(_folder("pets"), transforms=transforms)
    _same_batches(pets)
    _same_batches(WRAPPED(pets))


def _is_white(image: torch.Tensor) -> torch.Tensor:
    """Returns which pixels are of the object, whose contrast may have changed."""
    white: torch.Tensor = image.as_subclass(torch.Tensor)[0] > 0.35
    return white


def _box_of(image: torch.Tensor) -> list[int]:
    """Returns the box of what is white."""
    rows, columns = _is_white(image).nonzero().unbind(1)
    return [int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1]


def _check_boxes(batch: Any, distance: float) -> set[str]:
    """Checks that boxes are around what is white; returns them."""
    found = set()
    for image, target in batch:
        assert isinstance(image, tv.Image)
        boxes, masks = target["boxes"], target["masks"]
        assert len(boxes) == len(masks) == len(target["labels"])
        assert masks.shape[1:] == image.shape[1:] == boxes.canvas_size
        for box in boxes.tolist():
            if min(box[2] - box[0], box[3] - box[1]) < 4:  # resampling makes it gray
                continue
            difference = np.abs(np.array(box) - _box_of(image)).max()
            assert difference <= distance, (box, _box_of(image))
            found.add(str(box))
            if distance == 0:
                assert torch.equal(masks[0].bool(), _is_white(image))
    return found


MOVES = [
    ("RandomHorizontalFlip(), v2.RandomVerticalFlip()", 0),
    ("RandomCrop((50, 60), pad_if_needed=True)", 0),
    ("RandomApply([v2.RandomCrop((50, 40), pad_if_needed=True), v2.Pad(9)], 0.6)", 0),
    ("RandomChoice([v2.RandomHorizontalFlip(), v2.RandomApply([v2.Pad(9)]), v2.Grayscale(3)])", 0),
    ("RandomOrder([v2.RandomCrop(45, pad_if_needed=True), v2.Pad((1, 2, 3, 4))])", 0),
    ("RandomResizedCrop((90, 80))", 2),
    ("RandomApply([v2.ElasticTransform(20.0)])", 3),
    ("RandomAffine(0, translate=(0.2, 0.2), scale=(0.8, 1.2))", 2),
    ("RandomShortestSize([60, 80]), v2.RandomApply([v2.ScaleJitter((90, 90))])", 3),
    ("RandomPhotometricDistort(), v2.RandomZoomOut(), v2.ConvertBoundingBoxFormat('XYXY')", 0),
    # The preset of SSD.
    (
        "RandomPhotometricDistort(), v2.RandomZoomOut(), v2.RandomIoUCrop(), "
        "v2.RandomHorizontalFlip()",
        0,
    ),
    ("RandomIoUCrop(), v2.RandomHorizontalFlip()", 0),
]


def check_drawn() -> None:
    """One draw moves the image and what follows it, with all loaders and workers."""
    for text, distance in MOVES:
        steps = eval(f"[v2.{text}]")
        transforms = v2.Compose([*steps, *TO_FLOAT, v2.SanitizeBoundingBoxes()])
        dataset = _detection(transforms)
        compiled = torchdali.compile_dataset(dataset)
        if "IoU" in text:
            assert not compiled.is_compiled
            assert "because RandomIoUCrop" in compiled.report
        else:
            assert compiled.is_compiled, compiled
        options: Any = {"batch_size": 5, "collate_fn": list}
        found = set()
        for workers in (0, 2):
            loader = torchdali.DataLoader(dataset, num_workers=workers, accelerate=True, **options)
            for _ in range(2):
                for batch in loader:
                    found |= _check_boxes(batch, distance)
        for batch in DataLoader(compiled, **options):
            found |= _check_boxes(batch, distance)
        assert len(found) > COUNT, (text, found)


def check_resumed() -> None:
    """A loader that is resumed continues with the same values."""
    steps = [v2.RandomHorizontalFlip(), v2.RandomCrop(40, pad_if_needed=True), *TO_FLOAT]

    def loader() -> Any:
        return torchdali.DataLoader(
            _detection(v2.Compose(steps)),
            3,
            shuffle=True,
            num_workers=2,
            collate_fn=list,
            accelerate=True,
            generator=torch.Generator().manual_seed(4),
        )

    first, batches = loader(), []
    for number, batch in enumerate(first):
        batches.append(batch)
        if number == 1:
            state = first.state_dict()
    again = loader()
    again.load_state_dict(state)
    _same(list(again), batches[2:])


def check_bad_samples() -> None:
    """Samples that cannot be decoded, or whose targets are refused, are left out."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        annotations = write_coco(folder)
        (folder / "3.png").write_bytes((folder / "3.png").read_bytes()[:60])
        known = json.loads(annotations.read_text())
        known["annotations"] = [one for one in known["annotations"] if one["image_id"] != 5]
        annotations.write_text(json.dumps(known))
        transforms = v2.Compose([v2.Resize((30, 30)), *TO_FLOAT, v2.SanitizeBoundingBoxes()])
        with contextlib.redirect_stdout(io.StringIO()):
            dataset = WRAPPED(datasets.CocoDetection(folder, annotations, transforms=transforms))
        text = _error(torchdali.DataLoader(Subset(dataset, [5]), accelerate=True), ValueError)
        assert "SanitizeBoundingBoxes" in text, text
        options: Any = {"on_error": "skip", "accelerate": True, "collate_fn": list}
        for workers in (0, 1):
            loader = torchdali.DataLoader(dataset, 6, num_workers=workers, **options)
            found = [target["image_id"] for batch in loader for _, target in batch]
            assert found == [i for i in range(COUNT) if i not in (3, 5)]
            assert loader.error_count == 2
        _same_batches(Subset(dataset, found), collate_fn=list)


def _error(loader: Any, kind: type[Exception]) -> str:
    """Returns the text of the error that a loader raises."""
    try:
        next(iter(loader))
    except kind as error:
        return str(error)
    raise AssertionError("there was no error")


def check_own_datasets() -> None:
    """Datasets that name their images may have `transforms`; mistakes are the same errors."""
    folder = _folder("coco")
    for package in (v2, T):
        steps = [package.Resize((40, 30)), package.ToImage()]
        _same_batches(Boxes(folder, package.Compose(steps), more=("text",)))
        steps = [package.CenterCrop(40), package.SanitizeKeyPoints(), package.PILToTensor()]
        _same_batches(Boxes(folder, package.Compose(steps)), collate_fn=list)
    steps = [v2.Resize((40, 30)), v2.ToImage()]
    full = torchdali.DataLoader(
        Boxes(folder, v2.Compose(steps)), 5, on_error="skip", fill_batches=True, accelerate=True
    )
    assert [len(batch[0]) for batch in full] == [5, 5, 2]
    wrong = Boxes(folder, v2.Compose([v2.RandomCrop(20), *TO_FLOAT]), beyond=1)
    assert torchdali.compile_dataset(wrong).is_compiled
    text = _error(DataLoader(wrong, 2), ValueError)
    assert "multiple HxW" in text, text
    text = _error(torchdali.DataLoader(wrong, 2, accelerate=True), ValueError)
    assert "several sizes" in text, text
    two = Boxes(folder, v2.Compose(TO_FLOAT), more=(Image.new("RGB", (5, 5)),))
    text = _error(torchdali.DataLoader(two, 2, accelerate=True), NotImplementedError)
    assert "2 images in one call" in text, text


def check_refused() -> None:
    """What is not known is not bypassed, and is named."""

    class Own(datasets.CocoDetection):
        def __getitem__(self, index: int) -> Any:
            return torch.zeros(3, 9, 9), [{"bbox": [1, 2, 3, 4], "category_id": index}]

    class Mine:
        def __call__(self, image: Any, target: Any) -> Any:
            return image, {**target, "mine": target["labels"] + 1}

    transforms = v2.Compose([v2.Resize((30, 30)), *TO_FLOAT])
    inner = _coco(None)
    patched = WRAPPED(inner)
    inner.transforms = transforms
    replaced = WRAPPED(_coco(transforms))
    replaced._wrapper = lambda index, sample: sample
    voc = datasets.VOCSegmentation(_folder("voc"), transforms=transforms)
    old = v1.Compose([v1.Resize((30, 30)), v1.ToTensor()])
    for dataset, why in (
        (_coco(transforms, cls=Own), "check_refused.<locals>.Own.__getitem__, which is unknown"),
        (WRAPPED(_coco(transforms, cls=Own)), "Own.__getitem__, which is unknown"),
        (patched, "has got transforms of its own"),
        (replaced, "`_wrapper` was replaced"),
        (voc, "wrap_dataset_for_transforms_v2() makes masks"),
        (_coco(old), "`transforms` (Compose) gets images with their targets"),
        (_coco(v2.Compose([old])), "gets images with their targets"),
    ):
        compiled = torchdali.compile_dataset(dataset)
        assert compiled.transform is None, compiled
        assert why in compiled.report, compiled
    (batch,) = torchdali.DataLoader(
        WRAPPED(_coco(None, cls=Own)), COUNT, collate_fn=list, accelerate=True
    )
    assert [target["labels"].item() for _, target in batch] == list(range(COUNT))

    steps = [v2.RandomHorizontalFlip(1.0), Mine(), v2.Resize((30, 40)), *TO_FLOAT]
    part = _detection(v2.Compose(steps), "coco")
    compiled = torchdali.compile_dataset(part)
    assert not compiled.is_compiled
    assert "in workers: decoding, RandomHorizontalFlip. Python, in workers: boxes, masks and " in (
        compiled.report
    )
    assert "Mine, Resize, ToImage, ToDtype, because" in compiled.report
    want = list(DataLoader(part, 5, collate_fn=list))
    _same(list(torchdali.DataLoader(part, 5, collate_fn=list, accelerate=True)), want)


def check_processes() -> None:
    """Worker processes make the samples of a compiled dataset one by one."""
    dataset = _detection(v2.Compose(CERTAIN[0]), "coco")
    compiled = pickle.loads(pickle.dumps(torchdali.compile_dataset(dataset)))
    made = list(DataLoader(compiled, 5, num_workers=1, collate_fn=list))
    _same(made, list(DataLoader(dataset, 5, collate_fn=list)))


if __name__ == "__main__":
    run_checks(globals())
