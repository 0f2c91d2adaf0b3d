# SPDX-License-Identifier: Apache-2.0
"""Renders reference pages from the registry and from docstrings, for tools/docs/generate.py."""

from __future__ import annotations

import inspect

from tools.docs import docstrings
from tools.docs.modules import MARK, Modules
from torchdali import types
from torchdali._engine.schema import OperatorSchema, registry
from torchdali.fn import _callables

__all__ = ["cell", "index_page", "operator_page", "types_page"]


def cell(text: str) -> str:
    """Returns a text formatted for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def operator_page(schema: OperatorSchema) -> str:
    """Returns the page of an operator."""
    family = ".".join(schema.path[:-1])
    ops_name = f"ops.{family}.{schema.class_name}" if family else f"ops.{schema.class_name}"
    lines = [MARK, f"# {schema.fn_name}", "", *schema.doc.strip().splitlines(), ""]
    if schema.name in _callables.PYTHON:
        doc = inspect.getdoc(_callables.PYTHON[schema.name][0]) or ""
        lines.append(docstrings.markdown(doc, "../../"))
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


def index_page(modules: Modules) -> str:
    """Returns the page that lists all pages."""
    lines = [
        MARK,
        "# Reference",
        "",
        "Everything that is public. [The state of DALI's operators](operators.md) says which of "
        "them work, and on which devices; [names of DALI that are missing](missing_names.md) says "
        "what to use instead.",
        "",
        "## Modules",
        "",
        *modules.rows(),
        "",
        "## Operators",
        "",
        "The same operators are functions in `torchdali.fn`, classes in `torchdali.ops`, and "
        "functions of tensors in `torchdali.functional` and `torchdali.experimental`.",
        "",
        "| operator | |",
        "|---|---|",
    ]
    lines += [f"| [`{s.fn_name}`](fn/{s.name}.md) | {_summary(s)} |" for s in registry().values()]
    return "\n".join(lines) + "\n"


def types_page(modules: Modules) -> str:
    """Returns the page of torchdali.types."""
    enums: list[str] = []
    for enum in (types.DALIDataType, types.DALIImageType, types.DALIInterpType):
        enums += [f"## {enum.__name__}", "", inspect.getdoc(enum) or "", "", "| name | value |"]
        enums.append("|---|---|")
        enums += [f"| `types.{m.name}` | {int(m)} |" for m in enum if not m.name.startswith("_")]
        enums.append("")
    return modules.page("types", enums)
