# SPDX-License-Identifier: Apache-2.0
"""Bad input is an error that names the file and the line; the pipeline continues."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.image_files import encode, photo_like, write_image_folder
from helpers.permissions import as_ordinary_user

from torchdali import fn, pipeline_def, types


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=1)
def classify(files):
    encoded, labels = fn.readers.file(files=[str(f) for f in files], name="reader")
    images = fn.decoders.image(encoded)  # the line that decodes
    images = fn.resize(images, size=[16, 16])
    return images, labels


def jpeg(seed: int = 0) -> bytes:
    return encode(photo_like(60, 80, seed))


def png_header(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    ihdr = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + chunk(b"IDAT", zlib.compress(bytes(900)))


def jpeg_with_size(width: int, height: int) -> bytes:
    data = bytearray(jpeg())
    sof = data.index(b"\xff\xc0")
    data[sof + 5 : sof + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def bmp_header(width: int, height: int) -> bytes:
    return (
        b"BM"
        + struct.pack("<IHHIIiiHHIIiiII", 1000, 0, 0, 54, 40, width, height, 1, 24, *[0] * 6)
        + bytes(900)
    )


BAD_FILES = {
    "zero_byte": b"",
    "one_byte": b"\xff",
    "not_an_image": b"This is a text, whatever its name says. " * 20,
    "truncated_header": jpeg()[:100],
    "truncated_jpeg": jpeg()[: len(jpeg()) // 2],
    "truncated_png": encode(photo_like(60, 80, 1), "PNG")[:600],
    "corrupt_png": encode(photo_like(60, 80, 1), "PNG")[:200] + bytes(500),
    "huge_jpeg_claim": jpeg_with_size(60_000, 60_000),
    "huge_png_claim": png_header(60_000, 60_000),
    "huge_bmp_claim": bmp_header(60_000, 60_000),
    "huge_pnm_claim": b"P6 60000 60000 255\n" + bytes(900),
    "negative_bmp_claim": bmp_header(-60_000, 60_000),
    "riff_of_no_kind": b"RIFF\x00\x00\x00\x00ABCD" + bytes(100),
}


@pytest.fixture
def good(tmp_path) -> list[Path]:
    root = write_image_folder(tmp_path / "good", per_class=7, classes=1)
    return sorted(root.glob("*/*.jpg"))


def expect_error_then_recovery(pipe, bad: Path, line_of: str) -> str:
    """Sample 1 of the third batch of four is ``bad``; the other batches are complete."""
    pipe.build()
    for _ in range(2):
        assert len(pipe.run()[0]) == 4
    with pytest.raises(RuntimeError) as caught:
        pipe.run()
    message = str(caught.value)
    assert str(bad) in message
    assert "sample 1 of 4" in message
    assert f"{os.path.basename(__file__)}:" in message
    assert line_of in message
    for _ in range(3):
        assert len(pipe.run()[0]) == 4
    return message


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize("fusible", [False, True], ids=["resize", "random_resized_crop"])
def test_a_bad_file_is_an_error_with_its_name_and_the_line_of_the_user(
    tmp_path, good, kind, fusible
):
    bad = tmp_path / f"{kind}.jpg"
    bad.write_bytes(BAD_FILES[kind])

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=1)
    def training(files):
        encoded, labels = fn.readers.file(files=files)
        images = fn.decoders.image(encoded)  # the line that decodes
        if fusible:
            return fn.random_resized_crop(images, size=[16, 16]), labels
        return fn.resize(images, size=[16, 16]), labels

    files = [str(f) for f in [*good, good[0], good[1], bad, *good[:6]]]
    assert files.index(str(bad)) == 9
    expect_error_then_recovery(training(files), bad, "the line that decodes")


def test_a_missing_file_is_an_error_with_its_name(tmp_path, good):
    bad = tmp_path / "gone.jpg"
    files = [*good, good[0], good[1], bad, *good[:6]]
    bad.write_bytes(jpeg())
    pipe = classify(files)
    pipe.build()
    bad.unlink()
    expect_error_then_recovery(pipe, bad, "fn.readers.file")


def test_an_unreadable_file_is_an_error_with_its_name(tmp_path, good):
    bad = tmp_path / "secret.jpg"
    bad.write_bytes(jpeg())
    bad.chmod(0)
    with as_ordinary_user(tmp_path):
        expect_error_then_recovery(
            classify([*good, good[0], good[1], bad, *good[:6]]), bad, "fn.readers.file"
        )


def test_a_folder_instead_of_a_file_is_an_error_with_its_name(tmp_path, good):
    bad = tmp_path / "folder.jpg"
    bad.mkdir()
    expect_error_then_recovery(
        classify([*good, good[0], good[1], bad, *good[:6]]), bad, "fn.readers.file"
    )


def test_a_named_pipe_does_not_hang(tmp_path, good):
    bad = tmp_path / "fifo.jpg"
    os.mkfifo(bad)
    expect_error_then_recovery(
        classify([*good, good[0], good[1], bad, *good[:6]]), bad, "fn.readers.file"
    )


def reader(**kwargs):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        encoded, labels = fn.readers.file(**kwargs)  # the line that reads
        return encoded, labels

    pipe = pipeline()
    pipe.build()
    return pipe.run()


@pytest.mark.parametrize("name", ["absent", "empty", "no_images"])
def test_a_folder_without_images_is_an_error_that_names_it(tmp_path, name):
    root = tmp_path / name
    if name != "absent":
        root.mkdir()
    if name == "no_images":
        (root / "class_a").mkdir()
        (root / "class_a" / "notes.txt").write_text("none here")
    with pytest.raises(RuntimeError, match="the line that reads") as caught:
        reader(file_root=str(root))
    assert str(root) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["a.jpg zero\n", "a.jpg 0\nb.jpg 1.5\n", "a.jpg 99999999999\n", ""]
)
def test_a_wrong_list_file_is_an_error_that_names_it(tmp_path, text):
    listing = tmp_path / "list.txt"
    listing.write_text(text)
    with pytest.raises(RuntimeError, match="the line that reads") as caught:
        reader(file_root=str(tmp_path), file_list=str(listing))
    assert str(listing) in str(caught.value)


def test_an_unknown_argument_name_suggests_the_right_one():
    with pytest.raises(TypeError, match="`file_root`"):
        reader(file_roots="/data")


@for_each(
    ("call", "text"),
    [
        (lambda x: fn.resize(x, size="large"), "size"),
        (lambda x: fn.resize(x, interp_type=3.5), "interp_type"),
        (lambda x: fn.crop(x, crop=[None, 3]), "crop"),
        (lambda x: fn.flip(x, horizontal="yes"), "horizontal"),
        (lambda x: fn.cast(x), "dtype"),
        (lambda x: fn.cast(x, dtype=x), "dtype"),
        (lambda x: fn.flip(x, x), "input"),
        (lambda _: fn.flip(), "input"),
        (lambda _: fn.flip("3"), "input"),
    ],
)
def test_a_wrong_argument_is_an_error_of_the_definition(call, text):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        return call(fn.random.uniform(shape=[4, 4, 3]))

    with pytest.raises((TypeError, ValueError), match=text) as caught:
        pipeline().build()
    assert os.path.basename(__file__) in str(caught.value)


@pytest.mark.parametrize("known", ["at definition", "when it runs"])
def test_a_wrong_layout_is_an_error_that_lists_the_layouts(known):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        data = fn.external_source(name="data", layout="AB" if known == "at definition" else None)
        return fn.flip(data)  # the line that flips

    def run():
        pipe = pipeline()
        pipe.feed_input("data", np.zeros((2, 3, 3), np.uint8), layout="AB")
        pipe.run()

    with pytest.raises(ValueError, match='"AB"') as caught:
        run()
    assert "HWC" in str(caught.value)
    assert "the line that flips" in str(caught.value)


def test_decoding_to_an_unknown_type_is_an_error():
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        encoded, _ = fn.readers.file(files=["a.jpg"])
        return fn.decoders.image(encoded, output_type=types.FLOAT)

    with pytest.raises((TypeError, ValueError), match="output_type"):
        pipeline().build()
