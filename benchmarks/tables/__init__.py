# SPDX-License-Identifier: Apache-2.0
"""Renders benchmark results as Markdown: one table per benchmark, filled in by report.py."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import (
    accuracy,
    audio,
    contention,
    elastic,
    field,
    functional,
    operators,
    pipelines,
    reading,
    scaling,
    starting,
    video,
)
from benchmarks.tables.cells import TITLES, of

__all__ = ["SECTIONS", "setup_text", "tables"]

SECTIONS = {
    "summary": ("imagenet", pipelines.summary),
    "pipeline": ("imagenet", pipelines.pipeline_table),
    "evaluation": ("evaluation", reading.evaluation_table),
    "microseconds": ("microseconds", pipelines.microseconds_table),
    "jpeg": ("jpeg", operators.jpeg_table),
    "formats": ("formats", operators.formats_table),
    "cold": ("cold", reading.cold_table),
    "remote": ("remote", reading.remote_table),
    "jpeg_index": ("jpeg_index", reading.jpeg_index_table),
    "containers": ("containers", reading.containers_table),
    "container_choice": ("containers", reading.container_choice_table),
    "container_index": ("container_index", reading.container_index_table),
    "ray_map": ("ray_map", reading.ray_table),
    "jpeg_scaled": ("jpeg_scaled", operators.jpeg_scaled_table),
    "auto_augment": ("auto_augment", pipelines.auto_augment_table),
    "coco": ("coco", reading.coco_table),
    "operators": ("operators", operators.operators_table),
    "resize": ("resize", operators.resize_table),
    "overhead": ("overhead", operators.overhead_table),
    "functional_call": ("functional_call", functional.call_table),
    "inline_run": ("inline_run", functional.inline_table),
    "transforms_call": ("transforms_call", functional.transforms_table),
    "functional_batch": ("functional_batch", functional.batch_table),
    "expressions": ("expressions", operators.expressions_table),
    "building": ("building", operators.building_table),
    "external_source": ("external_source", pipelines.external_source_table),
    "python_function": ("python_function", operators.python_function_table),
    "numba_function": ("numba_function", operators.numba_function_table),
    "loader": ("loader", pipelines.loader_table),
    "held": ("held", starting.held_table),
    "start": ("start", starting.start_table),
    "compiled": ("compiled", pipelines.compiled_table),
    "arrays": ("arrays", reading.arrays_table),
    "memory": ("memory", pipelines.memory_table),
    "workers": ("workers", pipelines.workers_table),
    "scale": ("scale", scaling.scale_table),
    "scheduler": ("scheduler", scaling.scheduler_table),
    "autotune": ("autotune", scaling.autotune_table),
    "contention": ("contention", contention.contention_tables),
    "contention_counts": ("-", contention.counts_table),
    "contention_places": ("-", contention.places_table),
    "contention_gains": ("-", contention.gains_table),
    "contention_ceiling": ("-", contention.ceiling_table),
    "log_mel": ("log_mel", audio.log_mel_table),
    "audio_decoding": ("decoding", audio.decoding_table),
    "resampling": ("resampling", audio.resampling_table),
    "video_clips": ("random_clips", video.clips_table),
    "video_whole": ("whole_videos", video.whole_table),
    "video_opening": ("first_frames", video.opening_table),
    "video_memory": ("open_videos", video.memory_table),
    "accuracy": ("accuracy", accuracy.accuracy_table),
    "elastic": ("elastic", elastic.elastic_table),
    "reading_plan": ("reading_plan", elastic.reading_plan_table),
    "field_ffcv": ("ffcv_imagenet", field.ffcv_table),
    "field_mlperf": ("mlperf_storage", field.mlperf_table),
    "field_batch_times": ("batch_times", field.batch_times_table),
    "field_spdl": ("spdl_images", field.spdl_table),
    "field_s3": ("s3_epochs", field.s3_table),
    "field_ray": ("ray_images", field.ray_images_table),
    "field_setup": ("", field.setup_table),
}


def _cores(count: int) -> str:
    return f"{count} cores" if count > 1 else "1 core"


def setup_text(document: dict[str, Any]) -> str:
    """Returns the machine, the settings and the peers that could not be measured."""
    machine, settings = document["machine"], document["settings"]
    sets = ", ".join(machine["instruction_sets"]) or "no vector extension"
    versions = next((r["versions"] for r in document["results"] if "versions" in r), {})
    absent: dict[str, set[str]] = {}
    for r in document["results"]:
        if "absent" in r and not r["benchmark"].endswith(".operators"):  # shown as empty cells
            name = TITLES.get(r["peer"], r["peer"])
            absent.setdefault(name, set()).add(r["benchmark"].rpartition(".")[2])
    text = (
        f"{document['created'][:10]}, {machine['cpu']} ({sets}), {_cores(machine['cores'])}, torch "
        f"{versions.get('torch', '?')}. {_images(document)}Each figure is the median of "
        f"{settings['rounds']} interleaved rounds of at most {settings['seconds']:g} s, ± half of "
        "their range."
    )
    missing = [f"{name} (some of {', '.join(sorted(absent[name]))})" for name in sorted(absent)]
    if not missing:
        return text
    return (
        f"{text}\nWithout figures, as the peer cannot do this or did not run: {'; '.join(missing)}."
    )


def _images(document: dict[str, Any]) -> str:
    """Describes the JPEG files, if any benchmark used them."""
    settings = document["settings"]
    known = ("benchmarks.audio", "benchmarks.video", "benchmarks.ops.operators", "benchmarks.field")
    if all(r["benchmark"].startswith(known) for r in document["results"]):
        return ""
    return (
        f"{settings['files']} JPEG files, "
        f"{settings['file_bytes'] / settings['files'] / 1000:.0f} kB on average; batches of "
        f"{settings['batch']}. "
    )


def tables(document: dict[str, Any]) -> str:
    """Returns all tables of a result as Markdown."""
    parts = [table(document) for name, table in SECTIONS.values() if of(document, name)]
    reasons = {
        f"{TITLES.get(r['peer'], r['peer'])}: {r['absent']}"
        for r in document["results"]
        if "absent" in r
    }
    return "\n\n".join([*parts, setup_text(document), *sorted(reasons)])
