# SPDX-License-Identifier: Apache-2.0
"""Connects the methods of DataNode to the functions that record operators for them."""

from __future__ import annotations

from torchdali._graph import arithmetic, conditionals, constant, record, subscript
from torchdali.data_node import language

__all__ = ["connect"]


def connect() -> None:
    """Sets the functions that the methods of DataNode call."""
    language.arithmetic = arithmetic.apply
    language.numpy = arithmetic.apply_numpy
    language.subscript = subscript.subscript
    language.shape = subscript.shape
    language.property = subscript.get_property
    language.transfer = record.transfer
    language.constant = constant.promoted
    language.truth = conditionals.refuse_truth_value
