# SPDX-License-Identifier: Apache-2.0
"""Trains a small CNN on a folder of images, which a torchdali pipeline reads and augments.

Without --data, it first writes scikit-learn's 1,797 real handwritten digits as JPEG files to
out/digits, and reaches at least 97 % on held-out digits within a minute on two cores. With --data,
it trains on a folder with one sub-folder of images per class. Every fifth file is held out. A sheet
of augmented samples, as the network sees them, is written to out/augmented.png.
"""

from __future__ import annotations

import argparse
import os
import random
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from torchdali import fn, pipeline_def, types
from torchdali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm"}
DIGIT_PIXELS = 32  # size of the JPEG files; the originals have 8 x 8
MEAN, STD = 127.5, 64.0  # of 8-bit pixels, approximately right for any photograph


class Split(NamedTuple):
    """Files and the number of the class of each."""

    files: list[str]
    labels: list[int]


@pipeline_def
def training_pipeline(split: Split, size: int, digits: bool):
    """Random crops, mirrored except for digits."""
    encoded, labels = fn.readers.file(
        files=split.files, labels=split.labels, random_shuffle=True, name="Reader"
    )
    images = fn.decoders.image(encoded, output_type=types.RGB)
    # A small part of a photograph may show its object, but a digit must be complete.
    images = fn.random_resized_crop(
        images,
        size=size,
        random_area=[0.7, 1.0] if digits else [0.25, 1.0],
        random_aspect_ratio=[0.8, 1.25],
        interp_type=types.INTERP_TRIANGULAR,
    )
    mirror = 0 if digits else fn.random.coin_flip()
    return normalized(images, mirror), labels


@pipeline_def
def evaluation_pipeline(split: Split, size: int):
    """The held-out images, uncropped and in order."""
    encoded, labels = fn.readers.file(files=split.files, labels=split.labels, name="Reader")
    images = fn.decoders.image(encoded, output_type=types.RGB)
    images = fn.resize(images, size=[size, size], interp_type=types.INTERP_TRIANGULAR)
    return normalized(images, 0), labels


def normalized(images, mirror):
    """Returns float images with channels first and values around zero."""
    return fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mirror=mirror,
        mean=[MEAN] * 3,
        std=[STD] * 3,
    )


def write_digits(folder: Path) -> None:
    """Writes scikit-learn's digits as folder/CLASS/NUMBER.jpg, once."""
    done = folder / ".complete"
    if done.exists():
        return
    try:
        from PIL import Image
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit(
            f"train_classifier.py: {error}: the digits need scikit-learn and Pillow: "
            "pip install scikit-learn pillow, or use your own images with --data"
        ) from error
    digits = load_digits()
    print(f"writing {len(digits.images)} handwritten digits to {folder}")
    for index, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        path = folder / str(label) / f"{index:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray((pixels * (255 / 16)).astype("uint8"))
        image.resize((DIGIT_PIXELS, DIGIT_PIXELS), Image.Resampling.BICUBIC).save(path, quality=95)
    done.touch()


def find_images(folder: Path, seed: int) -> tuple[Split, Split, list[str]]:
    """Returns files to train on, files held out, and the names of the classes."""
    if not folder.is_dir():
        raise SystemExit(f"train_classifier.py: {folder} is not a folder")
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    found = [
        (str(path), label)
        for label, name in enumerate(classes)
        for path in sorted((folder / name).rglob("*"))
        if path.suffix.lower() in IMAGE_SUFFIXES
    ]
    if len({label for _, label in found}) < 2:
        raise SystemExit(
            f"train_classifier.py: {folder} needs at least two sub-folders with images, one "
            f"per class; images end in {', '.join(sorted(IMAGE_SUFFIXES))}"
        )
    random.Random(seed).shuffle(found)

    def split(pairs: list[tuple[str, int]]) -> Split:
        return Split([path for path, _ in pairs], [label for _, label in pairs])

    held_out = found[::5]
    return split([p for i, p in enumerate(found) if i % 5]), split(held_out), classes


def make_model(classes: int) -> nn.Module:
    """Returns a CNN of three convolution blocks, each of which halves the image."""
    layers: list[nn.Module] = []
    channels = 3
    for width in (32, 64, 128):
        layers += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels = width
    layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, nn.Linear(channels * 4, classes))


class Waiting:
    """Iterates over batches and adds up the time that the loop waited for them."""

    def __init__(self, batches: DALIClassificationIterator, device: torch.device) -> None:
        self.batches = batches
        self.device = device
        self.seconds = 0.0

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        iterator = iter(self.batches)
        while True:
            start = time.perf_counter()
            try:
                batch = next(iterator)[0]
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - start
            labels = batch["label"].reshape(-1).long()
            yield batch["data"].to(self.device), labels.to(self.device)


def write_png(path: Path, pixels: torch.Tensor) -> None:
    """Writes a uint8 image, [height, width, 3], as PNG (RFC 2083), using only zlib."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, _ = pixels.shape
    # Each row starts with the number of its filter; 0 means none.
    rows = torch.cat([torch.zeros(height, 1, dtype=torch.uint8), pixels.reshape(height, -1)], 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.contiguous().numpy().tobytes()))
        + chunk(b"IEND", b"")
    )


def write_sheet(path: Path, images: torch.Tensor, columns: int = 8) -> None:
    """Writes up to 64 samples side by side, as the network sees them."""
    rows = max(1, min(8, len(images) // columns))
    shown = images[: rows * columns].cpu()
    shown = torch.cat([shown, shown.new_zeros(rows * columns - len(shown), *shown.shape[1:])])
    scale = max(1, 96 // shown.shape[-1])
    pixels = (shown * STD + MEAN).round().clamp(0, 255).to(torch.uint8)
    pixels = nn.functional.pad(pixels, (1, 1, 1, 1), value=255)
    pixels = pixels.repeat_interleave(scale, 2).repeat_interleave(scale, 3)
    count, channels, height, width = pixels.shape
    grid = pixels.reshape(rows, count // rows, channels, height, width).permute(0, 3, 1, 4, 2)
    write_png(path, grid.reshape(rows * height, -1, channels))


def evaluate(model: nn.Module, batches: Waiting) -> float:
    """Returns the share of images that are classified correctly."""
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in batches:
            right += int((model(images).argmax(1) == labels).sum())
            total += len(labels)
    return right / total


def parse_arguments() -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of CLASS/IMAGE; default: the digits")
    parser.add_argument("--epochs", type=int, default=10, help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--size", type=int, help="in pixels; default: 24 for the digits, else 96")
    parser.add_argument("--lr", type=float, default=4e-3, help="maximum; default: %(default)s")
    parser.add_argument(
        "--threads",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="threads of the pipeline; default: number of cores, here %(default)s",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="default: %(default)s")
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="required accuracy")
    return parser.parse_args()


def main() -> None:
    """Trains, prints the progress, and writes the sheet."""
    options = parse_arguments()
    torch.manual_seed(options.seed)
    digits = options.data is None
    folder = options.out / "digits" if digits else options.data
    if digits:
        write_digits(folder)
    size = options.size or (24 if digits else 96)
    train, held_out, classes = find_images(folder, options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(
        f"{len(train.files)} images to train on, {len(held_out.files)} held out, "
        f"{len(classes)} classes; {size} x {size} pixels, on {device}"
    )

    model = make_model(len(classes)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01)
    steps = options.epochs * -(-len(train.files) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, total_steps=steps)
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.05)

    start = time.perf_counter()
    common = {
        "batch_size": options.batch,
        "num_threads": options.threads,
        "device_id": None,
        "seed": options.seed,
    }
    training = Waiting(
        DALIClassificationIterator(
            training_pipeline(train, size, digits, **common),
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        ),
        device,
    )
    evaluation = Waiting(
        DALIClassificationIterator(
            evaluation_pipeline(held_out, size, **common),
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        ),
        device,
    )

    live = sys.stdout.isatty()
    first_batch_s = None
    seen, accuracy, training_s = 0, 0.0, 0.0
    for epoch in range(1, options.epochs + 1):
        model.train()
        epoch_start, epoch_seen, loss_sum = time.perf_counter(), 0, 0.0
        for images, labels in training:
            if first_batch_s is None:
                first_batch_s = time.perf_counter() - start
                write_sheet(options.out / "augmented.png", images)
            loss = loss_function(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if schedule.last_epoch < steps:
                schedule.step()
            epoch_seen += len(labels)
            loss_sum += loss.item() * len(labels)
            if live:
                print(f"epoch {epoch:2}: {epoch_seen} images", end="\r", flush=True)
        epoch_s = time.perf_counter() - epoch_start
        training_s += epoch_s
        seen += epoch_seen
        accuracy = evaluate(model, evaluation)
        print(
            f"epoch {epoch:2} of {options.epochs}: "
            f"loss {loss_sum / epoch_seen:.3f}, held-out accuracy {accuracy:.2%}, "
            f"{epoch_seen / epoch_s:.0f} images/s",
            flush=True,
        )

    print(
        f"\nheld-out accuracy {accuracy:.2%} after {time.perf_counter() - start:.1f} s\n"
        f"trained on {seen / training_s:.0f} images/s\n"
        f"first batch after {first_batch_s:.3f} s\n"
        f"waited for data {training.seconds / training_s:.1%} of the training time\n"
        f"augmented samples: {options.out / 'augmented.png'}"
    )
    if options.at_least is not None and 100 * accuracy < options.at_least:
        raise SystemExit(f"train_classifier.py: accuracy is below {options.at_least} %")


if __name__ == "__main__":
    main()
