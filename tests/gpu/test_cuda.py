# SPDX-License-Identifier: Apache-2.0
"""CUDA features that emulation cannot test: streams, device memory, data on the device."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import torch

from torchdali import Pipeline, errors, fn, pipeline_def, types
from torchdali.plugin.pytorch import DALIGenericIterator
from torchdali.tensors import TensorListGPU
from torchdali.types import CUDAStream

pytestmark = pytest.mark.cuda


@pipeline_def(num_threads=2, device_id=0)
def scaled(no_copy: bool = False):
    x = fn.external_source(device="gpu", name="x", layout="HWC", no_copy=no_copy)
    return fn.brightness(x, brightness=2.0)


def images(count: int, size: int = 64, device: str = "cuda") -> torch.Tensor:
    return torch.arange(count * size * size * 3, device=device, dtype=torch.float32).reshape(
        count, size, size, 3
    )


STREAMS = {
    "current": lambda _: None,
    "torch": lambda stream: stream,
    "handle": lambda stream: stream.cuda_stream,
    "own": lambda stream: CUDAStream(stream.cuda_stream),
}


@pytest.mark.parametrize("no_copy", [False, True])
@pytest.mark.parametrize("form", STREAMS)
def test_data_of_another_stream_is_waited_for(form, no_copy):
    stream = torch.cuda.Stream()
    with scaled(batch_size=4, no_copy=no_copy) as pipe:
        pipe.build()
        for i in range(4):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(20_000_000)
                data = images(4) + i
                pipe.feed_input("x", data, cuda_stream=STREAMS[form](stream))
            (out,) = pipe.run()
            expected = (images(4) + i) * 2
            assert torch.equal(out.as_torch(), expected)


@pytest.mark.parametrize("stream", [0, -1])
def test_data_may_be_on_the_default_stream_or_none(stream):
    with scaled(batch_size=2) as pipe:
        pipe.build()
        data = images(2)
        torch.cuda.synchronize()
        pipe.feed_input("x", data, cuda_stream=stream)
        assert torch.equal(pipe.run()[0].as_torch(), data * 2)


def test_fed_data_is_copied():
    with scaled(batch_size=2) as pipe:
        pipe.build()
        data = images(2)
        expected = data * 2
        pipe.feed_input("x", data)
        data.zero_()
        assert torch.equal(pipe.run()[0].as_torch(), expected)


class Array:
    """A CUDA array that is not a torch tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        list,
        lambda x: TensorListGPU(x, "HWC"),
        lambda x: [Array(sample) for sample in x],
        lambda x: x.cpu(),
        lambda x: [sample.cpu().numpy() for sample in x],
        lambda x: list(x[:, :, :, [2, 1, 0]]),
    ],
)
def test_data_of_every_form_is_accepted_on_both_devices(make):
    x = images(3, 8)
    with scaled(batch_size=3) as pipe:
        pipe.build()
        made = make(x)
        pipe.feed_input("x", made)
        samples = pipe.run()[0].as_torch_list()
    for sample, given in zip(samples, made, strict=True):
        given = given.tensor if isinstance(given, Array) else given
        given = given.as_torch() if hasattr(given, "as_torch") else given
        assert torch.equal(sample.cpu(), torch.as_tensor(given).cpu() * 2)


def test_data_on_a_gpu_for_a_cpu_source_is_an_error():
    with Pipeline(2, 1, 0) as pipe:
        pipe.set_outputs(fn.external_source(name="x"))
        pipe.build()
        with pytest.raises(errors.UnsupportedError, match="CPU memory is needed"):
            pipe.feed_input("x", images(2))


def test_outputs_are_ready_on_the_current_stream():
    source = [np.full((256, 256, 3), i, np.uint8) for i in range(8)]

    @pipeline_def(batch_size=8, num_threads=2, device_id=0)
    def define():
        x = fn.external_source(lambda: source, layout="HWC").gpu()
        for _ in range(20):
            x = fn.flip(fn.resize(x, size=(256, 256)))
        return x

    with define() as pipe:
        for _ in range(10):
            with torch.cuda.stream(torch.cuda.Stream()):
                (out,) = pipe.run()
                sums = out.as_torch().sum(dim=(1, 2, 3), dtype=torch.int64)
                del out
                assert sums.tolist() == [i * 256 * 256 * 3 for i in range(8)]


def training_pipeline(seed: int) -> Pipeline:
    rng = np.random.default_rng(seed)
    source = [rng.integers(0, 256, (100 + i, 120, 3), np.uint8) for i in range(8)]

    @pipeline_def(batch_size=8, num_threads=2, device_id=0, seed=seed)
    def define():
        x = fn.external_source(lambda: source, layout="HWC").gpu()
        x = fn.random_resized_crop(x, size=(32, 32))
        return fn.crop_mirror_normalize(x, mirror=fn.random.coin_flip(), dtype=types.FLOAT)

    return define()


def test_copies_that_run_ahead_overwrite_no_input_of_a_kernel():
    """Neither one of the kernel that is queued next, nor one that a function has kept."""
    kept: list[torch.Tensor] = []

    def function(x):
        kept.append(x)
        earlier = kept.pop(0) if len(kept) > 3 else kept[0]
        torch.cuda._sleep(50_000_000)  # the copies of the next iterations run meanwhile
        return x + 0, earlier + 0

    @pipeline_def(batch_size=1, num_threads=2, device_id=0, prefetch_queue_depth=4)
    def define():
        x = fn.external_source(lambda i: np.full((1, 512, 512), i.iteration, np.int32), batch=False)
        return tuple(fn.torch_python_function(x.gpu(), function=function, num_outputs=2))

    with define() as pipe:
        outputs = [pipe.run() for _ in range(20)]
        for i, (now, earlier) in enumerate(outputs):
            assert (now.as_torch() == i).all()
            assert (earlier.as_torch() == max(i - 3, 0)).all()


def train(seed: int, steps: int) -> torch.Tensor:
    """Returns the weights after some steps of training on a pipeline's batches."""
    weights = torch.zeros(3 * 32 * 32, 4, device="cuda")
    with training_pipeline(seed) as pipe:
        for _ in range(steps):
            x = pipe.run()[0].as_torch().flatten(1) / 255
            weights = weights + 1e-3 * (x.T @ torch.tanh(x @ weights + 1))
    return weights.cpu()


def test_two_pipelines_and_training_do_not_disturb_each_other():
    alone = [train(seed, 20) for seed in (1, 2)]
    together: dict[int, torch.Tensor] = {}

    def work(seed: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            together[seed] = train(seed, 20)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (1, 2):
        torch.testing.assert_close(together[seed], alone[seed - 1], rtol=1e-5, atol=1e-6)


@pytest.mark.stress
def test_memory_does_not_grow_over_ten_thousand_batches():
    with training_pipeline(3) as pipe:
        for i in range(10_200):
            pipe.run()
            if i == 200:
                torch.cuda.synchronize()
                gc.collect()
                before = torch.cuda.memory_reserved()
        torch.cuda.synchronize()
        assert torch.cuda.memory_reserved() <= before + (4 << 20)


def test_out_of_memory_is_an_error_and_the_pipeline_continues():
    @pipeline_def(batch_size=1, num_threads=1, device_id=0)
    def define():
        x = fn.external_source(name="x", layout="HWC").gpu()
        return fn.resize(x, size=fn.external_source(name="size"))

    with define() as pipe:
        pipe.build()
        for size in (8.0, 600_000.0, 9.0):
            pipe.feed_input("x", [np.zeros((8, 8, 3), np.uint8)])
            pipe.feed_input("size", [np.array([size, size], np.float32)])
        assert pipe.run()[0].as_torch().shape == (1, 8, 8, 3)
        with pytest.raises(RuntimeError, match=r"fn\.resize.*out of GPU memory"):
            pipe.run()
        assert pipe.run()[0].as_torch().shape == (1, 9, 9, 3)


def test_iterators_return_cuda_tensors():
    with training_pipeline(4) as pipe:
        batch = next(iter(DALIGenericIterator(pipe, ["image"])))
        image = batch[0]["image"]
        assert image.is_cuda
        assert image.shape == (8, 3, 32, 32)


def test_other_gpus_are_not_used():
    with training_pipeline(5) as pipe:
        pipe.run()
        assert pipe.run()[0].device_id() == 0
    for other in range(1, torch.cuda.device_count()):
        assert torch.cuda.memory_reserved(other) == 0


def test_the_data_loader_delivers_to_the_device():
    from torchdali import DataLoader

    data = [(torch.full((4, 4), i), i) for i in range(40)]
    own = torch.Generator()
    loader = DataLoader(data, batch_size=8, num_workers=2, device="cuda", generator=own)
    for number, (image, label) in enumerate(loader):
        assert image.is_cuda
        assert label.tolist() == list(range(8 * number, 8 * number + 8))
        assert torch.equal(image[:, 0, 0], label)
