// A file descriptor that closes itself.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "platform/file_identity.h"

namespace blastoff::platform {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }

  int get() const { return number_; }
  /// Releases the number without closing it.
  void forget() { number_ = -1; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// A descriptor of Blastoff's in the program's table, where the program may close or reuse its number at any time.
class GuardedDescriptor {
 public:
  GuardedDescriptor() = default;
  explicit GuardedDescriptor(Descriptor descriptor)
      : descriptor_(std::move(descriptor)), identity_(file_identity(descriptor_.get())) {}
  GuardedDescriptor(GuardedDescriptor&&) noexcept = default;
  GuardedDescriptor& operator=(GuardedDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(identity_, other.identity_);
    return *this;
  }
  ~GuardedDescriptor() {
    if (!intact()) descriptor_.forget();
  }

  /// The number, if it still refers to Blastoff's file; else -1.
  int get() const { return intact() ? descriptor_.get() : -1; }
  const FileIdentity& identity() const { return identity_; }

 private:
  bool intact() const { return identity_.open && file_identity(descriptor_.get()) == identity_; }

  Descriptor descriptor_;
  FileIdentity identity_;
};

/// Programs expect small numbers for their own descriptors, so Blastoff's get numbers from here on.
inline constexpr int out_of_programs_way = 700;

inline Descriptor out_of_the_way(Descriptor descriptor) {
  const int moved = fcntl(descriptor.get(), F_DUPFD_CLOEXEC, out_of_programs_way);
  return moved < 0 ? std::move(descriptor) : Descriptor(moved);
}

/// Makes the process's table large enough for these numbers. If several threads share the table, the kernel waits for
/// all CPUs before it uses a larger one: 10 to 15 ms on a node with 16 cores.
inline void make_room_out_of_the_way() {
  const GuardedDescriptor any(Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const GuardedDescriptor moved(Descriptor(fcntl(any.get(), F_DUPFD_CLOEXEC, out_of_programs_way)));
}

}  // namespace blastoff::platform
