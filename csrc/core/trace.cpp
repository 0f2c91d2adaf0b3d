// SPDX-License-Identifier: Apache-2.0
#include "core/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "core/counters.h"
#include "core/error.h"

namespace torchdali::trace {
namespace {

// An event, or 64 bytes of the name that follows it.
constexpr size_t kSlotBytes = 64;
constexpr size_t kChunkSlots = 1024;
// Longer names lose their beginning, since the end of a path says more.
constexpr size_t kMaxText = 7 * kSlotBytes;
struct alignas(8) Slot {
  std::array<char, kSlotBytes> bytes;
};
static_assert(sizeof(Event) <= kSlotBytes);

struct Chunk {
  std::array<Slot, kChunkSlots> slots;
};

struct LabelText {
  std::string name, kind, detail;
};

// Protects everything below. Never destroyed, since threads may outlive static variables.
std::mutex& mutex() {
  static auto* const one = new std::mutex;
  return *one;
}

struct Labels {
  std::map<std::tuple<std::string, std::string, std::string>, Label> numbers;
  std::vector<LabelText> texts;
};
Labels& labels() {
  static auto* const one = new Labels;
  return *one;
}

// The events of one thread in one session. The thread publishes slots by incrementing `count`.
struct Buffer {
  explicit Buffer(size_t max_chunks) : chunks(max_chunks) {}
  Slot& slot(size_t i) { return chunks[i / kChunkSlots]->slots[i % kChunkSlots]; }

  std::vector<std::unique_ptr<Chunk>> chunks;
  std::atomic<size_t> count{0};  // slots
  Counter dropped;
  size_t reserved = 0;  // slots; used by the writer only
  int64_t thread = 0;
  std::string thread_name;
};

}  // namespace

struct Session::Shared {
  uint64_t number = 0;
  size_t max_chunks = 0;
  std::atomic<int64_t> chunks_left{0};
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<std::unique_ptr<Buffer>> buffers;  // under mutex()
};

namespace {

std::shared_ptr<Session::Shared> running;  // under mutex()
std::atomic<uint64_t> running_number{0};   // 0: none
uint64_t sessions = 0;                     // under mutex()
// The buffer of this thread. The session owns it, so that its memory is freed with the session.
struct ThreadBuffer {
  std::weak_ptr<Session::Shared> session;
  Buffer* buffer = nullptr;
  uint64_t number = 0;
};
thread_local ThreadBuffer thread_buffer;

// A forked child records nothing, since the memory belongs to threads of the parent.
void after_fork() {
  is_on.store(false, std::memory_order_relaxed);
  running_number.store(0, std::memory_order_relaxed);
}

std::shared_ptr<Session::Shared> join_session() {
  const std::lock_guard lock(mutex());
  thread_buffer = {};
  if (running == nullptr) return nullptr;
  auto buffer = std::make_unique<Buffer>(running->max_chunks);
  std::array<char, 32> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  buffer->thread_name = name.data();
  buffer->thread = gettid();
  if (gettid() == getpid()) buffer->thread_name = "main thread (" + buffer->thread_name + ")";
  thread_buffer = {running, buffer.get(), running->number};
  running->buffers.push_back(std::move(buffer));
  return running;
}

// Makes room for `slots` slots; returns false if memory is used up.
bool reserve(Session::Shared& session, Buffer& buffer, size_t slots) {
  while (buffer.reserved < slots) {
    const size_t next = buffer.reserved / kChunkSlots;
    if (next >= buffer.chunks.size() ||
        session.chunks_left.fetch_sub(1, std::memory_order_relaxed) <= 0)
      return false;
    buffer.chunks[next] = std::make_unique<Chunk>();
    buffer.reserved += kChunkSlots;
  }
  return true;
}

}  // namespace

Label label(const std::string& name, const std::string& kind, const std::string& detail) {
  const std::lock_guard lock(mutex());
  Labels& all = labels();
  const auto [found, added] =
      all.numbers.emplace(std::tuple(name, kind, detail), static_cast<Label>(all.texts.size()));
  if (added) all.texts.push_back({name, kind, detail});
  return found->second;
}

uint32_t new_owner() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

void add(Event event, std::string_view text) {
  const uint64_t number = running_number.load(std::memory_order_acquire);
  if (number == 0) return;
  const auto session =
      thread_buffer.number == number ? thread_buffer.session.lock() : join_session();
  if (session == nullptr) return;
  if (text.size() > kMaxText) text.remove_prefix(text.size() - kMaxText);
  Buffer& buffer = *thread_buffer.buffer;
  const size_t text_slots = (text.size() + kSlotBytes - 1) / kSlotBytes;
  const size_t at = buffer.count.load(std::memory_order_relaxed);
  if (!reserve(*session, buffer, at + 1 + text_slots)) {
    buffer.dropped.add(1);
    return;
  }
  event.text_size = static_cast<uint16_t>(text.size());
  std::memcpy(buffer.slot(at).bytes.data(), &event, sizeof(event));
  for (size_t i = 0; i < text_slots; ++i) {
    const std::string_view part = text.substr(i * kSlotBytes, kSlotBytes);
    std::memcpy(buffer.slot(at + 1 + i).bytes.data(), part.data(), part.size());
  }
  buffer.count.store(at + 1 + text_slots, std::memory_order_release);
}

Session::Session(int64_t max_events) : shared_(std::make_shared<Shared>()) {
  static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
  (void)registered;
  const std::lock_guard lock(mutex());
  TORCHDALI_CHECK_KIND(kRuntime, running_number.load() == 0, "a profile is already being taken");
  shared_->number = ++sessions;
  shared_->max_chunks = (static_cast<size_t>(max_events) + kChunkSlots - 1) / kChunkSlots;
  shared_->chunks_left = static_cast<int64_t>(shared_->max_chunks);
  shared_->begin_ns = now_ns();
  running = shared_;
  running_number.store(shared_->number, std::memory_order_release);
  is_on.store(true, std::memory_order_relaxed);
}

Session::~Session() { stop(); }

void Session::stop() {
  const std::lock_guard lock(mutex());
  if (running_number.load() != shared_->number) return;
  is_on.store(false, std::memory_order_relaxed);
  running_number.store(0, std::memory_order_release);
  shared_->end_ns = now_ns();
  running = nullptr;
}

namespace {

// The length of the UTF-8 sequence that begins at `at`; 0 if it is invalid.
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates, and code points beyond Unicode.
  if (length > 2) {
    const unsigned char second = byte(at + 1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return 0;
  }
  return length;
}

// Returns `text` as a JSON string. Names of files may contain bytes that are not UTF-8.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t length = sequence_length(text, i);
    const char c = text[i];
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return out + '"';
}

class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "we")) {
    if (file_ == nullptr) fail();
  }
  ~Writer() {
    if (file_ != nullptr) (void)std::fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void put(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
  }
  void close() {
    std::FILE* file = file_;
    file_ = nullptr;
    if (std::fclose(file) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const int error = errno;
    raise(ErrorKind::kFile, "cannot write \"", path_,
          "\": ", std::generic_category().message(error));
  }
  const std::string path_;
  std::FILE* file_;
};

std::string microseconds(int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03d", static_cast<long long>(ns / 1000),
                static_cast<int>(ns % 1000));
  return text.data();
}

std::string metadata(const char* what, int64_t pid, int64_t thread, const std::string& argument) {
  return str_cat(",\n{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", thread,
                 ",\"args\":{", argument, "}}");
}

}  // namespace

Totals Session::write(const std::string& path, const std::vector<uint32_t>& owners) {
  std::vector<Buffer*> buffers;
  std::vector<LabelText> texts;
  {
    const std::lock_guard lock(mutex());
    for (const auto& buffer : shared_->buffers) buffers.push_back(buffer.get());
    texts = labels().texts;
  }
  const auto wanted = [&](uint32_t owner) {
    return owners.empty() || owner == 0 ||
           std::find(owners.begin(), owners.end(), owner) != owners.end();
  };
  const int64_t pid = getpid();
  Totals totals;
  Writer file(path);
  file.put(
      str_cat("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":"
              "\"process_name\",\"pid\":",
              pid,
              ",\"tid\":0,\"args\":{\"name\":"
              "\"torchdali\"}}"));
  for (Buffer* buffer : buffers) {
    const size_t count = buffer->count.load(std::memory_order_acquire);
    totals.dropped += buffer->dropped.get();
    std::string source;  // the name of the sample that the events belong to
    int64_t source_end = 0;
    bool named = false;
    // Events are recorded when they end, so a sample follows its steps. Sorting puts it, and its
    // name, first.
    std::vector<std::pair<Event, size_t>> events;
    for (size_t at = 0; at < count;) {
      Event event;
      std::memcpy(&event, buffer->slot(at).bytes.data(), sizeof(event));
      const size_t text_slots = (event.text_size + kSlotBytes - 1) / kSlotBytes;
      if (wanted(event.owner)) events.emplace_back(event, at + 1);
      at += 1 + text_slots;
    }
    // Outer events first. Of two events with equal times, the outer one was recorded later.
    std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.first.start_ns, -a.first.ns, b.second) <
             std::tuple(b.first.start_ns, -b.first.ns, a.second);
    });
    for (const auto& [event, text_at] : events) {
      if (!named) {
        named = true;
        file.put(metadata("thread_name", pid, buffer->thread,
                          "\"name\":" + json_text(buffer->thread_name)));
      }
      ++totals.events;
      const LabelText& text = texts[event.label];
      const std::string head = str_cat(
          ",\n{\"name\":", json_text(text.name), ",\"cat\":", json_text(text.kind),
          ",\"pid\":", pid, ",\"tid\":", buffer->thread, ",\"ts\":", microseconds(event.start_ns));
      if (event.counter) {
        file.put(str_cat(head, ",\"ph\":\"C\",\"id\":", event.owner,
                         ",\"args\":{\"batches\":", event.ns, "}}"));
        continue;
      }
      if (event.text_size > 0) {
        source.clear();
        for (size_t done = 0; done < event.text_size; done += kSlotBytes)
          source.append(buffer->slot(text_at + done / kSlotBytes).bytes.data(),
                        std::min<size_t>(kSlotBytes, event.text_size - done));
        source_end = event.start_ns + event.ns;
      }
      std::string args = str_cat("\"pipeline\":", event.owner);
      if (event.iteration >= 0) args += str_cat(",\"iteration\":", event.iteration);
      if (event.sample >= 0) args += str_cat(",\"sample\":", event.sample);
      if (event.sample >= 0 && !source.empty() && event.start_ns < source_end)
        args += ",\"source\":" + json_text(source);
      if (event.bytes >= 0) args += str_cat(",\"bytes\":", event.bytes);
      if (!text.detail.empty()) args += ",\"location\":" + json_text(text.detail);
      file.put(str_cat(head, ",\"ph\":\"X\",\"dur\":", microseconds(event.ns), ",\"args\":{", args,
                       "}}"));
    }
  }
  if (totals.dropped > 0)
    file.put(str_cat(",\n{\"name\":\"", totals.dropped,
                     " events were dropped: the trace is full\","
                     "\"ph\":\"i\",\"s\":\"g\",\"pid\":",
                     pid, ",\"tid\":0,\"ts\":", microseconds(shared_->end_ns), "}"));
  file.put(str_cat("\n],\"otherData\":{\"dropped_events\":", totals.dropped,
                   ",\"begin_ns\":", shared_->begin_ns, ",\"end_ns\":", shared_->end_ns, "}}\n"));
  file.close();
  return totals;
}

}  // namespace torchdali::trace
