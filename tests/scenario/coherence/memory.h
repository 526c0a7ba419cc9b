// The memory that programs put matrices into, and what they do to it: every way in which bytes can change or vanish
// other than by a plain store.
#pragma once

#include <cstddef>

#include "random.h"

namespace coherence {

enum class Storage {
  heap,            ///< malloc: neighbours share its pages, or a mapping of its own when large
  aligned,         ///< aligned_alloc on a page
  mapping,         ///< mmap, private and anonymous
  huge_mapping,    ///< the same where huge pages were asked for
  shared_mapping,  ///< MAP_SHARED of a memfd
  private_file,    ///< MAP_PRIVATE of a memfd
  borrowed,        ///< static data, a stack, a part of somebody's array: only read and written
};
inline constexpr int owned_storages = 6;

const char* describe(Storage storage);

struct Buffer {
  Storage storage = Storage::borrowed;
  char* data = nullptr;
  std::size_t bytes = 0;
  char* map = nullptr;  ///< the mapping around data, if it is one of ours
  std::size_t map_bytes = 0;
  int file = -1;
};

/// Bytes that are not whole pages start at an odd offset into a mapping now and then.
Buffer allocate(Storage storage, std::size_t bytes, Random& random);
void release(Buffer& buffer);

/// An allocation for the test's own use, on pages that hold nothing else.
void* private_pages(std::size_t bytes);
void free_private_pages(void* address, std::size_t bytes);

/// Copies `bytes` into the buffer's memory through the kernel: read(2) of a file or pipe, a write to /proc/self/mem, or
/// process_vm_writev.
void write_by_kernel(char* destination, const char* source, std::size_t bytes, Random& random);

/// Does something to the buffer that leaves its contents alone, maybe at a new address: realloc, mremap, protection to
/// and fro, collapsing into huge pages.
void move_or_remap(Buffer& buffer, Random& random);

/// Takes the contents of the buffer away behind the program's back: fresh memory at the same address, madvise, pages
/// dropped. `expected` (same layout, readable and writable) is brought up to date with what the program must find.
void discard(Buffer& buffer, char* expected, Random& random);

/// Writes to the file beneath a mapping, `expected` likewise. False where there is none.
bool write_to_file(Buffer& buffer, char* expected, Random& random);

[[noreturn]] void fail_call(const char* what);

}  // namespace coherence
