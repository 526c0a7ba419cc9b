// dlopen() and dlmopen() as the program sees them: the libraries that they load are patched before they return.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>

#include "intercept/installation.h"
#include "intercept/kept_objects.h"
#include "intercept/loaded_objects.h"
#include "intercept/loading/caller_search.h"
#include "intercept/loading/library_observer.h"
#include "intercept/loading/redirection.h"
#include "intercept/tail_call.h"
#include "platform/confinement.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/threads.h"

namespace {

using Dlopen = void* (*)(const char* file, int mode);
using Dlmopen = void* (*)(Lmid_t space, const char* file, int mode);
using namespace blastoff::intercept;

/// Called before the program opens a library. Notifies the observer, with the caller, unless the call only asks for a
/// library that is already open.
void prepare(const char* file, int mode, const void* caller) {
  const blastoff::platform::ErrnoGuard errno_stays;
  if (in_own_object(caller) || blastoff::platform::confined()) return;
  release_unused_objects();
  if ((mode & RTLD_NOLOAD) == 0) blastoff::platform::undisturbed([&] { tell_of_opening(file, caller); });
}

// Code that acts like the C library's functions, if these are redirected to the hooks.
constinit std::atomic<void*> original_dlopen{nullptr};
constinit std::atomic<void*> original_dlmopen{nullptr};

void* next_definition_of(const char* name, const std::atomic<void*>& original) {
  if (void* const redirected = original.load(std::memory_order_acquire)) return redirected;
  const blastoff::platform::ForkGuard guard;
  return dlsym(RTLD_NEXT, name);
}

Dlopen next_dlopen() {
  return reinterpret_cast<Dlopen>(next_definition_of("dlopen", original_dlopen));
}

Dlmopen next_dlmopen() {
  return reinterpret_cast<Dlmopen>(next_definition_of("dlmopen", original_dlmopen));
}

/// Whether the hook only jumps to the real function, which then sees the original caller. That is so if nothing new can
/// be loaded, if nothing is to be patched, if Blastoff itself calls, or if the program has forbidden itself system
/// calls.
bool leave_alone(const char* file, int mode, const void* caller) {
  return file == nullptr || *file == '\0' || (mode & RTLD_NOLOAD) != 0 || installed_mode() == Mode::preload ||
         in_own_object(caller) || blastoff::platform::confined();
}

std::optional<std::string> search(const void* caller, const char* file, long space) {
  std::optional<std::string> meant;
  blastoff::platform::undisturbed([&] {
    const blastoff::platform::ForkGuard guard;
    meant = as_meant_by(caller, file, space);
  });
  return meant;
}

[[gnu::noinline]] void* open_and_patch(const char* file, int mode, const void* caller) {
  const auto meant = search(caller, file, LM_ID_BASE);
  void* const handle = meant ? next_dlopen()(meant->c_str(), mode) : nullptr;
  const blastoff::platform::ErrnoGuard errno_stays;
  if (handle != nullptr) patch_new_objects();
  return handle;
}

[[gnu::noinline]] void* open_and_patch(Lmid_t space, const char* file, int mode, const void* caller) {
  const auto meant = search(caller, file, space);
  void* const handle = meant ? next_dlmopen()(space, meant->c_str(), mode) : nullptr;
  const blastoff::platform::ErrnoGuard errno_stays;
  if (handle != nullptr) patch_objects_beside(handle);
  return handle;
}

}  // namespace

// If the hook cannot open the library, it jumps to the real function, which sees the original caller. The real function
// may find more; otherwise it reports the error itself.
extern "C" {

// The header's dlopen() is noexcept, and clang makes no tail call in a noexcept function.
void* blastoff_dlopen(const char* file, int mode) __asm__("dlopen");
void* blastoff_dlmopen(Lmid_t space, const char* file, int mode) __asm__("dlmopen");

BLASTOFF_TAIL_CALLING void* blastoff_dlopen(const char* file, int mode) {
  const void* const caller = __builtin_return_address(0);
  prepare(file, mode, caller);
  void* const handle = leave_alone(file, mode, caller) ? nullptr : open_and_patch(file, mode, caller);
  if (handle != nullptr) return handle;
  BLASTOFF_TAIL_CALL next_dlopen()(file, mode);
}

BLASTOFF_TAIL_CALLING void* blastoff_dlmopen(Lmid_t space, const char* file, int mode) {
  const void* const caller = __builtin_return_address(0);
  prepare(file, mode, caller);
  void* const handle = leave_alone(file, mode, caller) ? nullptr : open_and_patch(space, file, mode, caller);
  if (handle != nullptr) return handle;
  BLASTOFF_TAIL_CALL next_dlmopen()(space, file, mode);
}
}

// The address of an exported name is that of the first definition in the process, which need not be ours.
extern "C" {
[[gnu::alias("dlopen"), gnu::visibility("hidden")]] void* blastoff_own_dlopen(const char* file, int mode);
[[gnu::alias("dlmopen"), gnu::visibility("hidden")]] void* blastoff_own_dlmopen(Lmid_t space, const char* file,
                                                                                int mode);
}

namespace blastoff::intercept {

bool hears_of_opening() {
  return original_dlopen.load(std::memory_order_acquire) != nullptr || in_own_object(dlsym(RTLD_DEFAULT, "dlopen"));
}

void hear_of_opening() {
  if (hears_of_opening()) return;
  redirect("dlopen", reinterpret_cast<void*>(&blastoff_own_dlopen), original_dlopen);
  redirect("dlmopen", reinterpret_cast<void*>(&blastoff_own_dlmopen), original_dlmopen);
}

}  // namespace blastoff::intercept
