# SPDX-License-Identifier: Apache-2.0
"""Compares boxes, masks and key points with real torchvision; see torchvision_program.py."""

from __future__ import annotations

# isort: off
import helpers.torchvision_import  # noqa: F401

# isort: on
import contextlib
import gc
import itertools
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
from helpers.check_programs import run_checks
from PIL import Image
from torchvision import tv_tensors as tv
from torchvision.transforms import v2

import torchdali
from torchdali import transforms as T
from torchdali.transforms import _annotations

F = v2.functional
HEIGHT, WIDTH = 53, 71
FORMATS = ("XYXY", "XYWH", "CXCYWH")
CERTAIN = [
    v2.RandomHorizontalFlip(1.0),
    v2.RandomVerticalFlip(1.0),
    v2.RandomHorizontalFlip(0.0),
    v2.Resize((30, 90)),
    v2.Resize(31),
    v2.Resize(53),
    v2.Resize(40, max_size=48),
    v2.Resize(None, max_size=80),
    v2.CenterCrop(20),
    v2.CenterCrop((60, 30)),
    v2.CenterCrop((58, 80)),
    v2.Pad(5),
    v2.Pad((1, 2, 3, 4), fill=7),
    v2.RandomCrop((HEIGHT, WIDTH)),
    v2.RandomResizedCrop((25, 33), (1, 1), (0.2, 0.2)),
    v2.RandomRotation((30, 30)),
    v2.RandomRotation((-77.7, -77.7), expand=True),
    v2.RandomRotation((90, 90), expand=True),
    v2.RandomRotation((180, 180)),
    v2.RandomRotation((13, 13), center=(10, 20), fill=3),
    v2.RandomAffine((20, 20), scale=(1.3, 1.3), shear=(10, 10)),
    v2.RandomAffine((-5, -5), None, (0.6, 0.6), (10, 10, -20, -20), center=(30, 3), fill=9),
    v2.RandomInvert(1.0),
    v2.Grayscale(3),
    v2.GaussianBlur(5, 0.3),
    v2.ToImage(),
    v2.PILToTensor(),
    v2.Compose([v2.ToImage(), v2.Resize(20), v2.ToPureTensor()]),
    v2.Compose(
        [
            v2.RandomHorizontalFlip(1.0),
            v2.Resize(40),
            v2.CenterCrop(32),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.1] * 3, [1.0] * 3),
        ]
    ),
    v2.Compose([v2.Resize(60), v2.RandomRotation((20, 20)), v2.Pad(3), v2.CenterCrop(50)]),
    v2.RandomApply([v2.RandomVerticalFlip(1.0)], p=1.0),
]
# Applied to what was drawn: the calls of masks.
DRAWN = [
    "RandomCrop((30, 40), padding=(2, 1, 0, 3))",
    "RandomCrop((30, 80), pad_if_needed=True, fill=3)",
    "RandomCrop((60, 75), pad_if_needed=True)",
    "RandomResizedCrop((25, 40))",
    "RandomResizedCrop(80)",
    "RandomPerspective(0.4, 1.0, 'nearest')",
    "RandomPerspective(0.3, 0.5, 'nearest', fill=5)",
    "RandomAffine(30, (0.2, 0.1), (0.5, 1.5), (-5, 5, 1, 9))",
    "RandomHorizontalFlip()",
    "RandomVerticalFlip(0.3)",
    "RandomZoomOut(3)",
    "RandomZoomOut(5, (1, 2), 0.5)",
    "ScaleJitter((40, 60))",
    "RandomShortestSize([20, 30, 41], 50)",
    "RandomResize(20, 40)",
    "ElasticTransform(60.0, 4.0, fill=3)",
]


def samples(count: int = 1) -> Iterator[dict[str, Any]]:
    """Yields samples with images of both kinds, and boxes of all formats and several types."""
    torch.manual_seed(3)
    size = torch.tensor([WIDTH, HEIGHT, WIDTH, HEIGHT])
    types = (torch.float32, torch.int64, torch.float64)
    for format_, dtype, kind, _ in itertools.product(FORMATS, types, ("pil", "tv"), range(count)):
        pixels = torch.randint(0, 256, (3, HEIGHT, WIDTH), dtype=torch.uint8)
        # Some boxes reach beyond the image.
        ends = (torch.rand(9, 2, 2) * 1.2 - 0.1).sort(1).values.reshape(9, 4) * size
        boxes = F.convert_bounding_box_format(ends, "XYXY", format_).to(dtype)
        about = {"format": format_, "canvas_size": (HEIGHT, WIDTH)}
        yield {
            "labels": torch.arange(9),
            "boxes": tv.BoundingBoxes(boxes, **about),
            "image": Image.fromarray(pixels.permute(1, 2, 0).numpy())
            if kind == "pil"
            else tv.Image(pixels),
            "none": tv.BoundingBoxes(torch.zeros(0, 4, dtype=dtype), **about),
            "masks": tv.Mask(torch.rand(9, HEIGHT, WIDTH) < 0.5),
            "classes": tv.Mask(torch.randint(0, 200, (HEIGHT, WIDTH))),
            "points": tv.KeyPoints(
                (torch.rand(5, 3, 2) * 50).to(dtype), canvas_size=(HEIGHT, WIDTH)
            ),
            "name": "text",
        }


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, Image.Image):
        return torch.from_numpy(np.array(value))
    return value.as_subclass(torch.Tensor)  # type: ignore[no-any-return]


def same(case: Any, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for key, want in theirs.items():
        made = ours[key]
        assert type(made) is type(want), (case, key, type(made), type(want))
        if isinstance(want, str):
            assert made == want
            continue
        for name in ("canvas_size", "format"):
            if key != "none":  # torchvision keeps the old size of no boxes, if it rotates
                a, b = getattr(made, name, None), getattr(want, name, None)
                assert a == b, (case, key, name, a, b)
        made, want = _tensor(made), _tensor(want)
        assert made.shape == want.shape, (case, key, made.shape, want.shape)
        assert made.dtype == want.dtype, (case, key)
        difference = (made.double() - want.double()).abs()
        if key == "image":
            unit = 255 if want.is_floating_point() else 1
            # A position may be halfway between pixels, where rounding decides; few are.
            assert (difference * unit > 1.001).double().mean() <= 3e-3, (case, key)
        elif want.is_floating_point():
            assert torch.allclose(made, want, rtol=0, atol=1e-3), (case, key, difference.max())
        else:
            assert torch.equal(made, want), (case, key, difference.max())


def check_certain() -> None:
    """What is not random is equal: the image and what follows it."""
    for transform in CERTAIN:
        for sample in samples():
            sample["no_masks"] = tv.Mask(torch.zeros(0, HEIGHT, WIDTH, dtype=torch.uint8))
            same(transform, T.equivalent(transform)(sample), transform(sample))


class _Calls:
    """Keeps the calls that move masks."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any]] = []

    def keep(self, name: str) -> Any:
        """Returns a patch of a method."""
        kind = _annotations._Mask
        method = getattr(kind, name)

        def call(part: Any, *arguments: Any) -> None:
            self.made.append((name, arguments))
            method(part, *arguments)

        return mock.patch.object(kind, name, call)

    def repeat(self, value: Any) -> Any:
        """Returns what torchvision's functions with these arguments make of a value."""
        for name, a in self.made:
            if name == "flip":
                value = F.vertical_flip(value) if a[0] else F.horizontal_flip(value)
            elif name == "crop":
                value = F.crop(value, *a)
            elif name == "pad":
                value = F.pad(value, list(a[0]), fill=a[2][0], padding_mode=a[1])
            elif name == "resize":
                value = F.resize(value, list(a[:2]))
            elif name == "map_affine":
                value = F.affine(
                    value,
                    a[0].angle,
                    list(a[0].translate),
                    a[0].scale,
                    list(a[0].shear),
                    fill=a[1][0],
                )
            elif name == "displace":
                size = torch.tensor([WIDTH, HEIGHT])
                moves = a[0].shifts.permute(1, 2, 0)[None] * 2 / size
                value = F.elastic(value, moves, fill=a[1][0])
            else:
                about = {"coefficients": a[0].coefficients, "fill": a[1][0]}
                value = F.perspective(value, None, None, interpolation="nearest", **about)
        return value


def check_drawn() -> None:
    """One draw moves the image and what follows it."""
    for text in DRAWN:
        shapes = set()
        for sample in samples(2):
            del sample["classes"]
            calls = _Calls()
            names = ("flip", "crop", "pad", "resize", "map_affine", "map_perspective", "displace")
            with contextlib.ExitStack() as stack:
                for name in names:
                    stack.enter_context(calls.keep(name))
                made = eval(f"T.{text}")(sample)
            want = {
                key: value if key in ("labels", "name") else calls.repeat(value)
                for key, value in sample.items()
            }
            same((text, calls.made), made, want)
            shapes.add(str(calls.made))
        assert len(shapes) > 1, text


def check_released() -> None:
    """Transforms that are no longer used are released, with what they recorded."""
    sample = next(samples())
    for text in (*DRAWN, "Resize(9)", "CenterCrop(9)", "Pad(1)", "RandomRotation(9)"):
        transform = eval(f"T.{text}")
        kept = {key: sample[key] for key in ("image", "boxes", "masks")}
        transform(kept)
        known = weakref.ref(transform)
        del transform
        gc.collect()
        assert known() is None, text


def check_padding_modes() -> None:
    """Masks are padded in all modes; boxes and key points are refused, as by torchvision."""
    for mode in ("edge", "reflect", "symmetric"):
        for sample in samples():
            pad = v2.Pad((3, 7, 1, 11), padding_mode=mode)
            kept = {key: sample[key] for key in ("image", "masks", "classes")}
            same(mode, T.equivalent(pad)(kept), pad(kept))
            for key in ("boxes", "points"):
                refused(ValueError, pad, {**kept, key: sample[key]})


def error_of(error: Any, transform: Any, given: Any) -> str:
    """Returns the text of the error that a call raises."""
    try:
        transform(given)
    except error as found:
        return str(found)
    raise AssertionError(f"{transform} accepted {given}")


def refused(error: Any, transform: Any, given: Any, text: str = "") -> None:
    error_of(error, transform, given)
    message = error_of(error, T.equivalent(transform), given)
    assert text in message, message


def check_iou_crop() -> None:
    """RandomIoUCrop draws what torchvision draws; SanitizeBoundingBoxes removes the same boxes."""
    outcomes = set()
    for number, sample in enumerate(samples(6)):
        theirs = v2.Compose(
            [
                v2.RandomIoUCrop(0.2, 0.9, sampler_options=[0.0, 0.1, 0.5, 1.0]),
                v2.SanitizeBoundingBoxes(2.0, 9.0),
            ]
        )
        sample["points"] = tv.KeyPoints(torch.rand(4, 2) * 40, canvas_size=(HEIGHT, WIDTH))
        del sample["none"]
        torch.manual_seed(number)
        want = theirs(sample)
        torch.manual_seed(number)
        same(number, T.equivalent(theirs)(sample), want)
        outcomes.add((len(want["boxes"]), tuple(want["boxes"].canvas_size)))
    assert len(outcomes) > 5


def check_labels() -> None:
    """SanitizeBoundingBoxes finds labels where torchvision does."""
    sample = next(samples())
    image = sample.pop("image")
    area = torch.rand(9)
    for getter, given in (
        ("default", sample),
        ("default", (image, sample)),
        (None, sample),
        (lambda s: (s["labels"], s["area"]), {**sample, "area": area}),
    ):
        transform = v2.SanitizeBoundingBoxes(5.0, 60.0, labels_getter=getter)
        made, want = T.equivalent(transform)(given), transform(given)
        if isinstance(want, tuple):
            assert made[0] is want[0]
            made, want = made[1], want[1]
        assert 0 < len(want["boxes"]) < 9
        same(getter, made, want)
    refused(ValueError, v2.SanitizeBoundingBoxes(), {"boxes": sample["boxes"]}, "labels")
    wrong = {**sample, "labels": torch.arange(3)}
    refused(ValueError, v2.SanitizeBoundingBoxes(), wrong, "9 boxes")


def check_refusals() -> None:
    """What torchvision refuses is refused; what is not implemented says so."""
    sample = next(samples())
    refused(TypeError, v2.RandAugment(), sample, "RandAugment")
    refused(TypeError, v2.RandomIoUCrop(), {"image": sample["image"]}, "BoundingBoxes")
    other = tv.BoundingBoxes(torch.ones(1, 4), format="XYXY", canvas_size=(5, 5))
    wrong = {"image": sample["image"], "boxes": other}
    for transform in (v2.RandomCrop(9), v2.RandomResizedCrop(9), v2.RandomIoUCrop()):
        refused(ValueError, transform, wrong, "found several sizes")
    rotated = tv.BoundingBoxes(torch.ones(1, 5), format="XYWHR", canvas_size=(HEIGHT, WIDTH))
    for given, text in (
        ({"image": sample["image"], "boxes": rotated}, "XYWHR"),
        ((sample["image"], sample["image"]), "2 images"),
        ((tv.Video(torch.zeros(2, 3, 8, 8)), sample["boxes"]), "Video"),
    ):
        message = error_of(torchdali.errors.UnsupportedError, T.RandomHorizontalFlip(1), given)
        assert text in message, message


if __name__ == "__main__":
    run_checks(globals())
