# SPDX-License-Identifier: Apache-2.0
"""Containers over URLs: the outputs are those of the same files on the local disk."""

from __future__ import annotations

import pytest
from helpers.containers import CONTAINERS, epoch

from torchdali import fn, storage
from torchdali.errors import DataError


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
    name, _ = CONTAINERS["parquet"](tmp_path)
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
