#include "platform/racing_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define BLASTOFF_INTERCEPTED_MEMCPY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define BLASTOFF_INTERCEPTED_MEMCPY 1
#endif
#endif

namespace blastoff::platform {

#if defined(BLASTOFF_INTERCEPTED_MEMCPY)

// The empty assembly keeps the compiler from turning the loops back into a call of memcpy, which is intercepted.
__attribute__((no_sanitize("thread"), no_sanitize("address"), noinline)) void racing_copy(void* destination,
                                                                                          const void* source,
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

void racing_copy(void* destination, const void* source, std::size_t bytes) {
  std::memcpy(destination, source, bytes);
}

#endif

}  // namespace blastoff::platform
