# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.remap: takes pixels from the positions in two maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import Input, OpCase, run_batches
from helpers.warping import grid, sample_at

from torchdali import types

NAME = "experimental.remap"
SHAPE = (20, 31, 3)
INTERPOLATIONS = [
    types.INTERP_NN,
    types.INTERP_LINEAR,
    types.INTERP_CUBIC,
    types.INTERP_LANCZOS3,
]


def waves(shape: tuple[int, int] = (15, 40), seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns maps that reach over the border of an image of SHAPE."""
    at = grid(shape)
    x = at[..., 0] * 0.8 + 4 * np.sin(at[..., 1] / 3 + seed) - 1.3
    y = at[..., 1] * 1.4 + 3 * np.cos(at[..., 0] / 4 + seed)
    return torch.from_numpy(x).float(), torch.from_numpy(y).float()


def maps(layout: str = "", frames: int = 0, **options) -> tuple[Input, Input]:
    def make(axis: int):
        def one(index: int) -> torch.Tensor:
            if frames:
                return torch.stack([waves(**options, seed=f)[axis] for f in range(frames)])
            return waves(**options, seed=index)[axis]

        return one

    return Input(make(0), layout), Input(make(1), layout)


def case(layout: str = "HWC", shape=SHAPE, dtype=torch.uint8, more=None, **args) -> OpCase:
    return OpCase(
        NAME,
        layout,
        shape,
        args,
        dtype,
        more_inputs=more or maps(),
        no_parity="DALI has it on the GPU only",
    )


CASES = [
    case(dtype=dtype, interp=interp)
    for dtype in (torch.uint8, torch.int16, torch.float32)
    for interp in INTERPOLATIONS
]
CASES += [case(shape=(20, 31, channels)) for channels in (1, 2, 5)]
CASES += [case(shape=(2, 2, 1500), interp=types.INTERP_CUBIC, more=maps(shape=(2, 2)))]
CASES += [
    case(more=(Input(lambda _, v=value: torch.full((4, 5), v)),) * 2, interp=interp)
    for value in (float("nan"), float("-inf"), 1e30)
    for interp in INTERPOLATIONS
]
CASES += [
    case(pixel_origin="center"),
    case(more=maps(shape=(1, 300))),
    case(more=maps("HW")),
    case("FHWC", (2, *SHAPE), more=maps("FHW", frames=2)),
    case("FHWC", (2, *SHAPE), more=maps("HW")),
    case(shape=[SHAPE, (1, 1, 3)]),
    case(shape=(0, 5, 3)),
    case(more=maps(shape=(0, 7))),
]


def remap(x: torch.Tensor, map_x: torch.Tensor, map_y: torch.Tensor, **args) -> torch.Tensor:
    sources = {"x": ("HWC", [[x]]), "mx": ("", [[map_x]]), "my": ("", [[map_y]])}
    return run_batches(NAME, sources, 3, args, batch_sizes=[1]).batches[0][0][0]


@for_each("linear", [True, False])
@for_each("origin", ["corner", "center"])
@for_each("dtype", [torch.uint8, torch.float32])
def test_matches_reference(linear, origin, dtype):
    x = random_tensor(SHAPE, dtype, 1)
    map_x, map_y = waves()
    interp = types.INTERP_LINEAR if linear else types.INTERP_NN
    actual = remap(x, map_x, map_y, interp=interp, pixel_origin=origin)
    at = torch.stack([map_x, map_y], -1).double().numpy() + (0.5 if origin == "center" else 0)
    expected = sample_at(x, at, linear=linear, fill=0.0)
    difference = np.abs(actual.double().numpy() - expected)
    assert difference.max() <= (0 if not linear else 0.56 if dtype == torch.uint8 else 1e-2)


def cubic(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


@pytest.mark.parametrize(
    ("interp", "window"), [(types.INTERP_CUBIC, cubic), (types.INTERP_LANCZOS3, lanczos)]
)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_wide_windows_match_the_reference(interp, window, dtype):
    x = random_tensor(SHAPE, dtype, 1)
    map_x, map_y = waves()
    actual = remap(x, map_x, map_y, interp=interp)
    weights = []
    for at, extent in ((map_y, SHAPE[0]), (map_x, SHAPE[1])):
        # Pixels outside are 0 and count in the sum of weights.
        pixels = np.arange(-20, extent + 20) + 0.5
        one = window(at.double().numpy()[..., None] - pixels)
        weights.append((one / one.sum(-1, keepdims=True))[..., 20:-20])
    expected = np.einsum("hwy,hwx,yxc->hwc", *weights, x.double().numpy())
    if dtype == torch.uint8:
        assert np.abs(actual.double().numpy() - expected.clip(0, 255)).max() <= 0.51
    else:
        np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-2)


@for_each("interp", INTERPOLATIONS)
@for_each("origin", ["corner", "center"])
def test_identity_maps_return_the_image(origin, interp):
    x = random_tensor(SHAPE, torch.uint8, 1)
    at = torch.from_numpy(grid(SHAPE[:2]) - (0.5 if origin == "center" else 0)).float()
    map_x, map_y = at.unbind(-1)
    args = {"pixel_origin": origin, "interp": interp}
    assert torch.equal(remap(x, map_x, map_y, **args), x)
    assert torch.equal(remap(x, map_x[..., None], map_y[..., None], **args), x)


@pytest.mark.parametrize(
    ("shapes", "args", "message"),
    [
        (((3, 4), (4, 3)), {}, r"`mapx` has shape \[3, 4\] and `mapy` \[4, 3\]"),
        (((3, 4, 2), (3, 4, 2)), {}, r"`mapx` has shape \[3, 4, 2\], expected"),
        (((3, 4), (3,)), {}, r"`mapy` has shape \[3\], expected"),
        (((3, 4), (3, 4)), {"pixel_origin": "top"}, '`pixel_origin` is "top"'),
        (((3, 4), (3, 4)), {"interp": types.INTERP_GAUSSIAN}, "`interp` is number 5"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(shapes, args, message):
    x = torch.zeros(SHAPE, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match=message) as caught:
        remap(x, torch.zeros(shapes[0]), torch.zeros(shapes[1]), **args)
    assert "fn.experimental.remap: " in str(caught.value)
