# SPDX-License-Identifier: Apache-2.0
"""An operation with a range of magnitudes, of which a policy draws."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from torchdali._common.location import find_user_location, user_stack_level
from torchdali._graph.constant import constant_node
from torchdali.auto_aug.core._bins import SignedBin, signed_bin
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["Augmentation", "augmentation", "check_all_used"]

_OWN_PARAMETERS = 2  # of an operation: the data and its parameter
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


class Augmentation:
    """An operation on data nodes whose parameter follows from a magnitude; see augmentation()."""

    def __init__(
        self,
        op: Callable[..., Any],
        mag_range: tuple[float, float] | NDArray[Any] | None = None,
        randomly_negate: bool | None = None,
        mag_to_param: Callable[[Any], Any] | None = None,
        param_device: str | None = None,
        name: str | None = None,
    ) -> None:
        self._op = op
        self.__doc__ = op.__doc__
        self._config: dict[str, Any] = {
            "mag_range": mag_range,
            "randomly_negate": randomly_negate,
            "mag_to_param": mag_to_param,
            "param_device": param_device,
            "name": name,
        }
        parameters = list(inspect.signature(op).parameters.values())
        if sum(p.kind in _POSITIONAL for p in parameters) < _OWN_PARAMETERS:
            raise self._error(
                ArgumentTypeError,
                f"{op!r} takes fewer than two positional arguments",
                "give it one for the data and one for the parameter, which may be unused",
            )
        self._extra = [p for p in parameters[_OWN_PARAMETERS:] if p.kind in _NAMED]

    def __repr__(self) -> str:
        """Returns the operation and its settings."""
        given = [f"{key}={value!r}" for key, value in self._config.items() if value is not None]
        return f"Augmentation({', '.join([repr(self._op), *given])})"

    @property
    def op(self) -> Callable[..., Any]:
        """The operation: (data, parameter, ...) -> data."""
        return self._op

    @property
    def mag_range(self) -> Any:
        """Least and greatest magnitude, an array with those of all bins, or None."""
        return self._config["mag_range"]

    @property
    def mag_to_param(self) -> Callable[[Any], Any]:
        """What makes the parameter of a magnitude."""
        return self._config["mag_to_param"] or np.array

    @property
    def randomly_negate(self) -> bool:
        """Whether magnitudes have a random sign."""
        return bool(self._config["randomly_negate"])

    @property
    def param_device(self) -> str:
        """Where parameters are: "cpu", "gpu", or "auto", which is where the data is."""
        return self._config["param_device"] or "cpu"

    @property
    def name(self) -> str:
        """Its name; by default that of the operation."""
        return self._config["name"] or self._op.__name__

    def augmentation(
        self,
        mag_range: Any = ...,
        randomly_negate: Any = ...,
        mag_to_param: Any = ...,
        param_device: Any = ...,
        name: Any = ...,
        augmentation_cls: type[Augmentation] | None = None,
    ) -> Augmentation:
        """Returns an augmentation with the same operation and some settings changed.

        Arguments are those of augmentation(); what is left out, or ``...``, stays as it is.
        """
        given = {
            "mag_range": mag_range,
            "randomly_negate": randomly_negate,
            "mag_to_param": mag_to_param,
            "param_device": param_device,
            "name": name,
        }
        changed = {key: value for key, value in given.items() if value is not ...}
        return (augmentation_cls or type(self))(self._op, **{**self._config, **changed})

    def accepted(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns those of some arguments that the operation takes."""
        return {p.name: kwargs[p.name] for p in self._extra if p.name in kwargs}

    def __call__(
        self,
        data: DataNode,
        *,
        magnitude_bin: int | DataNode | SignedBin | None = None,
        num_magnitude_bins: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Applies the operation with the parameter of a magnitude.

        Args:
            data: what `op` takes.
            magnitude_bin: 0 to ``num_magnitude_bins - 1``, for all samples or one for each; from
                signed_bin() if `randomly_negate` is set.
            num_magnitude_bins: into how many bins the range of magnitudes is divided.
            kwargs: for `op`; what it does not take is left out.

        Returns:
            What `op` returns.

        Raises:
            ArgumentError: the bin or the number of bins is missing or out of range.
            ArgumentTypeError: an argument that `op` needs is missing, or parameters of different
                magnitudes have different types or shapes.
        """
        missing = [p.name for p in self._extra if p.default is p.empty and p.name not in kwargs]
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            fix = "pass it where the augmentation or the policy is applied"
            if missing == ["shape"]:
                fix = (
                    "pass shape=, such as fn.peek_image_shape(encoded), or use an augmentation "
                    "that moves by pixels, such as translate_x_no_shape"
                )
            raise self._error(ArgumentTypeError, f"needs the argument {names}", fix)
        parameter = self._parameter(data, magnitude_bin, num_magnitude_bins)
        return self._op(data, parameter, **self.accepted(kwargs))

    def _error(self, kind: type[Any], text: str, fix: str | None = None) -> Exception:
        error: Exception = _make(
            kind,
            text,
            operator=f"augmentation {self.name}",
            location=find_user_location(),
            fix=fix,
        )
        return error

    def _magnitudes(self, num_magnitude_bins: int | None) -> NDArray[Any]:
        given = self.mag_range
        if isinstance(given, np.ndarray):
            if num_magnitude_bins not in (None, len(given)):
                raise self._error(
                    ArgumentError,
                    f"`mag_range` has {len(given)} magnitudes, and `num_magnitude_bins` is "
                    f"{num_magnitude_bins}",
                )
            return given
        if num_magnitude_bins is None:
            raise self._error(ArgumentError, "needs the argument `num_magnitude_bins`")
        try:
            low, high = given
        except (TypeError, ValueError):
            raise self._error(
                ArgumentError,
                f"`mag_range` takes (low, high) or an array of magnitudes, got {given!r}",
            ) from None
        return np.linspace(low, high, num_magnitude_bins, dtype=np.float32)

    def _parameters(self, magnitudes: Iterable[Any]) -> NDArray[Any]:
        made: list[NDArray[Any]] = []
        for magnitude in magnitudes:
            value = self.mag_to_param(magnitude)
            parts = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(part, DataNode) for part in parts):
                raise self._error(
                    ArgumentTypeError,
                    "`mag_to_param` returned a DataNode; it returns numbers or arrays, which are "
                    "made once, when the pipeline is defined",
                    "use operators in the augmentation itself",
                )
            array = np.array(value)
            if made and (array.shape, array.dtype) != (made[0].shape, made[0].dtype):
                raise self._error(
                    ArgumentTypeError,
                    f"`mag_to_param` returned {array.dtype} of shape {array.shape} for one "
                    f"magnitude and {made[0].dtype} of shape {made[0].shape} for another",
                )
            made.append(array)
        return np.array(made)

    def _parameter(
        self, data: DataNode, given: int | DataNode | SignedBin | None, bins: int | None
    ) -> Any:
        if self.mag_range is None:
            return None
        if given is None:
            raise self._error(ArgumentError, "needs the argument `magnitude_bin`")
        magnitudes = self._magnitudes(bins)
        number = given.bin if isinstance(given, SignedBin) else given
        if isinstance(number, int) and not 0 <= number < len(magnitudes):
            raise self._error(
                ArgumentError, f"`magnitude_bin` is {number}, of {len(magnitudes)} bins"
            )
        device = self.param_device
        if device == "auto":
            device = data.device or "cpu"
        if self.randomly_negate:
            if not isinstance(given, SignedBin):
                warnings.warn(
                    f"the magnitudes of {self.name} are randomly negated, and `magnitude_bin` has "
                    "no sign: one is drawn; signed_bin() draws it once for all augmentations",
                    stacklevel=user_stack_level(),
                )
                given = signed_bin(given)
            index = given.signed_magnitude_idx
            if isinstance(number, int):
                magnitudes, index = magnitudes[[number]], given.random_sign
            both = np.stack([magnitudes, -magnitudes], axis=1).reshape(-1)
            return constant_node(self._parameters(both), device=device)[index]
        if isinstance(number, int):
            return constant_node(self._parameters(magnitudes[[number]])[0], device=device)
        return constant_node(self._parameters(magnitudes), device=device)[number]


@overload
def augmentation(function: Callable[..., Any]) -> Augmentation: ...


@overload
def augmentation(
    *,
    mag_range: tuple[float, float] | NDArray[Any] | None = None,
    randomly_negate: bool | None = None,
    mag_to_param: Callable[[Any], Any] | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Callable[[Callable[..., Any]], Augmentation]: ...


def augmentation(
    function: Callable[..., Any] | None = None,
    *,
    mag_range: tuple[float, float] | NDArray[Any] | None = None,
    randomly_negate: bool | None = None,
    mag_to_param: Callable[[Any], Any] | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Any:
    """Makes an augmentation of a function; to be used as a decorator, with or without arguments.

    Args:
        function: (data, parameter, ...) -> data, over data nodes. Further arguments are passed on
            by name, where the policy is applied.
        mag_range: least and greatest magnitude, which the bins divide evenly, ends included; or an
            array with the magnitude of each bin. None: the parameter is None.
        randomly_negate: whether magnitudes have a random sign.
        mag_to_param: magnitude -> parameter: a number or an array, of one type and shape for all.
            It is called when the pipeline is defined, once for each magnitude. By default the
            parameter is the magnitude.
        param_device: where parameters are: "cpu" (default), "gpu", or "auto": where the data is.
        name: by default the function's.
        augmentation_cls: class to make; by default Augmentation.

    Returns:
        An Augmentation; without `function` a decorator that makes one.

    Raises:
        ArgumentTypeError: `function` is no function of two positional arguments, or an augmentation
            already.
    """

    def decorate(function: Callable[..., Any]) -> Augmentation:
        if isinstance(function, Augmentation) or not callable(function):
            made = isinstance(function, Augmentation)
            raise _make(
                ArgumentTypeError,
                f"{function!r} is {'an augmentation already' if made else 'no function'}",
                operator="augmentation",
                location=find_user_location(),
                fix="use its method augmentation() to change it" if made else None,
            )
        return (augmentation_cls or Augmentation)(
            function,
            mag_range=mag_range,
            randomly_negate=randomly_negate,
            mag_to_param=mag_to_param,
            param_device=param_device,
            name=name,
        )

    return decorate if function is None else decorate(function)


def check_all_used(
    augmentations: Iterable[Augmentation], kwargs: Mapping[str, Any], caller: str
) -> None:
    """Raises ArgumentTypeError if no augmentation takes an argument."""
    used = {name for one in augmentations for name in one.accepted(kwargs)}
    unused = [f"`{name}`" for name in kwargs if name not in used]
    if unused:
        raise _make(
            ArgumentTypeError,
            f"got {', '.join(unused)}, which none of the augmentations takes",
            operator=caller,
            location=find_user_location(),
        )
