// SPDX-License-Identifier: Apache-2.0
#include "python/storage/python_transport.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

#include "core/threads/interruption.h"
#include "python/dropped_objects.h"

namespace torchdali {
namespace {

constexpr auto kSignalSlice = std::chrono::milliseconds(50);
// How long the exit of the interpreter waits for requests.
constexpr auto kExitGrace = std::chrono::seconds(2);

std::atomic<bool> shutting_down = false;
std::atomic<int> requests_in_python = 0;

// A request inside of Python. None begins after shut_down().
class InPython {
 public:
  InPython() {
    ++requests_in_python;
    if (!shutting_down) return;
    --requests_in_python;
    throw io::RemoteError("Python is shutting down", false);
  }
  ~InPython() { --requests_in_python; }
  InPython(const InPython&) = delete;
  InPython& operator=(const InPython&) = delete;
};

// Raises if the work of this thread is not wanted anymore, or for Ctrl-C in Python's main thread.
void check_interruption() {
  TORCHDALI_CHECK_KIND(kRuntime, !interrupted(), "the pipeline was closed");
  if (shutting_down) throw io::RemoteError("Python is shutting down", false);
  if (::getpid() != ::gettid()) return;  // signals are handled by the main thread
  check_signals();
}

// The bytes of an object with the buffer protocol, which lives as long as they do. It is released
// by a thread that has the GIL anyway: those that use the bytes would wait for it.
io::SharedBytes share_bytes(const nb::object& object) {
  const nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  Py_buffer buffer;
  if (!view.is_valid() || PyObject_GetBuffer(view.ptr(), &buffer, PyBUF_SIMPLE) != 0)
    throw nb::python_error();
  const auto* data = static_cast<const std::byte*>(buffer.buf);
  const auto size = static_cast<int64_t>(buffer.len);
  PyBuffer_Release(&buffer);  // the view keeps the memory in place
  if (size == 0) return {std::make_shared<std::byte[]>(0), 0};
  return {{keep_data(view), data}, size};
}

// calls.py returns what it was asked for, or a Failure.
void raise_failure(const nb::object& failure) {
  io::RemoteError error(encode_text(failure.attr("message")),
                        nb::cast<bool>(failure.attr("transient")),
                        encode_text(failure.attr("fix")));
  const nb::object cause = failure.attr("cause");
  if (!cause.is_none()) error.set_cause(keep_alive(cause));
  throw error;
}

io::RemoteObject to_object(const nb::handle& size, const nb::handle& etag) {
  return {.size = nb::cast<int64_t>(size), .etag = encode_text(etag)};
}

}  // namespace

void PythonTransport::call(const char* function,
                           const std::function<nb::object(const nb::object&)>& call,
                           const std::function<void(const nb::object&)>& convert) {
  const InPython in_python;
  const nb::gil_scoped_acquire gil;
  release_dropped();
  try {
    const nb::object module = nb::module_::import_("torchdali._storage.calls");
    const nb::object result = call(module.attr(function));
    if (nb::isinstance(result, module.attr("Failure"))) raise_failure(result);
    convert(result);
  } catch (const nb::python_error& e) {
    io::RemoteError error(nb::cast<std::string>(nb::str(e.value())), false,
                          "this is a fault of the backend of torchdali.storage");
    error.set_cause(keep_alive(e.value()));
    throw error;
  }
}

void PythonTransport::run(std::function<void()> request) {
  if (may_hang) return request();
  threads_.run(std::move(request), &check_interruption);
}

io::RemoteObject PythonTransport::stat(const std::string& url) {
  const auto found = std::make_shared<io::RemoteObject>();
  run([url, found] {
    call(
        "stat", [&](const nb::object& f) { return f(decode_path(url)); },
        [&](const nb::object& r) { *found = to_object(r[0], r[1]); });
  });
  return std::move(*found);
}

io::RemotePart PythonTransport::get(const std::string& url, int64_t offset, int64_t count) {
  const auto part = std::make_shared<io::RemotePart>();
  run([url, offset, count, part] {
    call(
        "get", [&](const nb::object& f) { return f(decode_path(url), offset, count); },
        [&](const nb::object& r) {
          part->bytes = share_bytes(r[0]);
          part->object = to_object(r[1], r[2]);
        });
  });
  return std::move(*part);
}

std::vector<std::string> PythonTransport::list(const std::string& folder) {
  const auto urls = std::make_shared<std::vector<std::string>>();
  run([folder, urls] {
    call(
        "list_objects", [&](const nb::object& f) { return f(decode_path(folder)); },
        [&](const nb::object& r) {
          for (const nb::handle url : r) urls->push_back(encode_text(url));
        });
  });
  return std::move(*urls);
}

void PythonTransport::sleep(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  for (auto now = std::chrono::steady_clock::now(); now < end;
       now = std::chrono::steady_clock::now()) {
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(end - now, kSignalSlice));
    check_interruption();
  }
}

void PythonTransport::begin_in_child() { requests_in_python = 0; }

void PythonTransport::shut_down() {
  shutting_down = true;
  const auto end = std::chrono::steady_clock::now() + kExitGrace;
  while (requests_in_python > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace torchdali
