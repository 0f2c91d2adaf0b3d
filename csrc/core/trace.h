// SPDX-License-Identifier: Apache-2.0
// Trace: what each thread did when, for torchdali.profile(). A thread writes to a buffer of its own
// without locks; memory is bounded, and what does not fit is counted. No torch: it runs under TSan.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torchdali::trace {

// What events have in common: the name and kind of what was done. Never freed, one of each.
using Label = uint32_t;

struct Event {
  int64_t start_ns = 0;
  int64_t ns = 0;          // how long; of a counter: its value
  int64_t bytes = -1;      // of what was made; -1: nothing to say
  int64_t iteration = -1;  // -1: of none
  int32_t sample = -1;     // in its batch; -1: of none
  Label label = 0;
  uint32_t owner = 0;      // whose it is: see new_owner(); 0: nobody's
  uint16_t text_size = 0;  // bytes in the slots behind it: the name of the sample
  bool counter = false;
};

inline std::atomic<bool> is_on{false};
inline bool enabled() { return is_on.load(std::memory_order_relaxed); }

// `kind`: what viewers filter by. `detail`: where the user wrote it, or "".
Label label(const std::string& name, const std::string& kind, const std::string& detail = "");
// A number for a pipeline, never 0.
uint32_t new_owner();
// Does nothing where no trace is taken. `text`: the name of the sample. Any thread.
void add(Event event, std::string_view text = {});

struct Totals {
  int64_t events = 0;   // written
  int64_t dropped = 0;  // there was no room for them
};

// One recording; there is one at a time.
class Session {
 public:
  // 64 bytes for each of `max_events`, taken as they are used; names of samples take as much again.
  // Throws Error where there is a session.
  explicit Session(int64_t max_events);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
  // Nothing is recorded from now on.
  void stop();
  // As JSON that chrome://tracing and Perfetto read. `owners`: whose events; empty: all. After
  // stop(). Throws Error where the file cannot be written.
  Totals write(const std::string& path, const std::vector<uint32_t>& owners);

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace torchdali::trace
