# SPDX-License-Identifier: Apache-2.0
"""torchdali.lightning with two gloo processes, killed and resumed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from helpers import programs

from tests.loader.pipeline.numbered_files import write_numbers

ROOT = Path(__file__).resolve().parents[2]
SIZE = 48
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not importlib.util.find_spec("lightning"), reason="needs lightning"),
]


def run_ranks(*arguments: object) -> subprocess.CompletedProcess[str]:
    return programs.run_ranks(
        2,
        Path(__file__).with_name("ddp_worker.py"),
        *map(str, arguments),
        env={"PYTHONPATH": str(ROOT)},
        preload=["lightning.pytorch"],
    )


def seen(folder: Path, stage: str, epoch: int) -> list[int]:
    """Returns the labels that all ranks have seen in an epoch."""
    lines = [
        json.loads(line)
        for path in sorted(folder.glob(f"{stage}-*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [label for e, labels in lines if e == epoch for label in labels]


@pytest.mark.parametrize("stop_at", [4, 8])
def test_each_epoch_of_a_killed_and_resumed_run_has_every_sample_once_with_ddp(tmp_path, stop_at):
    root, checkpoint = write_numbers(tmp_path / "data", SIZE), tmp_path / "run.ckpt"
    outs = [tmp_path / "first", tmp_path / "second"]
    for out in outs:
        out.mkdir()
    killed = run_ranks(root, outs[0], checkpoint, stop_at)
    assert killed.returncode != 0
    assert checkpoint.exists(), killed.stderr[-4000:]
    done = run_ranks(root, outs[1], checkpoint, -1)
    assert done.returncode == 0, done.stderr[-4000:]
    for epoch in range(2):
        train = [seen(out, "train", epoch) for out in outs]
        assert Counter(train[0] + train[1]) == Counter(range(SIZE))
    assert len(seen(outs[0], "train", 0) + seen(outs[0], "train", 1)) == stop_at * 4 * 2
    assert Counter(seen(outs[1], "val", 1)) == Counter(range(SIZE))
