// Executable memory: new pages near given code, and single writes into code that is running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "platform/span.h"

namespace blastoff::platform {

/// A free range of at least `bytes`, in whole pages. No byte of it is farther than `reach` from any byte of `code`, and
/// it keeps away from the addresses to which the heap grows. It is reserved until map_code() or release(). nullopt if
/// there is no such range.
std::optional<Span> reserve_near(Span code, std::size_t bytes, std::uint64_t reach);

/// A free range of `bytes` that begins between `first` and `last`, both included. It lies in pages that hold nothing
/// else, and that are reserved as by reserve_near(). Only some places are tried; nullopt if they are taken.
std::optional<Span> reserve_between(std::uintptr_t first, std::uintptr_t last, std::size_t bytes);

void release(Span reserved);

/// Whether there are threads besides the calling one, which may be running any code.
bool has_other_threads();

/// Copies `content` to the begin of a reserved range, and makes the range readable and executable. The memory is
/// never writable and executable at once. On failure, the reservation is released.
bool map_code(Span reserved, std::span<const std::byte> content);

/// Code for a reserved range of whole pages.
struct CodePage {
  Span span;
  std::vector<std::byte> content;
  std::size_t offset = 0;  ///< of `content` in the range
};

/// Maps many pages, as map_code() does. If the system allows it, the code comes from a file in memory: then no page
/// changes its protection, which would interrupt all CPUs that run threads of this process. On failure, all
/// reservations are released.
bool map_pages_of_code(std::span<const CodePage> pages);

/// Replaces bytes of privately mapped code. While this lives its pages are writable, and they stay executable
/// throughout, because other threads may be running on them. If the system forbids that (SELinux, PR_SET_MDWE), it
/// writes through /proc/self/mem.
class CodeWriter {
 public:
  explicit CodeWriter(Span code);
  ~CodeWriter();
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;

  /// If the bytes lie in one word of eight bytes and the pages could be made writable, other threads that are about to
  /// run them see all of them or none. Returns false if the system allows neither method; then nothing has changed.
  bool write(std::uintptr_t address, std::span<const std::byte> content);

  /// Whether other threads see all or none of a write within one word.
  bool writes_at_once() const { return protection_ != 0; }

 private:
  Span pages_;
  int protection_ = 0;  ///< protection before; 0: the pages were not made writable
};

}  // namespace blastoff::platform
