# SPDX-License-Identifier: Apache-2.0
"""Trains a small CNN with Lightning on handwritten digits, as a config file says.

train_lightning.yaml names the model and the data: torchdali.lightning.DataModule with two pipeline
functions of this file. It is a config file for LightningCLI. If jsonargparse is installed,

    python train_lightning.py --cli fit --config train_lightning.yaml --trainer.max_epochs=3

runs Lightning's command line. Without --cli, this script creates the objects itself. The digits are
scikit-learn's 1,797 real ones, written as JPEG files first. Run it with torchrun to train in
several processes. --resume continues an interrupted run, also in the middle of an epoch.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import torch
import yaml
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import nn

from torchdali import fn, pipeline_def, types

HERE = Path(__file__).resolve().parent
DIGIT_PIXELS = 32  # size of the JPEG files; the originals have 8 x 8


@pipeline_def
def training_pipeline(root, size):
    """Random crops of four in five files."""
    encoded, label = fn.readers.file(
        file_list=f"{root}/train.txt", random_shuffle=True, name="files"
    )
    images = fn.decoders.image(encoded, output_type=types.GRAY)
    images = fn.random_resized_crop(
        images, size=[size, size], random_area=[0.7, 1.0], random_aspect_ratio=[0.8, 1.25]
    )
    return {"image": normalized(images), "label": label}


@pipeline_def
def validation_pipeline(root, size):
    """Every fifth file, uncropped."""
    encoded, label = fn.readers.file(file_list=f"{root}/val.txt", name="files")
    images = fn.decoders.image(encoded, output_type=types.GRAY)
    return {"image": normalized(fn.resize(images, size=[size, size])), "label": label}


def normalized(images):
    """Returns float images with channels first and values around zero."""
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=[127.5], std=[64.0]
    )


class Digits(LightningModule):
    """A CNN of three convolution blocks, each of which halves the image."""

    def __init__(self, lr: float = 4e-3, classes: int = 10) -> None:
        super().__init__()
        self.lr = lr
        layers: list[nn.Module] = []
        channels = 1
        for width in (32, 64, 128):
            layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
            channels = width
        layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(channels * 4, classes)]
        self.layers = nn.Sequential(*layers)

    def training_step(self, batch: dict[str, torch.Tensor], _index: int) -> torch.Tensor:
        """Returns the loss. The loader has already converted the labels to int64 [N]."""
        return nn.functional.cross_entropy(self.layers(batch["image"]), batch["label"])

    def validation_step(self, batch: dict[str, torch.Tensor], _index: int) -> None:
        """Logs the accuracy."""
        right = self.layers(batch["image"]).argmax(1) == batch["label"]
        self.log("accuracy", right.float().mean(), batch_size=len(right), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Returns the optimizer."""
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def write_digits(folder: Path) -> None:
    """Writes scikit-learn's digits as JPEG files, and two lists of them, once."""
    if (folder / "val.txt").exists():
        return
    try:
        from PIL import Image
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit(f"train_lightning.py: {error}: pip install scikit-learn pillow") from error
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    lines = []
    for index, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        image = Image.fromarray((pixels * (255 / 16)).astype("uint8"))
        image = image.resize((DIGIT_PIXELS, DIGIT_PIXELS), Image.Resampling.BICUBIC)
        image.save(folder / f"{index:04}.jpg", quality=95)
        lines.append(f"{index:04}.jpg {label}\n")
    (folder / "train.txt").write_text("".join(line for i, line in enumerate(lines) if i % 5))
    (folder / "val.txt").write_text("".join(lines[::5]))


def build(config: dict[str, Any]) -> Any:
    """Returns the object that class_path and init_args describe."""
    module, _, name = config["class_path"].rpartition(".")
    return getattr(importlib.import_module(module), name)(**config.get("init_args", {}))


def main() -> None:
    """Trains according to the config file."""
    sys.path.insert(0, str(HERE))  # the config names this file as a module
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=HERE / "train_lightning.yaml")
    parser.add_argument("--data", type=Path, default=Path("out/lightning"), help="%(default)s")
    parser.add_argument("--epochs", type=int, help="default: from the config file")
    parser.add_argument("--resume", type=Path, help="Lightning checkpoint to resume from")
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="required accuracy")
    parser.add_argument("--cli", nargs=argparse.REMAINDER, help="pass the rest to LightningCLI")
    options = parser.parse_args()
    write_digits(options.data)
    if options.cli is not None:
        from lightning.pytorch.cli import LightningCLI

        LightningCLI(args=options.cli)
        return
    config = yaml.safe_load(options.config.read_text())
    config["data"]["init_args"]["pipeline_args"]["root"] = str(options.data)
    if options.epochs is not None:
        config["trainer"]["max_epochs"] = options.epochs
    seed_everything(config["seed_everything"])
    trainer = Trainer(**config["trainer"])
    trainer.fit(build(config["model"]), datamodule=build(config["data"]), ckpt_path=options.resume)
    accuracy = 100 * float(trainer.callback_metrics["accuracy"])
    print(f"held-out accuracy {accuracy:.2f}% after {trainer.current_epoch} epochs")
    if options.at_least is not None and accuracy < options.at_least:
        raise SystemExit(f"train_lightning.py: accuracy is below {options.at_least} %")


if __name__ == "__main__":
    main()
