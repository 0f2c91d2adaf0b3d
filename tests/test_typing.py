# SPDX-License-Identifier: Apache-2.0
"""The stubs have the types of arguments and results."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
from torch.utils.data import Dataset

from torchdali import DataLoader, fn, ops, pipeline_def, types

@pipeline_def(batch_size=32, num_threads=2)
def training(folder: str) -> object:
    jpegs, labels = fn.readers.file(file_root=folder, name="Reader")
    images = fn.decoders.image(jpegs, output_type=types.RGB)
    images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), mean=[1, 2.5, 3])
    first, second = fn.flip([images, images])
    reveal_type(ops.Flip(vertical=1)(first))
    return images, labels

reveal_type(training("x").run()[0].as_torch())
fn.flip(3)
fn.cast(training)

class Numbers(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index

numbers = DataLoader(Numbers())
listed = DataLoader([2.5, 3.5], batch_size=2)
reveal_type(numbers)
reveal_type(listed)
"""


@pytest.mark.slow
def test_mypy_accepts_a_program(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.setenv("MYPY_CONFIG_FILE_DIR", str(ROOT))  # mypy sets it
    # With the options and the cache of `make types`, or torch would take 12 s to read.
    options = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    out, err, _ = api.run([*options, "--no-error-summary", str(path)])
    assert not err
    assert 'Revealed type is "torchdali.data_node.DataNode"' in out
    assert 'Revealed type is "torch._tensor.Tensor"' in out
    for sample in ("int", "float"):
        assert f"dataloader.DataLoader[{sample}]" in out
    wrong = [line for line in out.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in wrong] == ["16", "17"]
