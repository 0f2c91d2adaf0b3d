# SPDX-License-Identifier: Apache-2.0
"""Figures that other projects published, each with its source. Nobody measured them again here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "Published"]


@dataclass(frozen=True)
class Published:
    """A figure of another project.

    Attributes:
        what: what was measured.
        figure: the text of the figure, with its unit.
        source: where it is published.
    """

    what: str
    figure: str
    source: str


_FFCV = "[docs.ffcv.io](https://docs.ffcv.io/benchmarks.html)"
_SPDL = "[arXiv 2504.20067](https://arxiv.org/abs/2504.20067)"
_MLPERF = "[MLPerf Storage](https://mlcommons.org/benchmarks/storage/)"
_LITDATA = "README of litdata 0.2.17"

# By the name of the benchmark's module.
PUBLISHED = {
    "ffcv_imagenet": [
        Published(
            "FFCV, 512 pixels, all JPEG, 96 vCPUs",
            f"31,278 images/s, {31278 / 96:.0f} per vCPU",
            _FFCV,
        ),
    ],
    "mlperf_storage": [
        Published("ResNet-50, an H100", "1,786 samples/s at a utilisation of 90 %", _MLPERF),
        Published("RetinaNet, a B200", "505 samples/s", _MLPERF),
    ],
    "batch_times": [
        Published(
            "torch `DataLoader`, spread of the time of a batch",
            "5 to 15 % of the mean",
            "Lotus (IISWC 2024)",
        ),
    ],
    "spdl_images": [
        Published(
            "SPDL against torch `DataLoader`, ImageNet, ViT-B/16",
            "74 % faster, 38 % less CPU, 50 GB less memory",
            _SPDL,
        ),
    ],
    "s3_epochs": [
        Published("LitData, first and later epochs", "5,800 and 6,589 images/s", _LITDATA),
        Published("webdataset", "3,134 and 3,924 images/s", _LITDATA),
        Published("MosaicML Streaming", "2,898 and 5,099 images/s", _LITDATA),
    ],
    "ray_images": [
        Published("`map_batches()` with torchvision", "160 images/s per vCPU", "Ray's gist"),
    ],
}
