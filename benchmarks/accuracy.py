# SPDX-License-Identifier: Apache-2.0
"""Accuracy of a training script of torchvision's style, with torch's loader and with ours.

``python -m benchmarks.accuracy`` in a Python that has torchvision and scikit-learn, as that of
``make torchvision``. The images are the handwritten digits of scikit-learn as PNG files; 300 are
held back. Each loader trains the same network from the same seeds; only the import and
`accelerate=True` differ. Writes a JSON file to benchmarks/results/accuracy and prints its table;
``python -m benchmarks.report`` writes that into the guide.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks import harness
from benchmarks.tables.accuracy import accuracy_table

RESULTS = Path(__file__).resolve().parent / "results" / "accuracy"
SEEDS = (1, 2, 3)
EPOCHS = 12
HELD_BACK = 300


def write_digits(root: Path) -> None:
    """Writes a folder of PNG files for each class, below "train" and "val"."""
    from PIL import Image
    from sklearn.datasets import load_digits

    digits = load_digits()
    for number, (image, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        part = "val" if number < HELD_BACK else "train"
        folder = root / part / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        gray = Image.fromarray((image * (255 / 16)).round().astype("uint8"))
        gray.resize((40, 40), Image.Resampling.BICUBIC).save(folder / f"{number}.png")


def network() -> nn.Module:
    """Returns a small convolutional network."""
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))


def train(root: Path, seed: int, loader: Any, **options: Any) -> float:
    """Returns the accuracy, in percent, after training.

    Args:
        root: of the images.
        seed: of the weights, the order and the augmentation.
        loader: torch's class or ours.
        **options: arguments of it.
    """
    from torchvision import datasets, transforms

    normalize = transforms.Normalize([0.5] * 3, [0.5] * 3)
    augment = [transforms.RandomResizedCrop(32, scale=(0.5, 1.0)), transforms.ToTensor(), normalize]
    plain = [transforms.Resize(36), transforms.CenterCrop(32), transforms.ToTensor(), normalize]
    folders = {"train": augment, "val": plain}
    parts = {
        name: loader(
            datasets.ImageFolder(str(root / name), transforms.Compose(steps)),
            batch_size=64,
            shuffle=name == "train",
            num_workers=2,
            **options,
        )
        for name, steps in folders.items()
    }
    torch.manual_seed(seed)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        model.train()
        for images, labels in parts["train"]:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in parts["val"]:
            right += int((model(images).argmax(1) == labels).sum())
    return 100 * right / HELD_BACK


def measure() -> list[dict[str, Any]]:
    """Returns a result for each loader and seed: the accuracy in percent."""
    import torchdali

    loaders: dict[str, tuple[Any, dict[str, Any]]] = {
        "torchvision-dataloader": (torch.utils.data.DataLoader, {}),
        "torchvision-accelerated": (torchdali.DataLoader, {"accelerate": True}),
    }
    results = []
    with tempfile.TemporaryDirectory() as folder:
        write_digits(Path(folder))
        for peer, (loader, options) in loaders.items():
            for seed in SEEDS:
                score = train(Path(folder), seed, loader, **options)
                harness.progress(f"{peer}, seed {seed}: {score:.1f} %")
                results.append(
                    {
                        "benchmark": "benchmarks.accuracy",
                        "peer": peer,
                        "axes": {"seed": seed},
                        "metrics": {"accuracy_percent": harness.spread([score])},
                    }
                )
    return results


def main() -> None:
    """Writes the file, and prints the table."""
    with contextlib.suppress(ImportError):  # of `make torchvision`
        import helpers.torchvision_import  # noqa: F401

    document = harness.document({"epochs": EPOCHS, "held_back": HELD_BACK}, measure())
    RESULTS.mkdir(parents=True, exist_ok=True)
    name = document["created"][:19].replace(":", "").replace("-", "") + ".json"
    (RESULTS / name).write_text(json.dumps(document, indent=1) + "\n")
    sys.stdout.write(accuracy_table(document) + "\n")


if __name__ == "__main__":
    main()
