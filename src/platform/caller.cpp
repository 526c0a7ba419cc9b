#include "platform/caller.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "platform/descriptor.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"

namespace blastoff::platform {
namespace {

/// The part of glibc's struct dl_find_object that is used here
/// (https://sourceware.org/glibc/manual/latest/html_node/Dynamic-Linker-Introspection.html).
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* exception_frames;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void* address, FoundObject* result);

/// The functions that the interpreter's own fault handler uses: they take no lock and allocate nothing.
using DumpTraceback = void (*)(int file, void* thread_state);
using ThisThreadState = void* (*)();

constinit FindObject find_object = nullptr;
constinit DumpTraceback dump_traceback = nullptr;
constinit ThisThreadState this_thread_state = nullptr;

template <class Function>
void look_up(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

const link_map* map_of(const void* address) {
  if (find_object != nullptr) {
    FoundObject found{};
    return find_object(const_cast<void*>(address), &found) == 0 ? found.map : nullptr;
  }
  const ForkGuard guard;
  Dl_info info;
  void* map = nullptr;
  return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0 ? static_cast<const link_map*>(map) : nullptr;
}

constexpr std::string_view packages[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                         "/lib64/python3",  "\"<frozen",       "\"<__array_function__"};

bool is_of_package(std::string_view line) {
  return std::ranges::any_of(packages, [&](std::string_view part) { return line.find(part) != line.npos; });
}

/// Chooses a line of a traceback, whose lines are `  File "path", line 12 in function`, the innermost first.
std::string_view chosen_line(std::string_view traceback) {
  constexpr std::string_view start = "  File ";
  std::string_view innermost;
  while (!traceback.empty()) {
    const std::string_view line = traceback.substr(0, traceback.find('\n'));
    traceback.remove_prefix(std::min(line.size() + 1, traceback.size()));
    if (!line.starts_with(start)) continue;
    if (innermost.empty()) innermost = line;
    if (!is_of_package(line)) return line;
  }
  return innermost;
}

/// Rewrites a line as "path:12 in function".
std::string_view written(std::string_view line, char* text, std::size_t size) {
  constexpr std::string_view before_number = "\", line ";
  const std::size_t quote = line.find('"');
  const std::size_t end = line.rfind(before_number);
  if (quote == line.npos || end == line.npos || end <= quote) return {};
  const std::string_view path = line.substr(quote + 1, end - quote - 1);
  const std::string_view rest = line.substr(end + before_number.size()).substr(0, size / 2);
  const std::size_t room = size - rest.size() - 1;
  const std::string_view shown = path.substr(path.size() > room ? path.size() - room : 0);
  char* out = std::ranges::copy(shown, text).out;
  *out++ = ':';
  out = std::ranges::copy(rest, out).out;
  return {text, static_cast<std::size_t>(out - text)};
}

}  // namespace

void prepare_callers() {
  const ForkGuard guard;
  look_up(find_object, "_dl_find_object");
  look_up(dump_traceback, "_Py_DumpTraceback");
  look_up(this_thread_state, "PyGILState_GetThisThreadState");
}

CodePlace code_place(const void* address) {
  const link_map* const map = map_of(address);
  if (map == nullptr) return {.object = "?"};
  return {map->l_name, reinterpret_cast<std::uintptr_t>(address) - map->l_addr};
}

const void* object_record(const void* address) {
  return map_of(address);
}

Span object_span(const void* address) {
  FoundObject found{};
  if (find_object == nullptr || find_object(const_cast<void*>(address), &found) != 0) return {};
  return {reinterpret_cast<std::uintptr_t>(found.map_start), reinterpret_cast<std::uintptr_t>(found.map_end)};
}

bool executes_python() {
  return dump_traceback != nullptr && this_thread_state != nullptr && this_thread_state() != nullptr;
}

std::string_view python_line(char* text, std::size_t size) {
  const ErrnoGuard errno_stays;
  void* const state = dump_traceback == nullptr || this_thread_state == nullptr ? nullptr : this_thread_state();
  std::array<int, 2> ends{};
  if (state == nullptr || pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return {};
  const Descriptor reading(ends[0]);
  const Descriptor writing(ends[1]);
  if (reading.get() <= STDERR_FILENO || writing.get() <= STDERR_FILENO) return {};  // other threads may print to stderr
  dump_traceback(writing.get(), state);  // output that does not fit the pipe is lost
  std::array<char, 8192> traceback;
  const ssize_t length = read(reading.get(), traceback.data(), traceback.size());
  if (length <= 0) return {};
  return written(chosen_line({traceback.data(), static_cast<std::size_t>(length)}), text, size);
}

}  // namespace blastoff::platform
