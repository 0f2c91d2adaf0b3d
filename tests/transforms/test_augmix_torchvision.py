# SPDX-License-Identifier: Apache-2.0
"""AugMix against real torchvision, by the distribution of its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from helpers.distributions import same_distribution
from helpers.torchvision_peer import run_torchvision
from helpers.transforms import apply, photos

from torchdali import transforms as T

COUNT = 1500
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"severity": 10, "alpha": 0.3, "all_ops": False},
    {"mixture_width": 2, "chain_depth": 2, "interpolation": "nearest", "fill": 200},
]


def features(images):
    """Returns numbers that depend on shares, colors and places."""
    x = np.stack(images).astype(float)
    center = x[:, 6, 8].mean(-1)
    return np.stack([x.mean((1, 2, 3)), x.std((1, 2, 3)), center, x[:, 0, 0, 1], x[:, 3, 12, 2]])


def test_results_are_distributed_alike():
    image = photos(1)[0][:12, :17].copy()
    program = f"""
x = tensor(given["x"])
for i, arguments in enumerate({ARGUMENTS}):
    mix = v2.AugMix(**arguments)
    results[str(i)] = np.stack([array(mix(x)) for _ in range({COUNT})])
"""
    theirs = run_torchvision(program, x=image)
    for i, arguments in enumerate(ARGUMENTS):
        ours = features(apply(T.AugMix(**arguments), [image] * COUNT))
        for mine, want in zip(ours, features(theirs[str(i)]), strict=True):
            assert same_distribution(torch.from_numpy(mine), torch.from_numpy(want)), arguments
