# SPDX-License-Identifier: Apache-2.0
"""Where the tests of this folder run GPU operators: on a GPU, and emulated on the host."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.cuda)])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs the test on each; returns torch's name of the device that results lie on."""
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1" if request.param == "emulated" else "0")
    return "cuda" if request.param == "cuda" else "cpu"
