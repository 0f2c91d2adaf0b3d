# SPDX-License-Identifier: Apache-2.0
"""OpSchema: an operator of the registry as programs that ask DALI's backend about it expect it."""

from __future__ import annotations

from typing import Any

from torchdali._common.enums import DALIDataType
from torchdali._engine.schema import (
    ALIASES,
    ENUMS,
    UNIVERSAL,
    Argument,
    InputSpec,
    OperatorSchema,
    class_name,
    every_operator,
)
from torchdali.errors import ArgumentError, _make

__all__ = ["OpSchema", "find", "registered_operators"]

_TYPES = {
    "bool": DALIDataType.BOOL,
    "int": DALIDataType.INT32,
    "float": DALIDataType.FLOAT,
    "str": DALIDataType.STRING,
    "bytes": DALIDataType.STRING,
    "layout": DALIDataType.TENSOR_LAYOUT,
    "DALIDataType": DALIDataType.DATA_TYPE,
    "DALIImageType": DALIDataType.IMAGE_TYPE,
    "DALIInterpType": DALIDataType.INTERP_TYPE,
    "int_list": DALIDataType._INT32_VEC,
    "float_list": DALIDataType._FLOAT_VEC,
    "str_list": DALIDataType._STRING_VEC,
    "layout_list": DALIDataType._TENSOR_LAYOUT_VEC,
    "DALIDataType_list": DALIDataType._DATA_TYPE_VEC,
    "function": DALIDataType.PYTHON_OBJECT,
    "object": DALIDataType.PYTHON_OBJECT,
    "features": DALIDataType._FEATURE_DICT,
}


def _backend_name(name: str) -> str:
    """Returns DALI's name of a schema: "decoders.image" -> "decoders__Image"."""
    *modules, _ = name.split(".")
    return "__".join([*modules, class_name(name)])


def registered_operators(device: str, *, hidden: bool) -> list[str]:
    """Returns DALI's names of the operators that run on a device, sorted."""
    return sorted(
        _backend_name(name)
        for name, schema in every_operator().items()
        if device in schema.devices and (hidden or not schema.hidden)
    )


class OpSchema:
    """Facts about an operator, under the names that DALI's backend has for them."""

    __slots__ = ("_args", "_schema")

    def __init__(self, schema: OperatorSchema) -> None:
        self._schema = schema
        self._args = {**{a.name: a for a in UNIVERSAL}, **schema.by_name}

    def _argument(self, name: str) -> Argument:
        if name not in self._args:
            raise _make(ArgumentError, f"{self.Name()} has no argument `{name}`")
        return self._args[name]

    def Name(self) -> str:
        """Returns the operator's name, such as "decoders__Image"."""
        return _backend_name(self._schema.name)

    def OperatorName(self) -> str:
        """Returns the name of its class, such as "Image"."""
        return self._schema.class_name

    def ModulePath(self) -> list[str]:
        """Returns the modules that the class is in, such as ["decoders"]."""
        return list(self._schema.path[:-1])

    def Dox(self) -> str:
        """Returns what the operator does, in words."""
        return self._schema.doc

    def MinNumInput(self) -> int:
        """Returns the least number of inputs."""
        return self._schema.min_inputs

    def MaxNumInput(self) -> int:
        """Returns the greatest number of inputs."""
        return self._schema.max_inputs

    def _input(self, index: int) -> InputSpec:
        given = self._schema.inputs
        return given[-1] if self._schema.variadic and index >= len(given) else given[index]

    def GetInputName(self, index: int, /) -> str:
        """Returns the name of an input."""
        return self._input(index).name

    def GetInputDox(self, index: int, /) -> str:
        """Returns what an input is, in words."""
        return self._input(index).doc

    def GetSupportedLayouts(self, index: int, /) -> list[str]:
        """Returns the layouts that an input may have; []: any."""
        return list(self._input(index).layouts)

    def GetArgumentNames(self) -> list[str]:
        """Returns the names of the arguments, without those that only old programs use."""
        return [name for name, arg in self._args.items() if not arg.deprecated]

    def HasArgument(self, name: str, /) -> bool:
        """Returns whether there is an argument of that name."""
        return name in self._args

    def GetArgumentDox(self, name: str, /) -> str:
        """Returns what an argument means, in words."""
        return self._argument(name).doc

    def GetArgumentType(self, name: str, /) -> DALIDataType:
        """Returns the type of an argument."""
        return _TYPES[self._argument(name).type]

    def HasArgumentDefaultValue(self, name: str, /) -> bool:
        """Returns whether an argument has a default."""
        return self._argument(name).has_default

    def GetArgumentDefaultValueString(self, name: str, /) -> str:
        """Returns the default of an argument as text that Python reads."""
        arg = self._argument(name)
        if not arg.has_default:
            raise _make(ArgumentError, f"`{name}` of {self.Name()} has no default")
        return repr(int(arg.default)) if arg.type in ENUMS else arg.default_text()

    def IsArgumentOptional(self, name: str, /) -> bool:
        """Returns whether an argument may be left out."""
        return not self._argument(name).required

    def IsTensorArgument(self, name: str, /) -> bool:
        """Returns whether an argument may be a DataNode, with a value for each sample."""
        return self._argument(name).per_sample

    def IsDeprecatedArg(self, name: str, /) -> bool:
        """Returns whether only old programs use an argument."""
        return self._argument(name).deprecated

    def DeprecatedArgMeta(self, name: str, /) -> dict[str, Any]:
        """Returns what became of an argument that only old programs use."""
        arg = self._argument(name)
        return {"msg": arg.doc, "renamed_to": arg.renamed_to, "removed": arg.ignored}

    def AllowsSequences(self) -> bool:
        """Returns whether it takes sequences of frames."""
        return self._schema.sequences

    def SupportsVolumetric(self) -> bool:
        """Returns whether it takes volumes."""
        return self._schema.volumes

    def IsNoPrune(self) -> bool:
        """Returns whether it runs even if nothing uses its outputs."""
        return self._schema.side_effects

    def IsInternal(self) -> bool:
        """Returns whether it is there for the language alone, without a name in `fn`."""
        return self._schema.hidden

    IsDocHidden = IsInternal

    def __repr__(self) -> str:
        return f"OpSchema({self.Name()!r})"


def find(name: str, follow_aliases: bool) -> OpSchema | None:
    """Returns the operator of a name in DALI's backend, or None."""
    known = {_backend_name(own): schema for own, schema in every_operator().items()}
    if name not in known and follow_aliases:
        by_alias = {_backend_name(old): new for old, new in ALIASES.items()}
        name = _backend_name(by_alias[name]) if name in by_alias else name
    return OpSchema(known[name]) if name in known else None
