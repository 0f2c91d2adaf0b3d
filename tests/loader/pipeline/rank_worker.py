# SPDX-License-Identifier: Apache-2.0
r"""One of the processes that torchrun starts: trains on a loader and records its samples.

    torchrun --standalone --nproc-per-node 4 \
        rank_worker.py ROOT OUT STATE_TO_RESUME KILL_AT_STEP

Each rank writes OUT/RANK.jsonl: a line [epoch, labels] for each batch that all ranks have seen.
Rank 0 writes OUT/state.json after each step. At step KILL_AT_STEP one rank is killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import weakref
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a process group: see main()
from torch.nn.parallel import DistributedDataParallel

from tests.loader.pipeline.numbered_files import numbers
from torchdali import PipelineLoader

EPOCHS = 2


def main() -> None:
    """Trains in a process group, which ends before the interpreter does.

    The collectives of DistributedDataParallel's backward() own a Python object (torch's "context"),
    and later barriers may own those collectives. A thread of gloo releases them, with the GIL, some
    time after the last barrier has returned. If Python finalizes at that time, it ends the thread
    inside a destructor: "terminate called without an active exception". This happens with torch
    alone, too. The end of the process group waits for its threads, and destroy_process_group() ends
    it unless something else refers to the group. Two things do: DistributedDataParallel, which is
    part of a reference cycle, and torch.distributed.nn, whose functions have the group as a default
    if it is imported after init_process_group(), as DistributedDataParallel does by itself.
    """
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    group = weakref.ref(dist.group.WORLD)
    train(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    gc.collect()
    dist.destroy_process_group()
    assert group() is None, "something holds the process group, whose threads outlive Python"


def train(root: Path, out: Path, resume: str, kill_at: int) -> None:
    """Loops over the epochs, starting from the state in file `resume` if it is not empty."""
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    loader = PipelineLoader(
        numbers, batch_size=4, pipeline_args={"root": root, "num_threads": 1}, shuffle=True
    )
    if resume:
        loader.load_state_dict(json.loads(Path(resume).read_text()))
    step = 0
    with (out / f"{rank}.jsonl").open("w") as seen:
        for epoch in range(loader.epoch, EPOCHS):
            loader.set_epoch(epoch)
            for batch in loader:
                model(batch["noise"].reshape(-1, 1)).sum().backward()
                step += 1
                seen.write(json.dumps([epoch, batch["label"].tolist()]) + "\n")
                seen.flush()
                dist.barrier()
                if rank == 0:
                    part = out / "state.part"
                    part.write_text(json.dumps(loader.state_dict()))
                    part.replace(out / "state.json")
                dist.barrier()
                if step == kill_at and rank == dist.get_world_size() - 1:
                    os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


if __name__ == "__main__":
    main()
