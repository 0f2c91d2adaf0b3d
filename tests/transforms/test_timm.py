# SPDX-License-Identifier: Apache-2.0
"""Transforms of timm; with the real package, where the peers' Python has it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import torchvision_fakes as fakes
from helpers.torchvision_peer import find_python
from helpers.transforms import apply
from PIL import Image

from torchdali import transforms as T

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "helpers" / "timm_program.py"
CHECKS = re.findall(r"^def (check_\w+)", PROGRAM.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def results():
    python = find_python()
    if python is None:
        pytest.skip("TORCHDALI_TORCHVISION_PYTHON does not name a Python with torchvision")
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "tests"))
    done = subprocess.run(
        [python, str(PROGRAM)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if found is None:
        pytest.skip(f"{python} has no timm")
    return found


@pytest.mark.parametrize("check", CHECKS)
def test_timm(results, check):
    assert results[check] is None, results[check]


def timm(name, **attributes):
    return fakes.transform(name, lambda image: image, "timm.data.transforms", **attributes)


def test_transforms_of_timm():
    crop = timm(
        "RandomResizedCropAndInterpolation",
        size=(16, 16),
        scale=(1, 1),
        ratio=(1, 1),
        interpolation=("bilinear", "bicubic"),
    )
    image = np.zeros((40, 200, 3), np.uint8)
    image[:, 80:120] = np.random.default_rng(0).integers(0, 256, (40, 40, 3))
    middle = Image.fromarray(image[:, 80:120])
    numbers = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
    want = [np.array(middle.resize((16, 16), number)).astype(int) for number in numbers]
    chain = T.Compose([crop, timm("MaybePILToTensor")])
    drawn = []
    for made in apply(chain, [image] * 40):
        distances = [np.abs(made.transpose(1, 2, 0) - one).max() for one in want]
        assert min(distances) <= 1
        drawn.append(int(np.argmin(distances)))
    assert 8 <= sum(drawn) <= 32
    (values,) = apply(T.Compose([timm("ToTensor", dtype=torch.float32)]), [image])
    np.testing.assert_array_equal(values, image.transpose(2, 0, 1).astype(np.float32))
    with pytest.raises(NotImplementedError, match=r"timm.data.transforms.TrimBorder"):
        T.equivalent(timm("TrimBorder"))
