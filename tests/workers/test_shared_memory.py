# SPDX-License-Identifier: Apache-2.0
"""torchdali._shm by itself: what its functions accept, and who owns its memory."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

from torchdali import _shm


@pytest.fixture
def slab():
    slab = _shm.Slab(num_outputs=1, max_samples=2, bytes=4096)
    slab.num_samples = 2
    return slab


@pytest.mark.parametrize("number", [1.0, np.float64(1), "1", b"1", None, -1, 2**64])
def test_sizes_are_integers_in_range(slab, number):
    with pytest.raises(TypeError):
        slab.allocate(number)
    assert isinstance(slab.allocate(np.int64(1)), int)


@pytest.mark.parametrize("note", [bytearray(b"x"), memoryview(b"x"), "x", None])
def test_notes_are_bytes(slab, note):
    with pytest.raises(TypeError):
        slab.fail(0, note)
    with pytest.raises(TypeError):
        slab.request = note
    assert (slab.failures(), slab.request) == ({}, b"")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (None, "a bytes-like object is required, not 'NoneType'"),
        ([1], "a bytes-like object is required, not 'list'"),
        (np.zeros(2, np.complex64), 'no element type for an array of format "Zf"'),
    ],
)
def test_data_has_a_buffer_of_a_type_of_dali(slab, data, error):
    with pytest.raises(TypeError, match=error):
        slab.store(0, 0, data)


def test_a_batch_is_one_array_only_if_no_sample_failed(slab):
    for sample in range(2):
        slab.store(output=0, sample=sample, array=np.full((2, 3), sample, np.float32))
    dtype, shape, offset = slab.describe(output=0)
    assert shape == (2, 2, 3)
    stored = np.frombuffer(slab, np.float32, 12, offset).reshape(shape)
    assert stored[:, 0, 0].tolist() == [0, 1]
    slab.fail(1, b"why")
    assert slab.describe(0) == [(dtype, (2, 3), offset), None]
    assert slab.failures() == {1: b"why"}


def test_a_buffer_can_be_written_and_keeps_the_memory(slab):
    home = _shm.Slabs()
    assert home.take() is None
    lease = _shm.Lease(slab=slab, home=home)
    data, number = np.frombuffer(lease, np.uint8), slab.fd
    del lease, slab
    gc.collect()
    data[-1] = 7
    assert home.take() is None
    del data
    back = home.take()
    assert back.fd == number
    assert memoryview(back)[-1] == 7


@pytest.mark.filterwarnings("ignore:nanobind. attempted to access an uninitialized instance")
def test_a_slab_without_memory_has_no_buffer():
    with pytest.raises(BufferError, match="__init__"):
        memoryview(_shm.Slab.__new__(_shm.Slab))


def test_memory_that_a_daemon_thread_holds_at_exit_is_no_error():
    code = """
import threading
from torchdali import _shm

def hold():
    slab = _shm.Slab(1, 1, 64)
    held.set()
    threading.Event().wait()

held = threading.Event()
threading.Thread(target=hold, daemon=True).start()
held.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
