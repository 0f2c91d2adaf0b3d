// SPDX-License-Identifier: Apache-2.0
// Board and Slab with threads instead of processes: every task is claimed once, jobs complete,
// samples of one size lie side by side.
// sources: csrc/workers/board.cpp csrc/workers/shared_memory.cpp csrc/workers/slab.cpp
// sanitizers: address thread
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
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

JobInfo job_info(int worker = -1, int num_tasks = kTasks, int64_t iteration = 0) {
  return {.source = 0,
          .worker = worker,
          .slab = 0,
          .num_tasks = num_tasks,
          .batch_size = num_tasks,
          .iteration = iteration,
          .epoch = 0};
}

// Claims the next task and finishes it; returns its iteration, or -1 if there is none.
int64_t do_one(Board& board, int worker, bool fails = false) {
  Task task;
  if (board.next(worker, 0, &task) != Board::Next::kTask) return -1;
  board.finish(task, fails);
  return task.info.iteration;
}

void every_task_is_claimed_once() {
  Board board;
  constexpr int kJobs = 2000, kWorkers = 4;
  std::vector<std::atomic<int>> claims(kJobs * kTasks);
  std::vector<std::thread> workers;
  workers.reserve(kWorkers);
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      Board own(dup(board.fd()));
      Task task;
      for (;;) {
        const auto next = own.next(w, 1000, &task);
        if (next == Board::Next::kClosed) return;
        if (next == Board::Next::kTimeout) continue;
        ++claims[task.info.iteration * kTasks + task.index];
        own.finish(task, task.index == 63 && task.info.iteration % 7 == 0);
      }
    });
  }
  std::deque<std::pair<int, uint64_t>> posted;
  const auto take = [&] {
    const auto [number, job] = posted.front();
    while (!board.complete(job)) std::this_thread::yield();
    EXPECT(board.failed(job) == (number % 7 == 0));
    board.retire(job);
    posted.pop_front();
  };
  for (int j = 0; j < kJobs; ++j) {
    while (board.full()) take();
    posted.emplace_back(j, board.post(job_info(-1, kTasks, j)));
  }
  while (!posted.empty()) take();
  board.close();
  for (std::thread& t : workers) t.join();
  for (const auto& count : claims) EXPECT(count == 1);
}

void a_job_that_is_not_done_holds_up_no_other() {
  Board board;
  const uint64_t slow = board.post(job_info(1, 1, 5000));  // worker 1 is busy
  for (int j = 0; j < 4 * Board::kMaxJobs; ++j) {
    EXPECT(!board.full());
    const uint64_t job = board.post(job_info(-1, 1, j));
    EXPECT(do_one(board, 0) == j);
    EXPECT(board.complete(job));
    board.retire(job);
  }
  EXPECT(!board.complete(slow));
  EXPECT(do_one(board, 1) == 5000);
  EXPECT(board.complete(slow));
}

void a_job_keeps_its_result_until_it_is_retired() {
  Board board;
  std::vector<uint64_t> jobs;
  jobs.reserve(Board::kMaxJobs);
  for (int j = 0; j < Board::kMaxJobs; ++j) jobs.push_back(board.post(job_info(-1, 1, j)));
  EXPECT(board.full());
  for (int j = 0; j < Board::kMaxJobs; ++j) EXPECT(do_one(board, 0, j == 34) == j);
  EXPECT(board.full());
  board.retire(jobs[0]);
  const uint64_t last = board.post(job_info(-1, 1, 290));
  EXPECT(board.full() && !board.complete(last));
  EXPECT(do_one(board, 0, true) == 290);
  EXPECT(board.failed(last));
  for (int j = 1; j < Board::kMaxJobs; ++j) {
    EXPECT(board.complete(jobs[j]) && board.failed(jobs[j]) == (j == 34));
    board.retire(jobs[j]);
  }
}

void the_oldest_job_goes_first() {
  Board board;
  const uint64_t first = board.post(job_info(-1, 1, 0));
  board.post(job_info(-1, 1, 1));
  EXPECT(do_one(board, 0) == 0);
  board.retire(first);
  board.post(job_info(-1, 1, 2));  // in the entry of the first one
  EXPECT(do_one(board, 0) == 1);
  EXPECT(do_one(board, 0) == 2);
  EXPECT(do_one(board, 0) == -1);
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
  board.post(job_info(1, 1, 0));
  board.post(job_info(-1, 1, 1));
  EXPECT(do_one(board, 0) == 1);
  EXPECT(do_one(board, 0) == -1);
  EXPECT(do_one(board, 1) == 0);
}

void samples_of_one_size_lie_side_by_side() {
  constexpr int kSamples = 64;
  Slab slab(2, kSamples, 0);
  for (int round = 0; round < 20; ++round) {
    slab.clear();
    std::vector<std::thread> workers;
    workers.reserve(4);
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

// The first round writes new memory, the second one memory that is known to be there, and the third
// one both.
void stored_samples_arrive_whole() {
  constexpr int kSamples = 8;
  const auto value = [](int round, int sample, size_t i) {
    return static_cast<std::byte>(round * 7 + sample * 31 + static_cast<int>(i >> 2));
  };
  Slab slab(1, kSamples, 0);
  for (int round = 0; round < 3; ++round) {
    const size_t size = round < 2 ? 100'001 : 150'003;
    slab.clear();
    std::vector<std::vector<std::byte>> all(kSamples, std::vector<std::byte>(size));
    std::vector<std::thread> workers;
    workers.reserve(2);
    for (int w = 0; w < 2; ++w) {
      workers.emplace_back([&, w] {
        for (int s = w; s < kSamples; s += 2) {
          for (size_t i = 0; i < size; ++i) all[s][i] = value(round, s, i);
          const std::array<int64_t, 1> shape{static_cast<int64_t>(size)};
          slab.store(0, s, DType::kUInt8, shape, all[s].data());
        }
      });
    }
    for (std::thread& t : workers) t.join();
    const uint64_t own = slab.store(all[3]);
    for (int s = 0; s < kSamples; ++s)
      EXPECT(std::memcmp(slab.data() + slab.record(0, s).offset, all[s].data(), size) == 0);
    EXPECT(std::memcmp(slab.data() + own, all[3].data(), size) == 0);
    EXPECT(slab.size() >= slab.used());
    slab.mark_written();
  }
}

void a_long_copy_arrives_whole() {
  for (const size_t size : {0, 1, 63, 65535, 65536, 65537, 8191 * 16, 1 << 20}) {
    for (const size_t shift : {0, 1, 15, 16, 17}) {
      std::vector<std::byte> from(size + 1), to(size + 64, std::byte{7});
      for (size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
      torchdali::workers::copy_to_shared(to.data() + shift, from.data(), size);
      EXPECT(std::memcmp(to.data() + shift, from.data(), size) == 0);
      EXPECT(to[size + shift] == std::byte{7});
    }
  }
}

// Memory that an allocation did not get is not taken for memory of the slab later: touching it
// would end the process by SIGBUS.
void a_failed_allocation_leaves_no_hole() {
  constexpr uint64_t kLarge = 1 << 20;
  signal(SIGXFSZ, SIG_IGN);
  Slab slab(1, 2, 0);
  const auto fails = [](auto&& allocate) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = kLarge;
    setrlimit(RLIMIT_FSIZE, &small);
    bool failed = false;
    try {
      allocate();
    } catch (const torchdali::Error& error) {
      failed = std::strstr(error.fix().c_str(), "ulimit -f") != nullptr;
    }
    setrlimit(RLIMIT_FSIZE, &before);
    return failed;
  };
  const uint64_t start = slab.used();
  EXPECT(fails([&] { slab.allocate(kLarge); }));
  EXPECT(slab.allocate(100) == start);  // undone
  slab.mark_written();
  slab.clear();
  const std::array<int64_t, 1> shape{kLarge};
  EXPECT(fails([&] { slab.allocate(0, 0, DType::kUInt8, shape); }));
  EXPECT(slab.allocate(100) > 2 * kLarge);
  slab.mark_written();
  slab.clear();
  EXPECT(slab.size() < kLarge);
  const std::vector<std::byte> data(kLarge);
  EXPECT(fails([&] { slab.store(data); }));
  EXPECT(slab.allocate(100) == start);
  slab.clear();
  EXPECT(fails([&] { slab.store(0, 0, DType::kUInt8, shape, data.data()); }));
  slab.mark_written();
  slab.clear();
  EXPECT(slab.size() < kLarge);
}

}  // namespace

int main() {
  every_task_is_claimed_once();
  a_job_that_is_not_done_holds_up_no_other();
  a_job_keeps_its_result_until_it_is_retired();
  the_oldest_job_goes_first();
  a_failed_or_cancelled_job_hands_out_nothing_more();
  a_job_may_be_for_one_worker();
  samples_of_one_size_lie_side_by_side();
  stored_samples_arrive_whole();
  a_failed_allocation_leaves_no_hole();
  a_long_copy_arrives_whole();
  std::puts("workers_test: ok");
}
