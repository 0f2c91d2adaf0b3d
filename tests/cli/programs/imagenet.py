# SPDX-License-Identifier: Apache-2.0
"""Training on folders of images: the main loop of image classification, with options."""

import argparse
import math
import os

import nvidia.dali.fn as fn
import nvidia.dali.types as types
import torch
from nvidia.dali.pipeline import pipeline_def
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy


def parse():
    parser = argparse.ArgumentParser(description="ImageNet training")
    parser.add_argument("data", metavar="DIR", nargs="*")
    parser.add_argument("-b", "--batch-size", default=4, type=int)
    parser.add_argument("-j", "--workers", default=2, type=int)
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("--dali_cpu", action="store_true")
    args = parser.parse_args()
    args.local_rank = int(os.environ.get("LOCAL_RANK", 0))
    args.world_size = int(os.environ.get("WORLD_SIZE", 1))
    return args


@pipeline_def
def create_dali_pipeline(
    data_dir, crop, size, shard_id, num_shards, dali_cpu=False, is_training=True
):
    images, labels = fn.readers.file(
        file_root=data_dir,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=is_training,
        pad_last_batch=True,
        name="Reader",
    )
    dali_device = "cpu" if dali_cpu else "gpu"
    decoder_device = "cpu" if dali_cpu else "mixed"
    if is_training:
        images = fn.decoders.image_random_crop(
            images,
            device=decoder_device,
            output_type=types.RGB,
            device_memory_padding=211025920 if decoder_device == "mixed" else 0,
            host_memory_padding=140544512 if decoder_device == "mixed" else 0,
            preallocate_width_hint=5980 if decoder_device == "mixed" else 0,
            preallocate_height_hint=6430 if decoder_device == "mixed" else 0,
            random_aspect_ratio=[0.8, 1.25],
            random_area=[0.1, 1.0],
            num_attempts=100,
        )
        images = fn.resize(
            images,
            device=dali_device,
            resize_x=crop,
            resize_y=crop,
            interp_type=types.INTERP_TRIANGULAR,
        )
        mirror = fn.random.coin_flip(probability=0.5)
    else:
        images = fn.decoders.image(images, device=decoder_device, output_type=types.RGB)
        images = fn.resize(
            images,
            device=dali_device,
            size=size,
            mode="not_smaller",
            interp_type=types.INTERP_TRIANGULAR,
        )
        mirror = False
    images = fn.crop_mirror_normalize(
        images.gpu() if not dali_cpu else images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=(crop, crop),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=mirror,
    )
    labels = labels if dali_cpu else labels.gpu()
    return images, labels


def loader(args, folder, is_training):
    pipe = create_dali_pipeline(
        batch_size=args.batch_size,
        num_threads=args.workers,
        device_id=None if args.dali_cpu else args.local_rank,
        seed=12 + args.local_rank,
        data_dir=folder,
        crop=16,
        size=20,
        dali_cpu=args.dali_cpu,
        shard_id=args.local_rank,
        num_shards=args.world_size,
        is_training=is_training,
    )
    pipe.build()
    return DALIClassificationIterator(
        pipe, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
    )


def main():
    args = parse()
    train_loader = loader(args, args.data[0], is_training=True)
    val_loader = loader(args, args.data[0], is_training=False)
    model = torch.nn.Linear(3 * 16 * 16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        seen = torch.zeros(2, dtype=torch.int64)
        train_loader_len = math.ceil(train_loader._size / args.batch_size)
        for i, data in enumerate(train_loader):
            images = data[0]["data"]
            target = data[0]["label"].squeeze(-1).long()
            loss = torch.nn.functional.cross_entropy(model(images.flatten(1)), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += torch.bincount(target, minlength=2)
            assert i < train_loader_len
        checked = 0
        for data in val_loader:
            checked += data[0]["label"].squeeze(-1).numel()
        train_loader.reset()
        val_loader.reset()
        print(epoch, train_loader_len, i + 1, seen.tolist(), checked)


if __name__ == "__main__":
    main()
