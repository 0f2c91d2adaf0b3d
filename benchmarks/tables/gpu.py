# SPDX-License-Identifier: Apache-2.0
"""Tables of the results of benchmarks/gpu.py."""

from __future__ import annotations

from typing import Any

__all__ = ["gpu_table"]


def _rate(result: dict[str, Any]) -> str:
    values = result["images_per_s"]
    return f"{values['median']:.0f} ± {(values['high'] - values['low']) / 2:.0f}"


def gpu_table(document: dict[str, Any]) -> str:
    """Returns all results of a GPU run as Markdown."""
    machine = document["machine"]
    lines = [
        f"{machine['gpu']}, {document['threads']} threads of {machine['cpu']}, torch "
        f"{document['torch']}; batches of {document['batch']}, {document['files']} JPEG files. "
        "Each figure is the median of interleaved rounds, ± half of their range.",
        "",
        f"| {document['task']} | images/s |",
        "| --- | ---: |",
    ]
    for result in document["pipelines"]:
        shown = f"absent: {result['absent']}" if "absent" in result else _rate(result)
        lines.append(f"| {result['peer']} | {shown} |")
    lines += ["", "| training step of a ResNet-50, bfloat16; input | images/s |", "| --- | ---: |"]
    lines += [f"| {result['data']} | {_rate(result)} |" for result in document["training"]]
    lines += [
        "",
        "| kernel, 64 samples | µs | share of the bandwidth of torch's copy |",
        "| --- | ---: | ---: |",
    ]
    lines += [
        f"| {result['kernel']} | {result['us']:.0f} | {100 * result['share']:.0f} % |"
        for result in document["kernels"]
        if "us" in result
    ]
    return "\n".join(lines)
