// The kinds of memory in which programs put matrices, and every way in which its bytes can change or vanish other than
// by a plain store.
#pragma once

#include <cstddef>

#include "random.h"

namespace coherence {

enum class Storage {
  heap,            ///< malloc: shares pages with neighbours, or is a separate mapping if it is large
  aligned,         ///< aligned_alloc on a page
  mapping,         ///< mmap, private and anonymous
  huge_mapping,    ///< mmap, private and anonymous, with huge pages
  shared_mapping,  ///< MAP_SHARED of a memfd
  private_file,    ///< MAP_PRIVATE of a memfd
  borrowed,        ///< static data, a stack, or a part of another array: only read and written
};
inline constexpr int owned_storages = 6;

const char* describe(Storage storage);

struct Buffer {
  Storage storage = Storage::borrowed;
  char* data = nullptr;
  std::size_t bytes = 0;
  char* map = nullptr;  ///< the mapping around data, if we made it
  std::size_t map_bytes = 0;
  int file = -1;
};

/// If `bytes` is not a number of whole pages, the buffer sometimes begins at an odd offset in a mapping.
Buffer allocate(Storage storage, std::size_t bytes, Random& random);
void release(Buffer& buffer);

/// An allocation for the test itself, on separate pages.
void* private_pages(std::size_t bytes);
void free_private_pages(void* address, std::size_t bytes);

/// Copies `bytes` into the buffer's memory through the kernel: read(2) of a file or pipe, reading past the cache
/// (O_DIRECT), a write to /proc/self/mem, or process_vm_writev.
void write_by_kernel(char* destination, const char* source, std::size_t bytes, Random& random);

/// Does something to the buffer that keeps its contents, perhaps at a new address: realloc, mremap, changing the
/// protection and back, collapsing into huge pages.
void move_or_remap(Buffer& buffer, Random& random);

/// Discards contents of the buffer by fresh memory at the same address, madvise, or dropped pages. Updates `expected`
/// (same layout, readable and writable) to the contents that the program must find.
void discard(Buffer& buffer, char* expected, Random& random);

/// Writes to the file of a mapping, and updates `expected`. Returns false if there is no file.
bool write_to_file(Buffer& buffer, char* expected, Random& random);

[[noreturn]] void fail_call(const char* what);

}  // namespace coherence
