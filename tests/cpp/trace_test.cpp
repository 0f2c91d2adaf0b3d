// SPDX-License-Identifier: Apache-2.0
// core/trace: threads that record while sessions come and go, bounded memory, what is written.
// sources: csrc/core/trace.cpp
// sanitizers: address thread
#include "core/trace.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/counters.h"
#include "core/error.h"
#include "expect.h"

namespace {

namespace trace = torchdali::trace;

std::string temporary() { return "/tmp/torchdali_trace_" + std::to_string(getpid()) + ".json"; }

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void record(trace::Label label, uint32_t owner, std::string_view text = {}) {
  const int64_t start = torchdali::now_ns();
  trace::add({.start_ns = start, .ns = 10, .sample = 0, .label = label, .owner = owner}, text);
}

void threads_record_while_sessions_come_and_go() {
  const std::string path = temporary();
  const trace::Label label = trace::label("work", "test", "here.py:1");
  EXPECT(trace::label("work", "test", "here.py:1") == label);
  const uint32_t owner = trace::new_owner();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!done) {
        if (trace::enabled()) record(label, owner, "some/file.jpg");
        else std::this_thread::yield();
      }
    });
  for (int round = 0; round < 20; ++round) {
    trace::Session session(3000);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    session.stop();
    const trace::Totals totals = session.write(path, {});
    const std::string text = read(path);
    EXPECT(static_cast<int64_t>(count(text, "\"name\":\"work\"")) == totals.events);
    EXPECT(totals.events <= 3 * 1024);
    EXPECT(static_cast<int64_t>(count(text, "some/file.jpg")) == totals.events);
  }
  done = true;
  for (std::thread& t : threads) t.join();
  std::remove(path.c_str());
}

void what_does_not_fit_is_counted() {
  const std::string path = temporary();
  const trace::Label label = trace::label("a \"name\"\n", "test");
  trace::Session session(1);
  for (int i = 0; i < 5000; ++i) record(label, 0);
  session.stop();
  record(label, 0);  // after the end
  const trace::Totals totals = session.write(path, {});
  EXPECT(totals.events == 1024 && totals.dropped == 5000 - 1024);
  const std::string text = read(path);
  EXPECT(count(text, "a \\\"name\\\"\\u000a") == 1024);
  EXPECT(count(text, "\"dropped_events\":3976") == 1);
  std::remove(path.c_str());
}

void there_is_one_session_and_owners_are_chosen() {
  const std::string path = temporary();
  const trace::Label label = trace::label("mine", "test");
  const uint32_t one = trace::new_owner(), other = trace::new_owner();
  {
    trace::Session session(100);
    bool refused = false;
    try {
      trace::Session second(100);
    } catch (const torchdali::Error&) {
      refused = true;
    }
    EXPECT(refused && trace::enabled());
    record(label, one);
    record(label, other);
    session.stop();
    EXPECT(session.write(path, {one}).events == 1);
    bool failed = false;
    try {
      session.write("/nowhere/at/all.json", {});
    } catch (const torchdali::Error&) {
      failed = true;
    }
    EXPECT(failed);
  }
  EXPECT(!trace::enabled());
  std::remove(path.c_str());
}

}  // namespace

int main() {
  threads_record_while_sessions_come_and_go();
  what_does_not_fit_is_counted();
  there_is_one_session_and_owners_are_chosen();
  std::puts("trace_test: ok");
}
