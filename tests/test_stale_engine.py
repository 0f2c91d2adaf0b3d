# SPDX-License-Identifier: Apache-2.0
"""An engine that was built before the Python files changed."""

from __future__ import annotations

import pytest

from torchdali._engine import schema


def test_an_engine_of_other_sources_is_an_import_error(monkeypatch):
    class Old:
        @staticmethod
        def schemas():
            return [{"name": "flip", "doc": "", "args": []}]

    monkeypatch.setattr(schema, "_operators", {})
    monkeypatch.setattr(schema, "_C", Old)
    with pytest.raises(ImportError, match="build it again"):
        schema.registry()
