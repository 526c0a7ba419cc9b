// Whether this thread is inside an original. Calls that an original makes to BLAS names are not intercepted.
#pragma once

namespace blastoff::abi {
namespace detail {

/// The frame that runs the outermost active original of this thread. A program may leave an original by longjmp, by an
/// exception or by cancellation. The stack grows down: a caller below that frame was called by the original, and a
/// caller above it shows that the original has been left.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local const char* outermost_original = nullptr;

[[gnu::always_inline]] inline const char* this_frame() {
  return static_cast<const char*>(__builtin_frame_address(0));
}

}  // namespace detail

/// True if the caller is an original, directly or not. Forgets an original that was left by longjmp.
[[gnu::always_inline]] inline bool inside_original() {
  if (detail::outermost_original == nullptr) [[likely]] {
    return false;
  }
  if (detail::this_frame() < detail::outermost_original) return true;
  detail::outermost_original = nullptr;
  return false;
}

/// Runs an original. It has no destructor, so a stack unwinder finds nothing to clean up here.
template <class Run>
[[gnu::always_inline]] inline void run_as_original(const Run& run) {
  const bool outermost = !inside_original();
  if (outermost) detail::outermost_original = detail::this_frame();
  run();
  if (outermost) detail::outermost_original = nullptr;
}

/// Marks the time in which an original runs. Lives in the frame that calls it, one at a time.
class Reentry {
 public:
  [[gnu::always_inline]] Reentry() : outermost_(!inside_original()) {
    if (outermost_) detail::outermost_original = detail::this_frame();
  }
  [[gnu::always_inline]] ~Reentry() {
    if (outermost_) detail::outermost_original = nullptr;
  }
  Reentry(const Reentry&) = delete;
  Reentry& operator=(const Reentry&) = delete;

 private:
  bool outermost_;
};

}  // namespace blastoff::abi
