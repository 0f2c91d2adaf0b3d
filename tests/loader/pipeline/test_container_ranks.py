# SPDX-License-Identifier: Apache-2.0
"""Ranks, shards and states of loaders over containers: as over files."""

from __future__ import annotations

import pytest
from helpers.containers import CONTAINERS

from torchdali import Pipeline, PipelineLoader, pipeline_def
from torchdali.tensors import TensorListCPU

SEVERAL = [name for name in CONTAINERS if name != "numpy"]  # which is one sample


def identities(batch):
    """Returns what tells the samples of a batch from each other: the last output."""
    last = list(batch)[-1]
    values = last.as_torch_list() if isinstance(last, TensorListCPU) else last
    return [tuple(value.reshape(-1).tolist()) for value in values]


@pytest.fixture(params=SEVERAL)
def pipeline(request, tmp_path):
    """Returns a function that defines a pipeline with arguments of the reader."""
    name, read = CONTAINERS[request.param](tmp_path)

    def define(**args) -> Pipeline:
        @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
        def samples():
            return tuple(read(str(tmp_path / name), **args))

        return samples()

    return define


def loaders(pipeline, world_size, **options):
    return [
        PipelineLoader(
            pipeline(),
            shuffle=True,
            seed=3,
            rank=rank,
            world_size=world_size,
            shards="exact",
            ragged="list",
            **options,
        )
        for rank in range(world_size)
    ]


def test_ranks_share_an_epoch_and_may_change_within_it(pipeline):
    everything = sorted(
        sample for one in loaders(pipeline, 1) for b in one for sample in identities(b)
    )
    assert len(set(everything)) == len(everything) == 40
    seen, states = [], []
    for loader in loaders(pipeline, 3):
        loop = iter(loader)
        for _ in range(2):
            seen += identities(next(loop))
        states.append(loader.state_dict())
    for loader in loaders(pipeline, 2, batch_size=5):
        loader.load_state_dict(states[-1])  # that of any rank
        for batch in loader:
            seen += identities(batch)
    assert sorted(seen) == everything


def test_shards_are_disjoint_and_may_be_kept(pipeline):
    def epochs(**args):
        pipe = pipeline(num_shards=2, **args)
        pipe.build()
        return [[s for _ in range(5) for s in identities(pipe.run())] for _ in range(2)]

    moving = [epochs(shard_id=i) for i in range(2)]
    kept = [epochs(shard_id=i, stick_to_shard=True) for i in range(2)]
    for first, second in (*moving, (kept[0][0], kept[1][0]), (kept[0][1], kept[1][1])):
        assert len(set(first) | set(second)) == 40
    for first, second in kept:
        assert set(first) == set(second)
        assert first != second
