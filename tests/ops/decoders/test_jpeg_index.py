# SPDX-License-Identifier: Apache-2.0
"""``jpeg_index`` of the image decoders: later epochs start decoding at stored positions.

tests/cpp/jpeg_index_test.cpp checks the positions, damaged ones included.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.encoded_images import jpeg, ramp
from helpers.permissions import as_ordinary_user

import torchdali
from torchdali import Pipeline, errors, fn, pipeline_def, transforms

pytestmark = pytest.mark.slow

OPERATORS = [
    "decoders.image",
    "decoders.image_crop",
    "decoders.image_slice",
    "decoders.image_random_crop",
]

IMAGES = 12
BATCH = 5  # batches hold the end of one epoch and the beginning of the next


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    folder = tmp_path / "images"
    folder.mkdir()
    paths = []
    for i in range(IMAGES):
        path = folder / f"{i}.jpg"
        options = {"subsampling": i % 3, "restart_marker_rows": i % 2}
        path.write_bytes(jpeg(ramp(90 + 7 * i, 400 + i, 3 if i % 5 else 1, seed=i), **options))
        paths.append(str(path))
    return paths


@pipeline_def(batch_size=BATCH, device_id=None, seed=3, enable_checkpointing=True)
def crops(files: list[str], index: str, fused: bool, room: int) -> Any:
    """Random windows of files; resized if they are fused with the decoder."""
    data, _ = fn.readers.file(files=files, random_shuffle=True, name="files")
    if not fused:
        return fn.decoders.image_random_crop(data, jpeg_index=index, jpeg_index_size=room)
    images = fn.decoders.image(data, jpeg_index=index, jpeg_index_size=room)
    return fn.random_resized_crop(images, size=[32, 40])


def build(files: list[str], index: str, fused: bool = True, threads: int = 2, **args: Any) -> Any:
    pipe = crops(files, index, fused, args.pop("room", 1 << 30), num_threads=threads, **args)
    pipe.build()
    return pipe


def take(pipe: Any, batches: int) -> list[np.ndarray]:
    return [
        np.array(pipe_batch[0].at(i))
        for pipe_batch in (pipe.run() for _ in range(batches))
        for i in range(len(pipe_batch[0]))
    ]


def assert_same(a: list[np.ndarray], b: list[np.ndarray]) -> None:
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("where", ["memory", "file"])
def test_epochs_with_an_index_have_the_same_pixels(files, tmp_path, where, fused, threads):
    index = "memory" if where == "memory" else str(tmp_path / "index")
    expected = take(build(files, "", fused), 10)
    for _ in range(2):  # the second run begins with the file
        pipe = build(files, index, fused, threads)
        assert_same(take(pipe, 10), expected)
        pipe.close()


def test_the_file_is_complete_after_the_run_and_has_the_documented_size(files, tmp_path):
    path = tmp_path / "index"
    pipe = build(files, str(path), threads=3)
    assert path.exists()  # build() reports a folder that cannot be written to
    empty = path.stat().st_size
    take(pipe, 20)
    pipe.close()
    full = path.read_bytes()
    assert empty == 48
    assert (len(full) - 48 - 24 * IMAGES) % 10 == 0
    assert len(full) > 48 + 24 * IMAGES
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["index"]
    again = build(files, str(path))
    take(again, 20)
    again.close()
    assert len(path.read_bytes()) >= len(full)


def test_files_that_change_between_epochs_are_decoded_correctly(files, tmp_path):
    index = str(tmp_path / "index")
    pipe = build(files, index, prefetch_queue_depth=1)
    take(pipe, 6)
    for i, path in enumerate(files):
        old = Path(path).read_bytes()
        same_size = bytearray(old)
        same_size[len(old) * 3 // 4] ^= 0x10  # may be damage
        new = [jpeg(ramp(150, 300, 3, seed=50 + i)), bytes(same_size), old[: len(old) // 2] + old]
        Path(path).write_bytes(new[i % 3])

    def outcomes(pipe: Any) -> list[Any]:
        results: list[Any] = []
        for _ in range(12):
            try:
                results.append(take(pipe, 1))
            except errors.OperatorError as e:
                results.append(str(e))
        return results

    # Batches that were scheduled before.
    fresh = build(files, "")
    for p in (pipe, fresh):
        p.close()
    for a, b in zip(outcomes(build(files, index)), outcomes(build(files, "")), strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            assert_same(a, b)


def test_pipelines_of_a_process_share_their_index(files, tmp_path):
    path = tmp_path / "index"
    first, second = build(files, str(path)), build(files, f"{tmp_path}/./index", fused=False)
    expected = take(build(files, "", fused=False), 6)
    take(first, 6)
    assert_same(take(second, 6), expected)
    first.close()
    assert_same(take(second, 3), take(_skipped(files, 6), 3))
    assert path.stat().st_size == 48  # the last one writes
    second.close()
    assert path.stat().st_size > 48 + 24 * IMAGES


def _skipped(files: list[str], batches: int) -> Any:
    pipe = build(files, "", fused=False)
    take(pipe, batches)
    return pipe


def test_concurrent_runs_both_add_to_the_file(files, tmp_path):
    path = tmp_path / "index"
    half = IMAGES // 2
    context = multiprocessing.get_context("spawn")
    runs = [
        context.Process(target=_run, args=(part, str(path)))
        for part in (files[:half], files[half:])
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(60)
        assert run.exitcode == 0
    images = int.from_bytes(path.read_bytes()[16:24], "little")
    assert images == IMAGES


def _run(files: list[str], index: str) -> None:
    pipe = build(files, index)
    take(pipe, 4)
    pipe.close()


def test_a_forked_child_has_its_own_index(files, tmp_path):
    index = str(tmp_path / "index")
    pipe = build(files, index)
    expected = take(pipe, 4)
    size = os.path.getsize(index)
    child = multiprocessing.get_context("fork").Process(target=_run, args=(files, index))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert os.path.getsize(index) > size  # the child's
    assert_same(take(build(files, ""), 4), expected)
    pipe.close()


def test_resumed_and_deserialized_pipelines_use_the_index(files, tmp_path):
    index = str(tmp_path / "index")
    pipe = build(files, index)
    take(pipe, 3)
    checkpoint, text = pipe.checkpoint(), pipe.serialize()
    expected = take(pipe, 6)
    pipe.close()
    resumed = build(files, index, checkpoint=checkpoint)
    assert_same(take(resumed, 6), expected)
    again = Pipeline.deserialize(text, allow=tmp_path)
    again.build()
    assert_same(take(again, 9)[3 * BATCH :], expected)


def test_an_index_of_size_zero_stays_empty(files, tmp_path):
    path = tmp_path / "index"
    pipe = build(files, str(path), room=0)
    assert_same(take(pipe, 6), take(build(files, ""), 6))
    pipe.close()
    assert path.stat().st_size == 48


def test_a_read_only_folder_is_an_error_unless_the_file_exists(files, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    pipe = build(files, str(folder / "index"))
    expected = take(pipe, 4)
    pipe.close()
    folder.chmod(0o555)
    with as_ordinary_user(tmp_path):
        with pytest.raises(errors.FileError, match=r"decoders\.image: .* cannot write .*new"):
            build(files, str(folder / "new"))
        pipe = build(files, str(folder / "index"))
        assert_same(take(pipe, 4), expected)
        pipe.close()
    folder.chmod(0o755)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is no index of torchdali"),
        (b"something else" * 10, "is no index of torchdali"),
        ("cut", "is damaged: its size is not what its header says"),
        ("flipped", "is damaged"),
        ("version", "was made by another version|is damaged"),
    ],
)
def test_a_damaged_index_is_an_error_that_names_the_file(files, tmp_path, content, text):
    path = tmp_path / "index"
    pipe = build(files, str(path))
    take(pipe, 4)
    pipe.close()
    good = path.read_bytes()
    if content == "cut":
        content = good[:-1]
    elif content == "flipped":
        content = good[:60] + bytes([good[60] ^ 1]) + good[61:]
    elif content == "version":
        content = good[:8] + b"\x09" + good[9:]
    path.write_bytes(content)
    with pytest.raises(errors.FileError, match=text) as caught:
        build(files, str(path))
    assert "To fix it" in str(caught.value)
    assert "jpeg_index" in str(caught.value)


def test_other_formats_and_whole_images_do_not_use_the_index(files):
    data = [Path(f).read_bytes() for f in files[:3]] + [b"P5 3 2 255\n" + bytes(range(6))]

    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def whole(index: str) -> Any:
        return fn.decoders.image(fn.external_source(name="data"), jpeg_index=index)

    results = []
    for index in ("", "memory"):
        pipe = whole(index)
        pipe.build()
        for _ in range(3):
            pipe.feed_input("data", [np.frombuffer(d, np.uint8) for d in data])
        results.append([np.array(batch.at(i)) for batch in pipe.run() for i in range(4)])
    assert_same(results[0], results[1])


@pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=3)
def with_default(files: list[str], own: dict[str, str]) -> Any:
    data, _ = fn.readers.file(files=files)
    return fn.random_resized_crop(fn.decoders.image(data, **own), size=[32, 40])


def test_pipelines_set_the_index_of_their_decoders(files, tmp_path):
    names = [tmp_path / "pipeline.index", tmp_path / "decoder.index"]
    results = []
    for own in ({}, {"jpeg_index": str(names[1])}):
        pipe = with_default(files, own, jpeg_index=names[0])
        results.append([np.asarray(sample) for sample in pipe.run()[0]])
        pipe.close()
        assert [name.exists() for name in names] == [True, bool(own)]
    np.testing.assert_array_equal(*results)
    with pytest.raises(errors.ArgumentTypeError, match=r"`jpeg_index` takes a path, got 3"):
        Pipeline(batch_size=1, jpeg_index=3)


@pytest.mark.parametrize("where", ["folder", "cache"])
def test_the_index_is_kept_in_a_folder_or_in_the_cache(files, tmp_path, monkeypatch, where):
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    pipe = build(files, "cache" if where == "cache" else str(tmp_path))
    expected = take(pipe, 10)
    pipe.close()
    folder = tmp_path / "cache/index/jpeg-1" if where == "cache" else tmp_path
    index = folder / "torchdali-jpeg.index"
    assert index.stat().st_size > 48 + 24 * IMAGES
    pipe = build(files, str(index))
    assert_same(take(pipe, 10), expected)
    pipe.close()


def test_without_a_cache_the_index_is_in_memory(files, tmp_path, monkeypatch):
    (tmp_path / "cache").touch()  # no folder can be made there
    for cache in ("", str(tmp_path / "cache")):
        monkeypatch.setenv("TORCHDALI_CACHE_DIR", cache)
        before = set(tmp_path.rglob("*"))
        pipe = build(files, "cache")
        assert_same(take(pipe, 4), take(build(files, ""), 4))
        pipe.close()
        assert set(tmp_path.rglob("*")) == before


class Files(torch.utils.data.Dataset):
    def __init__(self, files: list[str], transform: Any) -> None:
        self.files, self.transform = [Path(file) for file in files], transform

    def __len__(self) -> int:
        return len(self.files)

    def encoded_sample(self, index: int) -> tuple[Path, int]:
        return self.files[index], index

    def __getitem__(self, index: int) -> Any:
        raise AssertionError("the engine makes the samples")


SMALL = transforms.Compose([transforms.Resize((32, 40)), transforms.ToTensor()])


def resized(image: Any, label: Any) -> Any:
    return fn.resize(fn.decoders.image(image), size=[32, 40]), label


@pytest.mark.usefixtures("keep_random_state")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("of", ["accelerate", "pipeline"])
def test_the_index_of_a_loader(files, tmp_path, of, workers):
    data = Files(files, SMALL)
    if of == "accelerate":
        given = {"accelerate": True}
    else:
        data, given = [data.encoded_sample(i) for i in range(len(data))], {"pipeline": resized}
    index = tmp_path / "index"
    loader = torchdali.DataLoader(
        data, batch_size=4, num_workers=workers, jpeg_index=index, **given
    )
    epochs = [torch.cat([images for images, _ in loader]) for _ in range(2)]
    assert torch.equal(*epochs)
    del loader
    gc.collect()
    assert index.stat().st_size > IMAGES * 24


@pytest.mark.usefixtures("keep_random_state")
def test_the_index_of_a_loader_is_refused_where_it_has_no_effect(files, capfd):
    with pytest.raises(errors.ArgumentError, match="`jpeg_index` without `pipeline`"):
        torchdali.DataLoader([1, 2], jpeg_index="memory")
    with pytest.raises(errors.ArgumentError, match="`jpeg_index` is in `pipeline_options` too"):
        torchdali.DataLoader(
            [1], pipeline=resized, jpeg_index="memory", pipeline_options={"jpeg_index": "memory"}
        )
    with pytest.raises(errors.ArgumentTypeError, match="`jpeg_index` takes a path, got 3"):
        torchdali.DataLoader([1], pipeline=resized, jpeg_index=3)
    mean = transforms.Compose([SMALL, transforms.Lambda(torch.Tensor.mean)])
    data = Files(files, mean)
    next(iter(torchdali.DataLoader(data, accelerate=True, jpeg_index="memory")))
    assert (
        "`jpeg_index` is not used for samples that are made one by one." in capfd.readouterr().err
    )
