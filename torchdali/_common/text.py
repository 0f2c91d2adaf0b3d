# SPDX-License-Identifier: Apache-2.0
"""Words of messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns a number and a noun: "1 batch", "2 batches"."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
