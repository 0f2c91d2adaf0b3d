# SPDX-License-Identifier: Apache-2.0
"""torchdali.ray where the package ray is not installed."""

from __future__ import annotations

from helpers import programs


def test_the_error_says_what_to_install():
    code = "import sys; sys.modules['ray'] = None; import torchdali.ray"
    done = programs.run("-c", code)
    assert done.returncode != 0
    assert "ImportError: torchdali.ray needs the packages ray, pandas and pyarrow" in done.stderr
    assert 'pip install "torchdali[ray]"' in done.stderr
