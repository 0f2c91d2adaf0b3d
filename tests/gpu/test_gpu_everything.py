# SPDX-License-Identifier: Apache-2.0
"""One pipeline with all that runs on a GPU: alone, next to others, resumed, in loaders."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.encoded_images import jpeg
from helpers.image_files import photo_like

from torchdali import DataLoader, Pipeline, PipelineLoader, fn, pipeline_def, types
from torchdali.plugin.pytorch import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
)

BATCH, FILES = 4, 11
pytestmark = pytest.mark.usefixtures("keep_random_state")  # loaders draw seeds

# Samples of outputs, on the CPU.
Samples = list[list[torch.Tensor]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{i}.jpg" for i in range(FILES)]
    for i, path in enumerate(paths):
        path.write_bytes(jpeg(photo_like(40 + i, 60 - i, seed=i)))
    return [str(path) for path in paths]


def halved(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5


@pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, enable_conditionals=True)
def everything(files: list[str], gpu: bool = True, kind: str = "all", **reader: Any):
    """A decoder, a condition, chains, a function, an expression, and a way back to the host."""
    data, label = fn.readers.file(
        files=files, name="files", random_shuffle=True, pad_last_batch=True, **reader
    )
    x = fn.decoders.image(data, device="mixed" if gpu else "cpu")
    x = fn.random_resized_crop(x, size=(16, 20))
    if fn.random.coin_flip(dtype=types.BOOL):
        x = fn.brightness(fn.flip(x), brightness=1.5)
    else:
        x = fn.gaussian_blur(x, sigma=0.8)
    normal = fn.crop_mirror_normalize(x, mirror=fn.random.coin_flip(), dtype=types.FLOAT)
    half = fn.torch_python_function(normal, function=halved)
    ragged = fn.crop(x, crop_h=fn.random.uniform(range=[3, 9]), crop_w=20)
    mean = fn.reductions.mean(half, axes=(1, 2))
    image = half + normal
    if gpu:
        mean, label = mean.cpu(), label.gpu()
    return {
        "all": (image, ragged, mean, label),
        "generic": (image, mean, label),
        "ragged": (image, ragged, ragged, mean, label),
        "classification": (image, label),
    }[kind]


def on_cpu(outputs: Any) -> Samples:
    return [[s.cpu().clone() for s in out.as_torch_list()] for out in outputs]


def batches(pipe: Pipeline, count: int) -> list[Samples]:
    try:
        return [on_cpu(pipe.run()) for _ in range(count)]
    finally:
        pipe.close()


def assert_close(actual: Any, expected: Any) -> None:
    # A resampled byte may be one off, two if it is brightened; it is added to its half.
    torch.testing.assert_close(actual, expected, rtol=0, atol=2 * 1.5 + 1e-4)


def assert_equal(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    "options",
    [
        {"prefetch_queue_depth": 1},
        {"prefetch_queue_depth": {"cpu_size": 4, "gpu_size": 1}},
        {"prefetch_queue_depth": {"cpu_size": 1, "gpu_size": 3}},
        {"num_threads": 1},
        {"debug": True},
    ],
    ids=str,
)
def test_results_depend_on_no_option_and_equal_the_cpu(options, files, backend):
    del backend
    expected = batches(everything(files, gpu=False, seed=5), 5)
    assert_close(batches(everything(files, seed=5, **options), 5), expected)


def test_a_resumed_pipeline_gives_the_same(files, backend):
    del backend
    options = {"seed": 6, "enable_checkpointing": True}
    whole = batches(everything(files, **options), 8)
    for taken in (2, 5):
        with everything(files, **options) as first:
            for _ in range(taken):
                first.run()
            checkpoint = first.checkpoint()
        rest = batches(everything(files, checkpoint=checkpoint, **options), 8 - taken)
        assert_equal(rest, whole[taken:])


def test_pipelines_in_threads_do_not_disturb_each_other(files, backend):
    alone = [batches(everything(files, seed=seed), 12) for seed in (1, 2)]
    found: dict[int, list[Samples]] = {}

    def work(seed: int) -> None:
        if backend == "cuda":
            with torch.cuda.stream(torch.cuda.Stream()):
                found[seed] = batches(everything(files, seed=seed), 12)
        else:
            found[seed] = batches(everything(files, seed=seed), 12)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_equal([found[1], found[2]], alone)


def test_pipelines_in_turns_do_not_disturb_each_other(files, backend):
    """One thread, and outputs that are kept."""
    del backend
    alone = [batches(everything(files, seed=seed), 6) for seed in (3, 4)]
    pipes = [everything(files, seed=seed) for seed in (3, 4)]
    kept = [[pipe.run() for pipe in pipes] for _ in range(6)]
    for pipe in pipes:
        pipe.close()
    assert_equal([[on_cpu(both[i]) for both in kept] for i in range(2)], alone)


@pytest.mark.cuda
def test_one_pipeline_is_read_on_several_streams(files):
    """Each stream is busy when it gets a batch, and uses it later."""
    alone = batches(everything(files, seed=7), 12)
    streams = [torch.cuda.Stream() for _ in range(3)]
    sums: list[list[torch.Tensor]] = []
    with everything(files, seed=7) as pipe:
        for i in range(12):
            with torch.cuda.stream(streams[i % 3]):
                torch.cuda._sleep(5_000_000)
                outputs = pipe.run()
                torch.cuda._sleep(5_000_000)
                sums.append([s.double().sum() for s in outputs[0].as_torch_list()])
                del outputs
        torch.cuda.synchronize()
    expected = [[s.double().sum() for s in batch[0]] for batch in alone]
    assert_equal([[s.cpu() for s in of_batch] for of_batch in sums], expected)


# -- loops over it

ITERATORS: dict[str, Callable[..., Any]] = {
    "generic": lambda pipe, **options: DALIGenericIterator(
        pipe, ["image", "mean", "label"], **options
    ),
    "ragged": lambda pipe, **options: DALIRaggedIterator(
        pipe,
        ["image", "list", "sparse", "mean", "label"],
        output_types=["dense", "sparse_list", "sparse_coo", "dense", "dense"],
        **options,
    ),
    "classification": DALIClassificationIterator,
}


def plain(value: Any) -> Any:
    """Returns what an iterator made of an output, as dense tensors on the CPU."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.to_dense().cpu() if value.is_sparse else value.cpu()


@pytest.mark.parametrize("policy", [LastBatchPolicy.PARTIAL, LastBatchPolicy.FILL])
@pytest.mark.parametrize("kind", ITERATORS)
def test_iterators_return_what_they_return_on_the_cpu(kind, policy, files, backend):
    def epochs(gpu: bool) -> list[Any]:
        pipes = [
            everything(files, gpu, kind, shard_id=i, num_shards=2, seed=8 + i) for i in range(2)
        ]
        loop = ITERATORS[kind](
            pipes, reader_name="files", last_batch_policy=policy, auto_reset=True
        )
        found = []
        for _ in range(2):
            for batch in loop:
                for name, value in batch[0].items():
                    one = value[0] if isinstance(value, list) else value
                    assert not gpu or one.device.type == ("cpu" if name == "mean" else backend)
                found.append([{n: plain(v) for n, v in part.items()} for part in batch])
        return found

    actual, expected = epochs(gpu=True), epochs(gpu=False)
    assert len(actual) == len(expected) >= 2
    assert_close(actual, expected)


@pytest.mark.parametrize("ragged", ["list", "padded", "nested"])
def test_a_loader_returns_what_it_returns_on_the_cpu_and_resumes(ragged, files, backend):
    def loader(gpu: bool) -> PipelineLoader:
        return PipelineLoader(
            everything,
            pipeline_args={"files": files, "gpu": gpu, "seed": 9},
            ragged={"1": ragged},
            mask=True,
            seed=9,
        )

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        return plain(list(value.unbind())) if value.is_nested else value.cpu()

    theirs = loader(gpu=False)
    expected = [plain(batch) for _ in range(2) for batch in theirs]
    ours = loader(gpu=True)
    found = []
    for _ in range(2):
        for batch, mask in ours:
            assert batch[0].device.type == batch[3].device.type == backend
            assert batch[2].device.type == "cpu"
            found.append(plain((batch, mask)))
            if len(found) == 2:
                state = ours.state_dict()
    assert_close(found, expected)
    resumed = loader(gpu=True)
    resumed.load_state_dict(state)
    rest = [plain(batch) for _ in range(2) for batch in resumed]
    assert_equal(rest, found[2:])


class Images(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((9, 12, 3), 10 * index, dtype=torch.uint8), index


@pytest.mark.parametrize("workers", [None, "threads", "processes"])
def test_a_pipeline_of_a_data_loader_runs_on_the_gpu(workers, backend):
    def function(image, label):
        return fn.brightness(fn.flip(image.gpu()), brightness=0.5), label

    parallel = {} if workers is None else {"num_workers": 2, "workers": workers}
    loader = DataLoader(
        Images(),
        batch_size=4,
        pipeline=function,
        pipeline_options={"num_threads": 2, "seed": 1},
        **parallel,
    )
    for _ in range(2):
        found = []
        for images, labels in loader:
            assert images.device.type == backend
            assert (images[:, 0, 0, 0].cpu() == 5 * labels).all()
            found += labels.tolist()
        assert found == list(range(10))
