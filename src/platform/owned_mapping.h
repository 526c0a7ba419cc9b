// Memory of ours that is unmapped when its owner ends.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "platform/span.h"

namespace blastoff::platform {

class OwnedMapping {
 public:
  OwnedMapping() = default;
  explicit OwnedMapping(Span span) : span_(span) {}
  OwnedMapping(OwnedMapping&& other) noexcept : span_(std::exchange(other.span_, Span{})) {}
  OwnedMapping(const OwnedMapping&) = delete;
  OwnedMapping& operator=(const OwnedMapping&) = delete;
  OwnedMapping& operator=(OwnedMapping&& other) noexcept {
    std::swap(span_, other.span_);
    return *this;
  }
  // Not munmap(), which we wrap ourselves.
  ~OwnedMapping() {
    if (!span_.empty()) syscall(SYS_munmap, span_.begin, span_.bytes());
  }

  Span span() const { return span_; }

 private:
  Span span_{};
};

}  // namespace blastoff::platform
