# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of ``torchdali.fn`` and ``torchdali.ops`` from schemas."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from torchdali._engine.schema import Argument, OperatorSchema
from torchdali._stubs.module import Extends, Path, StubModule, families_in, modules_of, names_from
from torchdali._stubs.types import TYPES
from torchdali.fn import _callables

__all__ = ["stubs"]


def _stub_type(arg: Argument) -> str:
    text = "str" if arg.name in ("device", "name") else TYPES[arg.type]
    if arg.per_sample:
        text += " | DataNode"
    if not arg.required:
        text += " | None"
    return text


def _stub_default(arg: Argument) -> str:
    if arg.required:
        return ""
    # A list would be shared between calls. The page and the docstring show the default.
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
    """Returns the positional parameters; with `lists`, the first one takes a list of inputs."""
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
    if schema.outputs_by:
        return "dict[str, DataNode]"
    if schema.variable_outputs:
        return "Any"
    if not schema.outputs:
        return "None"
    one = "DataNode" if len(schema.outputs) == 1 else "list[DataNode]"
    return f"list[{one}]" if lists else one


def _stub_variants(schema: OperatorSchema) -> list[bool]:
    """Returns the overloads: for each, whether it takes lists of inputs."""
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


def _module(
    kind: str,
    path: Path,
    families: list[str],
    schemas: Iterable[OperatorSchema],
    extends: Extends | None,
) -> str:
    """Returns the stub of one module of ``fn`` or ``ops``."""
    own_name = ".".join(["torchdali", kind, *path])
    extended = extends(own_name) if extends is not None else []
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
    if kind == "ops" and not path and extends is None:
        for own, made in _callables.CLASSES.items():
            names.append(own)
            python.append(f"from {made.__module__} import {own} as {own}")
    package = own_name if extends is None else "."
    imports = [
        "import os",
        "from collections.abc import Callable, Mapping, Sequence",
        "from typing import Any, overload",
        "",
        "import torch",
        "from numpy.typing import NDArray",
        "",
        "from torchdali import types",
        *names_from(own_name, extended, families),
        *sorted(
            [
                *[f"from {package} import {family} as {family}" for family in families],
                *python,
                *(["from torchdali.fn._callables import _Operator"] if kind == "ops" else []),
                "from torchdali.data_node import DataNode",
                "from torchdali.tfrecord import Feature",
            ],
            key=lambda line: line.split()[1],
        ),
        "",
    ]
    code = "\n".join(body)
    if "Sequence" in names:  # the class of fn.readers.sequence
        code = code.replace("Sequence[", "_Sequence[")
    used = {
        "os.PathLike": "import os",
        "torch.dtype": "import torch",
        "NDArray[": "from numpy.typing import NDArray",
        "types.DALI": "from torchdali import types",
        ", Feature]": "from torchdali.tfrecord import Feature",
        "_Operator": "from torchdali.fn._callables import _Operator",
        "DataNode": "from torchdali.data_node import DataNode",
    }
    undocumented = re.sub(r'""".*?"""', "", code, flags=re.DOTALL)
    for word, line in used.items():
        if word not in undocumented and line in imports:
            imports.remove(line)
    for line in (
        "from collections.abc import Callable, Mapping, Sequence",
        "from typing import Any, overload",
    ):
        start, _, words = line.rpartition(" import ")
        names_used = [word for word in words.split(", ") if re.search(rf"\b{word}\b", code)]
        plain = [w for w in names_used if w not in names]
        position = imports.index(line)
        imports[position : position + 1] = [
            *([f"{start} import {', '.join(plain)}"] if plain else []),
            *[f"{start} import {w} as _{w}" for w in names_used if w in names],
        ]
    # Constants before classes, as ruff sorts names.
    ordered = sorted(names, key=lambda name: (not name.isupper(), name))
    exported = "\n".join(f'    "{name}",' for name in ordered)
    all_names = f"__all__ = [\n{exported}\n]\n" if names else "__all__: list[str] = []\n"
    if extended:  # without __all__, a stub shows all names that it imports with `*`
        all_names = ""
    text = "\n".join([*_collapsed(imports), all_names, code])
    return text.rstrip("\n") + "\n"


def _collapsed(lines: list[str]) -> list[str]:
    """Returns the lines with consecutive blank lines merged."""
    return [
        line for i, line in enumerate(lines) if line or (i > 0 and lines[i - 1] and i < len(lines))
    ]


def stubs(
    kind: str, schemas: Iterable[OperatorSchema], extends: Extends | None
) -> Iterator[StubModule]:
    """Yields the modules of "fn" or "ops"; arguments as of `torchdali._stubs.modules()`."""
    chosen = list(schemas)
    paths = modules_of(schema.path for schema in chosen)
    for path in sorted(paths):
        families = families_in(paths, path)
        own = [schema for schema in chosen if schema.path[:-1] == path]
        text = _module(kind, path, families, own, extends)
        yield StubModule(kind, path, not path or bool(families), text)
