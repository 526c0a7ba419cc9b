#include "device/simulated/copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#define BLASTOFF_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BLASTOFF_THREAD_SANITIZER 1
#endif
#endif

namespace blastoff::device::simulated {

#if defined(BLASTOFF_THREAD_SANITIZER)

// The empty assembly keeps the compiler from turning the loops back into a call of memcpy, which is intercepted.
__attribute__((no_sanitize("thread"), noinline)) void copy_bytes(void* destination, const void* source,
                                                                 std::size_t bytes) {
  struct [[gnu::packed, gnu::may_alias]] Word {
    std::uint64_t value;
  };
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), to += sizeof(Word), from += sizeof(Word)) {
    reinterpret_cast<Word*>(to)->value = reinterpret_cast<const Word*>(from)->value;
    asm volatile("" ::: "memory");
  }
  for (; bytes > 0; --bytes) {
    *to++ = *from++;
    asm volatile("" ::: "memory");
  }
}

#else

void copy_bytes(void* destination, const void* source, std::size_t bytes) {
  std::memcpy(destination, source, bytes);
}

#endif

void copy_columns(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                  std::size_t column_bytes, std::size_t columns) {
  if (column_bytes == 0 || columns == 0) return;
  if (destination_pitch == column_bytes && source_pitch == column_bytes) {
    copy_bytes(destination, source, column_bytes * columns);
    return;
  }
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  for (std::size_t column = 0; column < columns; ++column) {
    copy_bytes(to + column * destination_pitch, from + column * source_pitch, column_bytes);
  }
}

}  // namespace blastoff::device::simulated
