# SPDX-License-Identifier: Apache-2.0
"""Generates files from the registry: stubs of ``fn`` and ``ops``, and reference pages.

``python -m tools.docs.generate`` writes the files of this checkout. With ``--check`` it only lists
stale files, and fails if there are any.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tools.docs import functional_stubs, missing_names, operator_states, reference
from tools.docs.gpu_record import PATH as RECORD_PATH
from tools.docs.gpu_record import Record
from tools.gpu_kernels import fingerprint
from torchdali import auto_aug, backend, errors, loop, pipeline, profiling, stats, storage, tensors
from torchdali._engine.schema import ENUMS, Argument, OperatorSchema, registry
from torchdali.fn import _callables
from torchdali.plugin.numba.fn import experimental as numba

__all__ = ["files", "main"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "torchdali"
_HEAD = "# Made by `make generate` from the engine's registry; do not edit."

_KINDS = ("fn", "functional", "ops")  # packages with generated stubs

_DTYPE = "types.DALIDataType | torch.dtype | type[Any]"
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
    "object": "Any",
    "layout_list": "str | Sequence[str]",
    "features": "Mapping[str, Feature]",
    "DALIDataType": _DTYPE,
    "DALIDataType_list": f"{_DTYPE} | Sequence[Any]",
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
    if kind == "ops" and not path:
        for own, made in _callables.CLASSES.items():
            names.append(own)
            python.append(f"from {made.__module__} import {own} as {own}")
    package = ".".join(["torchdali", kind, *path])
    imports = [
        "import os",
        "from collections.abc import Callable, Mapping, Sequence",
        "from typing import Any, overload",
        "",
        "import torch",
        "from numpy.typing import NDArray",
        "",
        "from torchdali import types",
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
    text = "\n".join([_HEAD, *_collapsed(imports), all_names, code])
    return text.rstrip("\n") + "\n"


def _collapsed(lines: list[str]) -> list[str]:
    """Returns the lines with consecutive blank lines merged."""
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


def files() -> dict[Path, str]:
    """Returns the paths and texts of all generated files."""
    folder = ROOT / "docs" / "reference"
    result = dict(_stubs("fn"))
    result.update(_stubs("ops"))
    result.update(functional_stubs.stubs(PACKAGE, _HEAD, _STUB_TYPES))
    facts = json.loads((ROOT / "tests" / "data" / "dali_operators.json").read_text())
    result[folder / "operators.md"] = operator_states.page(
        facts, Record.read(ROOT / RECORD_PATH), fingerprint(ROOT / "csrc")
    )
    result[folder / "README.md"] = reference.index_page()
    result[folder / "missing_names.md"] = missing_names.page()
    for schema in registry().values():
        result[folder / "fn" / f"{schema.name}.md"] = reference.operator_page(schema)
    result[folder / "types.md"] = reference.types_page().rstrip() + "\n"
    pages = {
        module: list(module.__all__) for module in (tensors, errors, profiling, stats, storage)
    }
    pages[backend] = [name for name in backend.__all__ if name not in tensors.__all__]
    pages[pipeline] = ["pipeline_def", "Pipeline", "DataNode"]
    pages[loop] = list(loop.__all__)
    for module, names in pages.items():
        result[folder / f"{module.__name__.split('.')[1]}.md"] = reference.module_page(
            module, names
        )
    for part in auto_aug.__all__:
        module = getattr(auto_aug, part)
        page = reference.module_page(module, list(module.__all__))
        result[folder / "auto_aug" / f"{part}.md"] = page
    result[folder / "numba.md"] = reference.module_page(numba, numba.__all__)
    return result


def stale() -> list[Path]:
    """Returns the generated files that are missing, outdated or superfluous."""
    wanted = files()
    found = {file for kind in _KINDS for file in (PACKAGE / kind).rglob("*.pyi")}
    found |= set((ROOT / "docs" / "reference").rglob("*.md"))
    differ = [p for p, text in wanted.items() if not p.exists() or p.read_text() != text]
    return sorted([*differ, *(found - wanted.keys())])


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks the files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only list stale files")
    options = parser.parse_args(arguments)
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
