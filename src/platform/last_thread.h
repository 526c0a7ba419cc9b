// The end of a process whose main thread has ended by pthread_exit(). The C library ends it by exit(0) when no thread
// is left, but Blastoff's threads are always left.
#pragma once

#include <string_view>

namespace blastoff::platform {

/// What is done where Blastoff's threads, and others that are there for them, outlive those of the program.
struct LastThread {
  /// Whether a thread with this name, which Blastoff has not started, is there for Blastoff only.
  bool (*is_for_blastoff)(std::string_view name);
  /// Ends the process by exit(0), in a thread that behaves as one of the program's from here on.
  void (*end)() noexcept;
};

/// To be called on the main thread when the library is loaded; elsewhere it does nothing. From now on, if the main
/// thread ends by pthread_exit() and Blastoff has started threads before or starts them later, the process ends when no
/// thread of the program is left.
void end_after(const LastThread& last);

/// A thread of Blastoff has been started.
void note_own_thread();

}  // namespace blastoff::platform
