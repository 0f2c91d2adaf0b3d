# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of ``torchdali.functional`` from schemas."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from torchdali._eager.functions import FACE
from torchdali._eager.functions import schemas as shown_by_functional
from torchdali._engine.schema import Argument, OperatorSchema
from torchdali._stubs.module import Extends, Path, StubModule, families_in, modules_of, names_from
from torchdali._stubs.types import TYPES
from torchdali.fn import _callables

__all__ = ["stubs"]

_SAMPLE = "Sample"
_BATCH = "Samples"
# Where the functions of the package itself, which are no operators, are defined.
_OWN = {
    "Batch": "torchdali._eager.batch",
    "deferred": "torchdali._eager.settings",
    "get_default_layout": "torchdali._eager.settings",
    "get_num_threads": "torchdali._eager.settings",
    "release_unused_memory": "torchdali._eager.program",
    "set_default_layout": "torchdali._eager.settings",
    "set_num_threads": "torchdali._eager.settings",
}


def stubs(schemas: Iterable[OperatorSchema], extends: Extends | None) -> Iterator[StubModule]:
    """Yields the modules; arguments as of `torchdali._stubs.modules()`."""
    found = {tuple(name.split(".")): s for name, s in shown_by_functional(schemas).items()}
    paths = modules_of(found)
    for path in sorted(paths):
        inside = families_in(paths, path)
        own = {key[-1]: schema for key, schema in found.items() if key[:-1] == path}
        text = _module(path, inside, own, extends)
        yield StubModule("functional", path, bool(inside) or not path, text)


def _module(
    path: Path, inside: list[str], own: dict[str, OperatorSchema], extends: Extends | None
) -> str:
    package = ".".join(["torchdali.functional", *path])
    extended = extends(package) if extends is not None else []
    body: list[str] = []
    for name, schema in own.items():
        body += _function(name, schema, TYPES)
    code = "\n".join(body)
    plain = re.sub(r'""".*?"""', "", code, flags=re.DOTALL)
    names = [*inside, *own]
    place = package if extends is None else "."
    imports = [f"from {place} import {one} as {one}" for one in inside]
    if not path and not extended:
        imports += [f"from {module} import {name} as {name}" for name, module in _OWN.items()]
        names += _OWN
    aliases = [one for one in ("Sample", "Samples", "Values") if re.search(rf"\b{one}\b", plain)]
    if aliases:
        imports.append(f"from torchdali._eager.types import {', '.join(aliases)}")
    typing = [word for word in ("Any", "overload") if re.search(rf"\b{word}\b", plain)]
    standard = [
        *(["import os"] if "os.PathLike" in plain else []),
        *(["from collections.abc import Sequence"] if "Sequence[" in plain else []),
        *([f"from typing import {', '.join(typing)}"] if typing else []),
    ]
    third = [
        *(["import torch"] if "torch." in plain else []),
        *(["from numpy.typing import NDArray"] if "NDArray[" in plain else []),
    ]
    if "Batch" in plain and (path or extended):
        imports.append("from torchdali._eager.batch import Batch")
    ours = sorted(imports, key=lambda line: line.split()[1])
    ours = names_from(package, extended, inside) + ours
    if "types.DALI" in plain:
        ours.insert(0, "from torchdali import types")
    groups = "\n\n".join("\n".join(group) for group in (standard, third, ours) if group)
    if extended:  # without __all__, a stub shows all names that it imports with `*`
        return f"{groups}\n\n{code}".rstrip() + "\n"
    exported = "\n".join(f'    "{name}",' for name in sorted(names))
    return f"{groups}\n\n__all__ = [\n{exported}\n]\n\n{code}".rstrip() + "\n"


def _type_of(arg: Argument, types: dict[str, str]) -> str:
    text = types.get(arg.type, arg.type)
    if arg.per_sample:
        text += " | Values"
    return text if arg.required else f"{text} | None"


def _default(arg: Argument) -> str:
    if arg.required:
        return ""
    return " = ..." if arg.type.endswith("_list") else f" = {arg.default_text()}"


def _function(name: str, schema: OperatorSchema, types: dict[str, str]) -> Iterator[str]:
    arguments = [
        f"{arg.name}: {_type_of(arg, types)}{_default(arg)},"
        for arg in _callables.parameters(schema, FACE)
    ]
    arguments += [f"{arg.name}: Any = None," for arg in schema.args if arg.deprecated]
    text = textwrap.indent(
        _callables.docstring(schema, face=FACE).replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        "    ",
    ).strip()
    variants = [(_SAMPLE, "torch.Tensor"), (_BATCH, "Batch")]
    if not schema.min_inputs:
        variants = [(_SAMPLE, "Any")]
    for kind, result in variants:
        if len(variants) > 1:
            yield "@overload"
        yield f"def {name}("
        for line in [*_inputs(schema, kind), *([] if schema.variadic else ["*,"]), *arguments]:
            yield f"    {line}"
        if kind != _SAMPLE:
            yield f") -> {_result(schema, result)}: ..."
            continue
        yield f") -> {_result(schema, result)}:"
        yield f'    """{text}\n    """'
        yield ""


def _inputs(schema: OperatorSchema, kind: str) -> list[str]:
    """Returns the positional parameters; the first one says whether the call is on a batch."""
    lines = []
    for index, i in enumerate(schema.inputs):
        name = _callables.input_name(schema, i.name)
        own = kind if not index else "Any"
        lines.append(f"{name}: {own} | None = None," if i.optional else f"{name}: {own},")
    if schema.variadic:
        name = _callables.input_name(schema, schema.inputs[-1].name)
        own = kind if len(lines) == 1 else "Any"
        return [*lines[:-1], *["/,"] * (len(lines) > 1), f"*{name}: {own},"]
    return [*lines, "/,"] if lines else []


def _result(schema: OperatorSchema, one: str) -> str:
    if schema.variable_outputs:
        return "Any"
    return one if len(schema.outputs) == 1 or one == "Any" else f"list[{one}]"
