// Executable memory: new pages near given code, and single writes into code that runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "platform/span.h"

namespace blastoff::platform {

/// A free range of at least `bytes`, in whole pages. No byte of it is farther than `reach` from any byte of `code`. It
/// is reserved until map_code() or release(), and keeps away from where the heap grows. nullopt: there is none.
std::optional<Span> reserve_near(Span code, std::size_t bytes, std::uint64_t reach);

/// A free range of `bytes` that begins between `first` and `last`, both included, and lies in pages that are reserved
/// like those of reserve_near() and hold nothing else. Only some places are tried. nullopt: they are taken.
std::optional<Span> reserve_between(std::uintptr_t first, std::uintptr_t last, std::size_t bytes);

void release(Span reserved);

/// Whether there are threads beside the calling one, which may be running any code.
bool has_other_threads();

/// Copies `content` into a reserved range and makes it readable and executable. The memory is never writable and
/// executable at once. On failure, the reservation is released.
bool map_code(Span reserved, std::span<const std::byte> content);

/// Replaces bytes of privately mapped code. While this lives its pages are writable, and they stay executable
/// throughout, because other threads may be running on them. If the system forbids that (SELinux, PR_SET_MDWE), it
/// writes through /proc/self/mem.
class CodeWriter {
 public:
  explicit CodeWriter(Span code);
  ~CodeWriter();
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;

  /// Other threads that are about to run these bytes see all of them or none, if they lie in one word of eight bytes
  /// and the pages could be made writable. False: the system allows neither method; nothing has changed.
  bool write(std::uintptr_t address, std::span<const std::byte> content);

  /// Whether that is so for what lies in one word.
  bool writes_at_once() const { return protection_ != 0; }

 private:
  Span pages_;
  int protection_ = 0;  ///< as it was; 0: the pages were not made writable
};

}  // namespace blastoff::platform
