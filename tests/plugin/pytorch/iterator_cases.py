# SPDX-License-Identifier: Apache-2.0
"""Cases of iterators over sharded readers, and their results, by torchdali or real DALI.

Run by the Python of a DALI venv this file is the oracle: cases as JSON on stdin, results on stdout.
``--golden`` writes the results of `systematic` to iterator_golden.json instead. DALI's PyTorch
plugin needs torch; if the venv has none, TORCHDALI_TORCH_PATH names a folder with one for
the same version of Python.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

GOLDEN = Path(__file__).with_name("iterator_golden.json")
EPOCHS = 4
READER = "files"

Case = dict[str, Any]
Result = dict[str, Any]


def case(
    size: int,
    num_shards: int,
    shards: list[int],
    batch: int,
    *,
    policy: str,
    stick: bool = False,
    pad: bool = False,
    auto_reset: bool = False,
    epoch_size: int | None = None,
    last_batch_padded: bool = False,
) -> Case:
    """Returns a case; `epoch_size` None asks the reader, a number is the iterator's ``size``."""
    return dict(locals())


def systematic() -> list[Case]:
    """Returns the cases that are stored with DALI's results."""
    shapes = [
        (10, 1, [0], 4),
        (12, 1, [0], 4),  # no rest
        (10, 3, [0], 2),
        (10, 3, [2], 2),
        (10, 3, [1], 3),  # the shard ends with a batch, a larger one does not
        (11, 4, [3], 5),  # batches larger than shards
        (7, 4, [0], 1),
        (10, 3, [0, 1, 2], 2),
        (11, 4, [1, 2], 3),
    ]
    cases = [
        case(*shape, policy=policy, stick=stick, pad=pad, auto_reset=len(shape[2]) > 1)
        for shape in shapes
        for policy, stick, pad in itertools.product(
            ["FILL", "DROP", "PARTIAL"], [False, True], [False, True]
        )
    ]
    by_size = [((10, 1, [0], 4), 10), ((9, 1, [0], 3), 9), ((10, 1, [0], 3), 7)]
    by_size += [((10, 2, [0, 1], 2), 9), ((10, 2, [0, 1], 2), 10), ((9, 3, [0, 1, 2], 2), 7)]
    return cases + [
        case(*shape, policy=policy, stick=True, epoch_size=size, last_batch_padded=padded)
        for shape, size in by_size
        for policy, padded in itertools.product(["FILL", "DROP", "PARTIAL"], [False, True])
    ]


def random_cases(seed: int, count: int) -> list[Case]:
    """Returns random cases of small sizes."""
    rng = random.Random(seed)
    cases = []
    for _ in range(count):
        size = rng.randint(1, 18)
        num_shards = rng.randint(1, min(size, 6))
        shards = rng.sample(range(num_shards), rng.choice([1, 1, min(2, num_shards), num_shards]))
        by_size = rng.random() < 0.3
        cases.append(
            case(
                size,
                num_shards,
                shards,
                rng.randint(1, 7),
                policy=rng.choice(["FILL", "DROP", "PARTIAL"]),
                stick=rng.random() < 0.5,
                pad=rng.random() < 0.5,
                auto_reset=rng.random() < 0.5,
                epoch_size=rng.randint(1, 20) if by_size else None,
                last_batch_padded=by_size and rng.random() < 0.5,
            )
        )
    return cases


def differs_on_purpose(c: Case) -> bool:
    """Returns whether torchdali's samples differ from DALI's.

    DROP over a padding reader: where the smallest shard fills its batches and a larger one does
    not, DALI leaves a batch of mere padding in the pipeline, which becomes an epoch of its own.
    """
    smallest = c["size"] // c["num_shards"]
    return (
        c["policy"] == "DROP"
        and c["pad"]
        and c["epoch_size"] is None
        and smallest % c["batch"] == 0
        and c["size"] % c["num_shards"] != 0
    )


def play(c: Case, pipelines: list[Any], plugin: Any) -> Result:
    """Returns batches and lengths of some epochs, or the kind of error."""
    by_reader = c["epoch_size"] is None
    source = {"reader_name": READER} if by_reader else {"size": c["epoch_size"]}
    if not by_reader:
        source["last_batch_padded"] = c["last_batch_padded"]
    try:
        iterator = plugin.DALIGenericIterator(
            pipelines,
            ["label"],
            auto_reset=c["auto_reset"],
            last_batch_policy=plugin.LastBatchPolicy[c["policy"]],
            **source,
        )
    except RuntimeError:
        return {"error": "RuntimeError"}
    epochs, lengths, sizes = [], [len(iterator)], [int(iterator.size)]
    for _ in range(EPOCHS):
        epochs.append([[d["label"].reshape(-1).tolist() for d in batch] for batch in iterator])
        if not c["auto_reset"]:
            iterator.reset()
        lengths.append(len(iterator))
        sizes.append(int(iterator.size))
    return {"epochs": epochs, "len": lengths, "size": sizes}


def make_files(folder: str, count: int = 20) -> list[str]:
    """Writes small files and returns their paths; their labels are their positions."""
    paths = [os.path.join(folder, f"{i}.bin") for i in range(count)]
    for i, path in enumerate(paths):
        Path(path).write_text(str(i))
    return paths


def reader_pipelines(c: Case, files: list[str], dali: Any, **args: Any) -> list[Any]:
    """Returns pipelines of ``readers.file`` that return labels.

    Args:
        c: the case.
        files: paths.
        dali: has ``pipeline_def`` and ``fn``.
        args: more arguments of the reader.
    """

    def pipeline(shard: int) -> Any:
        @dali.pipeline_def(batch_size=c["batch"], num_threads=1, device_id=None, seed=1)
        def labels() -> Any:
            _, label = dali.fn.readers.file(
                name=READER,
                files=files[: c["size"]],
                shard_id=shard,
                num_shards=c["num_shards"],
                stick_to_shard=c["stick"],
                pad_last_batch=c["pad"],
                **args,
            )
            return label

        return labels()

    return [pipeline(shard) for shard in c["shards"]]


def _dali() -> tuple[Any, ModuleType, str]:
    sys.path.append(os.environ.get("TORCHDALI_TORCH_PATH", ""))
    import nvidia.dali as dali
    from nvidia.dali import fn
    from nvidia.dali.plugin import pytorch

    names = SimpleNamespace(pipeline_def=dali.pipeline_def, fn=fn)
    return names, pytorch, dali.__version__


def main() -> None:
    warnings.simplefilter("ignore")
    golden = "--golden" in sys.argv
    cases = systematic() if golden else json.load(sys.stdin)
    dali, plugin, version = _dali()
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(folder)
        results = [play(c, reader_pipelines(c, files, dali), plugin) for c in cases]
    if not golden:
        json.dump({"version": version, "results": results}, sys.stdout)
        return
    lines = [
        json.dumps({"case": c, "result": r}, separators=(",", ":"))
        for c, r in zip(cases, results, strict=True)
    ]
    made_by = "tests/plugin/pytorch/iterator_cases.py --golden"
    head = f'{{"made_by":"{made_by}","dali":"{version}","cases":['
    GOLDEN.write_text(head + "\n" + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
