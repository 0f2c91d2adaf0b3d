# SPDX-License-Identifier: Apache-2.0
"""Containers over URLs: the outputs are those of the same files on the local disk."""

from __future__ import annotations

import io
import os
import tarfile

import numpy as np
import pytest

from torchdali import fn, pipeline_def, storage
from torchdali.errors import DataError


def write_tar(folder):
    with tarfile.open(folder / "a.tar", "w") as tar:
        for i in range(40):
            for extension, size in (("jpg", 200 * i), ("cls", 3)):
                entry = tarfile.TarInfo(f"{i:03}.{extension}")
                entry.size = size
                tar.addfile(entry, io.BytesIO(os.urandom(size)))
    return "a.tar", lambda path: fn.readers.webdataset(
        paths=[path], ext=["jpg", "cls"], random_shuffle=True, name="reader"
    )


def write_parquet(folder):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"data": [os.urandom(300 * i) for i in range(40)], "label": list(range(40))})
    parquet.write_table(table, folder / "a.parquet", row_group_size=7)
    return "a.parquet", lambda path: fn.readers.parquet(
        paths=[path], columns=["data", "label"], random_shuffle=True, name="reader"
    )


def write_array(folder):
    np.save(folder / "a.npy", np.arange(24000, dtype=np.int32).reshape(40, 30, 20))
    return "a.npy", lambda path: [
        fn.readers.numpy(files=[path], name="reader"),
        fn.readers.numpy(files=[path], roi_start=[3, 4, 5], roi_end=[9, 20, 7]),
    ]


CONTAINERS = {"webdataset": write_tar, "parquet": write_parquet, "numpy": write_array}


def epoch(read, path):
    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
    def define():
        return tuple(read(path))

    pipe = define()
    pipe.build()
    count = pipe.reader_meta("reader")["epoch_size"]
    return [
        [out.at(i).tolist() for out in pipe.run() for i in range(4)] for _ in range(-(-count // 4))
    ]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("cached", [False, True])
def test_outputs_are_those_of_the_file(container, cached, tmp_path, server, backend):
    name, read = CONTAINERS[container](tmp_path)
    server.folder = tmp_path
    expected = epoch(read, str(tmp_path / name))
    assert epoch(read, f"file://{tmp_path / name}") == expected
    if cached:
        storage.configure(cache_dir=tmp_path / "cache")
        assert epoch(read, f"{server.url}/{name}") == expected
    assert epoch(read, f"{server.url}/{name}") == expected


def test_rows_of_a_url_are_cached_under_its_etag(tmp_path, server, backend):
    name, _ = write_parquet(tmp_path)
    server.folder = tmp_path
    cache = tmp_path / "rows"

    def read(path):
        columns = ["data", "label"]
        return fn.readers.parquet(
            paths=[path], columns=columns, row_cache=str(cache), name="reader"
        )

    url = f"{server.url}/{name}"
    expected = epoch(read, url)
    assert len(list(cache.iterdir())) == 6
    requests = len(server.gets())
    assert epoch(read, url) == expected
    assert len(list(cache.iterdir())) == 6
    assert len(server.gets()) - requests < 6  # the footer


def test_a_damaged_remote_archive_is_named(tmp_path, server, backend):
    (tmp_path / "bad.tar").write_bytes(b"x" * 2000)
    server.folder = tmp_path
    with pytest.raises(DataError, match=r"http://.*bad\.tar.*wrong checksum"):
        epoch(
            lambda path: fn.readers.webdataset(paths=[path], ext=["a", "b"]),
            f"{server.url}/bad.tar",
        )
