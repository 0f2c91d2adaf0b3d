# SPDX-License-Identifier: Apache-2.0
"""Tables of the results of benchmarks/gpu."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.decisions import decisions_table

__all__ = ["gpu_table"]


def _spread(values: dict[str, Any], digits: int = 0) -> str:
    half = (values["high"] - values["low"]) / 2
    return f"{values['median']:.{digits}f} ± {half:.{digits}f}"


def _rate(result: dict[str, Any]) -> str:
    if "absent" in result:
        return f"absent: {result['absent']}"
    return _spread(result["images_per_s"])


def _cores(result: dict[str, Any]) -> str:
    return f"{result['cores']['median']:.1f}" if "cores" in result else ""


def _pipelines(document: dict[str, Any]) -> list[str]:
    lines = [f"| {document['task']} | images/s |", "| --- | ---: |"]
    return lines + [f"| {r['peer']} | {_rate(r)} |" for r in document["pipelines"]]


def _training(document: dict[str, Any]) -> list[str]:
    rows = document["training"]
    if not any("model" in row for row in rows):  # results before there were several models
        lines = ["| training step of a ResNet-50, bfloat16; input | images/s |", "| --- | ---: |"]
        return lines + [f"| {row['data']} | {_rate(row)} |" for row in rows]
    lines = [
        "| training step, bfloat16; input | images/s | share | busy cores |",
        "| --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        model = row["model"] + (", compiled" if row["compiled"] else "")
        share = f"{100 * row['share']:.1f} %" if "share" in row else ""
        lines.append(f"| {model}; {row['data']} | {_rate(row)} | {share} | {_cores(row)} |")
    return lines


def _kernels(document: dict[str, Any]) -> list[str]:
    lines = [
        "| kernel, 64 samples | µs | share of the bandwidth of torch's copy |",
        "| --- | ---: | ---: |",
    ]
    for row in document["kernels"]:
        if "absent" in row:
            lines.append(f"| {row['kernel']} | absent: {row['absent']} | |")
        elif "us" in row:
            share = f"{100 * row['share']:.0f} %" if "share" in row else ""
            lines.append(f"| {row['kernel']} | {row['us']:.0f} | {share} |")
    return lines


def _launches(document: dict[str, Any]) -> list[str]:
    lines = [
        "| an iteration of 64 images of 16 x 16 | µs | µs of CPU time |",
        "| --- | ---: | ---: |",
    ]
    for row in document["launches"]:
        if "absent" in row:
            lines.append(f"| {row['iteration']} | absent: {row['absent']} | |")
        else:
            lines.append(
                f"| {row['iteration']} | {_spread(row['us'])} | {_spread(row['cpu_us'])} |"
            )
    return lines


def _host(document: dict[str, Any]) -> list[str]:
    lines = [
        "| host's part of decoding an image, later epochs | µs | bytes copied |",
        "| --- | ---: | ---: |",
    ]
    for row in document["host"]:
        name = f"{row['task']}, {row['way']}"
        lines.append(f"| {name} | {_spread(row['us'])} | {row['bytes']:.0f} |")
    return lines


def _overlap(document: dict[str, Any]) -> list[str]:
    return [
        f"While {row['steps']} steps of a ResNet-50 ran, copies to the GPU took "
        f"{row['copies_us'] / 1000:.1f} ms, of which {100 * row['copies_overlapped']:.0f} % "
        f"overlapped with kernels. Kernels ran {100 * row['kernels_busy']:.0f} % of the time."
        for row in document["overlap"]
    ]


_PARTS = {
    "pipelines": _pipelines,
    "ways": lambda document: [decisions_table(document["ways"])],
    "host": _host,
    "training": _training,
    "kernels": _kernels,
    "launches": _launches,
    "overlap": _overlap,
}


def gpu_table(document: dict[str, Any]) -> str:
    """Returns all results of a GPU run as Markdown. Parts without results are left out."""
    machine = document["machine"]
    lines = [
        f"{machine['gpu']}, {document['threads']} threads of {machine['cpu']}, torch "
        f"{document['torch']}; batches of {document['batch']}, {document['files']} JPEG files. "
        "Each figure is the median of interleaved rounds, ± half of their range.",
    ]
    for name, table in _PARTS.items():
        if document.get(name):
            lines += ["", *table(document)]
    return "\n".join(lines)
