# SPDX-License-Identifier: Apache-2.0
"""Files that are mapped into memory, also while they are truncated."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.containers import CONTAINERS
from helpers.tars import write_tar

from torchdali import fn, pipeline_def
from torchdali.errors import FileError


def regions(folder):
    np.save(folder / "a.npy", np.ones((50, 100, 100), np.float32))
    return "a.npy", lambda path: fn.readers.numpy(files=[path], roi_start=[0, 9, 9])


MAPPED = {
    **{name: CONTAINERS[name] for name in ("webdataset", "tfrecord", "recordio", "lmdb")},
    "numpy": regions,
}


def run_until_mapped(read, path, **options):
    """Returns a pipeline that no longer reads ahead, because its files are in the page cache."""

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5, **options)
    def define():
        made = read(str(path))
        return tuple(made) if isinstance(made, list) else made

    pipe = define()
    pipe.build()
    for _ in range(100):  # reads may wait for other processes
        run(pipe, 100)
        if is_mapped(Path(path)):
            break
    return pipe


def run(pipe, batches):
    for _ in range(batches):
        pipe.run()


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("container", MAPPED)
def test_files_are_mapped_while_their_reader_exists(container, tmp_path):
    name, read = MAPPED[container](tmp_path)
    pipe = run_until_mapped(read, tmp_path / name)
    assert is_mapped(tmp_path / name)
    del pipe
    gc.collect()
    end = time.monotonic() + 10  # threads that read ahead end on their own
    while is_mapped(tmp_path / name) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_mapped(tmp_path / name)


def test_files_need_not_be_mapped(tmp_path):
    outputs = []
    for dont_use_mmap in (False, True):
        path = tmp_path / f"{dont_use_mmap}.tar"
        write_tar(path, {f"{i}.x": bytes([i]) * 5000 for i in range(8)})
        pipe = run_until_mapped(
            lambda path, value=dont_use_mmap: fn.readers.webdataset(
                paths=[path], ext=["x"], dont_use_mmap=value
            ),
            path,
        )
        outputs.append([sample.tolist() for sample in pipe.run()[0].as_torch_list()])
        assert is_mapped(path) != dont_use_mmap
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("container", MAPPED)
def test_truncating_a_mapped_file_is_an_error_that_names_it(container, tmp_path):
    name, read = MAPPED[container](tmp_path)
    path = tmp_path / name
    pipe = run_until_mapped(read, path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)
    with pytest.raises(FileError, match=f"{path.name}.* ended after .*truncated while it was read"):
        run(pipe, 20)


def test_what_is_left_of_a_truncated_file_is_read(tmp_path):
    path = write_tar(tmp_path / "a.tar", {f"{i}.x": bytes([i]) * 5000 for i in range(8)})
    pipe = run_until_mapped(
        lambda path: fn.readers.webdataset(paths=[path], ext=["x"]), path, on_error="skip"
    )
    with open(path, "r+b") as file:
        file.truncate(3 * (512 + 5120) + 512 + 4000)  # in the fourth file, and in a page
    run(pipe, 10)  # some were read before
    batches = [pipe.run()[0].as_torch_list() for _ in range(2)]
    found = sorted(int(sample[0]) for batch in batches for sample in batch)
    assert found == [0, 1, 2]
    assert all(np.all(np.asarray(s) == s[0].item()) for batch in batches for s in batch)


def test_a_handler_of_the_user_does_not_make_truncated_files_fatal(tmp_path):
    path = write_tar(tmp_path / "a.tar", {f"{i}.x": bytes([i]) * 50000 for i in range(8)})
    code = f"""
import faulthandler, os
from torchdali import fn, pipeline_def
from torchdali.errors import FileError

@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def define():
    return fn.readers.webdataset(paths=[{path!r}], ext=["x"])

pipe = define()
for _ in range(10_000):
    pipe.run()
    if {path!r} in open("/proc/self/maps").read():
        break
else:
    raise AssertionError("not mapped")
faulthandler.enable()
os.truncate({path!r}, 1000)
try:
    for _ in range(20):
        pipe.run()
except FileError as error:
    print("truncated" in str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
