# SPDX-License-Identifier: Apache-2.0
"""What a definition records: operators (OpNode), and the pipeline that they belong to (Scope)."""

from __future__ import annotations

from torchdali._graph.check import check_device, resolve
from torchdali._graph.record import create, transfer
from torchdali._graph.scope import (
    Runner,
    Scope,
    auto_name,
    check_guards,
    check_predicate,
    current_owner,
    current_scope,
    foreign,
    free_names,
    pop_scope,
    push_scope,
    same_node,
)
from torchdali.data_node import Guards, OpNode

__all__ = [
    "Guards",
    "OpNode",
    "Runner",
    "Scope",
    "auto_name",
    "check_device",
    "check_guards",
    "check_predicate",
    "create",
    "current_owner",
    "current_scope",
    "foreign",
    "free_names",
    "pop_scope",
    "push_scope",
    "resolve",
    "same_node",
    "transfer",
]
