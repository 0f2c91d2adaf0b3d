# SPDX-License-Identifier: Apache-2.0
"""Writes what is derived from the registry: stubs of ``fn`` and ``ops``, reference pages.

``python -m torchdali._generate`` writes the files of this checkout, with ``--check`` it only says
which of them are stale and fails where there are any.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from torchdali import _callables, backend, errors, loop, pipeline, tensors, types
from torchdali._schema import ENUMS, Argument, OperatorSchema, registry
from torchdali.plugin.numba.fn import experimental as numba

__all__ = ["files", "main"]

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
_HEAD = "# Made by `make generate` from the engine's registry; do not edit."
_MARK = "<!-- Made by `make generate`; do not edit. -->"

_STUB_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str | os.PathLike[str]",
    "layout": "str",
    "int_list": "int | Sequence[int] | NDArray[Any]",
    "float_list": "float | Sequence[float] | NDArray[Any]",
    "str_list": "str | Sequence[str]",
    "bytes": "bytes",
    "function": "Callable[..., Any]",
    "layout_list": "str | Sequence[str]",
    "DALIDataType": "types.DALIDataType | torch.dtype | type[Any]",
    **{name: f"types.{name}" for name in ENUMS if name != "DALIDataType"},
}


def _stub_type(arg: Argument) -> str:
    text = "str" if arg.name in ("device", "name") else _STUB_TYPES[arg.type]
    if arg.per_sample:
        text += " | DataNode"
    if not arg.required:
        text += " | None"
    return text


def _stub_default(arg: Argument) -> str:
    if arg.required:
        return ""
    # A list would be shared between calls; the page and the docstring say what it holds.
    return " = ..." if arg.type.endswith("_list") else f" = {arg.default_text()}"


def _quoted(text: str, indent: str) -> Iterator[str]:
    body = textwrap.indent(text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'), indent)
    lines = body.splitlines()
    yield f'{indent}"""{lines[0].strip()}'
    yield from lines[1:]
    yield f'{indent}"""'


def _stub_arguments(schema: OperatorSchema, *, keep_required: bool = True) -> list[str]:
    lines = []
    for arg in _callables.parameters(schema):
        if arg.required and not keep_required:
            lines.append(f"{arg.name}: {_stub_type(arg)} | None = None,")
        else:
            lines.append(f"{arg.name}: {_stub_type(arg)}{_stub_default(arg)},")
    lines += [f"{a.name}: Any = None,  # deprecated" for a in schema.args if a.deprecated]
    return lines


def _stub_inputs(schema: OperatorSchema, *, lists: bool) -> list[str]:
    """Returns the positional parameters; with `lists` the first one takes several sets."""
    lines = []
    for index, i in enumerate(schema.inputs):
        kind = "DataNode" if not lists else "list[DataNode]" if not index else "Any"
        name = _callables.input_name(schema, i.name)
        lines.append(f"{name}: {kind} | None = None," if i.optional else f"{name}: {kind},")
    if schema.variadic:
        name = _callables.input_name(schema, schema.inputs[-1].name)
        return [*lines[:-1], *["/,"] * (len(lines) > 1), f"*{name}: Any,"]
    return [*lines, "/,"] if lines else []


def _stub_result(schema: OperatorSchema, *, lists: bool) -> str:
    if schema.variable_outputs:
        return "Any"
    if not schema.outputs:
        return "None"
    one = "DataNode" if len(schema.outputs) == 1 else "list[DataNode]"
    return f"list[{one}]" if lists else one


def _stub_variants(schema: OperatorSchema) -> list[bool]:
    """Returns for each overload whether it takes lists of inputs."""
    required = any(not i.optional for i in schema.inputs)
    return [False, True] if required else [False]


def _stub_function(schema: OperatorSchema) -> Iterator[str]:
    variants = _stub_variants(schema)
    for lists in variants:
        if len(variants) > 1:
            yield "@overload"
        yield f"def {schema.path[-1]}("
        star = [] if schema.variadic else ["*,"]
        for line in [*_stub_inputs(schema, lists=lists), *star, *_stub_arguments(schema)]:
            yield f"    {line}"
        if lists:
            yield f") -> {_stub_result(schema, lists=True)}: ..."
        else:
            yield f") -> {_stub_result(schema, lists=False)}:"
            yield from _quoted(_callables.docstring(schema), "    ")
            yield ""


def _stub_class(schema: OperatorSchema) -> Iterator[str]:
    yield f"class {schema.class_name}(_Operator):"
    yield from _quoted(_callables.docstring(schema), "    ")
    yield ""
    yield "    def __init__("
    yield "        self,"
    for line in ["*,", *_stub_arguments(schema, keep_required=False)]:
        yield f"        {line}"
    yield "    ) -> None: ..."
    variants = _stub_variants(schema)
    for lists in variants:
        if len(variants) > 1:
            yield "    @overload"
        yield "    def __call__("
        yield "        self,"
        for line in [*_stub_inputs(schema, lists=lists), "**kwargs: Any,"]:
            yield f"        {line}"
        yield f"    ) -> {_stub_result(schema, lists=lists)}: ..."
    yield ""


def _stub_module(kind: str, path: tuple[str, ...], families: list[str]) -> str:
    """Returns the stub of one module of ``fn`` or ``ops``."""
    schemas = [s for s in registry().values() if s.path[:-1] == path]
    body: list[str] = []
    names = list(families)
    python = []
    for schema in schemas:
        own = schema.path[-1] if kind == "fn" else schema.class_name
        names.append(own)
        if schema.name in _callables.PYTHON:
            python.append(f"from torchdali.external_source import {own} as {own}")
        else:
            body += _stub_function(schema) if kind == "fn" else _stub_class(schema)
    package = ".".join(["torchdali", kind, *path])
    imports = [
        "import os",
        "from collections.abc import Callable, Sequence",
        "from typing import Any, overload",
        "",
        "import torch",
        "from numpy.typing import NDArray",
        "",
        "from torchdali import types",
        *sorted(
            [
                *(["from torchdali._callables import _Operator"] if kind == "ops" else []),
                *[f"from {package} import {family} as {family}" for family in families],
                *python,
                "from torchdali.data_node import DataNode",
            ],
            key=lambda line: line.split()[1],
        ),
        "",
    ]
    code = "\n".join(body)
    used = {
        "os.PathLike": "import os",
        "torch.dtype": "import torch",
        "NDArray[": "from numpy.typing import NDArray",
        "types.DALI": "from torchdali import types",
        "_Operator": "from torchdali._callables import _Operator",
        "DataNode": "from torchdali.data_node import DataNode",
    }
    for word, line in used.items():
        if word not in code and line in imports:
            imports.remove(line)
    for line in (
        "from collections.abc import Callable, Sequence",
        "from typing import Any, overload",
    ):
        start, _, words = line.rpartition(" import ")
        names_used = [word for word in words.split(", ") if re.search(rf"\b{word}\b", code)]
        position = imports.index(line)
        only_used = [f"{start} import {', '.join(names_used)}"] if names_used else []
        imports[position : position + 1] = only_used
    exported = "\n".join(f'    "{name}",' for name in sorted(names))
    all_names = f"__all__ = [\n{exported}\n]\n" if names else "__all__: list[str] = []\n"
    text = "\n".join([_HEAD, *_collapsed(imports), all_names, code])
    return text.rstrip("\n") + "\n"


def _collapsed(lines: list[str]) -> list[str]:
    """Returns the lines without blank ones in a row."""
    return [
        line for i, line in enumerate(lines) if line or (i > 0 and lines[i - 1] and i < len(lines))
    ]


def _stubs(kind: str) -> Iterator[tuple[Path, str]]:
    paths: set[tuple[str, ...]] = {()}
    for schema in registry().values():
        paths |= {schema.path[:i] for i in range(1, len(schema.path))}
    for path in sorted(paths):
        families = sorted(p[-1] for p in paths if len(p) == len(path) + 1 and p[:-1] == path)
        folder = PACKAGE.joinpath(kind, *path)
        package = not path or bool(families)
        file = folder / "__init__.pyi" if package else folder.with_suffix(".pyi")
        yield file, _stub_module(kind, path, families)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _operator_page(schema: OperatorSchema) -> str:
    family = ".".join(schema.path[:-1])
    ops_name = f"ops.{family}.{schema.class_name}" if family else f"ops.{schema.class_name}"
    lines = [_MARK, f"# {schema.fn_name}", "", *schema.doc.strip().splitlines(), ""]
    if schema.name in _callables.PYTHON:
        lines += ["```", inspect.getdoc(_callables.PYTHON[schema.name][0]) or "", "```"]
        return "\n".join(lines).rstrip() + "\n"
    facts = [f"class `{ops_name}`", f"devices: {', '.join(schema.devices)}"]
    facts += ["frame sequences"] * schema.sequences + ["volumes"] * schema.volumes
    facts += ["random: takes a `seed`"] * schema.random
    lines += [" · ".join(facts), ""]
    if schema.inputs:
        lines += ["| input | layouts | |", "|---|---|---|"]
        for i in schema.inputs:
            layouts = ", ".join(i.layouts) or "any"
            optional = " Optional." if i.optional else ""
            lines.append(f"| `{i.name}` | {layouts} | {_cell(i.doc)}{optional} |")
        lines.append("")
    if schema.outputs:
        lines += ["| output | |", "|---|---|"]
        lines += [f"| `{o.name}` | {_cell(o.doc)} |" for o in schema.outputs]
        if schema.variable_outputs:
            lines += ["", "The number of outputs depends on the arguments."]
        lines.append("")
    lines += ["| argument | type | default | |", "|---|---|---|---|"]
    for arg in _callables.parameters(schema):
        default = "required" if arg.required else f"`{arg.default_text()}`"
        kind = _cell(arg.type_text())
        lines.append(f"| `{arg.name}` | {kind} | {_cell(default)} | {_cell(arg.doc)} |")
    for arg in schema.args:
        if arg.deprecated:
            use = f"Old name of `{arg.renamed_to}`." if arg.renamed_to else "Deprecated."
            use += " Without effect." if arg.ignored else ""
            lines.append(f"| `{arg.name}` | {_cell(arg.type_text())} | | {use} |")
    return "\n".join(lines) + "\n"


def _summary(schema: OperatorSchema) -> str:
    first = schema.doc.strip().split("\n\n")[0]
    return _cell(first.split(". ")[0].rstrip(".") + ".")


def _index_page() -> str:
    lines = [
        _MARK,
        "# Reference",
        "",
        "[Pipeline](pipeline.md) · [PipelineLoader](loop.md) · "
        "[batches and tensors](tensors.md) · [types](types.md) · "
        "[errors](errors.md) · [backend](backend.md) · [Numba functions](numba.md)",
        "",
        "| operator | |",
        "|---|---|",
    ]
    lines += [f"| [`{s.fn_name}`](fn/{s.name}.md) | {_summary(s)} |" for s in registry().values()]
    return "\n".join(lines) + "\n"


def _types_page() -> str:
    lines = [_MARK, "# torchdali.types", "", inspect.getdoc(types) or "", ""]
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
    """Returns a call as it is written: name and parameters, without annotations."""
    # The constructor of an enumeration differs between versions of Python; its members count.
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


def _module_page(module: ModuleType, names: list[str]) -> str:
    head = [_MARK, f"# {module.__name__}", "", inspect.getdoc(module) or "", ""]
    return "\n".join([*head, *_members(module, names)]).rstrip() + "\n"


def files() -> dict[Path, str]:
    """Returns every generated file of the checkout and its text."""
    reference = ROOT / "docs" / "reference"
    result = dict(_stubs("fn"))
    result.update(_stubs("ops"))
    result[reference / "README.md"] = _index_page()
    for schema in registry().values():
        result[reference / "fn" / f"{schema.name}.md"] = _operator_page(schema)
    result[reference / "types.md"] = _types_page().rstrip() + "\n"
    pages = {module: list(module.__all__) for module in (tensors, errors)}
    pages[backend] = [name for name in backend.__all__ if name not in tensors.__all__]
    pages[pipeline] = ["pipeline_def", "Pipeline", "DataNode"]
    pages[loop] = list(loop.__all__)
    for module, names in pages.items():
        result[reference / f"{module.__name__.split('.')[1]}.md"] = _module_page(module, names)
    result[reference / "numba.md"] = _module_page(numba, numba.__all__)
    return result


def stale() -> list[Path]:
    """Returns the generated files that are missing, differ or should not be there."""
    wanted = files()
    found = {*(PACKAGE / "fn").rglob("*.pyi"), *(PACKAGE / "ops").rglob("*.pyi")}
    found |= set((ROOT / "docs" / "reference").rglob("*.md"))
    differ = [p for p, text in wanted.items() if not p.exists() or p.read_text() != text]
    return sorted([*differ, *(found - wanted.keys())])


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks the files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m torchdali._generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail where stale")
    options = parser.parse_args(arguments)
    if not (ROOT / "pyproject.toml").exists():
        parser.error("the package is not part of a checkout: there is nothing to write to")
    outdated = stale()
    wanted = files()
    for path in outdated:
        sys.stdout.write(f"{'stale' if options.check else 'wrote'} {path.relative_to(ROOT)}\n")
        if options.check:
            continue
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
    return 1 if options.check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
