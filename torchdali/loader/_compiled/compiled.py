# SPDX-License-Identifier: Apache-2.0
"""torchdali.compile_dataset: what of a dataset the engine runs, and what runs in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.utils.data import Dataset

from torchdali import fn
from torchdali.data_node import DataNode
from torchdali.errors import TorchdaliError, UnsupportedError, _make
from torchdali.loader._compiled.partial import PartialSamples
from torchdali.loader._compiled.recognize import recognize
from torchdali.loader._compiled.recognized import Recognized
from torchdali.loader.fields import Layout
from torchdali.pipeline import Pipeline
from torchdali.transforms import Compose, Sample, Transform, equivalent, parts
from torchdali.transforms._follow import Follower
from torchdali.transforms._sample import size_in_file
from torchdali.transforms._tensor_classes import as_image

__all__ = ["CompiledDataset", "EncodedSamples", "Recorder", "compile_dataset"]


class EncodedSamples(Dataset[Any]):
    """A dataset whose samples have images that are not decoded yet.

    Args:
        dataset: of the user.
        read: returns a sample.
    """

    def __init__(self, dataset: Any, read: Callable[[int], Any]) -> None:
        self._dataset, self._read = dataset, read

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        return self._read(index)

    def renew(self, other: EncodedSamples) -> None:
        """Has it read what another one reads."""
        self._dataset, self._read = other._dataset, other._read


class Recorder:
    """The `pipeline` of a compiled dataset: from the fields of a sample to what is in a batch.

    Args:
        transform: of the image.
        recognized: the dataset.
        structure: list or tuple: of the values of a batch, unless it is a dict.

    Attributes:
        is_image: whether a sample is only an image, which is known after the call.
    """

    def __init__(self, transform: Transform, recognized: Recognized, structure: type) -> None:
        self._transform, self._structure = transform, structure
        self._recognized = recognized
        self.is_image = False
        # If boxes, masks and key points may follow: how, and whether images are torchvision's.
        self._follower: Follower | None = None
        self._wraps = False

    def __call__(self, *fields: Any, **named: Any) -> Any:
        """Records the operators of the image; the other fields stay.

        If they may follow the image, the values that it was moved by come after them.
        """
        name = self._recognized.image
        if name is not None:
            return {**named, name: self.image(named[name])}
        image, *rest = fields
        values = [self.image(image), *rest]
        self.is_image = not rest
        if self._follower is not None:
            return (*values, *self._follower.nodes)
        return self._structure(values) if rest else values[0]

    def image(self, image: DataNode) -> DataNode:
        """Records the operators of an image."""
        known = self._recognized
        sample, size = _begun(known, image)
        self._transform.record(sample)
        if sample.kind == "pil":
            raise _make(UnsupportedError, "the transforms return a Pillow image")
        if known.is_joint:
            self._follower = Follower("transforms", sample, size)
            self._wraps = sample.wraps
        return sample.result()

    def followed(self, values: Sequence[Any]) -> Any:
        """Returns a sample whose boxes, masks and key points have followed the image.

        Args:
            values: what the pipeline has made, as __call__() returns it.
        """
        follower = self._follower
        assert follower is not None
        count = len(values) - len(follower.nodes)
        image, *rest = values[:count]
        if self._wraps:
            image = as_image(image)
        made = follower.follow((image, *rest), image, image, values[count:])
        return made if rest else made[0]


def _begun(known: Recognized, image: DataNode) -> tuple[Sample, Callable[[], DataNode] | None]:
    """Returns the sample that transforms are recorded on, and what makes the node of its size.

    Args:
        known: the dataset.
        image: encoded, or pixels.
    """
    size = None
    if known.is_encoded:
        size = size_in_file(image, known.is_upright)
        # As Image.open(file).convert("RGB").
        decoded = fn.decoders.image(image, adjust_orientation=known.is_upright)
        assert isinstance(decoded, DataNode)
        image = decoded
    sample = Sample(image, size=size, channels=known.channels)
    sample.follows = known.is_joint
    return sample, size


class CompiledDataset(Dataset[Any]):
    """A dataset, and what of it the engine runs. DataLoader accelerates it by itself.

    Other loaders get samples that the engine has made in their workers, one by one.

    Args:
        dataset: of the user.

    Attributes:
        dataset: see above.
        is_compiled: whether the engine makes the samples of a DataLoader, all of each.
        report: one line that says what the engine runs, what runs in Python, and why.
        recognized: what is known about the dataset; None: it is not compiled.
        transform: what the engine runs; None: nothing.
        rest: transforms that are called after it, in workers.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.recognized: Recognized | None = None
        self.transform: Transform | None = None
        self.rest: list[Any] = []
        self.is_compiled = False
        self._one_by_one: PartialSamples | None = None
        try:
            self.recognized = recognized = recognize(dataset)
            self.transform = transform = _native(recognized)
        except TorchdaliError as error:
            self._compile_part(str(error).splitlines()[0])
            return
        self.is_compiled = True
        steps, python = _work(transform, recognized, [])
        self.report = f"{recognized.name} is compiled. The engine runs: {steps}. Python: {python}."

    def _compile_part(self, why: str) -> None:
        """Has the engine run the first transforms, if they are known.

        Args:
            why: not all of them are.
        """
        recognized = self.recognized
        if recognized is not None:
            self.transform, self.rest = _begin(recognized)
        if recognized is None or self.transform is None:
            self.recognized = None
            self.report = f"{type(self.dataset).__qualname__} runs in Python, as before: {why}"
            return
        steps, python = _work(self.transform, recognized, self.rest)
        self.report = (
            f"{recognized.name} is compiled in part. The engine runs, in workers: {steps}. "
            f"Python, in workers: {python}, because {why}"
        )

    @property
    def key(self) -> str:
        """Differs between datasets that are compiled to different operators."""
        image = None if self.recognized is None else self.recognized.image
        return f"{image!r} {self.transform!r} {self.report}"

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        """Returns a sample, of which the engine makes what it can."""
        if self.transform is None:
            return self.dataset[index]
        if self._one_by_one is None:
            self._one_by_one = PartialSamples(self.dataset, self.transform, self.rest)
        return self._one_by_one[index]

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Returns a list of samples, for torch's DataLoader."""
        if self.transform is None and hasattr(self.dataset, "__getitems__"):
            samples: list[Any] = self.dataset.__getitems__(indices)
            return samples
        return [self[index] for index in indices]

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledDataset, (self.dataset,)  # what was recognized may not be pickled

    def __repr__(self) -> str:
        return f"CompiledDataset({self.report})"

    def samples(self, one_by_one: bool) -> EncodedSamples | PartialSamples:
        """Returns the dataset that workers read.

        Args:
            one_by_one: whether they make samples; otherwise the pipeline of a loader does.
        """
        assert self.recognized is not None
        assert self.transform is not None
        if one_by_one:
            return PartialSamples(self.dataset, self.transform, self.rest)
        return EncodedSamples(self.dataset, self.recognized.read)

    def pipeline(self, structure: type) -> Recorder:
        """Returns what a pipeline records."""
        assert self.recognized is not None
        assert self.transform is not None
        return Recorder(self.transform, self.recognized, structure)

    def fields(self) -> dict[str | int, Any] | None:
        """Returns the marks of the fields."""
        assert self.recognized is not None
        return None if self.recognized.is_encoded else {0: Layout("HWC")}

    @property
    def is_followed(self) -> bool:
        """Whether boxes, masks and key points of the engine's samples follow the images."""
        return self.is_compiled and self.recognized is not None and self.recognized.is_joint

    @property
    def image(self) -> str | int:
        """The field of the image in a sample."""
        name = None if self.recognized is None else self.recognized.image
        return 0 if name is None else name


def _native(recognized: Recognized) -> Transform:
    """Returns what the engine runs of the transforms of a dataset.

    Raises:
        TorchdaliError: not all of them.
    """
    if recognized.transform is None:
        raise _make(UnsupportedError, "there is no `transform`, samples are Pillow images")
    transform = equivalent(recognized.transform)
    _check(Recorder(transform, recognized, list).image, recognized)
    return transform


def _check(record: Callable[[DataNode], Any], recognized: Recognized) -> None:
    """Records operators for an image that is not there; raises what that raises."""
    with Pipeline(batch_size=1, num_threads=1, device_id=None):  # it is not built
        record(fn.external_source(name="image", ndim=1 if recognized.is_encoded else 3))


def _begin(recognized: Recognized) -> tuple[Transform | None, list[Any]]:
    """Returns what workers can run in the engine at the beginning, and the other transforms.

    Between operators, workers can run what works on boxes.
    """
    every = parts(recognized.transform)
    known: list[Transform] = []
    for part in every:
        try:
            native = [*known, equivalent(part)]
            recorded = [t for t in native if not (recognized.is_joint and t.works_on_boxes)]
            _check(functools.partial(_recorded, recorded, recognized), recognized)
        except TorchdaliError:
            break
        known = native
    rest = every[len(known) :]
    needs_boxes = recognized.is_joint and any(transform.works_on_boxes for transform in known)
    return (Compose(known), rest) if known and (rest or needs_boxes) else (None, [])


def _recorded(transforms: list[Transform], known: Recognized, image: DataNode) -> DataNode:
    sample, _ = _begun(known, image)
    for transform in transforms:
        transform.record(sample)
    return sample.result()


def _work(transform: Transform, recognized: Recognized, rest: list[Any]) -> tuple[str, str]:
    """Returns the names of what the engine runs, and of what Python does."""
    every = list(_leaves(transform))
    engine = [type(part).__name__ for part in every if not part.works_on_boxes]
    if recognized.is_encoded:
        engine.insert(0, "decoding")
    python = [type(part).__name__ for part in every if part.works_on_boxes]
    if recognized.is_joint:
        python.insert(0, "boxes, masks and key points")
    python += [getattr(part, "__qualname__", type(part).__qualname__) for part in rest]
    python += recognized.python
    return ", ".join(engine), ", ".join(python) or "nothing else"


def _leaves(transform: Transform) -> Iterator[Transform]:
    if isinstance(transform, Compose):
        for part in transform.transforms:
            yield from _leaves(part)
    else:
        yield transform


def compile_dataset(dataset: Any) -> CompiledDataset:
    """Returns a dataset of which DataLoader runs in the engine what it can.

    Recognized are torchvision's ImageFolder, DatasetFolder, ImageNet, CIFAR, MNIST, CocoDetection,
    VOCDetection, VOCSegmentation and OxfordIIITPet, what wrap_dataset_for_transforms_v2() makes of
    those with files, torch's Subset and ConcatDataset of them, and datasets with a method
    `encoded_sample(index)` that returns (file or bytes, *rest) where `__getitem__` returns
    (transform(image), *rest), or transforms(image, *rest); with transforms of torchvision or of
    torchdali.transforms; and datasets of Hugging Face with
    set_transform(torchdali.transforms.OnColumn(...)). Others run in Python, as before.

    Args:
        dataset: a map-style dataset.
    """
    return dataset if isinstance(dataset, CompiledDataset) else CompiledDataset(dataset)
