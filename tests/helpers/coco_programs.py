# SPDX-License-Identifier: Apache-2.0
"""Runs fn.readers.coco in torchdali or in real DALI; depends on NumPy and the package only."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np


def read(package: str, cases: list[dict[str, Any]], samples: int = 0) -> list[Any]:
    """Reads one epoch, or ``samples`` samples, with the arguments of each case.

    Returns:
        For each case, the facts of ``reader_meta()`` and the samples, each the outputs in order and
        then the source info.
    """
    dali = importlib.import_module(package)

    def run(args: dict[str, Any]) -> Any:
        @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1)
        def define() -> Any:
            return tuple(dali.fn.readers.coco(name="coco", **args))

        pipe = define()
        pipe.build()
        meta = {key: int(value) for key, value in pipe.reader_meta("coco").items()}
        found = []
        for _ in range(samples or meta["epoch_size"]):
            outputs = pipe.run()
            arrays = [np.array(output.at(0)) for output in outputs]
            found.append([*arrays, outputs[0][0].source_info()])
        return [meta, found]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return [run(args) for args in cases]
