# SPDX-License-Identifier: Apache-2.0
"""Starts processes of all kinds, in which nvidia.dali is what it is here."""

import concurrent.futures
import multiprocessing
import pickle
import subprocess
import sys

import nvidia.dali.types as types
import torch
from nvidia.dali import fn, pipeline_def
from nvidia.dali.plugin.base_iterator import LastBatchPolicy


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def numbers(value):
    return fn.cast(types.Constant([value]), dtype=types.INT64)


class Numbers(torch.utils.data.Dataset):
    """Runs a pipeline in the worker process."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        import nvidia.dali.plugin.pytorch as pytorch

        iterator = pytorch.DALIGenericIterator(numbers(index), ["value"])
        return next(iterator)[0]["value"].sum()


def compute(value):
    assert isinstance(value, LastBatchPolicy)
    return int(numbers(value.value).run()[0].as_array().sum()), fn.__name__


def main():
    for method in "spawn", "fork":
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            print(method, pool.submit(compute, LastBatchPolicy.PARTIAL).result())
        loader = torch.utils.data.DataLoader(
            Numbers(), batch_size=4, num_workers=1, multiprocessing_context=context
        )
        print(method, *(batch.tolist() for batch in loader))
    text = "import nvidia.dali.fn as fn, nvidia.dali as dali; print(fn.__name__, dali.__version__)"
    print(subprocess.check_output([sys.executable, "-c", text], text=True).strip())
    assert pickle.loads(pickle.dumps(types.DALIDataType.INT8)) is types.INT8
    assert pickle.loads(b"cnvidia.dali.types\nDALIDataType\n(I0\ntR.") is types.UINT8


if __name__ == "__main__":
    main()
