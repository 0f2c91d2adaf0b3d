# SPDX-License-Identifier: Apache-2.0
"""Requests for remote files: what is read, what is tried again, what errors say."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from helpers.range_server import Fault

from torchdali import storage
from torchdali.errors import ArgumentError, ArgumentTypeError, FileError

DATA = bytes(range(256)) * 400


@pytest.fixture
def url(server):
    server.objects["data"] = DATA
    return f"{server.url}/data"


def test_objects_and_parts_of_them(server, backend, url):
    server.objects["empty"] = b""
    assert storage.read(url) == DATA
    assert server.gets() == [("data", "bytes=0-16777215")]  # one request
    assert storage.read(url, 300) == DATA[300:]
    assert storage.read(url, 300, 12) == DATA[300:312]
    assert storage.read(url, 300, 0) == b""
    assert storage.read(f"{server.url}/empty") == b""
    assert storage.size(url) == len(DATA)


def test_large_objects_are_read_in_parts(server, backend):
    server.objects["large"] = os.urandom((16 << 20) + 5)
    assert storage.read(f"{server.url}/large") == server.objects["large"]
    assert len(server.gets()) == 2


def test_names_may_have_any_characters(server, backend):
    for name in ("a b.bin", "ü/ß.bin", "a%20b", "a+b,c;d"):
        server.objects[name] = name.encode()
        quoted = name.replace("%", "%25").replace(" ", "%20")
        assert storage.read(f"{server.url}/{quoted}") == name.encode()


def test_paths_are_read_too(tmp_path):
    path = tmp_path / "local"
    path.write_bytes(DATA)
    assert storage.read(str(path), 3, 4) == storage.read(f"file://{path}", 3, 4) == DATA[3:7]
    assert storage.size(str(path)) == len(DATA)


TRANSIENT = {
    "status 500": Fault(status=500),
    "status 503": Fault(status=503),
    "status 429": Fault(status=429),
    "reset": Fault(reset=True),
    "truncated": Fault(keep=1000),
    "reset in the body": Fault(keep=1000, reset=True),
    "slow": Fault(wait=3),
    "slow body": Fault(pause=0.2),
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_what_may_pass_is_tried_again(server, backend, url, fault):
    storage.configure(timeout=0.5)
    server.faults.append(TRANSIENT[fault])
    assert storage.read(url, 0, 20_000) == DATA[:20_000]
    assert server.gets() == [("data", "bytes=0-19999")] * 2


def test_a_wrong_range_is_noticed(server, url):
    pytest.importorskip("obstore")
    storage.configure(backend="obstore")
    server.faults.append(Fault(shift=5))
    assert storage.read(url, 0, 20_000) == DATA[:20_000]
    assert len(server.gets()) == 2


@pytest.mark.parametrize("status", [403, 404])
def test_what_stays_is_not_tried_again(server, backend, url, status):
    server.faults.append(Fault(status=status))
    with pytest.raises(FileError, match=rf"{url}.*, bytes 5 to 14: .*(403|404|no such)") as raised:
        storage.read(url, 5, 10)
    assert raised.value.fix
    assert len(server.gets()) == 1


def test_retries_have_a_limit(server, backend, url):
    server.every = lambda number: Fault(status=503)
    with pytest.raises(FileError, match=r"503 Service Unavailable \(3 attempts in \d"):
        storage.read(url)
    assert len(server.gets()) == 3
    server.every = None
    with pytest.raises(FileError, match=r"127\.0\.0\.1:1/data.*3 attempts"):
        storage.read("http://127.0.0.1:1/data")


def test_a_part_beyond_the_end_is_an_error(backend, url):
    with pytest.raises(FileError, match=f"bytes 102000 to 102999: it has {len(DATA)} bytes"):
        storage.read(url, 102_000, 1000)
    with pytest.raises(FileError):
        storage.read(url, 1 << 40)
    with pytest.raises(ArgumentError, match="`offset` is -1"):
        storage.read(url, -1)


def test_servers_without_ranges_serve_whole_files(server, backend, url):
    server.ranges = False
    assert storage.read(url) == DATA
    with pytest.raises(FileError, match="does not send parts of files"):
        storage.read(url, 5, 10)


def test_signed_urls_keep_their_query(server):
    pytest.importorskip("aiohttp")
    server.objects["data?sign=a%2Fb"] = server.objects["data?sign=a/b"] = DATA
    assert storage.read(f"{server.url}/data?sign=a%2Fb") == DATA


class Shelf:
    """A store of the user."""

    def __init__(self):
        self.urls = []  # a reader of an earlier test may still retry

    def size(self, url):
        return len(DATA)

    def read(self, url, start, end):
        self.urls.append(url)
        if url.endswith("missing"):
            raise FileNotFoundError(url)
        if self.urls.count(url) == 1:
            raise ConnectionResetError("lost")
        return memoryview(DATA)[start:end]

    def list(self, folder):
        return [f"{folder}/b", f"{folder}/a"]


def test_objects_of_the_user_are_stores():
    shelf = Shelf()
    storage.configure(backend=shelf, retries=1)
    assert storage.read("shelf://x") == DATA
    assert storage.read("shelf://x", 7, 9) == DATA[7:16]
    assert shelf.urls.count("shelf://x") == 3
    assert storage.list("shelf://x") == ["shelf://x/a", "shelf://x/b"]
    with pytest.raises(FileError, match="no such object"):
        storage.read("shelf://missing")
    shelf.read = lambda url, start, end: 1 / 0
    with pytest.raises(FileError, match="ZeroDivisionError: division by zero") as raised:
        storage.read("shelf://x")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(ArgumentTypeError, match=r"int without a method size\(\)"):
        storage.configure(backend=3)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    storage.configure(backend="auto")
    for url, package in (("s3://a/b", "obstore"), ("hf://a/b", "fsspec")):
        with pytest.raises(FileError, match=f"needs the package {package}") as raised:
            storage.read(url)
        assert raised.value.fix == f"pip install {package}"


def test_options_are_checked():
    for wrong in (
        {"backend": "s3"},
        {"cache_bytes": -1},
        {"cache_bytes": "10 apples"},
        {"retries": -1},
        {"timeout": 0},
        {"concurrency": 0},
    ):
        before = storage.options()
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            storage.configure(**wrong)
        assert storage.options() is before
    with pytest.raises(ArgumentTypeError, match="the begin of URLs"):
        storage.configure(options={"bucket": {}})
    storage.configure(cache_bytes="1.5 GiB", timeout=7)
    assert storage.options().cache_bytes == 3 << 29
    storage.configure(cache_bytes="20GB")
    assert (storage.options().cache_bytes, storage.options().timeout) == (20 * 10**9, 7)


def test_options_come_from_the_environment(tmp_path):
    program = (
        "from torchdali import storage; o = storage.options(); "
        "print(o.cache_dir, o.cache_bytes, o.retries, o.timeout, o.concurrency, o.backend)"
    )
    environment = {
        "TORCHDALI_CACHE_DIR": str(tmp_path),
        "TORCHDALI_CACHE_BYTES": "2T",
        "TORCHDALI_STORAGE_RETRIES": "1",
        "TORCHDALI_STORAGE_TIMEOUT": "2.5",
        "TORCHDALI_STORAGE_CONCURRENCY": "3",
        "TORCHDALI_STORAGE_BACKEND": "fsspec",
    }
    command = [sys.executable, "-c", program]
    ran = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [str(tmp_path), str(2 * 10**12), "1", "2.5", "3", "fsspec"]
    environment = {**os.environ, "TORCHDALI_CACHE_BYTES": "many"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert 'TORCHDALI_CACHE_BYTES is "many"' in ran.stderr


def test_the_longest_key_of_options_counts():
    from torchdali._storage.options import options_for

    storage.configure(options={"s3://a": {"x": 1}, "s3://a/b/": {"x": 2}, "s3://ab": {"x": 3}})
    for url, expected in (
        ("s3://a/c", {"x": 1}),
        ("s3://a/b/c", {"x": 2}),
        ("s3://ab/c", {"x": 3}),
        ("s3://abc/d", {}),
    ):
        assert options_for(url)[1] == expected


def test_secrets_are_not_shown():
    storage.configure(options={"s3://a": {"secret_access_key": "hidden"}})
    assert "hidden" not in repr(storage.options())


def test_worker_processes_get_the_options():
    from torchdali._storage import options

    storage.configure(retries=3, backend=Shelf())
    assert options.pack() is not None
    storage.configure(backend=type("Local", (Shelf,), {"hold": lambda: 0})())
    sent = pickle.loads(options.pack())
    assert sent.retries == 3
    with pytest.raises(RuntimeError, match="could not be sent to this worker"):
        sent.backend.size("x://y")
