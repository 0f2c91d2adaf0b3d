# SPDX-License-Identifier: Apache-2.0
"""A pipeline of inputs.video for DALI and torchdali: a test compares its batches."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def batches(package: str, files: list[Any], batch_size: int, args: dict[str, Any]) -> Any:
    """Returns the sequences of each batch until there is no data.

    Args:
        package: "nvidia.dali" or "torchdali".
        files: videos, fed before the first run.
        batch_size: of the pipeline.
        args: of the operator.
    """
    dali = importlib.import_module(package)
    fn = importlib.import_module(f"{package}.fn")
    # Ahead of the user, DALI fails at the end of the data and loses what it has decoded.
    pipe = dali.Pipeline(
        batch_size,
        2,
        device_id=None,
        prefetch_queue_depth=1,
        exec_async=False,
        exec_pipelined=False,
    )
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(name="input", **args))
    pipe.build()
    for file in files:
        pipe.feed_input("input", [file])
    found: list[list[np.ndarray]] = []
    while True:
        try:
            (batch,) = pipe.run()
        except RuntimeError as error:
            if "data" not in str(error):
                raise
            return found  # there is none
        found.append([np.array(batch.at(i)) for i in range(len(batch))])
