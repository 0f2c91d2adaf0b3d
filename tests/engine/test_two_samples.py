# SPDX-License-Identifier: Apache-2.0
"""A worker decodes two JPEG files of a batch together; results and errors do not change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from helpers.encoded_images import jpeg

from torchdali import fn, types
from torchdali.errors import DataError
from torchdali.pipeline import pipeline_def


def _files(count: int) -> list[np.ndarray]:
    """Files of different sizes, subsampling and restart intervals."""
    random = np.random.default_rng(3)
    files = []
    for i in range(count):
        height, width = random.integers(40, 200, 2)
        small = random.integers(0, 255, (height // 8 + 1, width // 8 + 1, 3))
        noise = random.integers(-20, 20, (height, width, 3))
        smooth = np.kron(small, np.ones((8, 8, 1)))[:height, :width]
        pixels = (smooth + noise).clip(0, 255).astype(np.uint8)
        options: dict[str, Any] = {"quality": 60 + 5 * (i % 8), "subsampling": i % 3}
        if i % 5 == 4:
            options["progressive"] = True
        if i % 4 == 3:
            options["restart_marker_blocks"] = 7
        files.append(np.frombuffer(jpeg(pixels, **options), np.uint8))
    return files


def _decode(data: Any) -> Any:
    return fn.decoders.image(data)


def _train(data: Any) -> Any:
    image = fn.random_resized_crop(fn.decoders.image(data), size=[48, 40], seed=4)
    return fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW", mirror=1)


def _crop(data: Any) -> Any:
    return fn.resize(fn.decoders.image_random_crop(data, seed=4), size=[32, 32])


def _twice(data: Any) -> Any:
    image = fn.decoders.image(data)
    return fn.resize(image, size=[30, 30]) + fn.resize(fn.decoders.image(data), size=[30, 30])


def _run(
    graph: Callable[[Any], Any], files: Sequence[np.ndarray], threads: int, **options: Any
) -> list[np.ndarray]:
    @pipeline_def(
        batch_size=len(files), num_threads=threads, device_id=None, seed=7, prefetch_queue_depth=1
    )
    def pipeline() -> Any:
        return graph(fn.external_source(source=lambda: list(files), no_copy=True))

    built = pipeline(**options)
    built.build()
    (batch,) = built.run()
    return [np.asarray(sample) for sample in batch]


@pytest.mark.parametrize("graph", [_decode, _train, _crop, _twice])
def test_samples_do_not_depend_on_what_they_are_decoded_with(graph: Callable[[Any], Any]) -> None:
    """Results do not depend on who decodes, how many threads, and which file comes with which."""
    files = _files(23)
    own = _run(graph, files, 1)
    for threads in (2, 5):
        for a, b in zip(own, _run(graph, files, threads), strict=True):
            np.testing.assert_array_equal(a, b)
    if graph in (_decode, _twice):  # the random windows of the others depend on the place
        back = _run(graph, files[::-1], 1)[::-1]
        alone = [_run(graph, [file], 1)[0] for file in files]
        for a, b, c in zip(own, back, alone, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("graph", [_decode, _train])
def test_a_bad_file_is_named_and_others_are_decoded(
    graph: Callable[[Any], Any], threads: int
) -> None:
    """Of two files that are decoded together, either may be broken."""
    files = _files(16)
    good = _run(graph, files, threads)
    for bad in (4, 5):
        broken = list(files)
        broken[bad] = files[bad][: files[bad].size // 2]
        with pytest.raises(DataError, match=f"sample {bad}") as caught:
            _run(graph, broken, threads)
        assert caught.value.sample == bad
        kept = _run(graph, broken, threads, on_error="skip")
        others = [sample for index, sample in enumerate(good) if index != bad]
        for a, b in zip(kept, others, strict=True):
            np.testing.assert_array_equal(a, b)


def test_conditions_decide_for_each_of_two_samples() -> None:
    """A sample may need the decoder where the one that comes with it does not."""
    files = _files(12)
    whole = _run(_decode, files, 1)

    @pipeline_def(
        batch_size=len(files), num_threads=1, device_id=None, enable_conditionals=True, seed=1
    )
    def pipeline() -> Any:
        data = fn.external_source(source=lambda: list(files))
        wanted = fn.external_source(source=lambda: [np.array(i % 3 > 0) for i in range(12)])
        if wanted:
            image = fn.decoders.image(data)
        else:
            image = types.Constant(np.zeros((1, 1, 3), np.uint8), layout="HWC")
        return image

    built = pipeline()
    built.build()
    (batch,) = built.run()
    for index, sample in enumerate(batch):
        expected = whole[index] if index % 3 > 0 else np.zeros((1, 1, 3), np.uint8)
        np.testing.assert_array_equal(np.asarray(sample), expected)


def test_the_time_of_two_samples_is_counted_once() -> None:
    """The times of operators are those of the worker."""
    files = _files(32)

    @pipeline_def(batch_size=32, num_threads=1, device_id=None, seed=1, prefetch_queue_depth=1)
    def pipeline() -> Any:
        encoded = fn.external_source(source=lambda: files, no_copy=True)
        return fn.resize(fn.decoders.image(encoded), size=[32, 32])

    built = pipeline()
    built.build()
    for _ in range(20):
        built.run()
    stats = built.stats()
    in_operators = sum(operator.total_ns for operator in stats.operators)
    busy = sum(worker.busy_ns for worker in stats.workers)
    assert 0.5 * busy < in_operators < 1.5 * busy
