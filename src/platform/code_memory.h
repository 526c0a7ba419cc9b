// Executable memory: new pages near given code, and single writes into code that runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "platform/span.h"

namespace blastoff::platform {

/// A free place of at least `bytes`, in whole pages, of which no byte is farther than `reach` from any byte of `code`,
/// reserved until map_code() or release(). Keeps away from where the heap grows. nullopt: there is none.
std::optional<Span> reserve_near(Span code, std::size_t bytes, std::uint64_t reach);

void release(Span reserved);

/// Puts `content`, readable and executable, into a reserved place. The memory is at no time writable and executable.
/// Where that fails the reservation is gone too.
bool map_code(Span reserved, std::span<const std::byte> content);

/// Replaces bytes of code that is mapped privately. Its pages are writable while this lives, and executable all the
/// time: other threads may be running on them. Where the system forbids that (SELinux, PR_SET_MDWE) it writes through
/// /proc/self/mem instead.
class CodeWriter {
 public:
  explicit CodeWriter(Span code);
  ~CodeWriter();
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;

  /// False: the system allows neither way, nothing has changed.
  bool write(std::uintptr_t address, std::span<const std::byte> content);

 private:
  Span pages_;
  int protection_ = 0;  ///< as it was; 0: the pages were not made writable
};

}  // namespace blastoff::platform
