# SPDX-License-Identifier: Apache-2.0
"""What GPUDirect Storage does not read, and the environment, with a fake library."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from helpers.gpu_arrays import (
    LARGE,
    assert_equal,
    assert_same,
    built,
    counts_of,
    next_samples,
    numbers,
    saved,
)

from torchdali import errors, info

pytestmark = pytest.mark.slow


# -- what is left to the CPU


def test_some_arrays_are_read_on_the_cpu(cufile_calls, tmp_path):
    files = saved(
        tmp_path,
        numbers(LARGE),
        numbers((3, 4)),
        numbers(LARGE, ">f4"),
        numbers((1,) * 9 + (99999,)),
    )
    reasons = ["GDS", "CPU: small array", "CPU: big-endian numbers", "CPU: more than 8 dimensions"]
    for file, reason in zip(files, reasons, strict=True):
        assert set(assert_same(files=[file])) == {reason}
    counts = assert_same(2, 2, files=[files[0], str(shutil.copy(files[2], tmp_path / "b.npy"))])
    assert set(counts) == {"GDS", "CPU: big-endian numbers"}


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        ("file", "error 5030 of cuFileHandleRegister"),
        ("read", "error 5030 of cuFileRead"),
        ("errno", "cuFileRead: Input/output error"),
        ("later", "error 5030 of cuFileRead"),
        ("end", "cuFileRead: the file ended"),
    ],
)
def test_failures_of_the_library_are_made_up_for(cufile_calls, tmp_path, monkeypatch, failure, why):
    monkeypatch.setenv("DALI_GDS_CHUNK_SIZE", "64k")
    files = saved(tmp_path, *(numbers(LARGE, "?", order) for order in "CFCF"))
    monkeypatch.setenv("FAKE_CUFILE", failure)
    assert set(assert_same(4, 2, files=files)) == {"CPU: " + why}
    monkeypatch.setenv("FAKE_CUFILE", f"{failure}:/2.npy")
    counts = assert_same(4, 2, files=files)
    assert set(counts) == {"CPU: " + why, "GDS"}
    assert counts["GDS"] >= 6
    assert len(cufile_calls("file_end")) <= len(cufile_calls("file"))


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        ("driver", "error 5001 of cuFileDriverOpen"),
        ("cuda", "error 5011 of cuFileDriverOpen (CUDA: 3)"),
        ("file_system", "error 5008 of cuFileHandleRegister"),
    ],
)
def test_what_is_known_is_not_tried_again(own_cufile_calls, tmp_path, monkeypatch, failure, why):
    monkeypatch.setenv("FAKE_CUFILE", failure)
    files = saved(tmp_path, numbers(LARGE), numbers((100, 300)))
    for _ in range(2):
        assert set(assert_same(1, 6, files=files)) == {"CPU: " + why}
    assert len(own_cufile_calls("open")) == 1
    assert len(own_cufile_calls("file")) <= 6


def test_urls_of_local_files_are_paths(cufile_calls, tmp_path):
    files = saved(tmp_path, numbers(LARGE))
    pipe = built("gpu", files=[f"file://{files[0]}"])
    assert_equal(next_samples(pipe), next_samples(built("cpu", files=files)))
    assert set(counts_of(pipe)) == {"GDS"}


# -- files that change


def test_a_file_that_is_damaged_is_the_error_of_the_cpu(cufile_calls, tmp_path):
    good, bad = saved(tmp_path, numbers(LARGE), numbers(LARGE))
    Path(bad).write_bytes(Path(good).read_bytes()[:-1])
    texts = []
    for device in ("cpu", "gpu"):
        with pytest.raises(errors.DataError, match="it is truncated or its header is") as caught:
            next_samples(built(device, 2, files=[good, bad]))
        texts.append(str(caught.value).replace("device='gpu', ", ""))
    assert texts[0] == texts[1]


def test_files_that_have_changed_are_an_error(cufile_calls, tmp_path):
    good, short = saved(tmp_path, numbers(LARGE), numbers(LARGE))
    pipe = built("gpu", 2, files=[good, short], cache_header_information=True)
    next_samples(pipe, 1)
    os.truncate(short, 100_000)
    with pytest.raises(errors.FileError, match="was truncated after its header was read") as caught:
        next_samples(pipe, 10)
    text = str(caught.value)
    assert text.startswith("fn.readers.numpy: ")
    assert "has 100000 bytes, expected 336128 or more" in text
    assert "sample 1 of 2" in text
    assert "1.npy" in text


def test_a_file_that_changes_after_its_header_was_read_is_an_error(
    own_cufile_calls, tmp_path, monkeypatch
):
    (file,) = saved(tmp_path, numbers(LARGE))
    monkeypatch.setenv("FAKE_CUFILE", "change")
    monkeypatch.setenv("FAKE_CUFILE_CHANGES", file)
    with pytest.raises(errors.FileError, match="has changed since its header was read"):
        next_samples(built("gpu", files=[file]))


def test_files_that_have_changed_are_left_out_where_bad_samples_are(cufile_calls, tmp_path):
    good, short = saved(tmp_path, numbers(LARGE), numbers(LARGE))
    pipe = built("gpu", 2, files=[good, short], cache_header_information=True, on_error="skip")
    next_samples(pipe, 1)
    os.truncate(short, 100_000)
    sizes = [len(next_samples(pipe)) for _ in range(6)]
    assert sizes[-3:] == [1, 1, 1]


# -- the environment


@pytest.mark.parametrize("value", ["0", ""])
def test_it_is_off_by_default(value, cufile_calls, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_GDS", value)
    assert assert_same(files=saved(tmp_path, numbers(LARGE))) == {}
    assert not cufile_calls("open")


def test_it_can_be_required(cufile_calls, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_GDS", "required")
    good, big = saved(tmp_path, numbers((3, 4)), numbers((3, 4), ">f4"))
    assert set(assert_same(files=[good])) == {"GDS"}
    with pytest.raises(errors.UnsupportedError, match=r"sample 1 of 2") as caught:
        next_samples(built("gpu", 2, files=[good, big]))
    assert "fn.readers.numpy" in str(caught.value)
    assert "cannot be read by GPUDirect Storage (big-endian numbers)" in str(caught.value)
    monkeypatch.setenv("FAKE_CUFILE", "read")
    with pytest.raises(errors.UnsupportedError, match="error 5030 of cuFileRead") as caught:
        next_samples(built("gpu", files=[good]))
    assert "sample 0 of 1" in str(caught.value)


def test_other_values_are_an_error(cufile_calls, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_GDS", "yes")
    with pytest.raises(ValueError, match='TORCHDALI_GDS: unknown value "yes"'):
        built("gpu", files=saved(tmp_path, numbers(LARGE)))


def test_without_the_library_the_cpu_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    monkeypatch.setenv("TORCHDALI_GDS_LIBRARY", "/nowhere/libcufile.so.0")
    monkeypatch.setenv("TORCHDALI_GDS", "1")
    files = saved(tmp_path, numbers(LARGE))
    assert assert_same(files=files) == {}
    monkeypatch.setenv("TORCHDALI_GDS", "required")
    with pytest.raises(RuntimeError, match="GPUDirect Storage was not found: /nowhere/libcufile"):
        built("gpu", files=files)


def test_counts_are_shown(cufile_calls, tmp_path):
    pipe = built("gpu", files=saved(tmp_path, numbers(LARGE)))
    pipe.run()
    assert "GDS: " in str(pipe.stats())


def test_info_says_whether_the_library_was_found(cufile_calls, monkeypatch):
    assert f"  {'GPUDirect Storage:':<20}library found" in info.describe()
    monkeypatch.setenv("TORCHDALI_GDS_LIBRARY", "/nowhere/libcufile.so.0")
    assert f"  {'GPUDirect Storage:':<20}not found: /nowhere/libcufile.so.0" in info.describe()
