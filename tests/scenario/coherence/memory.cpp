#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace coherence {
namespace {

const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t huge_page = 2 << 20;
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

char* map_or_die(void* where, std::size_t bytes, int flags, int file) {
  void* result = mmap(where, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (result == MAP_FAILED) fail_call("mmap");
  return static_cast<char*>(result);
}

void write_all(int file, const char* source, std::size_t bytes, std::size_t offset) {
  while (bytes > 0) {
    const ssize_t written = pwrite(file, source, bytes, static_cast<off_t>(offset));
    if (written <= 0) fail_call("pwrite");
    source += written;
    offset += static_cast<std::size_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

void read_all(int file, char* destination, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = read(file, destination, bytes);
    if (count <= 0) fail_call("read");
    destination += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void read_from_file(char* destination, const char* source, std::size_t bytes) {
  const int file = memfd_create("source", 0);
  if (file < 0) fail_call("memfd_create");
  write_all(file, source, bytes, 0);
  read_all(file, destination, bytes);
  close(file);
}

/// The disk writes the whole pages of the destination itself.
void read_past_the_cache(char* destination, const char* source, std::size_t bytes) {
  const std::size_t first =
      whole_pages(reinterpret_cast<std::size_t>(destination)) - reinterpret_cast<std::size_t>(destination);
  const char* const directory = getenv("TMPDIR");
  const int file = open(directory != nullptr ? directory : "/tmp", O_TMPFILE | O_RDWR, 0600);
  const std::size_t length = bytes < first + page ? 0 : (bytes - first) / page * page;
  if (file < 0 || length == 0) {
    if (file >= 0) close(file);
    return read_from_file(destination, source, bytes);
  }
  write_all(file, source + first, length, 0);
  const bool direct = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_DIRECT) == 0;
  if (!direct || pread(file, destination + first, length, 0) != static_cast<ssize_t>(length)) {
    read_from_file(destination + first, source + first, length);  // not all file systems can
  }
  close(file);
  memcpy(destination, source, first);
  memcpy(destination + first + length, source + first + length, bytes - first - length);
}

void read_from_pipe(char* destination, const char* source, std::size_t bytes) {
  int ends[2];
  if (pipe(ends) != 0) fail_call("pipe");
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, page);
    if (write(ends[1], source, part) != static_cast<ssize_t>(part)) fail_call("write");
    read_all(ends[0], destination, part);
    source += part;
    destination += part;
    bytes -= part;
  }
  close(ends[0]);
  close(ends[1]);
}

/// The kernel does not wait here for a page whose result has stayed on the device, perhaps another thread's in the same
/// page: the program reads it first (docs/results.md).
void write_own_memory_file(char* destination, const char* source, std::size_t bytes) {
  const int file = open("/proc/self/mem", O_RDWR);
  if (file < 0) fail_call("open /proc/self/mem");
  for (std::size_t done = 0; done < bytes;) {
    *static_cast<volatile char*>(destination + done);
    const auto at = static_cast<off_t>(reinterpret_cast<std::size_t>(destination + done));
    const ssize_t written = pwrite(file, source + done, bytes - done, at);
    if (written < 0 && errno != EIO) fail_call("pwrite to /proc/self/mem");
    done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
  close(file);
}

void write_as_another_process(char* destination, const char* source, std::size_t bytes) {
  const iovec from{const_cast<char*>(source), bytes};
  const iovec to{destination, bytes};
  if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != static_cast<ssize_t>(bytes)) {
    memcpy(destination, source, bytes);  // forbidden in some containers
  }
}

/// Whole pages within the buffer, as offsets.
struct Pages {
  std::size_t begin;
  std::size_t end;
};
Pages pages_within(const Buffer& buffer, Random& random) {
  const auto address = reinterpret_cast<std::size_t>(buffer.data);
  const std::size_t first = whole_pages(address) - address;
  if (buffer.bytes < first + page) return {0, 0};
  const std::size_t count = (buffer.bytes - first) / page;
  const std::size_t begin = random.one_in(2) ? 0 : random.below(count);
  const std::size_t length = random.one_in(2) ? count - begin : 1 + random.below(count - begin);
  return {first + begin * page, first + (begin + length) * page};
}

/// Moves a private mapping elsewhere. Its old place is unmapped or gets new memory at once.
void move_mapping(Buffer& buffer, Random& random) {
  char* old = buffer.map;
  const std::size_t offset = static_cast<std::size_t>(buffer.data - buffer.map);
  // Advice for a part has split the mapping, and mremap() takes one mapping.
  madvise(old, buffer.map_bytes, buffer.storage == Storage::huge_mapping ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  void* moved = nullptr;
  if (random.one_in(2)) {
    char* target = map_or_die(nullptr, buffer.map_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    moved = mremap(old, buffer.map_bytes, buffer.map_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  } else {
    const std::size_t larger = buffer.map_bytes + page * (1 + random.below(8));
    moved = mremap(old, buffer.map_bytes, larger, MREMAP_MAYMOVE);
    buffer.map_bytes = larger;
  }
  if (moved == MAP_FAILED) fail_call("mremap");
  buffer.map = static_cast<char*>(moved);
  buffer.data = buffer.map + offset;
}

void reallocate(Buffer& buffer, Random& random) {
  // The next allocation often takes the old place of this one, with other contents.
  const std::size_t capacity = buffer.bytes + random.below(3) * 40000;
  void* moved = realloc(buffer.data, capacity);
  if (moved == nullptr) fail_call("realloc");
  buffer.data = static_cast<char*>(moved);
  if (random.one_in(4)) malloc_trim(0);
}

/// A lazily freed page holds its old contents or zeros until it is written. So writes each page and then reads it.
void free_lazily(Buffer& buffer, Pages pages, char* expected) {
  if (madvise(buffer.data + pages.begin, pages.end - pages.begin, MADV_FREE) != 0) return;
  for (std::size_t at = pages.begin; at < pages.end; at += page) {
    *static_cast<volatile char*>(buffer.data + at) = 1;
    memcpy(expected + at, buffer.data + at, page);
  }
}

void replace_mapping(Buffer& buffer, char* expected, Random& random) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (random.one_in(2)) {
    // The address is only a hint, since another thread of this program may take it in between.
    munmap(buffer.map, buffer.map_bytes);
    char* again = map_or_die(buffer.map, buffer.map_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    buffer.data = again + (buffer.data - buffer.map);
    buffer.map = again;
  } else {
    map_or_die(buffer.map, buffer.map_bytes, flags, -1);
  }
  memset(expected, 0, buffer.bytes);
}

}  // namespace

void fail_call(const char* what) {
  fprintf(stderr, "random_coherence: %s: %s\n", what, strerror(errno));
  _exit(2);
}

const char* describe(Storage storage) {
  switch (storage) {
    case Storage::heap: return "heap";
    case Storage::aligned: return "aligned heap";
    case Storage::mapping: return "mapping";
    case Storage::huge_mapping: return "huge mapping";
    case Storage::shared_mapping: return "shared mapping";
    case Storage::private_file: return "private file mapping";
    case Storage::borrowed: break;
  }
  return "borrowed";
}

Buffer allocate(Storage storage, std::size_t bytes, Random& random) {
  Buffer buffer{storage, nullptr, bytes, nullptr, 0, -1};
  if (storage == Storage::heap || storage == Storage::aligned) {
    void* memory = storage == Storage::heap ? malloc(bytes) : aligned_alloc(page, whole_pages(bytes));
    if (memory == nullptr) fail_call("malloc");
    buffer.data = static_cast<char*>(memory);
    return buffer;
  }
  const std::size_t offset = random.one_in(2) ? 0 : 16 * random.below(page / 16);
  buffer.map_bytes = whole_pages(bytes + offset);
  if (storage == Storage::huge_mapping) buffer.map_bytes = (buffer.map_bytes + huge_page - 1) / huge_page * huge_page;
  if (storage == Storage::shared_mapping || storage == Storage::private_file) {
    buffer.file = memfd_create("matrix", 0);
    if (buffer.file < 0 || ftruncate(buffer.file, static_cast<off_t>(buffer.map_bytes)) != 0) fail_call("memfd_create");
    buffer.map =
        map_or_die(nullptr, buffer.map_bytes, storage == Storage::private_file ? MAP_PRIVATE : MAP_SHARED, buffer.file);
  } else {
    buffer.map = map_or_die(nullptr, buffer.map_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (storage == Storage::huge_mapping) madvise(buffer.map, buffer.map_bytes, MADV_HUGEPAGE);
  }
  buffer.data = buffer.map + offset;
  return buffer;
}

void release(Buffer& buffer) {
  if (buffer.map != nullptr) {
    munmap(buffer.map, buffer.map_bytes);
    if (buffer.file >= 0) close(buffer.file);
  } else if (buffer.storage != Storage::borrowed) {
    free(buffer.data);
  }
  buffer = Buffer{};
}

void* private_pages(std::size_t bytes) {
  return map_or_die(nullptr, whole_pages(bytes), MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void free_private_pages(void* address, std::size_t bytes) {
  if (address != nullptr) munmap(address, whole_pages(bytes));
}

void write_by_kernel(char* destination, const char* source, std::size_t bytes, Random& random) {
  switch (random.below(5)) {
    case 0: return read_from_file(destination, source, bytes);
    case 1: return read_from_pipe(destination, source, bytes);
    case 3: return read_past_the_cache(destination, source, bytes);
    case 2: return write_own_memory_file(destination, source, bytes);
    default: return write_as_another_process(destination, source, bytes);
  }
}

void move_or_remap(Buffer& buffer, Random& random) {
  if (buffer.storage == Storage::heap) return reallocate(buffer, random);
  const bool private_mapping = buffer.storage == Storage::mapping || buffer.storage == Storage::huge_mapping;
  if (private_mapping && random.one_in(2)) return move_mapping(buffer, random);
  if (buffer.map == nullptr) return;
  if (private_mapping && random.one_in(2)) {
    madvise(buffer.map, buffer.map_bytes, MADV_COLLAPSE);
    return;
  }
  const Pages pages = pages_within(buffer, random);
  if (pages.begin == pages.end) return;
  if (mprotect(buffer.data + pages.begin, pages.end - pages.begin, PROT_READ) != 0 ||
      mprotect(buffer.data + pages.begin, pages.end - pages.begin, PROT_READ | PROT_WRITE) != 0) {
    fail_call("mprotect");
  }
}

void discard(Buffer& buffer, char* expected, Random& random) {
  const bool private_mapping = buffer.storage == Storage::mapping || buffer.storage == Storage::huge_mapping;
  if (private_mapping && random.one_in(2)) return replace_mapping(buffer, expected, random);
  const Pages pages = pages_within(buffer, random);
  const std::size_t length = pages.end - pages.begin;
  if (length == 0) return;
  if (buffer.storage != Storage::shared_mapping && buffer.storage != Storage::private_file && random.one_in(3)) {
    return free_lazily(buffer, pages, expected);
  }
  if (madvise(buffer.data + pages.begin, length, MADV_DONTNEED) != 0) fail_call("madvise");
  if (buffer.storage == Storage::private_file) {
    const auto offset = static_cast<off_t>(buffer.data - buffer.map + static_cast<std::ptrdiff_t>(pages.begin));
    if (pread(buffer.file, expected + pages.begin, length, offset) != static_cast<ssize_t>(length)) fail_call("pread");
  } else if (buffer.storage != Storage::shared_mapping) {
    memset(expected + pages.begin, 0, length);
  }
}

bool write_to_file(Buffer& buffer, char* expected, Random& random) {
  if (buffer.file < 0) return false;
  const std::size_t begin = random.below(buffer.bytes);
  const std::size_t length = 1 + random.below(std::min<std::size_t>(buffer.bytes - begin, 3 * page));
  // Writes zeros, since arbitrary bytes could form a number that is much larger than the others.
  char* zeros = static_cast<char*>(private_pages(length));
  write_all(buffer.file, zeros, length, static_cast<std::size_t>(buffer.data - buffer.map) + begin);
  free_private_pages(zeros, length);
  // Pages of a private mapping that were written before keep their contents, so reads what they hold.
  memcpy(expected + begin, buffer.data + begin, length);
  return true;
}

}  // namespace coherence
