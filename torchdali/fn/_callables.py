# SPDX-License-Identifier: Apache-2.0
"""Makes the functions of ``fn`` and the classes of ``ops`` from the schemas."""

from __future__ import annotations

import inspect
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torchdali import external_source as _external
from torchdali import python_function_plugin, types
from torchdali._common.location import find_user_location, user_stack_level
from torchdali._common.unsupported import names_of
from torchdali._engine import libraries
from torchdali._engine.schema import (
    ALIASES,
    ENUMS,
    UNIVERSAL,
    Argument,
    OperatorSchema,
    class_name,
)
from torchdali._graph import node_methods, record
from torchdali._graph.check import check_device, resolve
from torchdali.fn._compose import Compose

__all__ = [
    "PIPELINES",
    "Face",
    "docstring",
    "input_name",
    "install",
    "install_functions",
    "parameters",
    "signature",
]

# What the user sees of these operators is written in Python; the engine has only a part of it.
PYTHON: dict[str, tuple[Callable[..., Any], type[Any]]] = {
    "external_source": (_external.external_source, _external.ExternalSource),
}

node_methods.connect()

_INDENT = "    "


def _of_every_operator(schema: OperatorSchema) -> list[Argument]:
    return [arg for arg in UNIVERSAL if schema.random or arg.name != "seed"]


@dataclass(frozen=True)
class Face:
    """How functions of operators are described.

    Attributes:
        data: what they take and return.
        per_sample: what an argument may be besides a constant.
        common: returns the arguments that an operator has besides its own.
    """

    data: str
    per_sample: str
    common: Callable[[OperatorSchema], Sequence[Argument]]


PIPELINES = Face("DataNode", "DataNode", _of_every_operator)


def parameters(schema: OperatorSchema, face: Face = PIPELINES) -> list[Argument]:
    """Returns the keyword arguments as they are shown: its own, then those of every operator."""
    own = [a for a in schema.args if not a.deprecated]
    names = {a.name for a in own}
    own.sort(key=lambda a: not a.required)
    return own + [arg for arg in face.common(schema) if arg.name not in names]


def input_name(schema: OperatorSchema, name: str) -> str:
    """Returns the parameter's name of an input; one that an argument has too gets a suffix."""
    return f"{name}_input" if any(a.name == name for a in schema.args) else name


def signature(schema: OperatorSchema, face: Face = PIPELINES) -> inspect.Signature:
    """Returns the signature of an operator's function."""
    empty = inspect.Parameter.empty
    params = []
    for i in schema.inputs:
        name = input_name(schema, i.name)
        if schema.variadic and i is schema.inputs[-1]:
            params.append(inspect.Parameter(name, inspect.Parameter.VAR_POSITIONAL))
        else:
            kind = inspect.Parameter.POSITIONAL_ONLY
            params.append(inspect.Parameter(name, kind, default=None if i.optional else empty))
    for arg in parameters(schema, face):
        default: Any = arg.default if arg.has_default else None
        if arg.has_default and arg.type in ENUMS:
            default = ENUMS[arg.type](arg.default)
        params.append(
            inspect.Parameter(
                arg.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=empty if arg.required else default,
            )
        )
    return inspect.Signature(params)


def _entry(name: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        f"{name}: {' '.join(text.split())}",
        width=width,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _paragraphs(text: str, width: int) -> list[str]:
    """Wraps prose; lines that are indented (examples, tables) stay as they are."""
    lines: list[str] = []
    for block in text.strip().split("\n\n"):
        if lines:
            lines.append("")
        if any(line.startswith((" ", ">>>", "-", "*", "|")) for line in block.splitlines()):
            lines += block.splitlines()
        else:
            lines += textwrap.wrap(
                " ".join(block.split()), width, break_long_words=False, break_on_hyphens=False
            )
    return lines


def docstring(schema: OperatorSchema, width: int = 92, face: Face = PIPELINES) -> str:
    """Returns the docstring of an operator's function, in Google's style."""
    lines = _paragraphs(schema.doc, width)
    notes = []
    if schema.sequences:
        notes.append("takes frame sequences (layouts with F)")
    if schema.volumes:
        notes.append("takes volumes (layouts with D)")
    if notes:
        text = " and ".join(notes)
        lines += ["", f"{text[0].upper()}{text[1:]}."]
    lines += ["", "Args:"]
    for i in schema.inputs:
        layouts = f" Layouts: {', '.join(i.layouts)}." if i.layouts else ""
        optional = " Optional." if i.optional else ""
        name = input_name(schema, i.name)
        lines += _entry(name, f"{face.data}. {i.doc}{layouts}{optional}", width)
    for arg in parameters(schema, face):
        kind = arg.type_text()
        if arg.per_sample:
            kind = kind.replace("DataNode", face.per_sample)
        if arg.required:
            kind += ", required."
        elif arg.has_default:
            kind += f", default {arg.default_text()}."
        else:
            kind += ", optional."
        lines += _entry(arg.name, f"{kind} {arg.doc}", width)
    old = [a for a in schema.args if a.deprecated]
    for arg in old:
        text = f"deprecated; use `{arg.renamed_to}`." if arg.renamed_to else "deprecated."
        if arg.ignored:
            text = "deprecated, without effect."
        lines += _entry(arg.name, text, width)
    lines += ["", "Returns:"]
    if schema.outputs_by:
        lines.append(f"{_INDENT}Dictionary of DataNode, with the names in `{schema.outputs_by}`.")
    elif schema.variable_outputs:
        lines.append(
            f"{_INDENT}{face.data}, or a list of them; the number depends on the arguments."
        )
    elif not schema.outputs:
        lines.append(f"{_INDENT}None: the operator has no outputs.")
    elif len(schema.outputs) == 1:
        lines += _entry(face.data, schema.outputs[0].doc, width)
    else:
        names = ", ".join(f"`{o.name}`" for o in schema.outputs)
        lines.append(f"{_INDENT}List of {face.data}: {names}.")
    if schema.outputs and (len(schema.outputs) > 1 or schema.variable_outputs):
        for output in schema.outputs:
            lines += [_INDENT + line for line in _entry(output.name, output.doc, width - 4)]
    return "\n".join(lines)


def _function(schema: OperatorSchema) -> Callable[..., Any]:
    def function(*inputs: Any, **kwargs: Any) -> Any:
        return record.create(schema, inputs, kwargs)

    function.__signature__ = signature(schema)  # type: ignore[attr-defined]
    function.__doc__ = docstring(schema)
    return function


class _Operator:
    """An operator with arguments given beforehand; calling it makes the nodes.

    May be used in several pipelines, and several times in one.
    """

    _schema: OperatorSchema

    def __init__(self, **kwargs: Any) -> None:
        location = find_user_location()
        resolve(self._schema, kwargs, location)
        check_device(self._schema, kwargs.get("device") or "cpu", location)
        self._kwargs = kwargs

    @property
    def schema(self) -> OperatorSchema:
        """What the operator is."""
        return self._schema

    @property
    def device(self) -> str:
        """Where the operator runs."""
        return self._kwargs.get("device") or "cpu"

    @property
    def preserve(self) -> bool:
        """Whether the operator runs although nothing uses its outputs."""
        return bool(self._kwargs.get("preserve"))

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns what the function of the same name in ``fn`` returns."""
        given = {name: value for name, value in kwargs.items() if value is not None}
        return record.create(self._schema, inputs, {**self._kwargs, **given})


class PythonFunctionBase(_Operator):
    """What the classes of operators that call a function of the user have in common."""

    def __init__(
        self, function: Any = None, num_outputs: int = 1, device: str = "cpu", **kwargs: Any
    ) -> None:
        given = {"function": function, "num_outputs": num_outputs, "device": device, **kwargs}
        super().__init__(**{k: v for k, v in given.items() if v is not None})

    @staticmethod
    def current_stream() -> types.CUDAStream:
        """Returns the CUDA stream that the running function belongs to; on the CPU, that is 0."""
        return types.CUDAStream(python_function_plugin.current_dali_stream())


# What ``ops`` has besides operators.
CLASSES: dict[str, type[Any]] = {"Compose": Compose, "PythonFunctionBase": PythonFunctionBase}


def _class(schema: OperatorSchema) -> type[_Operator]:
    own = signature(schema)
    params = [p for p in own.parameters.values() if p.kind is p.KEYWORD_ONLY]
    calls = "function" in schema.by_name
    if calls:  # these come by position too, as in DALI
        first = [own.parameters[name] for name in ("function", "num_outputs", "device")]
        named = [p for p in params if p not in first]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        params = [p.replace(kind=kind) for p in first] + named
    optional = [
        p.replace(default=None) if p.default is inspect.Parameter.empty else p for p in params
    ]
    doc = f"{docstring(schema)}\n\nNote:\n{_INDENT}The inputs are passed to the call."
    return type(
        schema.class_name,
        (PythonFunctionBase if calls else _Operator,),
        {
            "_schema": schema,
            "__doc__": doc,
            "__signature__": inspect.Signature(optional),
        },
    )


def _deprecated(old: str, new: str, made: Any, prefix: str) -> Any:
    """Returns a function or class under its old name, which warns where it is used."""

    def warn() -> None:
        warnings.warn(
            f"{prefix}.{old} is the old name of {prefix}.{new}",
            DeprecationWarning,
            stacklevel=user_stack_level(),
        )

    if isinstance(made, type):

        class Old(made):  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                warn()
                super().__init__(*args, **kwargs)

        Old.__doc__ = f"Old name of {prefix}.{new}."
        return Old

    def function(*args: Any, **kwargs: Any) -> Any:
        warn()
        return made(*args, **kwargs)

    function.__doc__ = f"Old name of {prefix}.{new}."
    function.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    return function


def _module(package: ModuleType, path: tuple[str, ...], *, export: bool) -> ModuleType:
    """Returns the submodule for a family of operators, made if it does not exist."""
    module = package
    for part in path:
        name = f"{module.__name__}.{part}"
        found = sys.modules.get(name)
        if found is None:
            found = ModuleType(name, f"Operators of ``{name}``.")
            found.__all__ = []  # type: ignore[attr-defined]
            found.__path__ = []  # so that a submodule of it can be imported by its dotted name
            found.__getattr__ = names_of(name)  # type: ignore[method-assign]
            sys.modules[name] = found
            setattr(module, part, found)
        if export:
            _export(module, part)
        module = found
    return module


def _export(module: ModuleType, name: str) -> None:
    if name not in module.__all__:
        module.__all__.append(name)
        module.__all__.sort()


def install(package: ModuleType) -> None:
    """Fills ``torchdali.fn`` or ``torchdali.ops`` with what the registry holds."""
    prefix = package.__name__.rpartition(".")[2]
    package.__getattr__ = names_of(package.__name__)  # type: ignore[method-assign]
    if prefix == "ops":
        for own, value in CLASSES.items():
            setattr(package, own, value)
            _export(package, own)
    libraries.show(
        package,
        lambda schemas: _install(package, prefix, schemas),
        shown=lambda name: _shown(prefix, name),
    )


def _install(package: ModuleType, prefix: str, schemas: Iterable[OperatorSchema]) -> None:
    made: dict[str, Any] = {}
    for schema in schemas:
        if schema.hidden:
            continue
        if schema.name in PYTHON:
            made[schema.name] = PYTHON[schema.name][0 if prefix == "fn" else 1]
        else:
            made[schema.name] = _function(schema) if prefix == "fn" else _class(schema)
    names: Mapping[str, str] = {name: _shown(prefix, name) for name in made}
    for name, value in made.items():
        _place(package, names[name], value, rename=name not in PYTHON)
    for old, new in ALIASES.items():
        if new in made and old not in made:
            shown = _shown(prefix, old)
            alias = _deprecated(shown, names[new], made[new], prefix)
            _place(package, shown, alias, export=False)


def install_functions(package: ModuleType, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Places functions by their dotted names in a package and its submodules."""
    for name, function in functions.items():
        _place(package, name, function)


def _shown(prefix: str, name: str) -> str:
    """Returns an operator's dotted name in ``fn`` or ``ops``."""
    if prefix == "fn":
        return name
    family, _, _ = name.rpartition(".")
    return f"{family}.{class_name(name)}" if family else class_name(name)


def _place(
    package: ModuleType, name: str, value: Any, *, rename: bool = True, export: bool = True
) -> None:
    *path, own = name.split(".")
    module = _module(package, tuple(path), export=export)
    if rename:
        value.__name__ = value.__qualname__ = own
        value.__module__ = module.__name__
    setattr(module, own, value)
    if export:
        _export(module, own)
