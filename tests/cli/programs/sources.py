# SPDX-License-Identifier: Apache-2.0
"""Sources of data in Python: all kinds of external_source, in this process and in others."""

import pickle
import sys

import numpy as np
import nvidia.dali as dali
from nvidia.dali.types import BatchInfo, SampleInfo


class ExternalInputIterator:
    """Batches of a list of files."""

    def __init__(self, batch_size, count):
        self.batch_size, self.count = batch_size, count

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i >= self.count:
            self.__iter__()
            raise StopIteration
        numbers = range(self.i, self.i + self.batch_size)
        self.i += self.batch_size
        return [np.full((2, 2), n, np.uint8) for n in numbers], np.array([[n] for n in numbers])

    next = __next__


class ExternalInputCallable:
    """Samples by their number, for worker processes."""

    def __init__(self, batch_size, count):
        self.full_iterations = count // batch_size

    def __call__(self, sample_info):
        if sample_info.iteration >= self.full_iterations:
            raise StopIteration
        index = sample_info.idx_in_epoch
        assert isinstance(sample_info, SampleInfo)
        assert dali.types.SampleInfo is SampleInfo
        return np.full((2, 2), index, np.uint8), np.int64([index])


def batches(info):
    assert isinstance(info, BatchInfo)
    if info.iteration >= 3:
        raise StopIteration
    return [np.int32([info.iteration, info.epoch_idx])] * 4


def numbers():
    for i in range(3):
        yield np.full((4, 2), i)


def run(pipe):
    """Returns the sums of the batches of two epochs."""
    pipe.build()
    found = []
    for _ in range(2):
        try:
            while True:
                found.append(sum(int(out.as_array().sum()) for out in pipe.run()))
        except StopIteration:
            found.append("end")
            pipe.reset()
    return found


def pipeline(source, num_outputs=2, method="spawn", workers=2, **args):
    pipe = dali.Pipeline(
        batch_size=4,
        num_threads=2,
        device_id=None,
        py_num_workers=workers,
        py_start_method=method,
    )
    with pipe:
        outputs = dali.fn.external_source(source=source, num_outputs=num_outputs, **args)
        pipe.set_outputs(*(outputs if isinstance(outputs, list) else [outputs]))
    return pipe


def main():
    assert pickle.loads(pickle.dumps(dali.types.FLOAT)) == dali.types.DALIDataType.FLOAT
    print("iterable", run(pipeline(ExternalInputIterator(4, 12))))
    print("generator", run(pipeline(numbers, None, cycle="raise")))
    print("callable", run(pipeline(ExternalInputCallable(4, 12), batch=False)))
    print("batches", run(pipeline(batches, None, batch_info=True)))
    for method in "spawn", "fork":
        print(
            f"parallel callable, {method}",
            run(pipeline(ExternalInputCallable(4, 12), method=method, parallel=True, batch=False)),
        )
        print(
            f"parallel iterable, {method}",
            run(
                pipeline(ExternalInputIterator(4, 12), method=method, parallel=True, cycle="raise")
            ),
        )

    pipe = dali.pipeline.Pipeline(4, 2, None, prefetch_queue_depth=1)
    data = dali.fn.external_source(name="fed", dtype=dali.types.INT16, ndim=1)
    pipe.set_outputs(data * 2)
    pipe.build()
    for i in range(3):
        pipe.feed_input("fed", np.full((4, 2), i, np.int16))
        print("fed", int(np.sum(pipe.run()[0].as_array())))


if __name__ == "__main__":
    assert len(sys.argv) == 1
    main()
