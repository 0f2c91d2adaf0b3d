# SPDX-License-Identifier: Apache-2.0
"""The cache of remote files as pipelines use it; tests/cpp/remote_files_test.cpp has the rest."""

from __future__ import annotations

import os
import signal
import time

import pytest
from helpers.file_readers import reader
from helpers.permissions import as_ordinary_user
from helpers.programs import start

from torchdali import storage

COUNT = 30


@pytest.fixture
def files(server, backend, tmp_path):
    for i in range(COUNT):
        server.objects[f"{i}.bin"] = os.urandom(i * 5000)
    storage.configure(cache_dir=tmp_path / "cache")
    return [f"{server.url}/{i}.bin" for i in range(COUNT)]


def read_epochs(server, files, epochs=1, **args):
    """Checks epochs; returns the number of requests for data."""
    before = len(server.gets())
    pipe = reader(batch_size=5, files=files, **args)
    for _ in range(epochs * COUNT // 5):
        data, label = pipe.run()
        for i in range(5):
            assert bytes(data.at(i)) == server.objects[f"{int(label.at(i)[0])}.bin"]
    pipe.close()
    return len(server.gets()) - before


def test_later_epochs_request_nothing(server, files):
    storage.configure(concurrency=2)  # otherwise all epochs are read ahead at the same time
    read_epochs(server, files, epochs=3, random_shuffle=True)
    # what was read ahead at the end of the first pipeline is there too
    heads = sum(method == "HEAD" for method, _, _ in server.requests)
    assert read_epochs(server, files, epochs=3) == 0
    # each object is asked for once by a reader: whether it has changed
    asked = sum(method == "HEAD" for method, _, _ in server.requests) - heads
    assert COUNT - 1 <= asked <= COUNT + 2


def test_a_changed_object_is_read_again(server, files):
    read_epochs(server, files, epochs=2)
    server.objects["7.bin"] = b"something else"
    assert 1 <= read_epochs(server, files) <= 2


def test_damaged_pages_are_read_again(server, files, tmp_path):
    read_epochs(server, files, epochs=2)
    for path in (tmp_path / "cache" / "objects").glob("??/*"):
        if path.stat().st_size > 5000:
            with path.open("r+b") as file:
                file.seek(-100, os.SEEK_END)
                file.write(bytes(100))
    assert read_epochs(server, files) > COUNT / 2
    assert read_epochs(server, files) == 0


def test_a_folder_that_cannot_be_written_is_no_error(server, files, tmp_path):
    read_epochs(server, files, epochs=2)
    (tmp_path / "locked").mkdir()
    with as_ordinary_user(tmp_path):
        with pytest.warns(UserWarning, match="locked, cannot be written"):
            storage.configure(cache_dir=tmp_path / "locked")
        assert read_epochs(server, files) >= COUNT
        # a cache of another user can be read
        with pytest.warns(UserWarning, match="cannot be written"):
            storage.configure(cache_dir=tmp_path / "cache")
        assert read_epochs(server, files) == 0


def test_the_quota_holds(server, files, tmp_path):
    storage.configure(cache_bytes=300_000)
    read_epochs(server, files, epochs=2)
    entries = list((tmp_path / "cache" / "objects").glob("??/*"))
    assert 100_000 < sum(path.stat().st_blocks * 512 for path in entries) <= 300_000
    storage.configure(cache_bytes=0)
    assert read_epochs(server, files) >= COUNT


READS_FOREVER = """
import sys
from torchdali import fn, pipeline_def, storage

folder, *files = sys.argv[1:]
storage.configure(cache_dir=folder)

@pipeline_def(batch_size=5, num_threads=2, device_id=None)
def define():
    return fn.readers.file(files=files, random_shuffle=True)

pipe = define()
pipe.build()
while True:
    pipe.run()
    print("read", flush=True)
"""


def test_processes_that_are_killed_leave_a_good_cache(server, files, tmp_path):
    for round_number in range(3):
        folder = tmp_path / "cache"
        with start("-c", READS_FOREVER, folder, *files) as one:
            with start("-c", READS_FOREVER, folder, *files) as other:
                before = len(server.gets())
                while len(server.gets()) < before + 5 + 10 * round_number:
                    if round_number > 0 and len(server.gets()) == before:
                        break  # all of it is in the cache
                    time.sleep(0.01)
                    assert one.poll() is None
                    assert other.poll() is None
                other.send_signal(signal.SIGKILL)
            one.send_signal(signal.SIGKILL)
        read_epochs(server, files)
    assert read_epochs(server, files) == 0
