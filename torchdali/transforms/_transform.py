# SPDX-License-Identifier: Apache-2.0
"""The base class of transforms."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from torchdali import fn
from torchdali._eager.operation import quick_key
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, _make
from torchdali.transforms._eager import run, run_on_file
from torchdali.transforms._sample import Sample

__all__ = ["RandomTransform", "Transform"]


class Transform:
    """A transform with the name, arguments and results of one of torchvision's transforms.v2.

    A subclass stores the arguments of its constructor in attributes of the same names, as
    torchvision does, and defines record().

    Attributes:
        works_on_boxes: whether it leaves the type of the image, and works on boxes in Python.
    """

    works_on_boxes = False

    @property
    def chooses(self) -> bool:
        """Whether a call on an image calls other transforms: a program has no branches."""
        return False

    def record(self, sample: Sample) -> None:
        """Records the operators of this transform.

        Args:
            sample: is changed.

        Raises:
            UnsupportedError: operators cannot do what torchvision does.
            ArgumentTypeError: torchvision would refuse the sample.
        """
        raise NotImplementedError

    def applied(self) -> tuple[float, Transform]:
        """Returns how likely a call on an image is to change it, and the transform that does."""
        return 1.0, self

    def on_pillow(self, image: Any) -> Any:
        """Returns what a call makes of a Pillow image, if Pillow itself does it; else None.

        Images need not be copied out of Pillow and back for what it does equally. It has to draw
        random values as often as the operators do, with the same distribution.

        Args:
            image: of mode "L" or "RGB".
        """
        del image

    def __call__(self, *inputs: Any) -> Any:
        """Returns the transformed inputs.

        Args:
            *inputs: a DataNode, the uint8 "HWC" image of a pipeline; or tensors and images.
        """
        if len(inputs) == 1 and isinstance(inputs[0], DataNode):
            sample = Sample(inputs[0])
            self.record(sample)
            return sample.result()
        return run(self, inputs)

    def decode(self, data: Any, is_upright: bool = False, *others: Any) -> Any:
        """Returns the transformed image of a file.

        Args:
            data: the bytes of the file; it is decoded as by Image.open(...).convert("RGB").
            is_upright: turn the image as its EXIF data say.
            *others: what calls would get beside the image. The result is a tuple with them.
        """
        if self.chooses:
            return self(run_on_file(self, _decode, data, is_upright), *others)
        return run_on_file(self, self.record, data, is_upright, others)

    @classmethod
    def from_torchvision(cls, transform: Any) -> Transform:
        """Returns the equivalent of one of torchvision's objects; its class has the same name.

        Args:
            transform: has the arguments of the constructor as attributes. Some are absent in older
                versions; the defaults are then those of this class.

        Raises:
            UnsupportedError: there is no equivalent.
        """
        names = list(inspect.signature(cls).parameters)
        return cls(**{n: getattr(transform, n) for n in names if hasattr(transform, n)})

    def key(self) -> Any:
        """Returns what transforms with equal attributes have in common, and no others."""
        own = vars(self)
        return type(self), quick_key(own) or tuple(map(_key_of, own.values()))

    def __repr__(self) -> str:
        values = {n: getattr(self, n) for n in inspect.signature(type(self)).parameters}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in values.items())})"


def _decode(sample: Sample) -> None:
    """Records nothing but what decodes."""


def _key_of(value: Any) -> Any:
    if isinstance(value, Transform):
        return value.key()
    if isinstance(value, (list, tuple)):
        return type(value), *map(_key_of, value)
    return type(value), repr(value)


class RandomTransform(Transform):
    """A transform that is applied to some samples.

    Args:
        p: the probability.

    Raises:
        ArgumentError: it is not within 0 and 1.
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = check_probability(type(self).__name__, p)

    def applied(self) -> tuple[float, Transform]:
        """See Transform."""
        if self.p in (0, 1):
            return 1.0, self
        certain = copy.copy(self)
        certain.p = 1.0
        return self.p, certain

    def draw(self) -> DataNode | int:
        """Returns whether a sample is transformed: an int32 node of 0 and 1, or 0 or 1 for all."""
        if self.p in (0, 1):
            return int(self.p)
        node = fn.random.coin_flip(probability=float(self.p))
        assert isinstance(node, DataNode)
        return node


def check_probability(name: str, p: Any) -> float:
    """Returns a probability.

    Raises:
        ArgumentError: it is none.
    """
    if not 0.0 <= p <= 1.0:
        raise _make(ArgumentError, f"{name}: `p` is {p!r}, expected a number from 0 to 1")
    return float(p)
