# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one fn.readers.file, and the same reader in real DALI."""

import json
import subprocess

from torchdali import fn, pipeline_def


def reader(batch_size=4, num_threads=2, depth=2, seed=7, **args):
    @pipeline_def(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None,
        seed=seed,
        prefetch_queue_depth=depth,
    )
    def pipeline():
        return fn.readers.file(name="files", **args)

    pipe = pipeline()
    pipe.build()
    return pipe


def one_epoch(**args):
    """Returns (content, label) of every file, in the reader's order."""
    pipe = reader(batch_size=1, **args)
    pairs = []
    for _ in range(pipe.reader_meta("files")["epoch_size"]):
        data, label = pipe.run()
        pairs.append((bytes(data.at(0)).decode(), int(label.at(0)[0])))
    return pairs


def labels(pipe, batches):
    return [[int(label[0]) for label in pipe.run()[1].as_array()] for _ in range(batches)]


ORACLE = """
import json, sys
from nvidia.dali import fn, pipeline_def

results = []
for args, batches in json.load(sys.stdin):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1)
    def pipeline():
        return tuple(fn.readers.file(name="files", **args))
    pipe = pipeline()
    pipe.build()
    meta = {k: int(v) for k, v in pipe.reader_meta("files").items()}
    pairs = []
    for _ in range(batches or meta["epoch_size"]):
        data, label = pipe.run()
        pairs.append([bytes(data.at(0)).decode(), int(label.at(0)[0])])
    results.append([meta, pairs])
json.dump(results, sys.stdout)
"""


def dali(python, cases):
    done = subprocess.run(
        [python, "-c", ORACLE],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
