# SPDX-License-Identifier: Apache-2.0
"""Ranks: how they are determined, and processes under torchrun, killed and resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch.distributed
from helpers import programs

from tests.loader.pipeline.numbered_files import write_numbers
from torchdali.loader._pipeline.ranks import Ranks, find_ranks, local_rank

ROOT = Path(__file__).resolve().parents[3]
WORKER = Path(__file__).with_name("rank_worker.py")
SIZE = 96  # divisible by 2, 4 and the batch size, so that counts are exact


def test_the_default_is_one_rank(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert find_ranks() == Ranks(0, 1)
    assert local_rank() == 0


def test_the_environment_of_torchrun_determines_the_rank(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert find_ranks() == Ranks(3, 8)
    assert find_ranks(1, 2) == Ranks(1, 2)
    assert local_rank() == 1
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(ValueError, match='RANK is "x", expected a number'):
        find_ranks()
    monkeypatch.setenv("RANK", "8")
    with pytest.raises(ValueError, match=r"\$RANK is 8 and \$WORLD_SIZE is 8"):
        find_ranks()


def test_a_process_group_overrides_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    try:
        assert find_ranks() == Ranks(0, 1)
        assert find_ranks(1, 2) == Ranks(1, 2)
    finally:
        torch.distributed.destroy_process_group()


def test_wrong_ranks_are_errors():
    with pytest.raises(ValueError, match="pass both"):
        find_ranks(world_size=2)
    with pytest.raises(TypeError, match="expected an integer"):
        find_ranks("0", 2)
    with pytest.raises(ValueError, match="`rank` is 2"):
        find_ranks(2, 2)


def torchrun(processes: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [*launch, "--nproc-per-node", str(processes), str(WORKER), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def seen(folder: Path, steps: int | None = None) -> dict[int, list[int]]:
    """Returns by epoch the labels that all ranks have seen, in the first `steps` steps of each."""
    found: dict[int, list[int]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines()[:steps]:
            epoch, labels = json.loads(line)
            found.setdefault(epoch, []).extend(labels)
    return found


def run_ranks(processes: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = map(str, arguments)
    return programs.run_ranks(processes, WORKER, *command, env={"PYTHONPATH": str(ROOT)})


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 4), (4, 2), (2, 2)])
def test_each_epoch_of_a_killed_and_resumed_run_has_every_sample_once(tmp_path, before, after):
    root = write_numbers(tmp_path / "data", SIZE)
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    # In the second epoch, two steps into it.
    kill_at = SIZE // (4 * before) + 2
    killed = run_ranks(before, root, first, "", kill_at)
    assert killed.returncode != 0
    state = first / "state.json"
    done = run_ranks(after, root, second, state, 0)
    assert done.returncode == 0, done.stderr[-4000:]
    had, rest = seen(first, kill_at), seen(second)
    assert Counter(had[0]) == Counter(range(SIZE))
    assert len(had[1]) == 2 * 4 * before
    assert Counter(had[1] + rest[1]) == Counter(range(SIZE))
    assert set(rest) == {1}


@pytest.mark.slow
def test_torchrun_trains_two_whole_epochs(tmp_path):
    root = write_numbers(tmp_path / "data", SIZE)
    done = torchrun(2, root, tmp_path, "", 0)
    assert done.returncode == 0, done.stderr[-4000:]
    epochs = seen(tmp_path)
    assert all(Counter(labels) == Counter(range(SIZE)) for labels in epochs.values())
    assert epochs[0] != epochs[1]
