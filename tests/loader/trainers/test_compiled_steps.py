# SPDX-License-Identifier: Apache-2.0
"""A training step under torch.compile gets the batches of every loader."""

from __future__ import annotations

import pytest
import torch
from numbered_images import Images, Model, train

import torchdali
from torchdali import PipelineLoader, fn, pipeline_def

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("keep_random_state")]


@pipeline_def(batch_size=4, num_threads=1)
def generated():
    values = fn.random.uniform(range=[0.0, 2.0], shape=[1, 4, 4])
    return {"pixel_values": values, "labels": fn.random.coin_flip()}


def loaders():
    options = {"batch_size": 4, "drop_last": True, "pipeline": train}
    yield torchdali.DataLoader(Images(), **options)
    yield torchdali.DataLoader(Images(), num_workers=2, **options)
    yield PipelineLoader(generated(), size=20)


def test_compiled_steps_equal_plain_ones_and_are_compiled_once():
    for loader in loaders():
        torch._dynamo.reset()
        torch.manual_seed(0)
        model, other = Model().eval(), Model().eval()
        other.load_state_dict(model.state_dict())
        graphs = []

        def backend(graph, inputs, graphs=graphs):  # compiling to C++ would take a minute
            graphs.append(graph)
            return graph.forward

        step = torch.compile(lambda p, y, m=model: m(p, y)["loss"], backend=backend)
        for batch in loader:
            loss = step(batch["pixel_values"], batch["labels"])
            same = other(batch["pixel_values"], batch["labels"])["loss"]
            assert torch.equal(loss, same)
            loss.backward()
            same.backward()
        assert torch.equal(model.linear.weight.grad, other.linear.weight.grad)
        assert len(graphs) == 1


def test_a_whole_loop_may_be_inside_a_compiled_function():
    """torch.compile leaves iterators of C++ and threads to Python, with a graph break."""
    torch._dynamo.reset()
    loader = torchdali.DataLoader(Images(), batch_size=4, pipeline=train)

    @torch.compile(backend="eager")
    def total(batch):
        return batch["pixel_values"].sum() + batch["labels"].sum()

    made = sum(total(batch) for batch in loader)
    assert int(made) == sum(range(22)) + int(sum(b["pixel_values"].sum() for b in loader))
