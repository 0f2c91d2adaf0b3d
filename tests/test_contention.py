# SPDX-License-Identifier: Apache-2.0
"""benchmarks/contention counts right, and threads of a pipeline share little."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import contention
from benchmarks.contention import counters, model

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")

# Locks, allocates and wakes as often as its arguments say, and prints what was counted.
PROGRAM = r"""
#include <dlfcn.h>
#include <semaphore.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

int main() {
  auto* read = reinterpret_cast<void (*)(uint64_t*)>(dlsym(RTLD_DEFAULT, "contention_read"));
  uint64_t before[64], after[64];
  std::vector<std::thread> threads;
  std::mutex mutex, held;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  threads.reserve(3);
  held.lock();
  read(before);
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] {  // one allocation for each
    for (int k = 0; k < 1000; ++k) {
      const std::lock_guard lock(mutex);
      std::free(std::malloc(100));
      ::operator delete(::operator new(100));
    }
    sem_post(&semaphore);
  });
  for (auto& thread : threads) thread.join();
  std::thread([&] { for (int k = 0; k < 5; ++k) if (held.try_lock()) std::abort(); }).join();
  for (int i = 0; i < 3; ++i) sem_wait(&semaphore);
  read(after);
  std::printf("[");
  for (int i = 0; i < 12; ++i) std::printf("%s%ld", i ? ", " : "", long(after[i] - before[i]));
  std::printf("]\n");
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return counters.build(tmp_path_factory.mktemp("counters"))


def test_the_counts_of_a_known_program(library, tmp_path):
    source = tmp_path / "known.cpp"
    source.write_text(PROGRAM)
    command = ["g++", "-std=c++20", "-O1", "-fno-builtin", "-pthread", str(source)]
    subprocess.run([*command, "-o", str(tmp_path / "known"), "-ldl"], check=True)
    environment = counters.environment(library)
    done = subprocess.run(
        [str(tmp_path / "known")], env=environment, capture_output=True, text=True, check=True
    )
    found = dict(zip(counters.COUNTS, json.loads(done.stdout), strict=True))
    assert found["locks"] == 3000
    assert found["contended"] <= 3000
    assert found["tries"] == 5
    assert found["signals"] == found["waits"] == 3
    # Starting four threads takes some.
    assert 2 * 3000 + 4 <= found["allocations"] <= 2 * 3000 + 40
    assert found["frees"] >= 2 * 3000
    assert found["rwlocks"] == found["yields"] == 0


@pytest.mark.slow
def test_threads_take_no_lock_and_no_memory_for_a_tiny_sample(library):
    found: dict[int, dict[str, Any]] = {}
    for threads in (1, 8):
        axes = {"workload": "tiny", "threads": threads, "places": ["locks"]}
        found[threads] = contention._child(axes, counters.environment(library))
    # The scheduler's, for a claim of many samples, and some for each batch.
    assert max(one["metrics"]["locks"] for one in found.values()) < 0.5
    alone, many = (found[threads]["metrics"]["allocations"] for threads in (1, 8))
    assert many < 1.5 * alone + 0.05
    assert any("Scheduler" in name for name in found[8]["places"]["locks"])


def test_the_model_is_limited_by_what_one_thread_at_a_time_does():
    free = model.Sample("imagenet", 600.0, {}, 50.0, 0.1)
    assert model.expected(free, 16, 60.0).share == pytest.approx(1.0)
    locked = model.Sample("imagenet", 600.0, {"the scheduler": 60.0}, 50.0, 0.1)
    slow, slower = (model.expected(locked, 128, ns) for ns in model.TRANSFER_NS)
    assert slower.samples_per_s < slow.samples_per_s < 1e9 / (60 * (50 + 3 * 60)) + 1
    assert "the scheduler" in slower.limit
