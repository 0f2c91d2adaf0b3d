# SPDX-License-Identifier: Apache-2.0
"""docs/guide/from_torchvision.md: its first program runs, and its table of expressions is true."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest
import torch
from helpers.cases import for_each
from helpers.encoded_images import jpeg
from helpers.torchvision_peer import find_python

from torchdali import fn, pipeline_def, transforms, types
from torchdali.auto_aug import auto_augment, rand_augment, trivial_augment
from torchdali.transforms._names import ABSENT

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs" / "guide" / "from_torchvision.md").read_text()
TABLE = TEXT.partition("| `transforms.v2`, `torchdali.transforms` |")[2].partition("\n\n")[0]
# Calls of classes, and expressions.
ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.strip("| ").split(" | ")]
    for line in TABLE.splitlines()[2:]
]
# Not for single images in a pipeline.
OWN = {"OnColumn", "Sample", "Transform", "equivalent", "parts", "takes_targets"}
ENUMS = {"AutoAugmentPolicy", "InterpolationMode"}
NAMES = {"fn": fn, "types": types, "numpy": numpy, "torch": torch, "auto_augment": auto_augment}
NAMES |= {"rand_augment": rand_augment, "trivial_augment": trivial_augment}
OTHERS = ("boxes", "frames")  # nodes that the test does not have
EXPRESSIONS = [
    code
    for _, codes in ROWS
    for code in codes
    if re.search(r"\(.*\)|^image$", code) and not any(f"({name}" in code for name in OTHERS)
]
# They have the same arithmetic, and nothing random.
EQUAL = ("Resize(", "CenterCrop", "Pad(", "ToImage", "ToTensor", "Identity")


def test_the_table_has_every_class():
    named = {re.match(r"\w+", call)[0] for calls, _ in ROWS for call in calls}
    assert named == (set(transforms.__all__) - OWN - ENUMS) | {"UniformTemporalSubsample"}
    assert "UniformTemporalSubsample" in ABSENT


def photo() -> numpy.ndarray:
    rows, columns, channels = numpy.ogrid[:260, :300, :3]
    return ((rows * 3 + columns * 2 + channels * 50) % 256).astype(numpy.uint8)


def run(expression: str) -> torch.Tensor:
    """Returns what an expression makes of an image."""

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=3)
    def pipeline():
        encoded = fn.external_source(lambda: [numpy.frombuffer(jpeg(photo()), numpy.uint8)] * 2)
        image = fn.external_source(lambda: [photo()] * 2, layout="HWC")
        return eval(expression, {**NAMES, "image": image, "encoded": encoded})

    return pipeline().run()[0].as_torch_list()[0]


@for_each("expression", EXPRESSIONS)
def test_expressions_run(expression):
    assert run(expression).numel() > 0


@for_each("call", [call for calls, _ in ROWS for call in calls if "(...)" not in call])
def test_calls_make_transforms(call):
    if "[...]" not in call and call.partition("(")[0] not in ABSENT:
        eval(f"transforms.{call}", {"transforms": transforms, "torch": torch})


@for_each("row", [row for row in ROWS if row[0][0].startswith(EQUAL)], ids=lambda row: row[0][0])
def test_equal_arithmetic(row):
    (call, *_), (expression, *_) = row
    expected = eval(f"transforms.{call}", {"transforms": transforms})
    image = torch.from_numpy(photo()).permute(2, 0, 1)
    expected = image if call.startswith(("To", "Id")) else expected(image)
    found = run(expression)
    if found.shape[0] != 3:
        found = found.permute(2, 0, 1)
    factor = 255 if call.startswith("ToTensor") else 1
    assert found.shape == expected.shape
    assert (found.float() * factor - expected.float()).abs().max() <= 1.01


def test_arguments_of_the_others_exist():
    for _, codes in ROWS:
        for code in codes:
            if any(f"({name}" in code for name in OTHERS):
                call = ast.parse(code, mode="eval").body
                path = ast.unparse(call.func)
                operator = eval(path, NAMES)
                for keyword in call.keywords:
                    assert keyword.arg in (operator.__doc__ or ""), code


@pytest.mark.slow
def test_the_first_program_runs(tmp_path):
    python = find_python()
    if python is None:
        pytest.skip("TORCHDALI_TORCHVISION_PYTHON does not name a Python with torchvision")
    (program,) = re.findall(r"^```python torchvision\n(.*?)^```", TEXT, re.S | re.M)
    (tmp_path / "program.py").write_text("import helpers.torchvision_import\n" + program)
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    done = subprocess.run(
        [python, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("torch.Size([8, 3, 224, 224])") == 2
    assert "Python: nothing else" in done.stderr
