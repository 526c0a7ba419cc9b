// Whether this thread is inside an original. Calls that an original makes to BLAS names are not intercepted.
//
// A program may leave an original by longjmp, by an exception, by switching to another stack or by cancellation. Nobody
// tells us, and the frame that ran the original may stay in memory unchanged while later calls come from deeper frames.
// So a frame proves nothing by what it holds: it must be found among those to which the caller will return.
#pragma once

namespace blastoff::abi {
namespace detail {

/// By its frame's address, the call of run_marked() that runs the outermost original of this thread.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local const void* outermost_original = nullptr;

/// Runs body(self, mark). The mark is the address of the frame that does so. There is nothing in it that a stack
/// unwinder would have to clean up.
[[gnu::noinline]] void run_marked(void (*body)(const void* self, const void* mark), const void* self);

/// inside_original(), where an original was begun and may have been left.
[[gnu::noinline]] bool still_inside_original();

}  // namespace detail

/// Whether the caller was called, directly or not, by the function that run_marked() ran with that mark and that has
/// not been left. A chain of calls that was seen before takes some nanoseconds, a new one some microseconds.
[[gnu::noinline]] bool is_called_below(const void* mark);

/// Runs body(mark): what it calls is recognised by is_called_below(mark).
template <class Body>
[[gnu::always_inline]] inline void run_marked(const Body& body) {
  detail::run_marked([](const void* self, const void* mark) { (*static_cast<const Body*>(self))(mark); }, &body);
}

/// True if the caller is an original, directly or not. Forgets an original that was left.
[[gnu::always_inline]] inline bool inside_original() {
  return detail::outermost_original != nullptr && detail::still_inside_original();
}

/// Runs an original.
template <class Run>
[[gnu::always_inline]] inline void run_as_original(const Run& run) {
  if (inside_original()) return run();
  run_marked([&](const void* mark) {
    detail::outermost_original = mark;
    run();
    // Another original may have been begun on another stack meanwhile.
    if (detail::outermost_original == mark) detail::outermost_original = nullptr;
  });
}

}  // namespace blastoff::abi
