# SPDX-License-Identifier: Apache-2.0
"""DataLoader with pipeline_options=: each option has an effect, or is refused."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle

import numpy as np
import pytest
import torch
from helpers.datasets import Arrays, Squares
from torch.utils.data._utils import pin_memory

from torchdali import DataLoader, OperatorConcurrency, Pipeline, StreamPolicy, fn, types
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, UnsupportedError
from torchdali.pipeline._driver import driver_of

KEPT = {
    "num_threads": 3,
    "device_id": 0,
    "exec_pipelined": False,
    "prefetch_queue_depth": 4,
    "exec_async": False,
    "bytes_per_sample": 7,
    "set_affinity": True,
    "max_streams": 2,
    "default_cuda_stream_priority": 1,
    "enable_checkpointing": False,
    "py_num_workers": 2,
    "py_start_method": "spawn",
    "py_callback_pickler": None,
    "exec_dynamic": True,
    "stream_policy": StreamPolicy.SINGLE,
    "concurrency": OperatorConcurrency.FULL,
}
REFUSED = {
    "batch_size": (3, ArgumentError),
    "on_error": ("skip", ArgumentError),
    "max_errors": (3, ArgumentError),
    "errors_file": ("errors.jsonl", ArgumentError),
    "checkpoint": (b"", ArgumentError),
    "enable_memory_stats": (True, ArgumentError),
    "debug": (True, UnsupportedError),
}
# Their tests are below, and in test_pipeline_seeds.py, test_pipeline_layouts.py and
# test_jpeg_index.py.
OTHERS = {
    "seed", "enable_conditionals", "fields", "output_dtype", "output_ndim", "output_layout",
    "experimental_exec_dynamic", "jpeg_index",
}  # fmt: skip


def flipped(image, label):
    return fn.flip(image), label


def loader_of(pipeline=flipped, count=8, **options):
    return DataLoader(Arrays(count), batch_size=2, pipeline=pipeline, pipeline_options=options)


def test_all_options_of_a_pipeline_are_known_here():
    arguments = set(inspect.signature(Pipeline.__init__).parameters) - {"self"}
    own = {"enable_conditionals", "debug", "fields"}
    assert arguments | own == KEPT.keys() | REFUSED.keys() | OTHERS


@pytest.mark.parametrize("name", KEPT)
def test_an_option_is_that_of_the_pipeline(name):
    loader = loader_of(**{name: KEPT[name]})
    assert [labels.tolist() for _, labels in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    if name != "enable_checkpointing":  # which allows a state, and a loader always has one
        options = driver_of(loader._state.clock.pipeline()).options
        assert getattr(options, name) == KEPT[name]


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_without_effect_is_refused(name):
    value, error = REFUSED[name]
    with pytest.raises(error, match=f"`{name}`") as caught:
        loader_of(**{name: value})
    assert caught.value.fix
    assert "test_pipeline_settings.py" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"num_threads": 0}, ArgumentError, "`num_threads` is at least 1"),
        ({"num_treads": 2}, ArgumentTypeError, "did you mean `num_threads`"),
        ({"seed": "1"}, ArgumentTypeError, "`seed` takes an integer"),
        ({"enable_conditionals": 3}, ArgumentTypeError, "expected a bool"),
    ],
)
def test_a_wrong_option_is_an_error_of_the_line_that_makes_the_loader(options, error, text):
    with pytest.raises(error, match=text) as caught:
        loader_of(**options)
    assert "test_pipeline_settings.py" in str(caught.value)


def test_a_wrong_argument_of_a_pipeline_has_its_line():
    with pytest.raises(ArgumentError, match="`num_threads` is at least 1") as caught:
        Pipeline(batch_size=1, num_threads=0)
    assert "test_pipeline_settings.py" in str(caught.value)


def brightened(image, label):
    if label > 1:
        image = image + np.uint8(100)
    return image, label


def test_conditionals_are_converted():
    options = {"enable_conditionals": True}
    found = [images[:, 0, 0, 0].tolist() for images, _ in loader_of(brightened, 4, **options)]
    assert found == [[0, 1], [102, 103]]
    with pytest.raises(ArgumentTypeError, match="no truth value"):
        next(iter(loader_of(brightened, 4)))


class Noted(Squares):
    def __init__(self):
        super().__init__(20)
        self.asked = []

    def __getitem__(self, index):
        self.asked.append(index)
        return torch.tensor([index])


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({}, 2),
        ({"prefetch_queue_depth": 1}, 1),
        ({"prefetch_queue_depth": 5}, 5),
        ({"prefetch_queue_depth": {"cpu_size": 2, "gpu_size": 1}}, 3),
        ({"exec_pipelined": False}, 1),
    ],
)
def test_the_queue_depth_is_the_number_of_batches_in_work(options, batches):
    data = Noted()
    loader = DataLoader(data, batch_size=2, pipeline=lambda x: x + 1, pipeline_options=options)
    assert next(iter(loader)).tolist() == [[1], [2]]
    assert data.asked == list(range(2 * batches))


def test_outputs_can_be_declared():
    uint8 = types.UINT8
    for good in (
        {"output_dtype": [uint8, None], "output_ndim": [3, None], "output_layout": ["HWC", None]},
        {"output_dtype": uint8, "output_ndim": 3},
    ):
        assert len(list(loader_of(**good))) == 4
    with pytest.raises(PipelineError, match="`output_dtype`"):
        next(iter(loader_of(output_dtype=[types.FLOAT, None])))
    with pytest.raises(ArgumentError, match="has 1 entries, `pipeline` returns 2 values"):
        next(iter(loader_of(output_ndim=[3])))
    with pytest.raises(ArgumentError, match="field 1 as the dataset returns it"):
        next(iter(loader_of(output_ndim=[3, 0])))


def test_outputs_are_pinned_and_not_inputs(monkeypatch):
    pinned = []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.accelerator, "current_accelerator", lambda *_, **__: torch.device("cuda")
    )
    monkeypatch.setattr(
        torch.Tensor, "pin_memory", lambda t, *_: pinned.append(tuple(t.shape)) or t
    )
    loader = DataLoader(
        Arrays(4), batch_size=2, pin_memory=True,
        pipeline=lambda image, label: (fn.resize(image, size=[2, 2]), label),
    )  # fmt: skip
    next(iter(loader))
    assert pinned == [(2, 2, 2, 3), (2,)]


def imitated_prepare(loader):
    """Makes a loader as Accelerate does: of torch's class, from what torch's loader has."""
    names = (
        "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator",
        "multiprocessing_context", "prefetch_factor", "persistent_workers", "in_order",
    )  # fmt: skip
    kwargs = {name: getattr(loader, name) for name in names}
    return torch.utils.data.DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **kwargs)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_loader_that_is_made_of_one_has_its_pipeline(num_workers):
    loader = DataLoader(Arrays(4), batch_size=2, num_workers=num_workers, pipeline=flipped)
    batches, others = list(loader), list(imitated_prepare(loader))
    for batch, late in zip(batches, others, strict=True):
        for one, other in zip(batch, late, strict=True):
            assert torch.equal(one, other)
        for one, other in zip(batch, late.to(torch.float64), strict=True):
            assert torch.equal(one.double(), other)


def test_late_batches_are_pinned_when_they_are_made(monkeypatch):
    pinned, run = [], []

    def pipeline(image, label):
        run.append(True)
        return fn.resize(image, size=[2, 2]), label

    monkeypatch.setattr(
        torch.Tensor, "pin_memory", lambda t, *_: pinned.append(tuple(t.shape)) or t
    )
    loader = DataLoader(Arrays(4), batch_size=2, pipeline=pipeline)
    batch = next(iter(imitated_prepare(loader)))
    assert pin_memory.pin_memory(batch, "cpu") is batch  # in torch's thread
    assert not run
    batch.to("cpu")
    assert pinned == [(2, 2, 2, 3), (2,)]


def test_batches_without_their_pipeline_are_errors():
    loader = DataLoader(Arrays(4), batch_size=2, pipeline=flipped)
    copied = pickle.dumps(copy.deepcopy(loader))
    batch = pickle.loads(pickle.dumps(next(iter(imitated_prepare(loader)))))
    assert len(batch.value()) == 2
    del loader
    gc.collect()
    with pytest.raises(UnsupportedError, match="has lost its `pipeline`"):
        next(iter(imitated_prepare(pickle.loads(copied)))).value()
    with pytest.raises(UnsupportedError, match="in the process that made that"):
        pickle.loads(pickle.dumps(batch)).value()
