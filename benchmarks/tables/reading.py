# SPDX-License-Identifier: Apache-2.0
"""Tables of reading: a cold page cache, a web server, later epochs with a JPEG index, readers."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import markdown, number, of, paired_ratio, title


def _by_threads(document: dict[str, Any], name: str, first: str, metric: str, inverse: bool) -> str:
    results = of(document, name)
    by_key = {(r["peer"], r["axes"]["threads"]): r for r in results}
    threads = sorted({r["axes"]["threads"] for r in results})
    header = [first, *(f"{t} thread{'s' if t > 1 else ''}" for t in threads)]
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        row = [title(by_key[peer, threads[0]])]
        for count in threads:
            result, base = by_key[peer, count], by_key[results[0]["peer"], count]
            if "absent" in result:
                row.append("absent")
                continue
            cell = number(result, metric)
            if result is not base and "absent" not in base:
                ratio = paired_ratio(base, result, metric)
                cell += f" ({1 / ratio if inverse else ratio:.2f})"
            row.append(cell)
        rows.append(row)
    return markdown(header, rows)


def cold_table(document: dict[str, Any]) -> str:
    """The first epoch with a cold page cache; the ratio is torchdali / peer."""
    first = "images/s of the first epoch, files not in the page cache"
    table = _by_threads(document, "cold", first, "images_per_s", inverse=False)
    return f"{table}\n\nIn brackets: torchdali's throughput divided by the peer's."


def remote_table(document: dict[str, Any]) -> str:
    """Data of a web server; the ratio is remote / local."""
    parts = []
    for container, what in (("files", "files"), ("webdataset", "tar shards")):
        results = [r for r in document["results"] if r["axes"].get("container") == container]
        first = f"images/s, {what} on a server that takes 20 ms to answer"
        part = {**document, "results": results}
        parts.append(_by_threads(part, "remote", first, "images_per_s", inverse=True))
    return "\n\n".join([*parts, "In brackets: the throughput divided by that of the local disk."])


def jpeg_index_table(document: dict[str, Any]) -> str:
    """Later epochs with an index of the JPEG files; the ratio is index / peer."""
    first = "images per CPU-second, later epochs"
    table = _by_threads(document, "jpeg_index", first, "images_per_cpu_s", inverse=False)
    return f"{table}\n\nIn brackets: the throughput with the index divided by that of the row."


def evaluation_table(document: dict[str, Any]) -> str:
    """The preprocessing of evaluation; the ratio is torchdali / peer."""
    first = "images per CPU-second: shorter side to 256, middle 224, float CHW"
    table = _by_threads(document, "evaluation", first, "images_per_cpu_s", inverse=False)
    return f"{table}\n\nIn brackets: torchdali's throughput divided by the peer's."


def coco_table(document: dict[str, Any]) -> str:
    """A data set in COCO's format; the ratio is torchdali / peer."""
    kinds = {
        "train": ("object detection, images/s", "images_per_s", False),
        "masks": ("reading with pixelwise masks, images/s", "images_per_s", False),
        "start": ("building the reader of 100,000 objects, us", "us_per_iteration", True),
    }
    parts = []
    for work, (first, metric, inverse) in kinds.items():
        results = [r for r in document["results"] if r["axes"].get("work") == work]
        part = {**document, "results": results}
        if of(part, "coco"):
            parts.append(_by_threads(part, "coco", first, metric, inverse=inverse))
    return "\n\n".join([*parts, "In brackets: torchdali's speed divided by the peer's."])


def _containers(
    document: dict[str, Any], name: str, metrics: dict[str, str], *, slow: bool = False
) -> str:
    """Returns a row for each result; `metrics`: header of a column -> metric."""
    results = of(document, name)
    ours = {_axes_key(r): r for r in results if r["peer"] == "torchdali" and "absent" not in r}
    rows = []
    for result in results:
        axes = result["axes"]
        row = [title(result), axes["container"], axes.get("work", ""), str(axes.get("threads", ""))]
        base = ours.get(_axes_key(result))
        for metric in metrics.values():
            cell = "absent" if "absent" in result else number(result, metric)
            if "absent" not in result and base is not None and base is not result:
                ratio = paired_ratio(base, result, metric)
                cell += f" ({1 / ratio if slow else ratio:.2f})"
            row.append(cell)
        rows.append(row)
    return markdown(["", "container", "work", "threads", *metrics], rows)


def _axes_key(result: dict[str, Any]) -> str:
    return repr(sorted(result["axes"].items()))


_THROUGHPUT = {"images/s": "images_per_s", "images per CPU-second": "images_per_cpu_s"}
# What MLPerf Storage's ResNet-50 simulates, with TFRecords of 114,660 bytes.
_SAMPLES_OF_AN_H100 = 1786


def containers_table(document: dict[str, Any]) -> str:
    """Training and reading from containers; the ratio is torchdali / peer."""
    table = _containers(document, "containers", _THROUGHPUT)
    fed = [
        f"{r['metrics']['images_per_cpu_s']['median'] / _SAMPLES_OF_AN_H100:.2f} "
        f"({title(r)}, {r['axes']['work']})"
        for r in of(document, "containers")
        if r["axes"]["container"] == "tfrecord" and r["axes"]["threads"] == 1 and "absent" not in r
    ]
    return (
        f"{table}\n\nIn brackets: torchdali's throughput divided by the peer's. In MLPerf Storage, "
        f"ResNet-50 on an H100 takes {_SAMPLES_OF_AN_H100} samples/s. From TFRecord, a core feeds "
        f"this many of them: {', '.join(fed)}."
    )


def ray_table(document: dict[str, Any]) -> str:
    """Pictures in a dataset of Ray; the ratio is torchdali / peer."""
    titles = {"map": "`map_batches()`", "train": "training loop"}
    results = of(document, "ray_map")
    peers = list(dict.fromkeys(r["peer"] for r in results))
    rows = []
    for key in dict.fromkeys(_axes_key(r) for r in results):
        here = {r["peer"]: r for r in results if _axes_key(r) == key}
        axes = next(iter(here.values()))["axes"]
        row = [titles[axes["work"]], str(axes["threads"])]
        for metric in _THROUGHPUT.values():
            for peer in peers:
                result, base = here[peer], here["torchdali"]
                cell = "absent" if "absent" in result else number(result, metric)
                if result is not base and "absent" not in result and "absent" not in base:
                    cell += f" ({paired_ratio(base, result, metric):.2f})"
                row.append(cell)
        rows.append(row)
    header = ["", "CPUs", *(f"{title({'peer': p})}, {m}" for m in _THROUGHPUT for p in peers)]
    return f"{markdown(header, rows)}\n\nIn brackets: torchdali's throughput divided by the peer's."


def container_choice_table(document: dict[str, Any]) -> str:
    """A row for each container, 1 thread; the ratio is torchdali / peer."""
    metric = "images_per_cpu_s"
    results = [r for r in of(document, "containers") if r["axes"]["threads"] == 1]
    rows = []
    for container in dict.fromkeys(r["axes"]["container"] for r in results):
        row = [container]
        for work in ("train", "read"):
            here = [
                r
                for r in results
                if r["axes"] | {"container": container, "work": work} == r["axes"]
            ]
            base = next(r for r in here if r["peer"] == "torchdali")
            row.append(number(base, metric))
            if work == "train":
                ratios = {title(r): paired_ratio(base, r, metric) for r in here if r is not base}
                against = "; ".join(f"{ratio:.1f} x {name}" for name, ratio in ratios.items())
        rows.append([*row, against])
    header = ["images per CPU-second", "training", "reading alone", "training, against"]
    return markdown(header, rows)


def container_index_table(document: dict[str, Any]) -> str:
    """Making indexes; the ratio is peer / torchdali."""
    metrics = {"seconds for the index of 10 GB": "s_per_index"}
    table = _containers(document, "container_index", metrics, slow=True)
    return f"{table}\n\nIn brackets: the peer's time divided by torchdali's."


def arrays_table(document: dict[str, Any]) -> str:
    """Volumes in .npy files, whole and regions of a quarter; the ratio is torchdali / peer."""
    results = of(document, "arrays")
    by_key = {(r["peer"], r["axes"]["region"], r["axes"]["threads"]): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))
    cases = list(dict.fromkeys((r["axes"]["region"], r["axes"]["threads"]) for r in results))
    titles = {p: title(by_key[(p, *cases[0])]) for p in peers}
    titles["dataloader"] = "torch `DataLoader`, `np.load(mmap_mode)`"
    header = ["volumes per CPU-second", "threads", *(titles[p] for p in peers)]
    rows = []
    for region, threads in cases:
        base = by_key[peers[0], region, threads]
        row = [region, str(threads)]
        for peer in peers:
            result = by_key[peer, region, threads]
            if "absent" in result:
                row.append("absent")
                continue
            cell = number(result, "volumes_per_cpu_s")
            if result is not base and "absent" not in base:
                cell += f" ({paired_ratio(base, result, 'volumes_per_cpu_s'):.2f})"
            row.append(cell)
        rows.append(row)
    return f"{markdown(header, rows)}\n\nIn brackets: torchdali's throughput divided by the peer's."
