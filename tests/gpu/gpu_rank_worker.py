# SPDX-License-Identifier: Apache-2.0
"""One of the processes of a distributed run: DistributedDataParallel on batches of the GPU.

    torchrun --standalone --nproc-per-node 2 gpu_rank_worker.py ROOT OUT BACKEND

BACKEND: "nccl" (a GPU for each rank), "gloo" (all ranks on GPU 0), or "emulated" (no GPU). Each
rank writes the labels that it has seen, and the weights at the end, to OUT/RANK.json.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a process group: tests/loader/pipeline/rank_worker.py
from torch.nn.parallel import DistributedDataParallel

from torchdali import PipelineLoader, fn, pipeline_def, types
from torchdali.loader._pipeline.ranks import local_rank


@pipeline_def(batch_size=4, num_threads=1)
def numbers(root: str):
    """Two bytes of each file, as floats, and its label; both from the GPU."""
    data, label = fn.readers.file(file_list=f"{root}/list.txt", name="files", random_shuffle=True)
    x = fn.cast(data.gpu(), dtype=types.FLOAT) * 0.5
    return {"x": x, "label": label.gpu()}


def main() -> None:
    root, out, backend = sys.argv[1:]
    torch.set_num_threads(1)
    index = local_rank() if backend == "nccl" else 0
    device = torch.device("cpu" if backend == "emulated" else f"cuda:{index}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if backend == "nccl" else "gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1).to(device))
    loader = PipelineLoader(
        numbers, pipeline_args={"root": root, "device_id": index}, shuffle=True, seed=3
    )
    labels: list[int] = []
    for epoch in range(2):
        loader.set_epoch(epoch)
        for batch in loader:
            assert batch["x"].device == batch["label"].device == device
            assert (batch["x"][:, 0].cpu() * 2 == batch["label"].cpu()).all()
            model(batch["x"]).mean().backward()
            with torch.no_grad():
                for weight in model.parameters():
                    weight -= 1e-3 * weight.grad
                    weight.grad = None
            labels += batch["label"].tolist()
    weights = [weight.flatten().tolist() for weight in model.parameters()]
    (Path(out) / f"{dist.get_rank()}.json").write_text(
        json.dumps({"labels": labels, "weights": weights, "gpu": index})
    )
    dist.barrier()
    del model, loader, batch
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
