# SPDX-License-Identifier: Apache-2.0
"""Measures the GPU path: ``python -m benchmarks.gpu --data DIR --out FILE``; `make bench-gpu`.

Three parts: images per second from JPEG files to normalized tensors on the GPU, for torchdali and
its peers in interleaved rounds; the memory bandwidth of kernels as a share of a copy's; and the
training step of a ResNet-50, fed by the pipeline and by the same tensor in every step.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import machine, spread
from torchdali import fn, pipeline_def, types

BATCH = 256
SIZE = 224
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def _normalize(x: Any) -> Any:
    return fn.crop_mirror_normalize(
        x, mirror=fn.random.coin_flip(), mean=MEAN, std=STD, dtype=types.FLOAT
    )


@pipeline_def(batch_size=BATCH, device_id=0, seed=1)
def _everything_on_the_gpu(files: list[str]) -> Any:
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.decoders.image(data, device="mixed")
    return _normalize(fn.random_resized_crop(x, size=SIZE)), labels.gpu()


@pipeline_def(batch_size=BATCH, device_id=0, seed=1)
def _regions_decoded_on_the_cpu(files: list[str]) -> Any:
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.random_resized_crop(fn.decoders.image(data), size=SIZE)
    return _normalize(x.gpu()), labels.gpu()


@pipeline_def(batch_size=BATCH, device_id=0, seed=1)
def _everything_on_the_cpu(files: list[str]) -> Any:
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.random_resized_crop(fn.decoders.image(data), size=SIZE)
    return _normalize(x).gpu(), labels.gpu()


def _mixed(decoder: str, fuse: bool = True) -> Callable[..., Generator[int, None, None]]:
    """Returns a peer that decodes on device="mixed" with a value of TORCHDALI_MIXED_DECODER.

    Args:
        decoder: "cpu", "hybrid" or "nvjpeg".
        fuse: decode only the region that random_resized_crop reads, and resize and normalize it in
            one kernel.
    """

    def batches(files: list[str], threads: int) -> Generator[int, None, None]:
        # The engine reads these when the pipeline is built, before the first batch.
        os.environ["TORCHDALI_MIXED_DECODER"] = decoder
        os.environ["TORCHDALI_FUSION"] = str(int(fuse))
        running = _batches(_everything_on_the_gpu, files, threads)
        try:
            first = next(running)
        finally:
            del os.environ["TORCHDALI_MIXED_DECODER"], os.environ["TORCHDALI_FUSION"]
        yield first
        yield from running

    return batches


def _batches(define: Any, files: list[str], threads: int) -> Generator[int, None, None]:
    """Yields the size of each batch once it is on the GPU."""
    with define(files, num_threads=threads, prefetch_queue_depth=3) as pipe:
        while True:
            images, _ = pipe.run()
            torch.cuda.current_stream().synchronize()
            yield len(images)


class _Images(torch.utils.data.Dataset[torch.Tensor]):
    def __init__(self, files: list[str]) -> None:
        from torchvision import transforms

        self.files = files
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(SIZE),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
            ]
        )

    def __len__(self) -> int:
        return len(self.files) * 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        from PIL import Image

        with Image.open(self.files[index % len(self.files)]) as image:
            result: torch.Tensor = self.transform(image.convert("RGB"))
        return result


def _torchvision(files: list[str], threads: int) -> Generator[int, None, None]:
    loader: Any = torch.utils.data.DataLoader(
        _Images(files), BATCH, num_workers=threads, pin_memory=True, multiprocessing_context="spawn"
    )
    for batch in loader:
        on_gpu = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().synchronize()
        yield len(on_gpu)


def _nvjpeg_alone(files: list[str], threads: int) -> Generator[int, None, None]:
    del threads
    from torchvision import io

    data = [io.read_file(file) for file in files]
    at = 0
    while True:
        chosen = [data[(at + i) % len(data)] for i in range(BATCH)]
        at += BATCH
        io.decode_jpeg(chosen, io.ImageReadMode.RGB, device="cuda")
        torch.cuda.current_stream().synchronize()
        yield BATCH


PEERS: dict[str, Callable[[list[str], int], Generator[int, None, None]]] = {
    'torchdali, `decoders.image(device="mixed")`, the rest on the GPU, not fused': (
        _mixed("cpu", fuse=False)
    ),
    "the same, fused: regions decoded on the CPU, one kernel for the rest": _mixed("cpu"),
    "the same, hybrid decoder, not fused": _mixed("hybrid", fuse=False),
    "the same, hybrid decoder, fused": _mixed("hybrid"),
    "the same, nvJPEG, not fused": _mixed("nvjpeg", fuse=False),
    "the same, nvJPEG, fused": _mixed("nvjpeg"),
    "torchdali, regions decoded and resized on the CPU, normalized on the GPU": lambda f, t: (
        _batches(_regions_decoded_on_the_cpu, f, t)
    ),
    "torchdali, all on the CPU, then copied": lambda f, t: _batches(_everything_on_the_cpu, f, t),
    "DataLoader + torchvision on the CPU, then copied": _torchvision,
    "nvJPEG through torchvision, decoding only": _nvjpeg_alone,
}


def pipelines(files: list[str], threads: int, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns images per second of each peer."""
    running: dict[str, Generator[int, None, None]] = {}
    values: dict[str, list[float]] = {}
    absent: dict[str, str] = {}
    for name, make in PEERS.items():
        try:
            running[name] = make(files, threads)
            for _ in range(6):
                next(running[name])
        except Exception as error:
            running.pop(name, None)
            absent[name] = f"{type(error).__name__}: {error}"[:200]
    for _ in range(rounds):
        for name, batches in running.items():
            for _ in range(3):  # discard batches prefetched while others were measured
                next(batches)
            start, count = time.perf_counter(), 0
            while time.perf_counter() - start < seconds:
                count += next(batches)
            values.setdefault(name, []).append(count / (time.perf_counter() - start))
    for batches in running.values():
        batches.close()
    results = [{"peer": name, "images_per_s": spread(rounds_)} for name, rounds_ in values.items()]
    return results + [{"peer": name, "absent": reason} for name, reason in absent.items()]


def _kernels_us(define: Any) -> float:
    """Returns the sum of the median times of a pipeline's kernels."""
    runs = 20
    with define(batch_size=64, num_threads=2, device_id=0) as pipe:
        for _ in range(5):
            pipe.run()
        kinds = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profile:
            for _ in range(runs):
                pipe.run()
            torch.cuda.synchronize()
    times: dict[str, list[float]] = {}
    for event in profile.events():
        if "Grid" in event.name:
            times.setdefault(event.name, []).append(event.device_time)
    return sum(statistics.median(t) * len(t) / runs for t in times.values())


def _whole_chain(x: Any) -> Any:
    x = fn.random_resized_crop(x, size=SIZE)
    x = fn.color_twist(x, saturation=fn.random.uniform(range=[0.6, 1.4]))
    return _normalize(x)


def kernels() -> list[dict[str, Any]]:
    """Returns bytes per second that kernels read and write, relative to a copy."""
    data = torch.randint(0, 256, (64, 480, 640, 3), dtype=torch.uint8, device="cuda")
    small = data[:, :224, :224].contiguous()

    def pipeline(make: Callable[[Any], Any], batch: torch.Tensor) -> Any:
        @pipeline_def
        def define() -> Any:
            x = fn.external_source(
                lambda: batch, device="gpu", layout="HWC", no_copy=True, cuda_stream=-1
            )
            return make(x)

        return define

    cases: dict[str, tuple[Callable[[Any], Any], torch.Tensor, int]] = {
        "resize 480x640 to 224x224, uint8": (
            lambda x: fn.resize(x, size=[224, 224]),
            data,
            64 * 3 * (480 * 640 + 224 * 224),
        ),
        "resize 480x640 to 960x1280, uint8": (
            lambda x: fn.resize(x, size=[960, 1280]),
            data,
            64 * 3 * (480 * 640 + 960 * 1280),
        ),
        "crop_mirror_normalize 224x224, uint8 to float CHW": (
            lambda x: fn.crop_mirror_normalize(x, mean=MEAN, std=STD),
            small,
            64 * 3 * 224 * 224 * 5,
        ),
        "crop_mirror_normalize 480x640, uint8 to float CHW": (
            lambda x: fn.crop_mirror_normalize(x, mean=MEAN, std=STD),
            data,
            64 * 3 * 480 * 640 * 5,
        ),
        "color_twist 480x640, uint8": (
            lambda x: fn.color_twist(x, hue=10.0, contrast=1.1),
            data,
            64 * 3 * 480 * 640 * 2,
        ),
        "flip 480x640, uint8": (fn.flip, data, 64 * 3 * 480 * 640 * 2),
    }
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        target.copy_(source)
    begin.record()
    for _ in range(10):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    peak = 20 * source.numel() / (begin.elapsed_time(end) / 1e3)
    results = [{"kernel": "torch's copy", "bytes_per_s": peak, "share": 1.0}]
    for name, (make, batch, size) in cases.items():
        microseconds = _kernels_us(pipeline(make, batch))
        rate = size / (microseconds / 1e6)
        results.append(
            {"kernel": name, "us": microseconds, "bytes_per_s": rate, "share": rate / peak}
        )
    # Crops differ in size from batch to batch, so only times are comparable.
    for name, fuse in (("in one kernel", "1"), ("one kernel each", "0")):
        os.environ["TORCHDALI_FUSION"] = fuse
        try:
            microseconds = _kernels_us(pipeline(_whole_chain, data))
        finally:
            del os.environ["TORCHDALI_FUSION"]
        chain = "random_resized_crop, color_twist, crop_mirror_normalize of 480x640"
        results.append({"kernel": f"{chain}, {name}", "us": microseconds})
    return results


def training(files: list[str], threads: int, rounds: int, steps: int) -> list[dict[str, Any]]:
    """Returns images per second of a training step, with a fixed tensor and with the pipeline."""
    from torchvision.models import resnet50

    model = resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    def step(images: torch.Tensor, labels: torch.Tensor) -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            images = images.to(memory_format=torch.channels_last)
            loss = loss_of(model(images), labels.flatten().long() % 1000)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    synthetic = torch.randn(BATCH, 3, SIZE, SIZE, device="cuda")
    classes = torch.zeros(BATCH, dtype=torch.int64, device="cuda")
    values: dict[str, list[float]] = {"the same tensor in every step": [], "torchdali": []}
    define = _regions_decoded_on_the_cpu
    with define(files, num_threads=threads, prefetch_queue_depth=3) as pipe:

        def batch(name: str) -> tuple[torch.Tensor, torch.Tensor]:
            if name != "torchdali":
                return synthetic, classes
            images, labels = pipe.run()
            return images.as_torch(), labels.as_torch()

        for _ in range(rounds + 1):  # the first warms up
            for name, rates in values.items():
                for _ in range(3):
                    step(*batch(name))
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(steps):
                    step(*batch(name))
                torch.cuda.synchronize()
                rates.append(steps * BATCH / (time.perf_counter() - start))
    return [{"data": name, "images_per_s": spread(rates[1:])} for name, rates in values.items()]


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of JPEG files")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    found = (file for file in options.data.rglob("*") if file.suffix.lower() in (".jpg", ".jpeg"))
    files = sorted(map(str, found))
    document = {
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "task": f"files → random resized crop {SIZE} → flip → float CHW on the GPU",
        "machine": {**machine(), "gpu": torch.cuda.get_device_name(0)},
        "threads": options.threads,
        "batch": BATCH,
        "files": len(files),
    }
    parts: dict[str, Callable[[], Any]] = {
        "kernels": kernels,
        "pipelines": lambda: pipelines(files, options.threads, options.rounds, options.seconds),
        "training": lambda: training(files, options.threads, options.rounds, options.steps),
    }
    for name, measure in parts.items():
        document[name] = measure()
        options.out.write_text(json.dumps(document, indent=1) + "\n")
        print(name, json.dumps(document[name], indent=1), flush=True)


if __name__ == "__main__":
    main()
