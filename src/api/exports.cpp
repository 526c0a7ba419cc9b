// The library's own C functions (include/blastoff.h): what the `blastoff` command asks it.

#include "../include/blastoff.h"

#include <cstdint>
#include <optional>
#include <string>

#include "api/inspection_json.h"
#include "api/probe.h"
#include "config/settings.h"
#include "tracking/interposed/memory_events.h"
#include "tracking/memory_events.h"

namespace {

/// Text that stays valid until the process ends: made once, never destroyed. nullptr where it cannot be made.
template <class Make>
const char* lasting_text(Make make) noexcept {
  try {
    return (new std::string(make()))->c_str();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const char* blastoff_version(void) {
  return BLASTOFF_VERSION;
}

[[gnu::visibility("default")]] const char* blastoff_options_json(void) {
  static const char* const text = lasting_text(blastoff::runtime::options_json);
  return text;
}

[[gnu::visibility("default")]] const char* blastoff_probe_json(void) {
  static const char* const text =
      lasting_text([] { return blastoff::runtime::probe_json(blastoff::runtime::read_settings()); });
  return text;
}

[[gnu::visibility("default")]] void blastoff_memory_event(int kind, const void* begin, unsigned long bytes,
                                                          const void* moved_to) {
  using blastoff::platform::MemoryEvent;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const auto what = kind == 0   ? MemoryEvent::Kind::unmapped
                    : kind == 1 ? MemoryEvent::Kind::moved
                                : MemoryEvent::Kind::dropped;
  blastoff::platform::note_interposed_event(
      {what, {address, address + bytes}, reinterpret_cast<std::uintptr_t>(moved_to)});
}

[[gnu::visibility("default")]] int blastoff_hears_of_memory(void) {
  return blastoff::platform::kernel_tells_of_memory().has_value() ? 1 : 0;
}

[[gnu::visibility("default")]] const char* blastoff_inspect_json(const char* path) {
  return lasting_text([&] { return blastoff::runtime::inspection_json(path, std::nullopt); });
}

[[gnu::visibility("default")]] const char* blastoff_inspect_memory_json(const char* path, int memory,
                                                                        unsigned long bias) {
  return lasting_text([&] {
    return blastoff::runtime::inspection_json(path, blastoff::runtime::InMemory{memory, bias});
  });
}
}
