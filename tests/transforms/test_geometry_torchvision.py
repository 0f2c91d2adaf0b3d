# SPDX-License-Identifier: Apache-2.0
"""Transforms that map, pad, crop, erase and blur, against real torchvision."""

from __future__ import annotations

import numpy as np
import torch
from helpers.distributions import same_distribution
from helpers.torchvision_peer import run_torchvision
from helpers.transforms import apply, photos

from torchdali import Pipeline, fn, types
from torchdali import transforms as T

CERTAIN = [
    *(
        f"{name}, interpolation={kind!r}, fill={fill})"
        for name in (
            "RandomRotation((30, 30)",
            "RandomRotation((-77.7, -77.7), expand=True",
            "RandomRotation((180, 180)",
            "RandomRotation((90, 90), expand=True",
            "RandomRotation((13, 13), center=(10, 20)",
            "RandomAffine((20, 20), scale=(1.3, 1.3), shear=(10, 10)",
            "RandomAffine((-5, -5), scale=(0.6, 0.6), shear=(10, 10, -20, -20), center=(30, 3)",
        )
        for kind in ("nearest", "bilinear")
        for fill in (0, 77, (10, 20, 30))
    ),
    "Pad(5)",
    "Pad((3, 7), fill=9)",
    "Pad((3, 7, 1, 0), fill=(1, 2, 3))",
    *(f"Pad((3, 7, 1, 11), padding_mode={mode!r})" for mode in ("edge", "reflect", "symmetric")),
    "GaussianBlur(5, (0.3, 0.3))",
    "GaussianBlur((7, 3), 1.7)",
    "GaussianBlur(23, 2.0)",
]
MAKERS = {"pil": "pillow(x)", "tensor": "tensor(x)", "float": "tensor(x).float() / 255"}


def test_results():
    images = photos()
    given = {f"image{i}": image for i, image in enumerate(images)}
    cases = [(kind, text) for kind in MAKERS for text in CERTAIN]
    program = "".join(
        f"""
for name, x in given.items():
    results[{str(number)!r} + name] = array(v2.{text}({MAKERS[kind]}))
"""
        for number, (kind, text) in enumerate(cases)
    )
    theirs = run_torchvision(program, **given)
    for number, (kind, text) in enumerate(cases):
        chain = [eval(f"T.{text}")]
        if kind != "pil":
            chain.insert(0, T.ToTensor() if kind == "float" else T.ToImage())
        for i, made in enumerate(apply(T.Compose(chain), images)):
            want = theirs[f"{number}image{i}"]
            made = made.transpose(1, 2, 0) if kind != "pil" else made
            assert made.shape == want.shape, (kind, text)
            assert made.dtype == want.dtype
            difference = np.abs(made.astype(float) - want) * (255 if kind == "float" else 1)
            # A position may be halfway between pixels, where rounding decides.
            assert (difference > 1).mean() <= 1e-4, (kind, text, difference.max())


CORNERS = [[3, 5], [60, 2], [64, 49], [7, 44]]


def test_perspective_and_moves():
    image = np.random.default_rng(5).integers(0, 256, (52, 68, 3), np.uint8)
    calls = {
        f"{name} {interpolation} {kind}": (name, interpolation, kind, call)
        for name, call in {
            "perspective": "F.perspective(X, [[0, 0], [67, 0], [67, 51], [0, 51]], "
            f"{CORNERS}, interpolation=I, fill=[9.0, 8.0, 7.0])",
            "affine": "F.affine(X, 10.0, [7, -3], 1.1, [4.0, 5.0], interpolation=I, fill=None)",
        }.items()
        for interpolation in ("nearest", "bilinear")
        for kind in ("pil", "tensor")
    }
    program = "\n".join(
        f"results[{key!r}] = array("
        + call.replace("X", MAKERS[kind].replace("x", "given['x']")).replace(
            "I,", f"v2.InterpolationMode({interpolation!r}),"
        )
        + ")"
        for key, (_, interpolation, kind, call) in calls.items()
    )
    theirs = run_torchvision(program, x=image)
    for key, (name, interpolation, kind, _) in calls.items():
        arguments = {
            "interp_type": types.INTERP_NN if interpolation == "nearest" else types.INTERP_LINEAR,
            "arithmetic": "pillow" if kind == "pil" else "torch",
        }
        if name == "perspective":
            arguments["fill_value"] = [9, 8, 7]
            arguments["corners"] = [float(v) for corner in CORNERS for v in corner]
        else:
            arguments |= {"angle": 10.0, "translate": [7.0, -3.0], "scale": 1.1}
            arguments["shear"] = [4.0, 5.0]
        (made,) = apply(lambda x: getattr(fn, name)(x, **arguments), [image])  # noqa: B023
        difference = np.abs(made.astype(int) - theirs[key])
        assert (difference > 1).mean() <= 1e-3, (key, difference.max())


def rectangles(images):
    """Returns top, left, height, width of the zeros in images of ones, without empty ones."""
    found = []
    for image in images:
        ys, xs = np.nonzero(image == 0)
        if len(ys):
            found.append([ys.min(), xs.min(), np.ptp(ys) + 1, np.ptp(xs) + 1])
    return np.array(found)


COUNT = 3000


def test_rectangles_that_are_erased():
    program = f"""
x = torch.ones(1, 40, 60)
for k, (args, p) in enumerate([((0.02, 0.33), 1.0), ((0.5, 0.9), 0.5)]):
    erase = v2.RandomErasing(p, scale=args)
    results[str(k)] = np.stack([erase(x)[0].numpy() for _ in range({COUNT})])
"""
    theirs = run_torchvision(program)
    ones = [np.ones((40, 60, 1), np.uint8)] * COUNT
    for k, (scale, p) in enumerate([((0.02, 0.33), 1.0), ((0.5, 0.9), 0.5)]):
        ours = rectangles([x[..., 0] for x in apply(T.RandomErasing(p, scale=scale), ones)])
        want = rectangles(theirs[str(k)])
        assert abs(len(ours) - len(want)) < 4 * np.sqrt(COUNT / 2) + 1
        for column in range(4):
            a, b = (torch.from_numpy(x[:, column].copy()) for x in (ours, want))
            assert same_distribution(a, b)


def test_positions_of_crops():
    position = np.stack(np.meshgrid(np.arange(31), np.arange(23)), -1).astype(np.uint8) + 1
    image = np.concatenate([position, position[..., :1]], -1)
    program = f"""
crop = v2.RandomCrop((20, 30), padding=(2, 1, 0, 3), fill=0)
x = tensor(given["x"])
results["a"] = np.stack([crop(x)[:, 10, 10].numpy() for _ in range({COUNT})])
crop = v2.RandomCrop((40, 30), pad_if_needed=True, padding_mode="edge")
results["b"] = np.stack([crop(x)[:, 10, 10].numpy() for _ in range({COUNT})])
"""
    theirs = run_torchvision(program, x=image)
    for key, crop in {
        "a": T.RandomCrop((20, 30), padding=(2, 1, 0, 3), fill=0),
        "b": T.RandomCrop((40, 30), pad_if_needed=True, padding_mode="edge"),
    }.items():
        ours = np.stack([made[10, 10] for made in apply(crop, [image] * COUNT)])
        for axis in range(2):
            assert set(ours[:, axis].tolist()) == set(theirs[key][:, axis].tolist())
            a, b = (torch.from_numpy(x[:, axis].copy()) for x in (ours, theirs[key]))
            assert same_distribution(a, b)


def test_random_maps_draw(monkeypatch):
    theirs = run_torchvision(f"""
affine = v2.RandomAffine(20, (0.3, 0.1), (0.5, 1.5), (-5, 5, 1, 9))
x = torch.zeros(3, 50, 80)
drawn = [affine.make_params([x]) for _ in range({COUNT})]
for name in ("angle", "scale", "translate", "shear"):
    results[name] = [d[name] for d in drawn]
""")
    nodes = {}

    def remember(image, **arguments):
        nodes.update(arguments)
        return image

    monkeypatch.setattr("torchdali.transforms._warps.fn.affine", remember)
    pipeline = Pipeline(batch_size=COUNT, num_threads=1, device_id=None, seed=11)
    with pipeline:
        image = fn.constant(idata=0, shape=[50, 80, 3], dtype=types.UINT8, layout="HWC")
        T.RandomAffine(20, (0.3, 0.1), (0.5, 1.5), (-5, 5, 1, 9)).record(T.Sample(image))
        names = ("angle", "scale", "translate", "shear")
        pipeline.set_outputs(*(nodes[name] for name in names))
    pipeline.build()
    for name, batch in zip(names, pipeline.run(), strict=True):
        ours = np.stack([np.array(batch.at(i)) for i in range(COUNT)]).reshape(COUNT, -1)
        want = theirs[name].reshape(COUNT, -1)
        for k in range(ours.shape[1]):
            a, b = (torch.from_numpy(x[:, k].copy()) for x in (ours, want))
            assert same_distribution(a, b), name
