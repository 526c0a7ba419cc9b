// The library's own C functions (include/blastoff.h), by which the `blastoff` command asks the library.

#include "../include/blastoff.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "api/inspection_json.h"
#include "api/probe.h"
#include "api/reports.h"
#include "api/switch.h"
#include "calibration/calibration.h"
#include "config/settings.h"
#include "intercept/cpu_libraries.h"
#include "platform/contained.h"
#include "platform/process.h"
#include "platform/reserve.h"
#include "prediction/prediction.h"
#include "report/counter_file.h"
#include "report/json.h"
#include "report/marks.h"
#include "runtime/description.h"
#include "tracking/interposed/memory_events.h"
#include "tracking/memory_events.h"

namespace {

using blastoff::platform::contained;

/// Makes text that stays valid until the process ends. nullptr if it cannot be made.
template <class Make>
const char* lasting_text(Make make) noexcept {
  const blastoff::platform::FromReserve for_json;
  const char* text = nullptr;
  contained([&] { text = std::make_unique<std::string>(make()).release()->c_str(); });
  return text;
}

/// Makes text that the caller frees. nullptr if it cannot be made, or is empty.
template <class Make>
char* text_to_free(Make make) noexcept {
  const blastoff::platform::FromReserve for_json;
  char* copy = nullptr;
  contained([&] {
    const std::string text = make();
    if (!text.empty()) copy = strdup(text.c_str());
  });
  return copy;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const char* blastoff_version(void) {
  return BLASTOFF_VERSION;
}

[[gnu::visibility("default")]] const char* blastoff_options_json(void) {
  static const char* const text = lasting_text(blastoff::config::options_json);
  return text;
}

[[gnu::visibility("default")]] const char* blastoff_probe_json(void) {
  static const char* const text =
      lasting_text([] { return blastoff::api::probe_json(blastoff::config::read_settings()); });
  return text;
}

[[gnu::visibility("default")]] char* blastoff_counters_json(const char* path) {
  return text_to_free([&] { return blastoff::report::report_of_counter_file(path); });
}

[[gnu::visibility("default")]] void blastoff_remove_counters(const char* path) {
  try {
    blastoff::report::remove_counter_file(path);
  } catch (...) {  // the files then stay until the run ends
  }
}

[[gnu::visibility("default")]] int blastoff_counters_memory(int file, blastoff_memory* memory) {
  int status = -1;
  contained([&] {
    const auto kept = blastoff::report::memory_of_counter_file(file);
    if (!kept) return;
    *memory = {kept->device, kept->mirrored, kept->pinned, kept->staged, kept->to_device, kept->from_device};
    status = 0;
  });
  return status;
}

[[gnu::visibility("default")]] void blastoff_mark(const char* name) {
  contained([&] { blastoff::report::mark(name); });
}

[[gnu::visibility("default")]] int blastoff_global_rank(void) {
  return blastoff::platform::global_rank();
}

[[gnu::visibility("default")]] int blastoff_local_size(void) {
  return blastoff::platform::local_size();
}

[[gnu::visibility("default")]] const char* blastoff_report_path_json(const char* path) {
  return lasting_text([&] { return blastoff::api::report_path_json(path); });
}

[[gnu::visibility("default")]] int blastoff_write_report(const char* pattern, const char* report, int of_child) {
  bool written = false;
  contained([&] { written = blastoff::api::write_report(pattern, report, of_child != 0); });
  return written ? 0 : -1;
}

[[gnu::visibility("default")]] const char* blastoff_calibration_json(const char* host_library, double seconds,
                                                                     int quick) {
  const blastoff::calibration::Request request{
      .quick = quick != 0, .max_seconds = seconds, .host_library = host_library};
  return lasting_text(
      [&] { return blastoff::calibration::calibration_json(blastoff::config::read_settings(), request); });
}

[[gnu::visibility("default")]] int blastoff_enable(void) {
  bool on = false;
  contained([&] { on = blastoff::api::switch_on(); });
  return on ? 0 : -1;
}

[[gnu::visibility("default")]] void blastoff_disable(void) {
  contained([] { blastoff::api::switch_off(); });
}

[[gnu::visibility("default")]] int blastoff_enabled(void) {
  bool on = false;
  contained([&] { on = blastoff::api::is_on(); });
  return on ? 1 : 0;
}

[[gnu::visibility("default")]] char* blastoff_report_json(void) {
  return text_to_free(blastoff::api::report_now);
}

[[gnu::visibility("default")]] char* blastoff_counts_json(void) {
  return text_to_free(blastoff::api::counts_now);
}

[[gnu::visibility("default")]] char* blastoff_settings_json(int in_force) {
  return text_to_free([&] { return blastoff::api::settings_json(in_force != 0); });
}

[[gnu::visibility("default")]] const char* blastoff_prediction_json(const char* request) {
  return lasting_text(
      [&] { return blastoff::prediction::prediction_json(blastoff::config::read_settings(), request); });
}

[[gnu::visibility("default")]] void blastoff_memory_event(int kind, const void* begin, unsigned long bytes,
                                                          const void* moved_to) {
  using blastoff::tracking::MemoryEvent;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const auto what = kind == 0   ? MemoryEvent::Kind::unmapped
                    : kind == 1 ? MemoryEvent::Kind::moved
                                : MemoryEvent::Kind::dropped;
  contained([&] {
    blastoff::tracking::note_interposed_event(
        {what, {address, address + bytes}, reinterpret_cast<std::uintptr_t>(moved_to)});
  });
}

[[gnu::visibility("default")]] int blastoff_hears_of_memory(void) {
  bool tells = false;
  contained([&] { tells = blastoff::tracking::kernel_tells_of_memory().has_value(); });
  return tells ? 1 : 0;
}

[[gnu::visibility("default")]] const char* blastoff_cpu_json(void) {
  return lasting_text([] {
    return blastoff::report::cpu_json(blastoff::runtime::describe_cpu(blastoff::intercept::all_cpu_libraries()));
  });
}

[[gnu::visibility("default")]] const char* blastoff_inspect_json(const char* path) {
  return lasting_text([&] { return blastoff::api::inspection_json(path, std::nullopt); });
}

[[gnu::visibility("default")]] const char* blastoff_inspect_memory_json(const char* path, int memory,
                                                                        unsigned long bias) {
  return lasting_text([&] { return blastoff::api::inspection_json(path, blastoff::api::InMemory{memory, bias}); });
}
}
