// SPDX-License-Identifier: Apache-2.0
#include "python/storage/request_threads.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace torchdali {
namespace {

constexpr auto kCheckPeriod = std::chrono::milliseconds(50);
// A thread without work ends after a while.
constexpr auto kIdleTime = std::chrono::seconds(10);

}  // namespace

struct RequestThreads::State {
  struct Call {
    explicit Call(std::function<void()> w) : work(std::move(w)) {}
    std::function<void()> work;
    bool done = false;
    std::exception_ptr error;
  };
  std::mutex mutex;
  std::condition_variable called, done;
  std::deque<std::shared_ptr<Call>> calls;
  int idle = 0;
  bool closing = false;
};

RequestThreads::RequestThreads() : state_(std::make_shared<State>()) {}

RequestThreads::~RequestThreads() {
  const std::lock_guard lock(state_->mutex);
  state_->closing = true;
  state_->called.notify_all();
}

void RequestThreads::loop(const std::shared_ptr<State>& state) {
  State& s = *state;
  std::unique_lock lock(s.mutex);
  for (;;) {
    ++s.idle;
    const bool any =
        s.called.wait_for(lock, kIdleTime, [&] { return s.closing || !s.calls.empty(); });
    --s.idle;
    if (!any || s.calls.empty()) return;
    const std::shared_ptr<State::Call> call = std::move(s.calls.front());
    s.calls.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      call->work();
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    lock.lock();
    call->work = nullptr;
    call->error = error;
    call->done = true;
    s.done.notify_all();
  }
}

void RequestThreads::run(std::function<void()> work, const std::function<void()>& check) {
  const auto call = std::make_shared<State::Call>(std::move(work));
  std::unique_lock lock(state_->mutex);
  state_->calls.push_back(call);
  if (static_cast<size_t>(state_->idle) < state_->calls.size()) {
    try {
      std::thread thread([state = state_] { loop(state); });
      pthread_setname_np(thread.native_handle(), "torchdali-fetch");
      thread.detach();
    } catch (const std::system_error&) {  // those that run do it, or the caller
      if (state_->calls.back() == call) state_->calls.pop_back();
      lock.unlock();
      call->work();
      return;
    }
  } else {
    state_->called.notify_one();
  }
  while (!state_->done.wait_for(lock, kCheckPeriod, [&] { return call->done; })) {
    lock.unlock();
    check();
    lock.lock();
  }
  if (call->error) std::rethrow_exception(call->error);
}

}  // namespace torchdali
