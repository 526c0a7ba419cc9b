// Finds out whether this thread is inside an original. Calls that an original makes to BLAS names are not intercepted.
//
// A program may leave an original by longjmp, by an exception, by switching to another stack or by cancellation. We are
// not notified of that, and the frame that ran the original may stay in memory unchanged while later calls come from
// deeper frames. So the contents of a frame prove nothing: the frame must be among those to which the caller will
// return.
#pragma once

namespace blastoff::abi {
namespace detail {

/// The frame address of the run_marked() call that runs the outermost original of this thread.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local const void* outermost_original = nullptr;

/// Runs body(self, mark). The mark is the address of this function's frame. The frame holds nothing that a stack
/// unwinder would have to clean up.
[[gnu::noinline]] void run_marked(void (*body)(const void* self, const void* mark), const void* self);

/// The slow part of inside_original(), if an original was begun on this thread and may have been left.
[[gnu::noinline]] bool still_inside_original();

}  // namespace detail

/// Whether the run_marked() call with that mark is still running, and has called the caller directly or indirectly.
/// Takes some nanoseconds for a chain of calls that was seen before, and some microseconds for a new one.
[[gnu::noinline]] bool is_called_below(const void* mark);

/// Runs body(mark). is_called_below(mark) is true in the functions that `body` calls.
template <class Body>
[[gnu::always_inline]] inline void run_marked(const Body& body) {
  detail::run_marked([](const void* self, const void* mark) { (*static_cast<const Body*>(self))(mark); }, &body);
}

/// Whether an original has called the caller, directly or indirectly. Forgets an original that was left.
[[gnu::always_inline]] inline bool inside_original() {
  return detail::outermost_original != nullptr && detail::still_inside_original();
}

/// Runs an original; inside_original() is true in the functions that it calls.
template <class Run>
[[gnu::always_inline]] inline void run_as_original(const Run& run) {
  if (inside_original()) return run();
  run_marked([&](const void* mark) {
    detail::outermost_original = mark;
    run();
    // Another original may have been begun on another stack in the meantime.
    if (detail::outermost_original == mark) detail::outermost_original = nullptr;
  });
}

}  // namespace blastoff::abi
