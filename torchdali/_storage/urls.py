# SPDX-License-Identifier: Apache-2.0
"""Which paths are URLs of remote files."""

__all__ = ["is_remote"]


def is_remote(path: str) -> bool:
    """Returns whether a path is a URL of a store; file:// is a local path."""
    return "://" in path and not path.startswith("file://")
