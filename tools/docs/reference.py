# SPDX-License-Identifier: Apache-2.0
"""Renders reference pages from the registry and from docstrings, for tools/docs/generate.py."""

from __future__ import annotations

import inspect
from enum import Enum
from types import ModuleType
from typing import Any

from torchdali import auto_aug, types
from torchdali._engine.schema import ENUMS, OperatorSchema, registry
from torchdali.fn import _callables

__all__ = ["MARK", "cell", "index_page", "module_page", "operator_page", "types_page"]

MARK = "<!-- Made by `make generate`; do not edit. -->"


def cell(text: str) -> str:
    """Returns a text formatted for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def operator_page(schema: OperatorSchema) -> str:
    """Returns the page of an operator."""
    family = ".".join(schema.path[:-1])
    ops_name = f"ops.{family}.{schema.class_name}" if family else f"ops.{schema.class_name}"
    lines = [MARK, f"# {schema.fn_name}", "", *schema.doc.strip().splitlines(), ""]
    if schema.name in _callables.PYTHON:
        lines += ["```", inspect.getdoc(_callables.PYTHON[schema.name][0]) or "", "```"]
        return "\n".join(lines).rstrip() + "\n"
    facts = [f"class `{ops_name}`", f"devices: {', '.join(schema.devices)}"]
    facts += ["frame sequences"] * schema.sequences + ["volumes"] * schema.volumes
    facts += ["random: takes a `seed`"] * schema.random
    lines += [" · ".join(facts), ""]
    if schema.never:
        lines += [f"Cannot run: it {schema.never}.", ""]
    if schema.lacks:
        lines += [f"Not implemented yet: {'; '.join(schema.lacks)}.", ""]
    if schema.inputs:
        lines += ["| input | layouts | |", "|---|---|---|"]
        for i in schema.inputs:
            layouts = ", ".join(i.layouts) or "any"
            optional = " Optional." if i.optional else ""
            lines.append(f"| `{i.name}` | {layouts} | {cell(i.doc)}{optional} |")
        lines.append("")
    if schema.outputs:
        lines += ["| output | |", "|---|---|"]
        lines += [f"| `{o.name}` | {cell(o.doc)} |" for o in schema.outputs]
        if schema.variable_outputs:
            lines += ["", "The number of outputs depends on the arguments."]
        lines.append("")
    lines += ["| argument | type | default | |", "|---|---|---|---|"]
    for arg in _callables.parameters(schema):
        default = "required" if arg.required else f"`{arg.default_text()}`"
        kind = cell(arg.type_text())
        lines.append(f"| `{arg.name}` | {kind} | {cell(default)} | {cell(arg.doc)} |")
    for arg in schema.args:
        if arg.deprecated:
            use = f"Old name of `{arg.renamed_to}`." if arg.renamed_to else "Deprecated."
            use += " No effect." if arg.ignored else ""
            lines.append(f"| `{arg.name}` | {cell(arg.type_text())} | | {use} |")
    return "\n".join(lines) + "\n"


def _summary(schema: OperatorSchema) -> str:
    first = schema.doc.strip().split("\n\n")[0]
    return cell(first.split(". ")[0].rstrip(".") + ".")


def index_page() -> str:
    """Returns the page that lists all pages."""
    lines = [
        MARK,
        "# Reference",
        "",
        "[Pipeline](pipeline.md) · [PipelineLoader](loop.md) · "
        "[batches and tensors](tensors.md) · [types](types.md) · [stats](stats.md) · "
        "[profile](profiling.md) · [remote files](storage.md) · "
        "[errors](errors.md) · [backend](backend.md) · [Numba functions](numba.md) · "
        "[the state of DALI's operators](operators.md) · "
        "[names of DALI that are missing](missing_names.md)",
        "",
        f"Automatic augmentation: {', '.join(f'[{n}](auto_aug/{n}.md)' for n in auto_aug.__all__)}",
        "",
        "| operator | |",
        "|---|---|",
    ]
    lines += [f"| [`{s.fn_name}`](fn/{s.name}.md) | {_summary(s)} |" for s in registry().values()]
    return "\n".join(lines) + "\n"


def types_page() -> str:
    """Returns the page of torchdali.types."""
    lines = [MARK, "# torchdali.types", "", inspect.getdoc(types) or "", ""]
    for enum in (types.DALIDataType, types.DALIImageType, types.DALIInterpType):
        lines += [f"## {enum.__name__}", "", inspect.getdoc(enum) or "", "", "| name | value |"]
        lines.append("|---|---|")
        lines += [f"| `types.{m.name}` | {int(m)} |" for m in enum if not m.name.startswith("_")]
        lines.append("")
    found = filter(lambda n: callable(getattr(types, n)), sorted(types.__all__))
    names = [name for name in found if not _is_enum_part(types, name)]
    return "\n".join([*lines, *_members(types, names)])


def _is_enum_part(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    kind = value if isinstance(value, type) else type(value)
    return issubclass(kind, tuple(ENUMS.values()))


def _call(name: str, value: Any) -> str:
    """Returns the signature of a call: name and parameters, without annotations."""
    # The constructor of an enumeration depends on the version of Python, so list its members.
    if isinstance(value, type) and issubclass(value, Enum):
        return ", ".join(f"{name}.{member.name}" for member in value)
    try:
        own = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    params = []
    star = False
    for p in own.parameters.values():
        if p.name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            params.append("*")
            star = True
        prefix = "*" * ((p.kind is p.VAR_POSITIONAL) + 2 * (p.kind is p.VAR_KEYWORD))
        star = star or p.kind is p.VAR_POSITIONAL
        default = "" if p.default is p.empty else f"={p.default!r}"
        params.append(f"{prefix}{p.name}{default}")
    return f"{name}({', '.join(params)})"


def _members(module: ModuleType, names: list[str]) -> list[str]:
    lines: list[str] = []
    for name in names:
        value = getattr(module, name)
        lines += [f"## {name}", ""]
        if isinstance(value, type) and issubclass(value, BaseException):
            bases = [b.__name__ for b in value.__mro__[1:] if b not in (BaseException, object)]
            lines += [inspect.getdoc(value) or "", "", f"Bases: {', '.join(bases)}.", ""]
            continue
        lines += ["```", _call(name, value), "", inspect.getdoc(value) or "", "```", ""]
        if not isinstance(value, type):
            continue
        for own, member in inspect.getmembers(value):
            if own.startswith("_") or not inspect.getdoc(member):
                continue
            if isinstance(member, property):
                title = own
            elif inspect.isroutine(member) and not hasattr(object, own):
                title = _call(own, member)
            else:
                continue
            if getattr(str, own, None) is member:
                continue
            lines += [f"### {own}", "", "```", title, "", inspect.getdoc(member) or "", "```", ""]
    return lines


def module_page(module: ModuleType, names: list[str]) -> str:
    """Returns the page of a module: the given names with their docstrings."""
    head = [MARK, f"# {module.__name__}", "", inspect.getdoc(module) or "", ""]
    return "\n".join([*head, *_members(module, names)]).rstrip() + "\n"
