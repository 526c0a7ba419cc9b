// A file descriptor that closes itself.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

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
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Programs count on small numbers for descriptors of their own; ours goes where nobody looks.
inline Descriptor out_of_the_way(Descriptor descriptor) {
  constexpr int high = 700;
  const int moved = fcntl(descriptor.get(), F_DUPFD_CLOEXEC, high);
  return moved < 0 ? std::move(descriptor) : Descriptor(moved);
}

}  // namespace blastoff::platform
