# SPDX-License-Identifier: Apache-2.0
"""torchdali.ray on a cluster of two and more nodes, of which actors and nodes are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ray_nodes

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("nodes_program.py")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_nothing_is_lost_and_nothing_returned_twice(tmp_path):
    # One test, and a process of its own: a cluster takes long to start, and leaves threads.
    ray_nodes.require()
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_TMPDIR": "/tmp",  # paths of sockets are short
        },
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = json.loads(done.stdout.splitlines()[-1])
    failures = [f"{name}:\n{text}" for name, text in results.items() if text is not None]
    assert not failures, "\n".join(failures)
    assert len(results) >= 10
