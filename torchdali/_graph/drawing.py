# SPDX-License-Identifier: Apache-2.0
"""What a picture of a graph consists of: shapes, and arrows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Arrow", "Drawing", "Shape"]


@dataclass(frozen=True)
class Shape:
    """An operator, a tensor, or an output of the pipeline.

    Attributes:
        key: unlike those of all others.
        kind: what it is.
        lines: of its text.
        about: a longer text.
        stage: "cpu", "mixed" or "gpu"; "" for an output.
        num_ports: outputs that arrows begin at, if their numbers are to be shown.
    """

    key: str
    kind: Literal["operator", "tensor", "output"]
    lines: tuple[str, ...]
    about: str
    stage: str = ""
    num_ports: int = 1


@dataclass(frozen=True)
class Arrow:
    """What one shape gets from another.

    Attributes:
        start: key of a shape.
        port: number of its output.
        end: key of a later shape.
        kind: what it is for the shape where it ends.
        text: its label; "" for none.
    """

    start: str
    port: int
    end: str
    kind: Literal["input", "argument", "condition"] = "input"
    text: str = ""


@dataclass(frozen=True)
class Drawing:
    """A picture before it has a layout."""

    shapes: Sequence[Shape]
    arrows: Sequence[Arrow]
