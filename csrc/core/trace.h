// SPDX-License-Identifier: Apache-2.0
// Trace: what each thread did when, for torchdali.profile(). Each thread writes to its own buffer
// without locks. Memory is bounded; events that do not fit are counted. Does not include torch, so
// that it runs under TSan.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torchdali::trace {

// The name and kind of events. Labels are interned and never freed.
using Label = uint32_t;

struct Event {
  int64_t start_ns = 0;
  int64_t ns = 0;          // duration; of a counter, its value
  int64_t bytes = -1;      // size of the result; -1: none
  int64_t iteration = -1;  // -1: none
  int32_t sample = -1;     // index in the batch; -1: none
  Label label = 0;
  uint32_t owner = 0;      // the pipeline, from new_owner(); 0: none
  uint16_t text_size = 0;  // bytes of the sample's name, in the slots after the event
  bool counter = false;
};

inline std::atomic<bool> is_on{false};
inline bool enabled() { return is_on.load(std::memory_order_relaxed); }

// `kind`: viewers filter by it. `detail`: the user's line, or "".
Label label(const std::string& name, const std::string& kind, const std::string& detail = "");
// Returns a new number for a pipeline, never 0.
uint32_t new_owner();
// Does nothing if no session is running. `text`: the name of the sample. Any thread.
void add(Event event, std::string_view text = {});

struct Totals {
  int64_t events = 0;   // written
  int64_t dropped = 0;  // did not fit
};

// A recording. Only one runs at a time.
class Session {
 public:
  // Allocates up to 64 bytes for each of `max_events`, as they come; names of samples need as much
  // again. Throws Error if a session is running.
  explicit Session(int64_t max_events);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
  // Ends the recording.
  void stop();
  // Writes the events of `owners` (empty: all) as JSON for chrome://tracing and Perfetto. Called
  // after stop(). Throws Error if the file cannot be written.
  Totals write(const std::string& path, const std::vector<uint32_t>& owners);

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace torchdali::trace
