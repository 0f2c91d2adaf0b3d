# SPDX-License-Identifier: Apache-2.0
"""The page that compares DALI's operators with the registry."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from typing import Any

from tools.docs.gpu_record import NO_KERNEL, NOT_RUN, Record
from tools.docs.modules import MARK
from tools.docs.reference import cell
from torchdali._common.alternatives import REASONS, alternative
from torchdali._engine.schema import ALIASES, OperatorSchema, every_operator, registry

__all__ = ["missing", "page"]

_ABSENT = "absent"
_COMPLETE = "complete"
_NEVER = "never"
_PLUGIN = "plugin.pytorch.fn."  # torchdali has these functions in fn
_KINDS = {"sequences": "frame sequences", "volumes": "volumes"}


def missing(schema: OperatorSchema, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yields what DALI's operator supports and ours does not.

    Args:
        schema: our operator.
        facts: DALI's operator, as tests/data/make_dali_operators.py describes it.
    """
    ours = schema.by_name
    lacking = [f"`{name}`" for name in facts["args"] if name not in ours]
    if lacking and not schema.source:
        yield f"arguments {', '.join(lacking)}"
    constant = [
        f"`{name}`"
        for name, (_, per_sample, *_) in facts["args"].items()
        if per_sample and name in ours and not ours[name].per_sample
    ]
    if constant:
        yield f"tensors for {', '.join(constant)}"
    if schema.max_inputs < facts["inputs"][1]:
        yield f"more than {schema.max_inputs} inputs"
    if schema.inputs and schema.inputs[0].layouts:
        layouts = [f for f in facts["layouts"] if f not in schema.inputs[0].layouts]
        if layouts:
            yield f"layouts {', '.join(layouts)}"
        for kind, text in _KINDS.items():
            if facts[kind] and not getattr(schema, kind):
                yield text
    yield from schema.lacks


def page(facts: Mapping[str, Mapping[str, Any]], record: Record | None, kernels: str) -> str:
    """Returns the page that lists all operators with their state on the CPU and the GPU.

    Args:
        facts: DALI's operators, as tests/data/make_dali_operators.py describes them.
        record: the tests that passed on a GPU; None if there is no record.
        kernels: the current fingerprint of the kernels.
    """
    rows = []
    counts = {device: collections.Counter[str]() for device in ("cpu", "gpu")}
    for name, theirs in sorted(facts.items()):
        schema = _found(name)
        states = [_state(name, schema, theirs, device) for device in counts]
        for count, state in zip(counts.values(), states, strict=True):
            count[state.partition(":")[0]] += 1
        title = f"`fn.{name}`" if not name.startswith("plugin.") else f"`{name}`"
        if schema:
            title = f"[{title}]({_page_of(schema)})"
        ran = _ran(schema, record, kernels)
        rows.append(f"| {title} | {cell(states[0])} | {cell(states[1])} | {ran} |")
    known = [_found(name) for name in facts]
    more = [schema for schema in registry().values() if schema not in known]
    summary = "; ".join(
        f"on the {device.upper()} "
        + ", ".join(
            f"{count[state]} {state}"
            for state in (_COMPLETE, "partial", _ABSENT, _NEVER)
            if state != _NEVER or count[state]
        )
        for device, count in counts.items()
    )
    lines = [
        MARK,
        "# DALI's operators and their state in torchdali",
        "",
        "This page is derived from the registry. An operator is `complete` if it supports all "
        "inputs, layouts, arguments and tensor arguments of DALI's operator, and declares no "
        "missing feature. An empty cell means that DALI does not have the operator on that device "
        "either. `never` gives the reason why an operator raises an error. On the CPU, `complete` "
        "is also used for operators that DALI has on the GPU only.",
        "",
        f"Of {len(facts)} operators, {summary}.",
        "",
        *_about(record, kernels),
        "",
        "| operator | CPU | GPU | ran on a GPU |",
        "|---|---|---|---|",
        *rows,
        "",
        "Operators that DALI exposes as subscripts or constants, and operators that only torchdali "
        f"has: {', '.join(f'[`{s.fn_name}`](fn/{s.name}.md)' for s in more)}.",
    ]
    return "\n".join(lines) + "\n"


def _found(name: str) -> OperatorSchema | None:
    """Returns our operator for a name of DALI's, which may be a deprecated one."""
    own = name.removeprefix(_PLUGIN)
    # Hidden operators are listed only if a plugin has a function of the same name.
    operators = every_operator() if own.startswith("plugin.") else registry()
    return operators.get(ALIASES.get(own, own))


def _page_of(schema: OperatorSchema) -> str:
    return "numba.md" if schema.hidden else f"fn/{schema.name}.md"


def _on_gpu(schema: OperatorSchema) -> bool:
    return set(schema.devices) != {"cpu"}


def _ran(schema: OperatorSchema | None, record: Record | None, kernels: str) -> str:
    """Returns on which GPU an operator ran, or "" if it has no GPU part."""
    if schema is None or schema.never or not _on_gpu(schema):
        return ""
    # "mixed" passes work to an operator with another name (docs/design/gpu_jpeg.md).
    if not schema.has_kernel and "mixed" not in schema.devices:
        return NO_KERNEL
    return record.state(schema.name, kernels) if record else NOT_RUN


def _about(record: Record | None, kernels: str) -> Iterator[str]:
    """Yields the explanation of the last column."""
    yield (
        f"The last column shows which operators have run on a GPU. `{NOT_RUN}`: the kernels, if "
        "any, are compiled, and the operator is compared with the CPU in "
        "[emulation](../design/gpu.md#without-a-gpu), but it has not run on a GPU. "
        f"`{NO_KERNEL}`: the values are computed on the CPU and copied, or provided by the user."
    )
    if record is None:
        return
    changed = ""
    if kernels != record.kernels:
        changed = " The sources of the GPU library have changed since then."
    yield ""
    yield (
        f"{record.gpu}: all CUDA tests of the operators marked with it passed on {record.date}, at "
        f"commit {record.commit or 'unknown'}, with torch {record.torch} and CUDA {record.cuda} "
        "([record](../../tests/gpu/ran_on_gpu.json))." + changed
    )


def _reason(name: str) -> str:
    """Returns why an operator is absent."""
    text = REASONS[alternative(f"fn.{name}", "").reason][1].removesuffix(".")
    return f": {text[0].lower()}{text[1:]}"


def _state(name: str, schema: OperatorSchema | None, facts: Mapping[str, Any], device: str) -> str:
    theirs = {"cpu"} & set(facts["devices"]) if device == "cpu" else set(facts["devices"]) - {"cpu"}
    there = schema is not None and any((d == "cpu") == (device == "cpu") for d in schema.devices)
    if not there:
        return f"{_ABSENT}{_reason(name) if schema is None else ''}" if theirs else ""
    assert schema is not None
    if schema.never:
        return f"{_NEVER}: {schema.never}"
    lacking = "; ".join(missing(schema, facts))
    return f"partial: without {lacking}" if lacking else _COMPLETE
