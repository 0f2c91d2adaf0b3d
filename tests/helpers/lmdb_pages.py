# SPDX-License-Identifier: Apache-2.0
"""Writes LMDB files page by page, so that any of them can be wrong."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = ["Meta", "Overflow", "branch", "file", "leaf", "overflow", "two_levels"]

PAGE = 256  # the smallest size
BRANCH, LEAF, OVERFLOW, META = 1, 2, 4, 8
BIG_DATA, SUB_DATA, DUP_DATA = 1, 2, 4
_NO_PAGE = (1 << 64) - 1


@dataclass(frozen=True)
class Meta:
    """A meta page; without a root, the database is empty."""

    root: int = _NO_PAGE
    depth: int = 0
    entries: int = 0
    branch_pages: int = 0
    leaf_pages: int = 0
    last_page: int = 1
    transaction: int = 1
    page_size: int = PAGE
    flags: int = 0
    magic: int = 0xBEEFC0DE
    version: int = 1

    def page(self, number: int) -> bytes:
        """Returns it as page 0 or 1."""
        free = struct.pack("<IHHQQQQQ", self.page_size, 8, 0, 0, 0, 0, 0, _NO_PAGE)
        main = struct.pack(
            "<IHHQQQQQ",
            *(0, self.flags, self.depth, self.branch_pages, self.leaf_pages, 0, self.entries),
            self.root,
        )
        head = struct.pack("<IIQQ", self.magic, self.version, 0, 1 << 20)
        tail = struct.pack("<QQ", self.last_page, self.transaction)
        return _page(number, META, 0, head + free + main + tail)


@dataclass(frozen=True)
class Overflow:
    """A value in pages of its own."""

    first: int
    size: int


def _page(number: int, kind: int, lower: int, content: bytes) -> bytes:
    head = struct.pack("<QHHHH", number, 0, kind, lower, PAGE)
    return (head + content).ljust(PAGE, b"\0")


def _nodes(number: int, kind: int, nodes: Sequence[bytes]) -> bytes:
    offsets, end = [], PAGE
    for node in nodes:
        end -= len(node) + len(node) % 2
        offsets.append(end)
    lower = 16 + 2 * len(nodes)
    assert lower <= end
    page = bytearray(_page(number, kind, lower, struct.pack(f"<{len(nodes)}H", *offsets)))
    for node, offset in zip(nodes, offsets, strict=True):
        page[offset : offset + len(node)] = node
    return bytes(page)


def leaf(number: int, entries: Sequence[tuple[bytes, bytes | Overflow]], flags: int = 0) -> bytes:
    """Returns a page of keys and values; `flags` of all of them."""
    nodes = []
    for key, value in entries:
        big = isinstance(value, Overflow)
        size = value.size if isinstance(value, Overflow) else len(value)
        stored = struct.pack("<Q", value.first) if isinstance(value, Overflow) else value
        head = struct.pack("<IHH", size, flags | (BIG_DATA if big else 0), len(key))
        nodes.append(head + key + stored)
    return _nodes(number, LEAF, nodes)


def branch(number: int, children: Sequence[tuple[bytes, int]]) -> bytes:
    """Returns a page of keys and pages below it."""
    return _nodes(
        number,
        BRANCH,
        [
            struct.pack("<IHH", child & 0xFFFFFFFF, child >> 32, len(key)) + key
            for key, child in children
        ],
    )


def overflow(number: int, value: bytes) -> bytes:
    """Returns the pages of a value."""
    pages = -(-(len(value) + 16) // PAGE)
    head = struct.pack("<QHHI", number, 0, OVERFLOW, pages)
    return (head + value).ljust(pages * PAGE, b"\0")


def file(meta: Meta, *pages: bytes) -> bytes:
    """Returns a file of pages after two meta pages, of which `meta` is the newer one."""
    older = replace(meta, transaction=0, root=_NO_PAGE, depth=0, entries=0)
    return older.page(0) + meta.page(1) + b"".join(pages)


def two_levels(value: bytes = b"x" * 300) -> tuple[Meta, list[bytes]]:
    """Returns a database of three entries: two leaves below a branch, and a value of many pages."""
    pages = [
        branch(2, [(b"", 3), (b"m", 4)]),
        leaf(3, [(b"a", b"one"), (b"b", Overflow(5, len(value)))]),
        leaf(4, [(b"m", b"three")]),
        overflow(5, value),
    ]
    last = 4 + len(pages[-1]) // PAGE
    meta = Meta(root=2, depth=2, entries=3, branch_pages=1, leaf_pages=2, last_page=last)
    return meta, pages
