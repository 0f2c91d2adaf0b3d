# SPDX-License-Identifier: Apache-2.0
"""Readers over URLs: the outputs are those of the same files on the local disk."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from helpers.file_readers import labels, reader
from helpers.programs import start
from helpers.range_server import Fault

from torchdali import fn, pipeline_def, storage
from torchdali.errors import FileError


def sizes(count):
    return [(i * 7919) % 3000 for i in range(count)]


@pytest.fixture
def folders(tmp_path, server):
    """A folder of folders, which the server has too."""
    for i, size in enumerate(sizes(60)):
        path = tmp_path / "data" / f"class{i % 4}" / f"{i:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
    (tmp_path / "data" / "list.txt").write_text(
        "".join(f"class{i % 4}/{i:02}.jpg {i}\n" for i in range(60))
    )
    server.folder = tmp_path
    return tmp_path / "data"


def batches(pipe, count):
    for _ in range(count):
        data, label = pipe.run()
        yield [(bytes(data.at(i)), int(label.at(i)[0])) for i in range(len(data))]


SELECTIONS = {
    "in order": {},
    "shuffled": {"random_shuffle": True},
    "shuffled after epochs": {"shuffle_after_epoch": True},
    "a shard": {"random_shuffle": True, "num_shards": 3, "shard_id": 1, "pad_last_batch": True},
}


@pytest.mark.parametrize("selection", SELECTIONS)
def test_outputs_over_http_are_those_of_the_files(folders, server, backend, selection):
    args = SELECTIONS[selection]
    names = [f"class{i % 4}/{i:02}.jpg" for i in range(60)]
    local = reader(files=[str(folders / name) for name in names], **args)
    remote = reader(files=[f"{server.url}/data/{name}" for name in names], **args)
    assert list(batches(remote, 40)) == list(batches(local, 40))
    rooted = reader(files=names, file_root=f"{server.url}/data", **args)
    assert list(batches(rooted, 5)) == list(
        batches(reader(files=names, file_root=str(folders), **args), 5)
    )


def test_a_list_of_files_may_be_remote(folders, server, backend):
    local = reader(file_list=str(folders / "list.txt"))
    remote = reader(file_list=f"{server.url}/data/list.txt")
    assert list(batches(remote, 20)) == list(batches(local, 20))
    with pytest.raises(FileError, match=r"absent\.txt.*404|absent\.txt.*no such"):
        reader(file_list=f"{server.url}/data/absent.txt")


def test_checkpoints_resume_over_urls(folders, server, backend):
    args = {"files": [f"{server.url}/data/class{i % 4}/{i:02}.jpg" for i in range(60)]}
    args["random_shuffle"] = True

    @pipeline_def(batch_size=7, num_threads=2, device_id=None, seed=5, enable_checkpointing=True)
    def define():
        return fn.readers.file(name="files", **args)

    pipe = define()
    pipe.build()
    list(batches(pipe, 5))
    checkpoint = pipe.checkpoint()
    expected = list(batches(pipe, 12))
    resumed = define(checkpoint=checkpoint)
    resumed.build()
    assert list(batches(resumed, 12)) == expected


def test_faults_do_not_change_the_outputs(folders, server, backend):
    names = [f"{server.url}/data/class{i % 4}/{i:02}.jpg" for i in range(60)]
    local = reader(files=[name.replace(f"{server.url}/data", str(folders)) for name in names])
    faults = [
        Fault(status=503),
        Fault(reset=True),
        None,
        Fault(keep=3, reset=True),
        Fault(keep=0),
        None,
        Fault(status=429),
    ]
    server.every = lambda number: faults[number % 21] if number % 21 < 7 else None
    storage.configure(retries=5)
    assert list(batches(reader(files=names), 30)) == list(batches(local, 30))


def test_many_requests_are_in_flight(folders, server):
    pytest.importorskip("obstore")
    server.latency = 0.05
    names = [f"{server.url}/data/class{i % 4}/{i:02}.jpg" for i in range(60)]
    for concurrency in (4, 32):
        storage.configure(concurrency=concurrency)
        server.most = 0
        pipe = reader(files=names)
        list(batches(pipe, 60))
        pipe.close()
        # workers read by themselves while there are few threads
        assert concurrency / 2 < server.most <= concurrency + 2


def test_an_object_that_fails_is_named(folders, server, backend):
    (folders / "class1" / "13.jpg").unlink()
    pipe = reader(files=[f"{server.url}/data/class{i % 4}/{i:02}.jpg" for i in range(60)])
    with pytest.raises(FileError, match=r"data/class1/13\.jpg") as raised:
        list(batches(pipe, 20))
    assert raised.value.source == f"{server.url}/data/class1/13.jpg"


@pytest.mark.parametrize("ahead", [False, True])
def test_closing_does_not_wait_for_a_server(folders, server, ahead):
    pytest.importorskip("obstore")
    names = [f"{server.url}/data/class{i % 4}/{i:02}.jpg" for i in range(60)]
    pipe = reader(files=names, num_threads=3)
    if ahead:
        pipe.run()
    server.every = lambda number: Fault(wait=60)
    time.sleep(0.1)
    begin = time.monotonic()
    pipe.close()
    assert time.monotonic() - begin < 5


SLOW = """
import sys
from torchdali import fn, pipeline_def, storage

storage.configure(backend="obstore")

@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def define():
    return fn.readers.file(file_list=sys.argv[1])

print("begin", flush=True)
try:
    define().build()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_wait(folders, server):
    pytest.importorskip("obstore")
    server.every = lambda number: Fault(wait=60)
    with start("-c", SLOW, f"{server.url}/data/list.txt") as program:
        while not server.gets():
            assert program.poll() is None
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(10)
    assert out.split() == ["begin", "interrupted"], err


FORKS = """
import os, sys
from torchdali import storage
from torchdali.errors import FileError

backend, url = sys.argv[1:]
storage.configure(backend=backend)
storage.read(url)
if os.fork() == 0:
    try:
        print(len(storage.read(url)), flush=True)
    except FileError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize(
    ("name", "answer"), [("obstore", "before this process was forked"), ("fsspec", "2000")]
)
def test_a_forked_process_does_not_hang(server, name, answer):
    pytest.importorskip(name)
    pytest.importorskip("aiohttp")
    server.objects["data"] = bytes(2000)
    with start("-c", FORKS, name, f"{server.url}/data") as program:
        out, err = program.communicate(30)
    assert answer in out, err


class RemoteSource:
    """A source of workers, which have the options of their parent."""

    def __init__(self, url):
        self.url = url

    def __call__(self, info):
        assert storage.options().concurrency == 3
        return np.frombuffer(storage.read(self.url), np.uint8)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_of_external_sources_read(server, method):
    pytest.importorskip("obstore")
    server.objects["data"] = bytes(range(100))
    storage.configure(retries=0, concurrency=3)

    @pipeline_def(
        batch_size=2, num_threads=1, device_id=None, py_num_workers=1, py_start_method=method
    )
    def define():
        return fn.external_source(RemoteSource(f"{server.url}/data"), parallel=True, batch=False)

    pipe = define()
    pipe.build()
    assert bytes(pipe.run()[0].at(1)) == bytes(range(100))


def test_a_folder_is_found_however_it_is_written():
    pytest.importorskip("fsspec").filesystem("memory").pipe("/written/a/1.bin", b"12")
    for root in ("memory://written", "memory://written/", "memory:///written"):
        pipe = reader(batch_size=1, file_root=root, file_filters="*.bin")
        assert bytes(pipe.run()[0].at(0)) == b"12"
        pipe.close()


def test_labels_of_remote_files_are_read_like_local_ones(folders, server):
    names = ["class0/00.jpg", f"{server.url}/data/class1/01.jpg", f"file://{folders}/class2/02.jpg"]
    pipe = reader(batch_size=3, files=names, file_root=str(folders), labels=[5, 6, 7])
    assert labels(pipe, 1) == [[5, 6, 7]]
