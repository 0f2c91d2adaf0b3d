# SPDX-License-Identifier: Apache-2.0
"""Cells of the tables: names of peers, medians, ratios."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TITLES = {
    "torchdali": "torchdali",
    "torchdali-plain": "torchdali",
    "torchdali-fused": "torchdali, `decoders.image_random_crop`",
    "torchdali-slice": "torchdali, `decoders.image_slice`",
    "torchdali-index": "torchdali, `jpeg_index`",
    "torchdali-remote": "torchdali, from the server",
    "torchdali-cached": "torchdali, later epochs with a cache",
    "torchdali-antialias": "torchdali, `antialias=True`",
    "dali": "DALI",
    "dali-plain": "DALI",
    "dali-fused": "DALI, `decoders.image_random_crop`",
    "dali-slice": "DALI, `decoders.image_slice`",
    "dataloader": "torch `DataLoader`",
    "dataloader-torchvision": "torch `DataLoader`",
    "spdl": "SPDL",
    "torchvision-accelerated": "`torchdali.DataLoader(..., accelerate=True)`",
    "torchvision-dataloader": "torch `DataLoader`",
    "webdataset": "webdataset package in torch `DataLoader`, Pillow",
    "huggingface": "`datasets` with its own decoding in torch `DataLoader`, Pillow",
    "torchdali-libjpeg": "libjpeg-turbo (in torchdali)",
    "torchdali-libpng": "libpng (in torchdali)",
    "pillow": "Pillow",
    "torchvision": "torchvision",
    "numpy": "NumPy",
    "opencv": "OpenCV",
    "memcpy": "`memcpy()`",
    "ffcv": "FFCV",
    "litdata": "LitData",
    "mosaicml": "MosaicML Streaming",
    "webdataset-s3": "webdataset",
    "numba": "Numba without a pipeline, one thread",
    "kaldi": "kaldi-native-fbank",
    "pyav": "PyAV",
    "torchcodec": "torchcodec",
    "torchcodec-approximate": "torchcodec, approximate",
}
# The torchdali variant that each peer is compared with: the one with the same definition.
REFERENCES = {"dali-plain": "torchdali-plain", "dali-fused": "torchdali-fused"}
REFERENCES |= {
    "dataloader": "torchdali-plain",
    "dataloader-torchvision": "torchdali-plain",
    "spdl": "torchdali-plain",
    "dali": "torchdali",
    "numpy": "torchdali",
    "opencv": "torchdali",
    "numba": "torchdali",
}


def title(result: dict[str, Any]) -> str:
    """Returns a peer's name with its version."""
    versions = result.get("versions", {})
    name = TITLES.get(result["peer"], result["peer"])
    if "nvidia.dali" in versions:
        return name.replace("DALI", f"DALI {versions['nvidia.dali']}", 1)
    if result["peer"] == "dataloader-torchvision":
        return f"{name}, torchvision {versions.get('torchvision', '')}".rstrip()
    if result["peer"] == "dataloader":
        return f"{name}, Pillow"
    # Packages without a name of their own in TITLES.
    package = "kaldi-native-fbank" if result["peer"] == "kaldi" else result["peer"]
    if package in ("torchaudio", "librosa", "kaldi-native-fbank", "soundfile", "soxr"):
        return f"{name} {versions.get(package, '').partition('+')[0]}".rstrip()
    package = {"pyav": "av", "torchcodec-approximate": "torchcodec"}.get(package, package)
    if package in ("av", "decord", "torchcodec"):
        return f"{name} {versions.get(package, '').partition('+')[0]}".rstrip()
    package = {"mosaicml": "mosaicml-streaming", "webdataset-s3": "webdataset"}.get(
        package, package
    )
    if package in ("ffcv", "litdata", "mosaicml-streaming") or result["peer"] == "webdataset-s3":
        return f"{name} {versions.get(package, '').partition('+')[0]}".rstrip()
    if "spdl" in versions:
        return f"{name} {versions['spdl']}"
    return name


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    """Returns a table; the first column is left-aligned, the others hold numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def median(result: dict[str, Any], metric: str) -> float:
    """Returns the median of a metric."""
    value: float = result["metrics"][metric]["median"]
    return value


def number(result: dict[str, Any], metric: str) -> str:
    """Returns the median ± half of the range of the rounds."""
    values = result["metrics"][metric]
    digits = 0 if values["median"] >= 100 else 1
    half = (values["high"] - values["low"]) / 2
    return f"{values['median']:.{digits}f} ± {half:.{digits}f}"


def paired_ratio(ours: dict[str, Any], theirs: dict[str, Any], metric: str) -> float:
    """Returns the median of ours / theirs over the rounds.

    Ratios are taken within a round because other load on the machine slows both peers of a round.
    """
    pairs = zip(ours["metrics"][metric]["rounds"], theirs["metrics"][metric]["rounds"], strict=True)
    ratios = sorted(a / b for a, b in pairs)
    return ratios[len(ratios) // 2]


def of(document: dict[str, Any], benchmark: str) -> list[dict[str, Any]]:
    """Returns the results of one benchmark."""
    return [r for r in document["results"] if r["benchmark"].split(".")[-1] == benchmark]
