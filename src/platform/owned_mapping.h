// Memory of ours that is unmapped when its owner ends.
#pragma once

#include "platform/span.h"

namespace blastoff::platform {

class OwnedMapping {
 public:
  OwnedMapping() = default;
  explicit OwnedMapping(Span span) : span_(span) {}
  OwnedMapping(OwnedMapping&& other) noexcept;
  OwnedMapping(const OwnedMapping&) = delete;
  OwnedMapping& operator=(const OwnedMapping&) = delete;
  OwnedMapping& operator=(OwnedMapping&& other) noexcept;
  ~OwnedMapping();

  /// Addresses without memory, as many as the span has. They lie like the span's in the page tables, so that the kernel
  /// can move large pages there whole. Empty if the kernel gives none.
  static OwnedMapping reserved_like(Span span);

  Span span() const { return span_; }

  /// Frees the memory behind a part of it, which holds zeros from then on.
  void free(Span part) const;

  /// Gives up the addresses from `end` on, without unmapping them: they may be somebody else's by now. Unmaps `rest`.
  void keep_only_until(std::uintptr_t end, Span rest);

 private:
  Span span_{};
};

}  // namespace blastoff::platform
