# SPDX-License-Identifier: Apache-2.0
"""A trace of training: whether copies to the GPU overlap with kernels; and a picture of it.

    python -m benchmarks.gpu.overlap TRACE.json.gz PICTURE.svg

draws a trace that `rows` has written: what the GPU did in each of its streams.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.definitions import Options, regions_on_the_cpu
from benchmarks.gpu.training import Step

__all__ = ["Span", "overlap", "picture", "rows", "spans_of"]

STEPS = 6
# Start and end in µs.
Span = tuple[float, float]

_COLORS = {"copy": "#d97706", "pipeline": "#2563eb", "training": "#9ca3af"}
_TITLES = {
    "copy": "copy to the GPU",
    "pipeline": "kernel of the pipeline",
    "training": "kernel of the training step",
}


def kind_of(event: dict[str, Any]) -> str:
    """Returns what an event on the GPU is: a key of the colors, "" for others."""
    if event.get("cat") == "gpu_memcpy":
        return "copy" if "HtoD" in event["name"] else ""
    if event.get("cat") != "kernel":
        return ""
    return "pipeline" if "torchdali" in event["name"] else "training"


def spans_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the GPU's events of a chrome trace: kind, stream, start and length in µs from 0.

    Args:
        trace: as torch.profiler exports it, or as it is stored here.
    """
    if "spans" in trace:
        stored: list[dict[str, Any]] = trace["spans"]
        return stored
    found = []
    for event in trace["traceEvents"]:
        kind = kind_of(event) if event.get("ph") == "X" else ""
        if kind:
            stream = event.get("args", {}).get("stream", event.get("tid", 0))
            found.append(
                {
                    "kind": kind,
                    "stream": int(stream),
                    "ts": float(event["ts"]),
                    "dur": float(event["dur"]),
                }
            )
    begin = min((span["ts"] for span in found), default=0.0)
    for span in found:
        span["ts"] = round(span["ts"] - begin, 3)
    return sorted(found, key=lambda span: span["ts"])


def _united(spans: list[Span]) -> list[Span]:
    """Returns the same times without overlaps, in their order."""
    made: list[Span] = []
    for begin, end in sorted(spans):
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((begin, end))
    return made


def _length(spans: list[Span]) -> float:
    return sum(end - begin for begin, end in spans)


def overlap(spans: list[dict[str, Any]]) -> dict[str, float]:
    """Returns how long copies took, the share of it in which kernels ran, and how busy the GPU was.

    Args:
        spans: of spans_of().
    """

    def times(*kinds: str) -> list[Span]:
        return _united([(s["ts"], s["ts"] + s["dur"]) for s in spans if s["kind"] in kinds])

    copies, kernels = times("copy"), times("pipeline", "training")
    both = _length(copies) + _length(kernels) - _length(_united(copies + kernels))
    every = _united(copies + kernels)
    whole = every[-1][1] - every[0][0] if every else 0.0
    return {
        "copies_us": _length(copies),
        "copies_overlapped": both / _length(copies) if copies else 0.0,
        "kernels_busy": _length(kernels) / whole if whole else 0.0,
        "streams": float(len({s["stream"] for s in spans})),
    }


def picture(spans: list[dict[str, Any]], title: str, most_us: float = 250_000) -> str:
    """Returns an SVG picture: time from left to right, a row for each stream and kind.

    Args:
        spans: of spans_of().
        title: what they are of.
        most_us: only this much is drawn, from the start.
    """
    spans = [s for s in spans if s["ts"] < most_us]
    end = max((s["ts"] + s["dur"] for s in spans), default=1.0)
    lanes = sorted({(s["kind"], s["stream"]) for s in spans}, key=lambda lane: (lane[0], lane[1]))
    left, width, row = 230, 900, 34
    scale = width / end
    height = 50 + row * len(lanes) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{left + width + 20}" height="{height}" fill="white"/>',
        f'<text x="10" y="22" font-size="15">{title}</text>',
    ]
    for number, (kind, stream) in enumerate(lanes):
        top = 40 + row * number
        lines.append(f'<text x="10" y="{top + 16}">{_TITLES[kind]}, stream {stream}</text>')
        of_lane = [
            (s["ts"], s["ts"] + s["dur"])
            for s in spans
            if (s["kind"], s["stream"]) == (kind, stream)
        ]
        # What is closer than half a pixel is one bar.
        gap = 0.5 / scale
        for begin, until in _united([(a - gap / 2, b + gap / 2) for a, b in of_lane]):
            x, length = left + max(begin, 0) * scale, max((until - max(begin, 0)) * scale, 0.5)
            lines.append(
                f'<rect x="{x:.1f}" y="{top}" width="{length:.1f}" height="22" '
                f'fill="{_COLORS[kind]}"/>'
            )
    for tick in range(6):
        x = left + width * tick / 5
        lines.append(
            f'<text x="{x:.0f}" y="{height - 10}" text-anchor="middle">'
            f"{end * tick / 5 / 1000:.1f} ms</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _trace(options: Options) -> dict[str, Any]:
    """Returns the chrome trace of some steps of training a ResNet-50."""
    from torchvision.models import resnet50

    step = Step(resnet50(), "cuda")
    with regions_on_the_cpu(
        options.files,
        batch_size=options.batch,
        num_threads=options.threads,
        prefetch_queue_depth=3,
    ) as pipe:

        def run(count: int) -> None:
            for _ in range(count):
                images, labels = pipe.run()
                step(images.as_torch(), labels.as_torch())
            torch.cuda.synchronize()

        run(8)
        kinds = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profile:
            run(STEPS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        trace: dict[str, Any] = json.loads(path.read_text())
    return trace


def rows(options: Options) -> Iterator[dict[str, Any]]:
    """Yields the figures, and writes the spans and the picture next to the result."""
    spans = spans_of(_trace(options))
    if options.trace is not None:
        text = json.dumps({"spans": spans}, separators=(",", ":"))
        named = options.trace.name
        with gzip.open(options.trace.with_name(f"{named}.trace.json.gz"), "wt") as file:
            file.write(text)
        title = f"{STEPS} steps of a ResNet-50 on {torch.cuda.get_device_name(0)}"
        options.trace.with_name(f"{named}.overlap.svg").write_text(picture(spans, title))
    yield {"steps": STEPS, **overlap(spans)}


def main() -> None:
    """See the module's docstring."""
    source, target = map(Path, sys.argv[1:3])
    read = gzip.decompress if source.suffix == ".gz" else bytes
    spans = spans_of(json.loads(read(source.read_bytes())))
    target.write_text(picture(spans, source.name.partition(".")[0]))
    print(json.dumps(overlap(spans), indent=1))


if __name__ == "__main__":
    main()
