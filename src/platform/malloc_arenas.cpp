#include "platform/malloc_arenas.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "platform/mappings.h"

namespace blastoff::platform {
namespace {

/// glibc's HEAP_MAX_SIZE: the heaps of arenas are aligned to it, and not longer.
constexpr std::uintptr_t arena_bytes = std::uintptr_t{64} << 20;

/// Where the heap that grows by brk begins: field 47 of /proc/self/stat. 0: not known.
std::uintptr_t heap_begin() {
  std::ifstream file("/proc/self/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int number = 3; number < 47; ++number) fields >> field;
  std::uintptr_t begin = 0;
  fields >> begin;
  return begin;
}

/// What glibc's allocator has in front of a block (mchunk_prev_size and mchunk_size of malloc.c).
struct MallocChunk {
  std::uintptr_t left_out;  ///< of the mapping's begin, to align the block
  std::uintptr_t size;      ///< with flags in its lowest bits
};

/// Where a function is defined, for all; nullptr: not known. A program that is not position-independent and takes a
/// function's address has a stub of it, which dlsym() returns.
const void* definition_of(const char* function) {
  const void* const found = dlsym(RTLD_DEFAULT, function);
  Dl_info info;
  void* symbol = nullptr;
  if (found == nullptr || dladdr1(found, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return nullptr;
  return static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF ? nullptr : found;
}

}  // namespace

std::string other_allocator() {
  Dl_info c_library;
  Dl_info allocator;
  // Not by its address, which is that of an entrance of ours.
  if (dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &c_library) == 0) return {};
  for (const char* const function : {"malloc", "calloc", "realloc", "memalign"}) {
    const void* const definition = definition_of(function);
    if (definition == nullptr || dladdr(definition, &allocator) == 0) continue;
    if (allocator.dli_fbase == c_library.dli_fbase) return {};
    const std::string path(allocator.dli_fname);
    return path.substr(path.rfind('/') + 1);
  }
  return "the program";
}

// The part of an arena's heap that is in use is writable from its beginning on, in one mapping or in some. Memory up to
// the heap's end is reserved behind it, without access, unless all of the heap is in use. The kernel may have joined
// the first mapping with memory right below it, and other mappings may begin at such an address, too.
bool in_malloc_arena(Span span) {
  static const std::uintptr_t heap = heap_begin();
  if (span.overlaps({heap, reinterpret_cast<std::uintptr_t>(sbrk(0))})) return true;
  if (span.bytes() >= arena_bytes) return false;
  const std::uintptr_t arena = span.begin / arena_bytes * arena_bytes;
  Mappings mappings;
  auto mapping = mappings.covering(arena);
  if (!mapping) return false;
  const bool begins = mapping->span.begin == arena;
  const std::uintptr_t end = arena + arena_bytes;
  while (mapping && mapping->writable && mapping->kind == MemoryKind::anonymous) {
    if (begins && mapping->span.end >= end) return true;
    mapping = mappings.covering(mapping->span.end);
  }
  const bool reserved = mapping && !mapping->readable && !mapping->writable && mapping->file == FileNumber{};
  return reserved && mapping->span.begin > span.begin && mapping->span.begin < end && mapping->span.end >= end;
}

// Sanitizers forbid to read what is the allocator's.
[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] std::uintptr_t end_of_malloc_mapping(std::uintptr_t address) {
  constexpr std::uintptr_t flags = 7;
  constexpr std::uintptr_t mapped_flag = 2;
  const std::uintptr_t page = page_size();
  if (address % page < sizeof(MallocChunk) || address % alignof(MallocChunk) != 0) return 0;
  const std::uintptr_t begin = address - sizeof(MallocChunk);
  const volatile auto& chunk = *reinterpret_cast<const volatile MallocChunk*>(begin);
  const std::uintptr_t end = begin + (chunk.size & ~flags);
  const bool mapped = (chunk.size & flags) == mapped_flag && chunk.left_out < page && end >= begin + page &&
                      (begin - chunk.left_out) % page == 0 && end % page == 0;
  return mapped ? end : 0;
}

}  // namespace blastoff::platform
