# SPDX-License-Identifier: Apache-2.0
"""Compares less common classes with real torchvision; see torchvision_program.py."""

from __future__ import annotations

# isort: off
import helpers.torchvision_import  # noqa: F401

# isort: on
from typing import Any

import numpy as np
import torch
from helpers.check_programs import run_checks
from helpers.torchvision_annotations import HEIGHT, WIDTH, error_of, refused, same, samples
from helpers.transforms import apply, photos
from PIL import Image
from torchvision import tv_tensors as tv
from torchvision.transforms import v2

from torchdali import transforms as T

F = v2.functional
COUNT = 3 * HEIGHT * WIDTH
FILL = {tv.Image: (1, 2, 3), Image.Image: 40, tv.Mask: 7, "others": 9}
# Without chance; samples have images of both kinds, boxes, masks and key points.
CERTAIN = [
    v2.ScaleJitter((50, 60), (1.0, 1.0)),
    v2.ScaleJitter((50, 90), (0.4, 0.4)),
    v2.RandomShortestSize(31),
    v2.RandomShortestSize([40], 45),
    v2.RandomResize(33, 34),
    v2.RandomResize(70, 71, antialias=True),
    v2.RandomZoomOut(3, (1.0, 1.0), 1.0),
    v2.RandomZoomOut(3, p=0.0),
    v2.RandomPhotometricDistort(p=0.0),
    v2.ElasticTransform(0.0, 3.0),
    v2.RGB(),
    v2.Identity(),
    v2.Compose([v2.Grayscale(1), v2.RGB()]),
    v2.Compose([v2.ToImage(), v2.ToPILImage()]),
    v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, True), v2.ToPILImage("RGB")]),
    v2.Compose([v2.ToImage(), v2.ToPILImage(), v2.Resize(20), v2.RandomRotation((9, 9))]),
    v2.Compose([v2.ToImage(), v2.GaussianNoise(0.2, 0.0)]),
    v2.Compose([v2.ToImage(), v2.GaussianNoise(-0.4, 0.0, clip=False)]),
    v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, True), v2.GaussianNoise(0.3, 0.0)]),
    v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, True), v2.GaussianNoise(0.3, 0, False)]),
    v2.Compose([v2.ToImage(), v2.LinearTransformation(torch.eye(COUNT) * 2, torch.ones(COUNT))]),
    *(v2.ConvertBoundingBoxFormat(name) for name in ("XYXY", "xywh", "CXCYWH")),
    v2.ConvertBoundingBoxFormat(tv.BoundingBoxFormat.XYXY),
    *(v2.ClampBoundingBoxes(mode) for mode in ("auto", None, "hard")),
    v2.ClampKeyPoints(),
    v2.SanitizeKeyPoints(),
    v2.Compose([v2.SetClampingMode(None), v2.Pad(3), v2.CenterCrop(9), v2.ClampBoundingBoxes()]),
    v2.Compose(
        [
            v2.RandomHorizontalFlip(1.0),
            v2.ConvertBoundingBoxFormat("CXCYWH"),
            v2.SetClampingMode("hard"),
            v2.RandomRotation((20, 20)),
            v2.ClampKeyPoints(),
        ]
    ),
    v2.Pad((2, 3), dict(FILL)),
    v2.RandomRotation((20, 20), fill=dict(FILL)),
    v2.RandomAffine((20, 20), fill={tv.Mask: 3, Image.Image: None, "others": 4}),
    v2.Compose([v2.ToImage(), v2.RandomZoomOut({tv.Image: 5}, (1.0, 1.0), 1.0)]),
]


def check_certain() -> None:
    """Results are equal: of images and what follows them."""
    for transform in CERTAIN:
        for sample in samples():
            same(transform, T.equivalent(transform)(dict(sample)), transform(dict(sample)))


def check_formats_need_no_image() -> None:
    """Boxes and key points alone are converted, clamped and sanitized."""
    for transform in (
        v2.ConvertBoundingBoxFormat("XYWH"),
        v2.ClampBoundingBoxes(),
        v2.SetClampingMode(None),
        v2.ClampKeyPoints(),
        v2.SanitizeKeyPoints(labels_getter="default"),
    ):
        for sample in samples():
            given = {name: sample[name] for name in ("boxes", "points", "name")}
            # Objects of three points each, of which some are beyond the image.
            given["points"] = tv.KeyPoints(given["points"], canvas_size=(40, 40))
            given["labels"] = torch.arange(5)
            made, want = T.equivalent(transform)(given), transform(given)
            same(transform, made, want)
            assert made["boxes"].clamping_mode == want["boxes"].clamping_mode


def check_clamping_mode_is_kept() -> None:
    """What SetClampingMode() says is an attribute of the result."""
    for mode in (None, "soft", "hard"):
        sample = next(samples())
        chain = T.Compose([T.SetClampingMode(mode), T.RandomHorizontalFlip(1)])
        assert chain(sample)["boxes"].clamping_mode == mode


def check_several_crops() -> None:
    """FiveCrop and TenCrop return the same tuples of images."""
    array = photos(1)[0]
    for image in (Image.fromarray(array), torch.from_numpy(array).permute(2, 0, 1)):
        for transform in (v2.FiveCrop(20), v2.FiveCrop((31, 8)), v2.TenCrop(9, True)):
            made, want = T.equivalent(transform)((image, 3)), transform((image, 3))
            assert isinstance(made[0], tuple)
            assert len(made[0]) == len(want[0])
            for ours, theirs in zip(made[0], want[0], strict=True):
                assert type(ours) is type(theirs)
                assert np.array_equal(np.array(ours), np.array(theirs)), transform
    sample = next(samples())
    refused(TypeError, v2.FiveCrop(3), sample, "boxes and masks")
    refused(ValueError, v2.TenCrop(900), sample["image"], "`size` is (900, 900)")


def check_jpeg() -> None:
    """Compressed Pillow images are equal; libjpeg is also behind torchvision's for tensors."""
    for image in photos():
        for given in (Image.fromarray(image), Image.fromarray(image[..., 0])):
            for quality in (1, 50, 95):
                want = np.array(v2.JPEG(quality)(given)).astype(int)
                made = np.array(T.JPEG(quality)(given))
                assert np.abs(made - want).max() <= 1, (quality, given.mode)
                tensor = F.pil_to_tensor(given)
                made = T.JPEG(quality)(tensor).permute(1, 2, 0).numpy().reshape(want.shape)
                assert np.abs(made - want).max() <= 1, (quality, given.mode)


def check_modes() -> None:
    """RGB takes Pillow images of all modes; other transforms refuse modes that are lost."""
    image = Image.fromarray(photos(1)[0])
    for mode in ("L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "1"):
        given = image.convert(mode)
        for chain in ([v2.RGB()], [v2.RGB(), v2.CenterCrop(20)], [v2.RGB(), v2.ToImage()]):
            theirs = v2.Compose(chain) if len(chain) > 1 else chain[0]
            made, want = T.equivalent(theirs)(given), theirs(given)
            assert np.array_equal(np.array(made), np.array(want)), (mode, chain)
        if mode in ("L", "LA", "RGB", "RGBA"):
            assert T.CenterCrop(20)(given).mode == mode
        else:
            message = error_of(NotImplementedError, T.CenterCrop(20), given)
            assert f"mode {mode} are not implemented" in message


def check_elastic() -> None:
    """Images are moved as torchvision moves them by the same displacement."""
    from unittest import mock

    from torchdali.transforms import _annotations

    kept = []

    def keep(part: Any, map_: Any, fill: Any) -> None:
        kept.append(map_.shifts)

    for dtype in (torch.uint8, torch.float32):
        for mode in ("bilinear", "nearest"):
            for fill in (None, 0, 70, (10, 90, 200)):
                pixels = torch.randint(0, 256, (3, HEIGHT, WIDTH), dtype=torch.uint8)
                pixels = pixels if dtype == torch.uint8 else pixels / 255
                if dtype == torch.float32 and fill:
                    fill = [v / 255 for v in fill] if isinstance(fill, tuple) else fill / 255
                boxes = tv.BoundingBoxes(
                    torch.ones(1, 4), format="XYXY", canvas_size=(HEIGHT, WIDTH)
                )
                with mock.patch.object(_annotations.Boxes, "displace", keep):
                    elastic = T.ElasticTransform((300.0, 200.0), (3.0, 5.0), mode, fill)
                    made, _ = elastic(tv.Image(pixels), boxes)
                moves = kept[-1].permute(1, 2, 0)[None] * 2 / torch.tensor([WIDTH, HEIGHT])
                interpolation = v2.InterpolationMode(mode)
                want = F.elastic(tv.Image(pixels), moves, interpolation, fill)
                unit = 1 if dtype == torch.uint8 else 255
                difference = (made.double() - want.double()).abs() * unit
                assert (difference > 1.001).double().mean() < 1e-3, (dtype, mode, fill)


def check_pipelines() -> None:
    """Results in pipelines are those of calls, and torchvision's."""
    for transform in (
        v2.ScaleJitter((50, 60), (0.7, 0.7)),
        v2.RandomShortestSize(40, 60),
        v2.RandomZoomOut(p=0.0),
        v2.RandomResize(50, 51),
        v2.JPEG(40),
        v2.Compose([v2.RGB(), v2.Identity(), v2.ConvertBoundingBoxFormat("XYXY")]),
    ):
        images = photos()
        made = apply(T.Compose([T.equivalent(transform), T.ToImage()]), images)
        for image, ours in zip(images, made, strict=True):
            theirs = np.array(transform(Image.fromarray(image)))
            assert np.abs(ours.transpose(1, 2, 0) - theirs.astype(int)).max() <= 1, transform


def check_refusals() -> None:
    """What torchvision refuses is refused, with errors of the same classes."""
    for name, arguments in (
        ("RandomZoomOut", {"side_range": (0.5, 2)}),
        ("RandomZoomOut", {"side_range": (3, 2)}),
        ("RandomZoomOut", {"p": 2}),
        ("RandomZoomOut", {"fill": "red"}),
        ("Pad", {"padding": 1, "fill": {"others": "red"}}),
        ("JPEG", {"quality": 0}),
        ("JPEG", {"quality": (50, 10)}),
        ("JPEG", {"quality": True}),
        ("JPEG", {"quality": 1.5}),
        ("ElasticTransform", {"alpha": "1"}),
        ("ElasticTransform", {"sigma": (1, 2, 3)}),
        ("SetClampingMode", {"clamping_mode": "auto"}),
        ("SanitizeKeyPoints", {"labels_getter": 3}),
        ("FiveCrop", {"size": (1, 2, 3)}),
        ("LinearTransformation", {"transformation_matrix": torch.eye(3)[:2],
                                  "mean_vector": torch.ones(2)}),
        ("LinearTransformation", {"transformation_matrix": torch.eye(3),
                                  "mean_vector": torch.ones(2)}),
    ):  # fmt: skip
        errors = []
        for package in (v2, T):
            try:
                getattr(package, name)(**arguments)
            except (TypeError, ValueError) as error:
                errors.append(error)
            else:
                raise AssertionError(f"{package}.{name}({arguments}) was accepted")
        assert isinstance(errors[1], type(errors[0])), errors
    sample = next(samples())
    refused(ValueError, v2.GaussianNoise(), sample["image"], "Pillow")
    refused(ValueError, v2.ToPILImage("L"), tv.Image(torch.zeros(3, 4, 5)), "3 channels")
    refused(ValueError, v2.ConvertBoundingBoxFormat("XYWHR"), sample, "not rotated")
    refused(ValueError, v2.SanitizeKeyPoints(), {"x": 1}, "no KeyPoints")
    refused(TypeError, v2.LinearTransformation(torch.eye(3), torch.ones(3)), sample["image"])
    other = {**sample, "boxes": tv.BoundingBoxes([1, 1, 2, 2], format="XYXY", canvas_size=(5, 5))}
    for transform in (
        v2.RandomZoomOut(p=1),
        v2.ScaleJitter((9, 9)),
        v2.RandomShortestSize(9),
        v2.ElasticTransform(),
    ):
        refused(ValueError, transform, other, "found several sizes")


def check_names() -> None:
    """Every public name of torchvision's is here, or says why it is not."""
    from torchdali.transforms._names import ABSENT

    names = {name for name in dir(v2) if not name.startswith("_")}
    assert names - set(T.__all__) == set(ABSENT), names - set(T.__all__) ^ set(ABSENT)
    for mine, theirs in (
        (T.InterpolationMode, v2.InterpolationMode),
        (T.AutoAugmentPolicy, v2.AutoAugmentPolicy),
    ):
        assert {m.name: m.value for m in mine} == {m.name: m.value for m in theirs}


if __name__ == "__main__":
    run_checks(globals())
