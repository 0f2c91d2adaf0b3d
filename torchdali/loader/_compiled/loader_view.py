# SPDX-License-Identifier: Apache-2.0
"""A loader with a compiled dataset, as its iterators see it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import default_collate

from torchdali.loader._compiled.compiled import CompiledDataset, Recorder, compile_dataset
from torchdali.loader._dataset.accelerated import say, user_collate
from torchdali.loader._dataset.columns import FieldCollate
from torchdali.loader._dataset.torch_internals import is_iterable, makes_batches
from torchdali.loader.fields import FieldMarks

__all__ = ["LoaderView", "make_view"]


class LoaderView:
    """A loader whose samples the engine makes.

    Attributes that are not set here are those of the loader.

    Args:
        loader: a DataLoader, which the view does not keep alive.
        compiled: its dataset.
        one_by_one: whether workers make the samples, as of a dataset that is compiled in part.
    """

    def __init__(self, loader: Any, compiled: CompiledDataset, one_by_one: bool) -> None:
        set_own = self.__dict__.update
        set_own(
            _loader=weakref.ref(loader),
            key=(compiled.key, one_by_one),
            dataset=compiled.samples(one_by_one),
            dataset_name=type(compiled.dataset).__name__,
        )
        if one_by_one:
            return
        collate = user_collate(loader.collate_fn)
        is_default = collate is default_collate
        options = dict(loader.pipeline_options or {})
        options.setdefault("num_threads", max(1, loader.num_workers))
        recorder = compiled.pipeline(list if is_default else tuple)
        marks = FieldMarks(recorder, compiled.fields())
        is_followed = compiled.is_followed
        # Batches are made of samples in the end, or of what workers have collated.
        by_sample = is_followed or not is_default
        finish: Any = _Stacked(recorder, compiled.image) if is_default else _Collated(collate)
        if is_followed:
            finish = _Followed(recorder, None if is_default else collate)
        set_own(
            pipeline=recorder,
            pipeline_options=options,
            fields=compiled.fields(),
            workers="threads",
            collate_fn=FieldCollate(
                marks,
                keeps_values=by_sample or loader.on_error != "raise",
                only=compiled.image,
                collates=not by_sample,
            ),
            finish_batch=finish,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._loader(), name, value)


class _Stacked:
    """Returns a batch; fails as default_collate does if images differ in shape.

    Args:
        recorder: has recorded what samples consist of.
        image: the field of the images.
    """

    def __init__(self, recorder: Recorder, image: str | int) -> None:
        self._recorder, self._image = recorder, image

    def __call__(self, made: Any) -> Any:
        batch = made.whole()
        images = batch if self._recorder.is_image else batch[self._image]
        if isinstance(images, list) and images:
            torch.stack(images)  # raises
        return batch


class _Collated:
    """Calls the user's `collate_fn` with the samples of a batch."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate

    def __call__(self, made: Any) -> Any:
        return self._collate(made.samples())


class _Followed:
    """Moves boxes, masks and key points, and calls the user's `collate_fn` with the samples.

    Args:
        recorder: has recorded how they follow the images.
        collate: of the user; None: default_collate.
    """

    def __init__(self, recorder: Recorder, collate: Callable[[Any], Any] | None) -> None:
        self._recorder, self._collate = recorder, collate

    def __call__(self, made: Any) -> Any:
        samples = [self._recorder.followed(values) for values in made.samples()]
        if self._collate is not None:
            return self._collate(samples)
        images = made.first_output()
        if isinstance(images, list):
            torch.stack(images)  # raises
        if self._recorder.is_image:
            return images
        columns: list[Any] = list(zip(*samples, strict=True))
        return [images, *map(default_collate, columns[1:])]


def make_view(loader: Any, before: LoaderView | None) -> LoaderView | None:
    """Returns what iterators see of a loader with `accelerate`; None: the loader itself.

    Args:
        loader: a DataLoader.
        before: what was returned before. It is returned again if nothing has changed.
    """
    compiled = compile_dataset(loader.dataset)
    reason = None if compiled.transform is None else _reason(loader)
    if reason is not None:
        name = type(compiled.dataset).__qualname__
        if compiled is loader.dataset:
            say(f"{name}: the engine makes samples one by one: {reason}")
        else:
            say(f"{name} runs in Python, as before: {reason}")
        return None
    report = compiled.report
    # An error of a target may leave out the sample where that is made, not after its batch.
    is_single = compiled.is_followed and loader.on_error != "raise"
    collate = user_collate(loader.collate_fn)
    if is_single:
        report += " Workers make the samples one by one, because of `on_error`."
    elif compiled.is_compiled and collate is not default_collate:
        name = getattr(collate, "__qualname__", type(collate).__qualname__)
        report += f" In this process: collate_fn {name}."
    one_by_one = is_single or not compiled.is_compiled
    if one_by_one and loader.jpeg_index is not None:
        report += " `jpeg_index` is not used for samples that are made one by one."
    say(report)
    if compiled.transform is None:
        return None
    view = LoaderView(loader, compiled, one_by_one)
    if before is not None and before.key == view.key:
        before.dataset.renew(view.dataset)  # functions of the user may be other ones
        return before
    return view


def _reason(loader: Any) -> str | None:
    """Returns why a loader cannot use a compiled dataset; None: it can."""
    if is_iterable(loader):
        return "it is iterable"
    if not makes_batches(loader):
        return "batch_size=None: samples are returned one by one"
    if loader.fill_batches and user_collate(loader.collate_fn) is not default_collate:
        return "fill_batches with a collate_fn"
    return None
