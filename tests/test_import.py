# SPDX-License-Identifier: Apache-2.0
"""Importing parts of the package leaves Python's settings alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

USES = {
    "a class": "torchdali.Pipeline",
    "a module": "torchdali.fn",
    "nothing": "getattr(torchdali, 'no_such_name', None)",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_as_before(use, collects):
    code = f"""
import gc
if not {collects}: gc.disable()
import torchdali
try: {USES[use]}
except Exception: pass
assert gc.isenabled() is {collects}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_is_as_before_if_a_part_cannot_be_imported():
    code = """
import gc, sys
sys.modules["torchdali._engine"] = None
import torchdali
try: torchdali.Pipeline
except ImportError: assert gc.isenabled()
else: raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_collection_happens_while_a_part_is_imported():
    code = """
import gc, torch, torchdali
before = gc.get_stats()[2]["collections"]
torchdali.pipeline_def, torchdali.fn
assert gc.get_stats()[2]["collections"] == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
