#include "runtime/loading.h"

#include <cstdint>
#include <cstdlib>

#include <pthread.h>

#include "config/settings.h"
#include "device/driver_sharing.h"
#include "fft/execution.h"
#include "intercept/confinement_observer.h"
#include "intercept/copies.h"
#include "intercept/counted/counted.h"
#include "intercept/evidence/evidence.h"
#include "intercept/front_ends.h"
#include "intercept/installation.h"
#include "intercept/loaded_objects.h"
#include "intercept/loading/library_observer.h"
#include "platform/ample_stack.h"
#include "platform/caller.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/last_thread.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "report/counter_file.h"
#include "report/recorder.h"
#include "runtime/distributed_call.h"
#include "runtime/process.h"
#include "runtime/python_transforms.h"
#include "tracking/system_calls/next.h"

namespace blastoff::runtime {

namespace {

std::chrono::steady_clock::time_point load_time;
std::uint64_t variables = 0;

intercept::Mode mode_named(config::InterceptName name) {
  switch (name) {
    case config::InterceptName::automatic: break;
    case config::InterceptName::patch: return intercept::Mode::patch;
    case config::InterceptName::preload: return intercept::Mode::preload;
  }
  return intercept::Mode::automatic;
}

intercept::counted::Families families_named(config::CountName name) {
  const bool all = name == config::CountName::all;
  return {.level1 = all || name == config::CountName::level1,
          .level2 = all,
          .pblas = all || name == config::CountName::pblas};
}

void note_library(const intercept::ObservedLibrary& library) {
  // The core of NumPy, which Python is about to load.
  if (!library.requested_by.empty() && library.name.starts_with("_multiarray_umath.")) take_python_transforms();
  if (!device::note_library({library.name, library.requested_by, library.needed})) return;
  if (Process* process = Process::existing()) process->share_driver();
}

/// Nobody knows who has opened the libraries that were there before Blastoff could see it, so the program is named.
void note_libraries_opened_before() {
  for (const intercept::LoadedObject& object : intercept::loaded_objects())
    note_library({object.name, "the program", {}});
}

void intercept_calls(intercept::Mode mode) {
  const bool from_the_start = intercept::hears_of_opening();
  intercept::install(mode);
  if (!from_the_start) note_libraries_opened_before();
}

/// In a thread of its own, after the last one of the program. Where exit() is not patched, nothing else waits for an
/// opening that is under way.
void end_process() noexcept {
  Process::before_exit();
  std::exit(0);
}

void prepare() {
  variables = config::fingerprint_of_variables();
  platform::remember_cpu_set();
  platform::remember_stderr();
  for (const intercept::RoutineTable* table : intercept::front_ends()) operation::add_front_end(table->front_end());
  operation::add_front_end(fft::dfti());
  add_python_transforms();
  if (!intercept::this_copy_acts()) {
    intercept::deactivate();
    return;
  }
  Opener::guard_main_thread();
  platform::end_after({.is_for_blastoff = device::is_drivers_thread_for_us, .end = end_process});
  tracking::system_calls::find_next();
  platform::prepare_callers();
  report::keep_counters_in(secure_getenv(config::run_directory_variable));
  intercept::observe_searches(keep_interceptors);
  intercept::observe_libraries(note_library);
  intercept::set_trusted(config::read_trusted_names());
  intercept::counted::begin(families_named(config::read_counted()), report::recorded_seconds);
  const intercept::Mode mode = mode_named(config::read_intercept_mode());
  intercept_calls(mode);
  if (mode != intercept::Mode::preload) Process::attend_confinement();
  attend_distributed_calls();
  Process::open_ahead();
}

/// Uses an ample stack, since a program may load the library on a thread with hardly any. If there is no memory for it,
/// functions that have not been patched are still reached by their names. errno is 0 when main() begins, and a program
/// may count on that.
[[gnu::constructor]] void load() {
  const platform::ErrnoGuard errno_stays;
  load_time = std::chrono::steady_clock::now();
  pthread_atfork(Process::before_fork, Process::after_fork_in_parent, Process::begin_child);
  // With elevated rights nothing is patched and no variable is read; the exported names pass calls on
  // (intercept/original.cpp).
  if (platform::has_elevated_rights()) return;
  if (!platform::run_with_ample_stack([] { prepare(); })) platform::say_out_of_memory();
}

}  // namespace

std::chrono::steady_clock::time_point loaded_at() {
  return load_time;
}

std::uint64_t variables_at_loading() {
  return variables;
}

void intercept_more() {
  if (intercept::installed_mode() != intercept::Mode::preload) return;
  const intercept::Mode mode = mode_named(config::read_intercept_mode());
  if (mode != intercept::Mode::preload) intercept_calls(mode);
}

void keep_interceptors() {
  const intercept::Effort effort = intercept::patching_effort();
  report::keep_interceptors({static_cast<std::uint32_t>(effort.objects), static_cast<std::uint32_t>(effort.functions)});
}

}  // namespace blastoff::runtime
