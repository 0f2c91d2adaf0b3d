# SPDX-License-Identifier: Apache-2.0
"""What a definition records: batches that will be (DataNode), uses of operators (OpNode)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from torchdali._common.enums import DALIDataType
from torchdali._common.location import SourceLocation, find_user_location
from torchdali._common.unsupported import names_of
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make

if TYPE_CHECKING:
    from torchdali._engine.schema import OperatorSchema

__all__ = ["DataNode", "newaxis"]


def _not_there(*_: Any, **__: Any) -> Any:
    raise _make(UnsupportedError, "not available in this version", location=find_user_location())


class _Language:
    """The functions that the methods of DataNode call; _graph/node_methods.py sets them.

    Attributes:
        arithmetic: called with DALI's name of an operation ("add") and its operands.
        numpy: called with a function of NumPy and its arguments; raises if it is no arithmetic.
        subscript: called with a node and the subscripts.
        shape: called with a node, a dtype or None, and a device.
        property: called with a node, a key and a device.
        transfer: called with a node and the device to copy it to.
        truth: called if Python needs the truth value of a node; raises.
        constant: called with a value of the user; returns None if it is not a constant.
    """

    def __init__(self) -> None:
        self.arithmetic: Callable[..., DataNode] = _not_there
        self.numpy: Callable[..., DataNode] = _not_there
        self.subscript: Callable[[DataNode, Any], DataNode] = _not_there
        self.shape: Callable[[DataNode, DALIDataType | None, str], DataNode] = _not_there
        self.property: Callable[[DataNode, str, str], DataNode] = _not_there
        self.transfer: Callable[[DataNode, str], DataNode] = _not_there
        self.truth: Callable[[DataNode], bool] = _not_there
        self.constant: Callable[[Any], DataNode | None] = _not_there


language = _Language()


class NewAxis:
    """A subscript that adds an axis of extent 1; `newaxis("C")` also names it in the layout."""

    __slots__ = ("_name",)

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise _make(ArgumentTypeError, f"newaxis: a name is one letter, got {name!r}")
        if name is not None and len(name) != 1:
            raise _make(ArgumentError, f'newaxis: a name is one letter, got "{name}"')
        self._name = name

    @property
    def name(self) -> str | None:
        """The letter of the axis, None if it has none."""
        return self._name

    def __call__(self, name: str | None = None) -> NewAxis:
        return NewAxis(name)

    def __repr__(self) -> str:
        return "newaxis" if self._name is None else f'newaxis("{self._name}")'


newaxis = NewAxis()


class DataNode:
    """A batch that will be: an output of an operator, an input of others, or of the pipeline.

    Arithmetic, comparison and bitwise operators make operators of the pipeline, sample by sample;
    so do subscripts: integers, slices with any step, `...`, `newaxis`, and as positions and bounds
    data nodes with one integer a sample.

    Args:
        name: as it appears in messages.
        device: "cpu" or "gpu", where the batch will be.
        source: the operator that makes it.
        index: which of the operator's outputs it is.
        ndim: number of dimensions of a sample; None if unknown.
        dtype: type of the elements; None if unknown.
        layout: letters of the axes of a sample; None if unknown.
    """

    __slots__ = ("device", "dtype", "index", "layout", "name", "ndim", "source")

    def __init__(
        self,
        name: str,
        device: str = "cpu",
        source: OpNode | None = None,
        index: int = 0,
        ndim: int | None = None,
        dtype: Any = None,
        layout: str | None = None,
    ) -> None:
        self.name = name
        self.device = device
        self.source = source
        self.index = index
        self.ndim = ndim
        self.dtype = dtype
        self.layout = layout

    def gpu(self) -> DataNode:
        """Returns the batch on the GPU. Whether there is one, build() finds out."""
        return self if self.device == "gpu" else language.transfer(self, "gpu")

    def cpu(self) -> DataNode:
        """Returns the batch on the CPU."""
        return self if self.device == "cpu" else language.transfer(self, "cpu")

    def shape(self, *, dtype: DALIDataType | None = None, device: str = "cpu") -> DataNode:
        """Returns the shapes of the samples, one 1-D tensor each.

        Args:
            dtype: element type of the result; None: INT64.
            device: where the result will be.
        """
        return language.shape(self, dtype, device)

    def property(self, key: str, *, device: str = "cpu") -> DataNode:
        """Returns what is known about each sample, such as "source_info" or "layout", as bytes.

        Args:
            key: "source_info" (path or key that the sample was made from) or "layout".
            device: where the result will be.
        """
        return language.property(self, key, device)

    def source_info(self, *, device: str = "cpu") -> DataNode:
        """Returns the path or key that each sample was made from, as bytes (UINT8)."""
        return language.property(self, "source_info", device)

    def __getitem__(self, key: Any) -> DataNode:
        return language.subscript(self, key)

    def __repr__(self) -> str:
        return f'DataNode(name="{self.name}", device="{self.device}")'

    def __iter__(self) -> Iterator[DataNode]:
        raise _make(
            ArgumentTypeError,
            f"{self!r} cannot be iterated over: it is one output",
            location=find_user_location(),
        )

    def __bool__(self) -> bool:
        return language.truth(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> DataNode:
        return language.numpy(ufunc if method == "__call__" else None, *args, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> DataNode:
        return language.numpy(function, *args, **kwargs)

    def __add__(self, other: Any) -> DataNode:
        return language.arithmetic("add", self, other)

    def __radd__(self, other: Any) -> DataNode:
        return language.arithmetic("add", other, self)

    def __sub__(self, other: Any) -> DataNode:
        return language.arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> DataNode:
        return language.arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> DataNode:
        return language.arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> DataNode:
        return language.arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> DataNode:
        return language.arithmetic("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> DataNode:
        return language.arithmetic("fdiv", other, self)

    def __floordiv__(self, other: Any) -> DataNode:
        return language.arithmetic("div", self, other)

    def __rfloordiv__(self, other: Any) -> DataNode:
        return language.arithmetic("div", other, self)

    def __mod__(self, other: Any) -> DataNode:
        return language.arithmetic("mod", self, other)

    def __rmod__(self, other: Any) -> DataNode:
        return language.arithmetic("mod", other, self)

    def __pow__(self, other: Any) -> DataNode:
        return language.arithmetic("pow", self, other)

    def __rpow__(self, other: Any) -> DataNode:
        return language.arithmetic("pow", other, self)

    def __lshift__(self, other: Any) -> DataNode:
        return language.arithmetic("shl", self, other)

    def __rlshift__(self, other: Any) -> DataNode:
        return language.arithmetic("shl", other, self)

    def __rshift__(self, other: Any) -> DataNode:
        return language.arithmetic("shr", self, other)

    def __rrshift__(self, other: Any) -> DataNode:
        return language.arithmetic("shr", other, self)

    def __and__(self, other: Any) -> DataNode:
        return language.arithmetic("bitand", self, other)

    def __rand__(self, other: Any) -> DataNode:
        return language.arithmetic("bitand", other, self)

    def __or__(self, other: Any) -> DataNode:
        return language.arithmetic("bitor", self, other)

    def __ror__(self, other: Any) -> DataNode:
        return language.arithmetic("bitor", other, self)

    def __xor__(self, other: Any) -> DataNode:
        return language.arithmetic("bitxor", self, other)

    def __rxor__(self, other: Any) -> DataNode:
        return language.arithmetic("bitxor", other, self)

    def __eq__(self, other: Any) -> DataNode:  # type: ignore[override]  # arithmetic, as in DALI
        return language.arithmetic("eq", self, other)

    def __ne__(self, other: Any) -> DataNode:  # type: ignore[override]  # arithmetic, as in DALI
        return language.arithmetic("neq", self, other)

    def __lt__(self, other: Any) -> DataNode:
        return language.arithmetic("lt", self, other)

    def __le__(self, other: Any) -> DataNode:
        return language.arithmetic("leq", self, other)

    def __gt__(self, other: Any) -> DataNode:
        return language.arithmetic("gt", self, other)

    def __ge__(self, other: Any) -> DataNode:
        return language.arithmetic("geq", self, other)

    def __neg__(self) -> DataNode:
        return language.arithmetic("minus", self)

    def __pos__(self) -> DataNode:
        return self

    def __invert__(self) -> DataNode:
        return language.arithmetic("bitnot", self)

    def __abs__(self) -> DataNode:
        return language.arithmetic("abs", self)

    __hash__ = None  # type: ignore[assignment]  # == makes an operator, so it cannot tell keys apart


# Predicates and the values that they have for the samples in hand, outermost first.
Guards: TypeAlias = tuple[tuple[DataNode, bool], ...]

# Inputs exist before the operators that use them, so this order is topological.
_ordinals = itertools.count()


@dataclass(frozen=True, eq=False)
class OpNode:
    """One use of an operator, as the user wrote it.

    Attributes:
        schema: what the operator is.
        name: in its pipeline; the user's, or made up.
        named: whether the user gave the name.
        inputs: what its positional inputs are.
        arg_inputs: arguments that are data nodes.
        args: arguments that are constants, as plain values.
        seed: the user's; None: derived from the pipeline's.
        device: "cpu", "gpu" or "mixed".
        preserve: runs although nothing uses its outputs.
        on_error: what happens to samples that it fails for; None: as the pipeline says.
        num_outputs: how many data nodes it makes.
        location: the user's line.
        scope: token of the pipeline it belongs to; None if it may be used in any.
        provisional: the name was made up outside a pipeline, and is settled at build.
        ordinal: its place in the order of creation.
        guards: (predicate, value) pairs, outermost first: a sample for which one of them does not
            hold is not processed. Predicates are boolean scalars.
        group: what ties nodes together that get their data from one Python source.
        group_index: which output of the group it is.
    """

    schema: OperatorSchema
    name: str
    named: bool
    inputs: tuple[DataNode, ...]
    arg_inputs: Mapping[str, DataNode]
    args: Mapping[str, Any]
    seed: int | None
    device: str
    preserve: bool
    num_outputs: int
    location: SourceLocation | None
    scope: object | None
    provisional: bool = False
    on_error: str | None = None
    ordinal: int = field(default_factory=_ordinals.__next__)
    guards: Guards = ()
    group: Any = None
    group_index: int = 0

    @property
    def parents(self) -> tuple[DataNode, ...]:
        """All data nodes that it depends on."""
        return (*self.inputs, *self.arg_inputs.values(), *(node for node, _ in self.guards))

    @property
    def outputs(self) -> tuple[DataNode, ...]:
        """The data nodes that it makes."""
        device = "cpu" if self.device == "cpu" else "gpu"
        declares = self.schema.name in ("constant", "external_source")
        layout = self.args.get("layout") if declares else None
        return tuple(
            DataNode(
                f"{self.name}[{i}]" if self.num_outputs > 1 else self.name,
                device,
                self,
                i,
                layout=layout,
            )
            for i in range(self.num_outputs)
        )

    def constants(self) -> dict[str, str]:
        """Returns the arguments that are constants, as text."""
        known = self.schema.by_name
        return {n: known[n].value_text(v) if n in known else repr(v) for n, v in self.args.items()}

    def __repr__(self) -> str:
        inputs = [node.name for node in self.inputs]
        inputs += [f"{name}={text}" for name, text in self.constants().items()]
        inputs += [] if self.seed is None else [f"seed={self.seed}"]
        inputs += [f"{name}={node.name}" for name, node in self.arg_inputs.items()]
        where = f"  # {self.location.short()}" if self.location else ""
        return f"{self.name} = {self.schema.fn_name}({', '.join(inputs)}){where}"


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
