#include "platform/code_memory.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "platform/descriptor.h"
#include "platform/mappings.h"

// glibc 2.38 and newer declare it.
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace blastoff::platform {
namespace {

/// By default, nothing is mapped below this address (vm.mmap_min_addr).
constexpr std::uintptr_t lowest_address = 0x10000;
// Addresses from here on belong to the kernel. A program has 47 or 48 bits of the addresses below, or more; whether an
// address can be used shows when it is reserved.
constexpr std::uintptr_t highest_address = std::uintptr_t{1} << 63;

std::size_t in_pages(std::size_t bytes) {
  return (bytes + page_size() - 1) / page_size() * page_size();
}

/// The range in `gap` that is nearest to `code`; empty if the gap is too small or too far.
Span nearest_place(Span gap, Span code, std::size_t bytes, std::uint64_t reach) {
  if (gap.empty() || gap.bytes() < bytes) return {};
  const bool below = gap.end <= code.begin;
  const std::uintptr_t begin = below ? gap.end - bytes : gap.begin;
  const std::uintptr_t distance = below ? code.end - begin : begin + bytes - code.begin;
  if (distance > reach) return {};
  return {begin, begin + bytes};
}

std::uintptr_t distance(Span place, Span code) {
  return place.end <= code.begin ? code.begin - place.end : place.begin - code.end;
}

bool reserve(Span place) {
  void* const wanted = reinterpret_cast<void*>(place.begin);
  void* const got = mmap(wanted, place.bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return true;
  // Kernels before 4.17 treat the address only as a hint.
  if (got != MAP_FAILED) munmap(got, place.bytes());
  return false;
}

bool write_all(int descriptor, std::span<const std::byte> content, off_t offset) {
  return pwrite(descriptor, content.data(), content.size(), offset) == static_cast<ssize_t>(content.size());
}

/// An executable file in memory. Older kernels do not know MFD_EXEC, and do not need it.
Descriptor open_code_file() {
  const int descriptor = memfd_create("blastoff-code", MFD_CLOEXEC | MFD_EXEC);
  return Descriptor(descriptor >= 0 ? descriptor : memfd_create("blastoff-code", MFD_CLOEXEC));
}

/// False if a file of that size exceeds the process's limit: SIGXFSZ would then end the process.
bool file_may_hold(std::size_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

/// A file in memory with the code of several pages, one after the other; empty: the system does not allow it.
Descriptor file_of_code(std::span<const CodePage> pages) {
  std::size_t bytes = 0;
  for (const CodePage& page : pages) bytes += page.span.bytes();
  if (!file_may_hold(bytes)) return Descriptor();
  Descriptor file = open_code_file();
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return Descriptor();
  std::size_t begin = 0;
  for (const CodePage& page : pages) {
    if (!write_all(file.get(), page.content, static_cast<off_t>(begin + page.offset))) return Descriptor();
    begin += page.span.bytes();
  }
  return file;
}

/// Works also on systems that do not allow memory that was writable to become executable.
bool map_from_file(std::span<const CodePage> pages) {
  const Descriptor file = file_of_code(pages);
  std::size_t begin = 0;
  for (const CodePage& page : pages) {
    void* const wanted = reinterpret_cast<void*>(page.span.begin);
    if (!file || mmap(wanted, page.span.bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file.get(),
                      static_cast<off_t>(begin)) != wanted)
      return false;
    begin += page.span.bytes();
  }
  return true;
}

bool map_anonymous_code(const CodePage& page) {
  void* const memory = reinterpret_cast<void*>(page.span.begin);
  if (mprotect(memory, page.span.bytes(), PROT_READ | PROT_WRITE) != 0) return false;
  std::ranges::copy(page.content, static_cast<std::byte*>(memory) + page.offset);
  return mprotect(memory, page.span.bytes(), PROT_READ | PROT_EXEC) == 0;
}

void clear_cache(const CodePage& page) {
  auto* const begin = reinterpret_cast<char*>(page.span.begin + page.offset);
  __builtin___clear_cache(begin, begin + page.content.size());
}

/// Reads a word of writable memory. If its page is absent or shared with the file, the page becomes this process's own
/// at once, and not as shared memory first: replacing a page that is present interrupts other CPUs.
[[gnu::no_sanitize_thread]] std::uint64_t read_to_write(std::uint64_t* word) {
  std::uint64_t value = 0;
  __atomic_compare_exchange_n(word, &value, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return value;
}

/// If the bytes lie in one word, other threads see all of them or none. (Not instrumented: ThreadSanitizer has no
/// shadow memory for code.)
[[gnu::no_sanitize_thread]] void write_at_once(std::uintptr_t address, std::span<const std::byte> content) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  const std::size_t offset = address % word_bytes;
  if (offset + content.size() > word_bytes) {
    std::memcpy(reinterpret_cast<void*>(address), content.data(), content.size());
    return;
  }
  auto* const word = reinterpret_cast<std::uint64_t*>(address - offset);
  std::uint64_t changed = read_to_write(word);
  std::memcpy(reinterpret_cast<std::byte*>(&changed) + offset, content.data(), content.size());
  __atomic_store_n(word, changed, __ATOMIC_RELEASE);
}

bool write_through_alias(std::uintptr_t address, std::span<const std::byte> content) {
  const Descriptor memory(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  return memory && write_all(memory.get(), content, static_cast<off_t>(address));
}

}  // namespace

std::optional<Span> reserve_near(Span code, std::size_t bytes, std::uint64_t reach) {
  const std::size_t size = in_pages(bytes);
  const auto heap_end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  std::vector<Span> places;
  std::uintptr_t gap_begin = lowest_address;
  const auto consider = [&](std::uintptr_t gap_end) {
    const Span gap{gap_begin, gap_end};
    const bool grows_into = gap.begin <= heap_end && heap_end < gap.end;
    const Span place = nearest_place(gap, code, size, reach);
    if (!place.empty() && !(grows_into && place.begin >= heap_end)) places.push_back(place);
  };
  Mappings mappings;
  for (const KernelMapping& mapping : mappings.all()) {
    if (mapping.span.begin >= highest_address) break;
    consider(mapping.span.begin);
    gap_begin = mapping.span.end;
  }
  consider(highest_address);
  std::sort(places.begin(), places.end(), [&](Span a, Span b) { return distance(a, code) < distance(b, code); });
  for (const Span place : places) {
    if (reserve(place)) return place;
  }
  return std::nullopt;
}

std::optional<Span> reserve_between(std::uintptr_t first, std::uintptr_t last, std::size_t bytes) {
  constexpr std::size_t max_tries = 64;
  constexpr std::uintptr_t room_to_grow = std::uintptr_t{1} << 29;  // the heap grows upwards, the stack downwards
  const auto heap_end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t stack = getauxval(AT_RANDOM);
  if (first < lowest_address || last < first || last >= highest_address) return std::nullopt;
  const std::size_t step = std::max((last - first) / max_tries / page_size() * page_size(), page_size());
  for (std::uintptr_t begin = first; begin <= last; begin += step) {
    const Span place{begin, begin + bytes};
    const bool grown_into =
        place.overlaps({heap_end, heap_end + room_to_grow}) || place.overlaps({stack - 2 * room_to_grow, stack});
    if (!grown_into && reserve(outward_to_pages(place))) return place;
  }
  return std::nullopt;
}

bool has_other_threads() {
  struct stat tasks {};
  constexpr nlink_t links_of_empty_directory = 2;
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > links_of_empty_directory + 1;
}

void release(Span reserved) {
  munmap(reinterpret_cast<void*>(reserved.begin), reserved.bytes());
}

bool map_code(Span reserved, std::span<const std::byte> content) {
  const CodePage page{reserved, {content.begin(), content.end()}};
  const bool mapped = map_anonymous_code(page) || map_from_file({&page, 1});
  if (mapped)
    clear_cache(page);
  else
    release(reserved);
  return mapped;
}

bool map_pages_of_code(std::span<const CodePage> pages) {
  if (pages.empty()) return true;
  const bool mapped = map_from_file(pages) || std::ranges::all_of(pages, map_anonymous_code);
  for (const CodePage& page : pages) {
    if (mapped)
      clear_cache(page);
    else
      release(page.span);
  }
  return mapped;
}

CodeWriter::CodeWriter(Span code) : pages_(outward_to_pages(code)) {
  Mappings mappings;
  const auto mapping = mappings.covering(pages_.begin);
  if (!mapping || !mapping->span.contains(pages_)) return;
  const int protection = (mapping->readable ? PROT_READ : 0) | (mapping->writable ? PROT_WRITE : 0) | PROT_EXEC;
  void* const memory = reinterpret_cast<void*>(pages_.begin);
  if (mprotect(memory, pages_.bytes(), protection | PROT_READ | PROT_WRITE) == 0) protection_ = protection;
}

CodeWriter::~CodeWriter() {
  if (protection_ != 0) mprotect(reinterpret_cast<void*>(pages_.begin), pages_.bytes(), protection_);
}

bool CodeWriter::write(std::uintptr_t address, std::span<const std::byte> content) {
  auto* const begin = reinterpret_cast<char*>(address);
  if (protection_ != 0) {
    write_at_once(address, content);
  } else if (!write_through_alias(address, content)) {
    return false;
  }
  __builtin___clear_cache(begin, begin + content.size());
  return true;
}

}  // namespace blastoff::platform
