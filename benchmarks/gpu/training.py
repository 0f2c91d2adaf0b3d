# SPDX-License-Identifier: Apache-2.0
"""Training steps in bfloat16, fed by a pipeline and by the same tensor in every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.definitions import SIZE, Options, regions_on_the_cpu
from benchmarks.gpu.rounds import reason
from benchmarks.harness import spread

__all__ = ["MODELS", "Step", "rows"]

MODELS = {"resnet50": "ResNet-50", "vit_b_16": "ViT-B/16", "efficientnet_b0": "EfficientNet-B0"}
SYNTHETIC = "the same tensor in every step"


class Step:
    """A step of training: images and labels to new weights.

    Args:
        model: with 1000 classes.
        device: of the model.
        compiled: whether torch.compile compiles it.
    """

    def __init__(self, model: torch.nn.Module, device: str, compiled: bool = False) -> None:
        self.model = model.to(device).to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)
        self.loss = torch.nn.CrossEntropyLoss()
        self.device = device
        torch.backends.cudnn.benchmark = True
        self.run: Callable[..., Any] = torch.compile(self.model) if compiled else self.model

    def __call__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        """Trains on a batch."""
        with torch.autocast(self.device, dtype=torch.bfloat16):
            images = images.to(memory_format=torch.channels_last)
            loss = self.loss(self.run(images), labels.flatten().long() % 1000)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def _made(name: str) -> torch.nn.Module:
    from torchvision import models

    model: torch.nn.Module = getattr(models, name)()
    return model


def rates_of(step: Step, options: Options) -> dict[str, dict[str, Any]]:
    """Returns images per second and busy cores, by the source of the data."""
    device, size = step.device, options.batch
    synthetic = torch.randn(size, 3, SIZE, SIZE, device=device)
    classes = torch.zeros(size, dtype=torch.int64, device=device)
    values: dict[str, list[float]] = {SYNTHETIC: [], "torchdali": []}
    cores: dict[str, list[float]] = {SYNTHETIC: [], "torchdali": []}

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    with regions_on_the_cpu(
        options.files,
        batch_size=size,
        num_threads=options.threads,
        prefetch_queue_depth=3,
    ) as pipe:

        def batch(name: str) -> tuple[torch.Tensor, torch.Tensor]:
            if name == SYNTHETIC:
                return synthetic, classes
            images, labels = pipe.run()
            return images.as_torch(), labels.as_torch()

        for number in range(options.rounds + 1):  # the first warms up
            steps = options.steps if number else 3
            for name in values:
                for _ in range(2):
                    step(*batch(name))
                wait()
                begin, begin_cpu = time.perf_counter(), time.process_time()
                for _ in range(steps):
                    step(*batch(name))
                wait()
                wall = time.perf_counter() - begin
                values[name].append(steps * size / wall)
                cores[name].append((time.process_time() - begin_cpu) / wall)
    return {
        name: {"images_per_s": spread(rates[1:]), "cores": spread(cores[name][1:])}
        for name, rates in values.items()
    }


def rows(
    options: Options,
    device: str = "cuda",
    make: Callable[[str], torch.nn.Module] = _made,
) -> Iterator[dict[str, Any]]:
    """Yields a result for each model and source of data."""
    variants = [(name, False) for name in MODELS] + [(name, True) for name in options.compiled]
    for name, compiled in variants:
        known = {"model": MODELS[name], "compiled": compiled}
        try:
            found = rates_of(Step(make(name), device, compiled), options)
        except Exception as error:
            yield {**known, "data": "torchdali", "absent": reason(error)}
            continue
        finally:
            if device == "cuda":
                torch.cuda.empty_cache()
        share = found["torchdali"]["images_per_s"]["median"]
        share /= found[SYNTHETIC]["images_per_s"]["median"]
        for source, measured in found.items():
            more = {"share": share} if source == "torchdali" else {}
            yield {**known, "data": source, **measured, **more}
