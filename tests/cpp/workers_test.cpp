// SPDX-License-Identifier: Apache-2.0
// Board and Slab with threads instead of processes: every task is claimed once, jobs complete,
// samples of one size lie side by side.
// sources: csrc/workers/board.cpp csrc/workers/shared_memory.cpp csrc/workers/slab.cpp
// sanitizers: address thread
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "expect.h"
#include "workers/board.h"
#include "workers/slab.h"

using torchdali::DType;
using torchdali::workers::Board;
using torchdali::workers::JobInfo;
using torchdali::workers::Slab;
using torchdali::workers::Task;

namespace {

constexpr int kTasks = 64;

JobInfo job_info(int worker = -1, int num_tasks = kTasks) {
  return {.source = 0,
          .worker = worker,
          .slab = 0,
          .num_tasks = num_tasks,
          .batch_size = num_tasks,
          .iteration = 0,
          .epoch = 0};
}

void every_task_is_claimed_once() {
  Board board;
  constexpr int kJobs = 2000, kWorkers = 4;
  std::vector<std::atomic<int>> claims(kJobs * kTasks);
  std::vector<std::thread> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      Board own(dup(board.fd()));
      Task task;
      for (;;) {
        const auto next = own.next(w, 1000, &task);
        if (next == Board::Next::kClosed) return;
        if (next == Board::Next::kTimeout) continue;
        ++claims[task.job * kTasks + task.index];
        own.finish(task, task.index == 63 && task.job % 7 == 0);
      }
    });
  }
  for (int j = 0; j < kJobs; ++j) {
    while (board.full()) {
      board.retire();
      std::this_thread::yield();
    }
    const uint64_t job = board.post(job_info());
    EXPECT(job == static_cast<uint64_t>(j));
  }
  while (!board.complete(kJobs - 1)) std::this_thread::yield();
  for (int j = kJobs - Board::kMaxJobs; j < kJobs; ++j) {
    while (!board.complete(j)) std::this_thread::yield();
    EXPECT(board.failed(j) == (j % 7 == 0));
  }
  board.close();
  for (std::thread& t : workers) t.join();
  for (const auto& count : claims) EXPECT(count == 1);
}

void a_failed_or_cancelled_job_hands_out_nothing_more() {
  Board board;
  const uint64_t job = board.post(job_info());
  Task task;
  EXPECT(board.next(0, 0, &task) == Board::Next::kTask);
  board.want_message();
  EXPECT(board.finish(task, true));
  EXPECT(board.complete(job) && board.failed(job));
  EXPECT(board.next(0, 0, &task) == Board::Next::kTimeout);
  const uint64_t second = board.post(job_info());
  EXPECT(board.next(0, 0, &task) == Board::Next::kTask);
  board.cancel(second);
  EXPECT(!board.complete(second));  // one task is in hand
  EXPECT(!board.finish(task, false));
  EXPECT(board.complete(second));
}

void a_job_may_be_for_one_worker() {
  Board board;
  board.post(job_info(1, 1));
  board.post(job_info(-1, 1));
  Task task;
  EXPECT(board.next(0, 0, &task) == Board::Next::kTask && task.job == 1);
  EXPECT(board.next(0, 0, &task) == Board::Next::kTimeout);
  EXPECT(board.next(1, 0, &task) == Board::Next::kTask && task.job == 0);
}

void samples_of_one_size_lie_side_by_side() {
  constexpr int kSamples = 64;
  Slab slab(2, kSamples, 0);
  for (int round = 0; round < 20; ++round) {
    slab.clear();
    std::vector<std::thread> workers;
    for (int w = 0; w < 4; ++w) {
      workers.emplace_back([&, w] {
        for (int i = w; i < kSamples; i += 4) {
          const std::array<int64_t, 2> same{3, 5};
          std::memset(slab.allocate(0, i, DType::kFloat, same), i, 60);
          const std::array<int64_t, 1> own{i * 100};
          std::memset(slab.allocate(1, i, DType::kUInt8, own), i, i * 100);
        }
      });
    }
    for (std::thread& t : workers) t.join();
    const uint64_t first = slab.record(0, 0).offset;
    for (int i = 0; i < kSamples; ++i) {
      EXPECT(slab.record(0, i).offset == first + i * 60);
      const auto* a = slab.data() + slab.record(0, i).offset;
      const auto* b = slab.data() + slab.record(1, i).offset;
      EXPECT(static_cast<int>(a[0]) == i && static_cast<int>(a[59]) == i);
      EXPECT(slab.record(1, i).shape[0] == i * 100);
      if (i > 0) EXPECT(static_cast<int>(b[0]) == i && static_cast<int>(b[i * 100 - 1]) == i);
    }
  }
}

void a_long_copy_arrives_whole() {
  for (const size_t size : {0, 1, 63, 65535, 65536, 65537, 1 << 20}) {
    for (const size_t shift : {0, 1, 15, 16, 17}) {
      std::vector<std::byte> from(size + 1), to(size + 64, std::byte{7});
      for (size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
      torchdali::workers::copy_to_shared(to.data() + shift, from.data(), size);
      EXPECT(std::memcmp(to.data() + shift, from.data(), size) == 0);
      EXPECT(to[size + shift] == std::byte{7});
    }
  }
}

}  // namespace

int main() {
  every_task_is_claimed_once();
  a_failed_or_cancelled_job_hands_out_nothing_more();
  a_job_may_be_for_one_worker();
  samples_of_one_size_lie_side_by_side();
  a_long_copy_arrives_whole();
  std::puts("workers_test: ok");
}
