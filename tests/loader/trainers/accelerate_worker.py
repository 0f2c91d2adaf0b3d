# SPDX-License-Identifier: Apache-2.0
"""One of two processes: prints what Accelerate gives it of loaders with pipelines.

accelerate_worker.py FOLDER
"""

from __future__ import annotations

import json
import os
import sys

import torch
from accelerate import Accelerator
from accelerate.data_loader import prepare_data_loader
from numbered_images import Images, Stream, prepare

import torchdali
from torchdali import PipelineLoader, fn, pipeline_def


@pipeline_def(batch_size=4, num_threads=1)
def files(root):
    return {"labels": fn.readers.file(file_root=root)[1]}


def main() -> None:
    accelerator = Accelerator(cpu=True)
    found = {}
    torch.manual_seed(3)
    options = {"batch_size": 4, "pipeline": prepare}
    for name, own in {"shuffled": {"shuffle": True}, "workers": {"num_workers": 2}}.items():
        loader = accelerator.prepare(torchdali.DataLoader(Images(), **options, **own))
        found[name] = [
            {
                "labels": batch["labels"].tolist(),
                "pixels": batch["pixel_values"][:, 0, 0, 0].tolist(),
                "random": batch["random"].tolist(),
            }
            for batch in loader
        ]
        gathered = []
        for batch in loader:
            gathered += accelerator.gather_for_metrics(batch["labels"]).tolist()
        found[f"{name} gathered"] = gathered
    # As with DataLoaderConfiguration(dispatch_batches=False): the default for streams cuts batches
    # of the first process in pieces, and knows tensors only.
    stream = torchdali.DataLoader(Stream(), **options)
    stream = prepare_data_loader(
        stream, accelerator.device, dispatch_batches=False, put_on_device=True
    )
    found["stream"] = [batch["labels"].tolist() for batch in stream]
    pipelines = accelerator.prepare(PipelineLoader(files(sys.argv[1])))
    found["pipelines"] = [batch["labels"].tolist() for batch in pipelines]
    with open(f"{sys.argv[1]}.{os.environ['RANK']}.json", "w") as file:
        json.dump(found, file)
    accelerator.end_training()


if __name__ == "__main__":
    main()
