# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors of a GPU: where they run, what comes back, and errors."""

from __future__ import annotations

import threading

import pytest
import torch
from helpers.image_files import encode, photo_like

import torchdali.experimental.dynamic as ndd
from torchdali import errors, fn, transforms, types
from torchdali import functional as F
from torchdali._eager import devices
from torchdali._eager.batch import Batch
from torchdali.experimental import eager
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform

pytestmark = pytest.mark.usefixtures("backend")


def image(height: int = 20, width: int = 30, seed: int = 1) -> torch.Tensor:
    own = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (height, width, 3), dtype=torch.uint8, generator=own)


def jpeg(width: int, height: int) -> bytes:
    return encode(photo_like(height, width, seed=width))


class OnTheCpu(Transform):
    """Records an operator that the GPU does not have."""

    def record(self, sample: Sample) -> None:
        sample.image = fn.peek_image_shape(sample.image)


def close(ours: torch.Tensor, theirs: torch.Tensor, by: float = 1) -> bool:
    return (ours.cpu().float() - theirs.float()).abs().max().item() <= by


def test_a_tensor_of_a_gpu_gives_one_on_it(backend, gpu_tensors):
    x = image()
    for _ in range(3):  # the first call, and those that find what it has made
        made = F.flip(gpu_tensors.put(x))
        assert made.device.type == backend
        assert torch.equal(made.cpu(), x.flip(1))
        assert torch.equal(F.flip(x), x.flip(1))  # the same arguments on the CPU
    part = F.slice(gpu_tensors.put(x), start=[2, 3], end=[9, 9], axes=[0, 1])
    assert torch.equal(part.cpu(), x[2:9, 3:9])


def test_the_device_is_named(backend):
    x = image()
    for name in ("gpu", "cuda", "cuda:0", "gpu:0", torch.device("cuda", 0)):
        made = F.flip(x, device=name)
        assert made.device.type == backend
        assert torch.equal(made.cpu(), x.flip(1))
    assert F.random.uniform(device="gpu", seed=5).device.type == backend


def test_decoders_for_the_gpu_are_mixed(backend):
    files = [jpeg(20, 30), jpeg(40, 24)]
    for device in ("mixed", "gpu"):
        assert F.decode(files[0], device=device).device.type == backend
        made = F.decode(files, device=device)
        assert made.gpu_id == 0
        for ours, theirs in zip(made, F.decode(files), strict=True):
            assert torch.equal(ours.cpu(), theirs)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_graph_runs_as_one_program(backend, threads, monkeypatch):
    runs = []
    find = devices.engine_device
    monkeypatch.setattr(devices, "engine_device", lambda gpu: runs.append(gpu) or find(gpu))
    files = [jpeg(40, 60), jpeg(44, 64), jpeg(48, 52)]

    def graph(device: str) -> Batch:
        decoded = F.decode(files, device=device)
        cropped = F.random_resized_crop(decoded, size=[24, 24], seed=3)
        angles = F.random.uniform(range=[-9.0, 9.0], batch_size=3, seed=4)
        turned = F.rotate(cropped, angle=angles, keep_size=True, fill_value=0.0)
        return F.crop_mirror_normalize(turned, mean=[9.0], std=[3.0], dtype=types.FLOAT)

    before = F.get_num_threads()
    F.set_num_threads(threads)
    try:
        expected = graph("cpu").as_tensor()
        made = graph("mixed")
        assert not runs
        whole = made.as_tensor()
        assert runs == [0]
        assert whole.device.type == backend
        assert close(whole, expected, by=1)
        assert torch.equal(graph("mixed").cpu().as_tensor(), whole.cpu())
        assert runs == [0, 0]  # the copy is in the program
    finally:
        F.set_num_threads(before)


def test_batches_keep_their_place(gpu_tensors):
    there = F.Batch([image(), image(24, 16)], "HWC").gpu()
    assert there.device == torch.device("cuda:0")
    assert there.gpu() is there
    for batch in (there, F.Batch([gpu_tensors.put(image()), gpu_tensors.put(image(24, 16))])):
        for one in (batch, batch.evaluate(), batch[:1], F.flip(batch), F.flip(batch).evaluate()):
            assert one.gpu_id == 0
            back = one.cpu()
            assert back.gpu_id == -1
            assert back.cpu() is back
    assert torch.equal(F.flip(F.flip(there)).cpu()[1], image(24, 16))
    with F.deferred(False):
        assert F.flip(there).gpu_id == 0
        assert F.shapes(there, device="cpu").gpu_id == -1


def test_layouts_and_batched_tensors(gpu_tensors):
    x = torch.stack([image(seed=i) for i in range(3)])
    chw = gpu_tensors.put(x).permute(0, 3, 1, 2)
    for operator, args in ((F.resize, {"size": [9, 11]}), (F.rotate, {"angle": 12.0})):
        expected = operator(x, batched=True, device="gpu", **args).permute(0, 3, 1, 2)
        made = operator(chw, batched=True, layout="CHW", **args)
        assert torch.equal(made, expected)
        assert torch.equal(operator(chw[0], layout="CHW", **args), expected[0])
    with pytest.raises(errors.LayoutError, match="looks like CHW"):
        F.flip(chw[0])


def test_arguments_stay_on_the_cpu(gpu_tensors):
    x = gpu_tensors.put(image())
    angles = torch.tensor([3.0, 9.0])
    made = F.rotate([x, x], angle=F.Batch(list(angles)))
    for one, angle in zip(made, angles, strict=True):
        assert torch.equal(one, F.rotate(x, angle=float(angle)))
        assert torch.equal(one, F.rotate(x, angle=angle))
    for step in range(20):  # becomes an input of the program
        assert F.brightness(x, brightness=1 + step / 10).shape == x.shape
    with pytest.raises(errors.ArgumentError, match=r"rotate: argument `angle`.* CPU") as caught:
        F.rotate(x, angle=gpu_tensors.put(torch.tensor(3.0)))  # this line
    assert "# this line" in str(caught.value)


def test_inputs_that_stay_on_the_host_are_copied(gpu_tensors):
    x = image()
    matrix = torch.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0]])
    expected = F.warp_affine(gpu_tensors.put(x), matrix)
    assert torch.equal(F.warp_affine(gpu_tensors.put(x), gpu_tensors.put(matrix)), expected)
    assert torch.equal(F.warp_affine(x, matrix, device="gpu"), expected)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: F.decode(x), errors.UnsupportedError, "pass .cpu() of inputs"),
        (lambda x: F.decode(x, device="gpu"), errors.ArgumentError, "pass .cpu()"),
        (lambda x: F.peek_image_shape([x, x]), NotImplementedError, "peek_image_shape"),
        (lambda x: F.flip(x, device="cpu"), errors.ArgumentError, "pass .cpu()"),
        (lambda x: F.cat(x, x[:1], device="mixed"), errors.UnsupportedError, "mixed"),
        (lambda x: F.Batch([x, x.cpu().clone()]), errors.ArgumentError, "one device"),
        (lambda x: F.flip([x, image()]), errors.ArgumentError, "one device"),
        (lambda x: F.flip(x, device="cuda:1"), errors.ArgumentError, "cuda:1"),
        (lambda x: OnTheCpu()(x.permute(2, 0, 1)), errors.UnsupportedError, "OnTheCpu: fn.peek"),
    ],
)
def test_wrong_calls(call, error, text, gpu_tensors):
    if gpu_tensors.emulates and text == "one device":
        pytest.skip("the tensors of the emulation are on one device")
    with pytest.raises(error) as caught:
        call(gpu_tensors.put(image()))
    assert text in str(caught.value)


def test_an_error_of_a_deferred_call_names_its_line():
    made = F.crop(F.Batch([image(), image(4, 4)]), crop=[9, 9], device="gpu")  # this line
    with pytest.raises(errors.TorchdaliError) as caught:
        made.evaluate()
    assert caught.value.sample == 1
    assert "# this line" in str(caught.value)
    assert F.crop(F.Batch([image()]), crop=[9, 9], device="gpu")[0].shape == (9, 9, 3)


def test_seeds_are_those_of_the_cpu(gpu_tensors, keep_random_state):
    del keep_random_state
    x = image()
    for args in ({"seed": 5}, {"generator": torch.Generator().manual_seed(7)}, {}):
        torch.manual_seed(4)
        made = F.noise.salt_and_pepper(gpu_tensors.put(x), prob=0.3, **args)
        if "generator" in args:
            args["generator"].manual_seed(7)
        torch.manual_seed(4)
        assert torch.equal(made.cpu(), F.noise.salt_and_pepper(x, prob=0.3, **args))


def test_threads_run_at_the_same_time(gpu_tensors):
    x = image(64, 64)
    expected = F.resize(x, size=[20, 20], device="gpu")
    wrong = []

    def work() -> None:
        there = gpu_tensors.put(x)
        for _ in range(20):
            if not torch.equal(F.resize(there, size=[20, 20]), expected):
                wrong.append(1)
            if not torch.equal(F.resize([there, there], size=[20, 20])[1], expected):
                wrong.append(2)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_eager_and_dynamic_modes(backend):
    x = [image(), image(12, 12)]
    made = eager.flip(x, device="gpu")
    assert made.as_torch_list()[1].device.type == backend
    batch = ndd.Batch(x, layout="HWC", device="gpu")
    half = ndd.flip(batch) / 2
    assert str(half.device) == "gpu:0"
    assert half.tensors[1].torch().device.type == backend
    assert torch.equal(half.cpu().tensors[1].torch(), x[1].flip(1) / 2)
    assert str(batch.slice[2:4].evaluate().device) == "gpu:0"
    assert str(ndd.decoders.image(jpeg(8, 8), device="gpu").device) == "gpu:0"
    assert str(ndd.tensor(image(), device="gpu").cpu().device) == "cpu"
    assert batch.to_device("gpu") is batch


class Stream:
    """Stands for a stream of torch."""

    def __init__(self) -> None:
        self.waited_for: list[Stream] = []

    def wait_stream(self, other: Stream) -> None:
        self.waited_for.append(other)


def test_a_deferred_call_waits_for_the_stream_that_was_current(monkeypatch):
    first, second, last = Stream(), Stream(), Stream()
    current = [first]
    monkeypatch.setattr(devices, "current_stream", lambda gpu: None if gpu < 0 else current[0])
    made = F.flip(F.Batch([image()], "HWC"), device="gpu")
    current[0] = second
    made = F.resize(F.brightness(made, brightness=2.0), size=[9, 9])
    current[0] = last
    made.evaluate()
    assert {*last.waited_for} == {first, second}
    assert len(last.waited_for) == 2
    F.flip(F.flip(made)).evaluate()
    assert len(last.waited_for) == 2


def test_transforms(backend, gpu_tensors, keep_random_state):
    del keep_random_state
    recipe = transforms.Compose(
        [
            transforms.RandomResizedCrop(16),
            transforms.RandomHorizontalFlip(),
            transforms.ToDtype(torch.float32, scale=True),
            transforms.Normalize([0.5], [0.25]),
        ]
    )
    x = image(40, 50).permute(2, 0, 1).contiguous()
    for seed in range(4):
        torch.manual_seed(seed)
        made = recipe(gpu_tensors.put(x))
        torch.manual_seed(seed)
        assert made.device.type == backend
        assert close(made, recipe(x), by=0.02)
