# SPDX-License-Identifier: Apache-2.0
"""What arguments take, as stubs say it."""

from __future__ import annotations

from torchdali._engine.schema import ENUMS

__all__ = ["TYPES"]

_DTYPE = "types.DALIDataType | torch.dtype | type[Any]"
TYPES = {
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
