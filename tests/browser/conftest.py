# SPDX-License-Identifier: Apache-2.0
"""A browser. Each module has its own, because Playwright keeps an event loop running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    """Returns Chromium; for tests marked ``browser``."""
    reason = chromium.missing()
    if reason:  # TORCHDALI_REQUIRE has browser
        pytest.fail(reason)
    with chromium.browsing() as opened:
        yield opened
