# SPDX-License-Identifier: Apache-2.0
"""Trains a small CNN with Ray Train, on a dataset of Ray whose images torchdali decodes.

The workers share the dataset: in an epoch, each image is decoded by one of them. Every checkpoint
has the state of the loader, so a run that failed continues with the images that are left, on
any number of workers. With --lightning, Lightning's Trainer runs in the workers. The digits are
scikit-learn's 1,797 real ones, written as JPEG files first; with --data, any folder with one
sub-folder of images per class. At the end, a fleet of actors prepares all images once more, for the
accuracy of the model on every fifth image. The model is not trained on these.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torchdali import fn, types

SIZE = 24
BATCH = 32


def training(bytes, label):  # the columns of Dataset.read_binary_files()
    """Random crops."""
    images = fn.decoders.image(bytes, output_type=types.GRAY)
    images = fn.random_resized_crop(
        images, size=[SIZE, SIZE], random_area=[0.7, 1.0], random_aspect_ratio=[0.8, 1.25]
    )
    return {"image": normalized(images), "label": label}


def evaluation(bytes, label):
    """Whole images."""
    images = fn.decoders.image(bytes, output_type=types.GRAY)
    return {"image": normalized(fn.resize(images, size=[SIZE, SIZE])), "label": label}


def normalized(images):
    """Returns float images with channels first and values around zero."""
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=[127.5], std=[64.0]
    )


def network(classes: int) -> nn.Module:
    """Returns a CNN of three convolution blocks, each of which halves the image."""
    layers: list[nn.Module] = []
    channels = 1
    for width in (16, 32, 64):
        layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, classes))


def train(config: dict[str, Any]) -> None:
    """Trains in a worker of Ray Train."""
    import ray.train
    import ray.train.torch

    from torchdali.ray import RayLoader

    model = network(config["classes"])
    loader = RayLoader(ray.train.get_dataset_shard("train"), training, batch_size=BATCH)
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            stored = torch.load(Path(folder) / "state.pt")
        model.load_state_dict(stored["model"])
        loader.load_state_dict(stored["loader"])
    trained = ray.train.torch.prepare_model(model)
    optimizer = torch.optim.AdamW(trained.parameters(), lr=4e-3)
    while loader.epoch < config["epochs"]:
        for batch in loader:
            loss = nn.functional.cross_entropy(trained(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with tempfile.TemporaryDirectory() as folder:
            state = {"model": model.state_dict(), "loader": loader.state_dict()}
            torch.save(state, Path(folder) / "state.pt")
            ray.train.report(
                {"loss": loss.item(), "epoch": loader.epoch},
                checkpoint=ray.train.Checkpoint.from_directory(folder),
            )


def train_with_lightning(config: dict[str, Any]) -> None:
    """Trains in a worker of Ray Train, by Lightning."""
    import ray.train
    import ray.train.lightning
    from lightning.pytorch import LightningModule, Trainer

    from torchdali.ray import RayLoader

    class Classifier(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = network(config["classes"])

        def training_step(self, batch: dict[str, torch.Tensor], _index: int) -> torch.Tensor:
            return nn.functional.cross_entropy(self.model(batch["image"]), batch["label"])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=4e-3)

    model = Classifier()
    # With `size`, Lightning knows which batch is the last one of an epoch.
    loader = RayLoader(
        ray.train.get_dataset_shard("train"), training, batch_size=BATCH, size=config["size"]
    )
    trainer = Trainer(
        max_epochs=config["epochs"],
        accelerator="cpu",
        devices="auto",
        strategy=ray.train.lightning.RayDDPStrategy(),
        plugins=[ray.train.lightning.RayLightningEnvironment()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        logger=False,
    )
    ray.train.lightning.prepare_trainer(trainer).fit(model, loader)
    with tempfile.TemporaryDirectory() as folder:
        state = {"model": model.model.state_dict(), "loader": loader.state_dict()}
        torch.save(state, Path(folder) / "state.pt")
        ray.train.report(
            {"loss": float(trainer.callback_metrics.get("loss", 0)), "epoch": loader.epoch},
            checkpoint=ray.train.Checkpoint.from_directory(folder),
        )


def write_digits(folder: Path) -> None:
    """Writes scikit-learn's digits as JPEG files, one folder for each class, once."""
    if folder.exists():
        return
    try:
        from PIL import Image
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit(f"train_ray.py: {error}: pip install scikit-learn pillow") from error
    digits = load_digits()
    for index, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray((pixels * (255 / 16)).astype("uint8"))
        image = image.resize((32, 32), Image.Resampling.BICUBIC)
        image.save(folder / str(label) / f"{index:04}.jpg", quality=95)


def main() -> None:
    """Trains, and evaluates."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of folders; default: digits")
    parser.add_argument("--epochs", type=int, default=4, help="%(default)s")
    parser.add_argument("--workers", type=int, default=2, help="%(default)s")
    parser.add_argument("--lightning", action="store_true", help="train with Lightning")
    parser.add_argument("--address", help="of a cluster; default: one is started here")
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="required accuracy")
    options = parser.parse_args()
    try:
        import pyarrow as pa
        import ray
        import ray.train.torch

        from torchdali.ray import DataConfig, TorchDaliMapper
    except ImportError as error:
        raise SystemExit(f'train_ray.py: {error}: pip install "ray[data,train]"') from error
    folder = (options.data or Path("out/ray_digits")).resolve()
    if options.data is None:
        write_digits(folder)
    classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if len(classes) < 2:
        raise SystemExit(f"train_ray.py: {folder} needs at least two sub-folders with images")

    def with_labels(table: pa.Table) -> pa.Table:
        labels = [classes.index(Path(path).parent.name) for path in table["path"].to_pylist()]
        return table.append_column("label", pa.array(labels))

    if options.address is None:
        # The workers train, and the tasks that read need another CPU.
        ray.init(num_cpus=options.workers + 2, object_store_memory=100 << 20, log_to_driver=False)
    else:
        ray.init(options.address)
    ray.data.DataContext.get_current().enable_progress_bars = False
    files = sorted(str(path) for path in folder.glob("*/*") if path.is_file())

    def dataset_of(paths: list[str]) -> Any:
        rows = ray.data.read_binary_files(paths, include_paths=True, override_num_blocks=8)
        return rows.map_batches(with_labels, batch_format="pyarrow")

    train_files = [path for index, path in enumerate(files) if index % 5]
    trainer = ray.train.torch.TorchTrainer(
        train_with_lightning if options.lightning else train,
        train_loop_config={
            "classes": len(classes), "epochs": options.epochs, "size": len(train_files)
        },
        datasets={"train": dataset_of(train_files)},
        dataset_config=DataConfig(
            shuffle=lambda dataset, epoch: dataset.random_shuffle(seed=epoch)
        ),
        scaling_config=ray.train.ScalingConfig(num_workers=options.workers),
        run_config=ray.train.RunConfig(storage_path=str(Path("out/ray").resolve())),
    )  # fmt: skip
    result = trainer.fit()
    with result.checkpoint.as_directory() as stored:
        model = network(len(classes))
        model.load_state_dict(torch.load(Path(stored) / "state.pt")["model"])
    model.eval()
    held_out = dataset_of(files[::5]).map_batches(
        TorchDaliMapper, fn_constructor_args=[evaluation], batch_format="pyarrow", batch_size=64,
        concurrency=1,
    )  # fmt: skip
    right = total = 0
    for batch in held_out.iter_torch_batches(batch_size=64):
        with torch.inference_mode():
            right += int((model(batch["image"]).argmax(1) == batch["label"]).sum())
        total += len(batch["label"])
    accuracy = 100 * right / total
    print(f"held-out accuracy {accuracy:.2f}% of {total} images, {options.epochs} epochs on "
          f"{options.workers} workers")  # fmt: skip
    ray.shutdown()
    if options.at_least is not None and accuracy < options.at_least:
        raise SystemExit(f"train_ray.py: accuracy is below {options.at_least} %")


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    main()
