#include "platform/reserve.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>

namespace blastoff::platform {
namespace {

/// Bytes; pages that are never touched take no memory.
constexpr std::size_t reserve_bytes = std::size_t{1} << 20;
/// The part that only unwinding may use, after the rest has been used up.
constexpr std::size_t left_for_unwinding = reserve_bytes / 2;

[[gnu::tls_model("initial-exec")]] constinit thread_local int depth = 0;

alignas(std::max_align_t) constinit std::array<std::byte, reserve_bytes> reserve{};
constinit std::mutex mutex;
constinit std::size_t used = 0;
constinit std::size_t pieces = 0;

[[maybe_unused]] bool is_from_reserve(const void* memory) {
  const auto* const place = static_cast<const std::byte*>(memory);
  return place >= reserve.data() && place < reserve.data() + reserve.size();
}

/// Pieces are taken one behind the other. The space is free again when all pieces have been given back.
[[maybe_unused]] void* take_from_reserve(std::size_t bytes) {
  const bool unwinding = std::uncaught_exceptions() > 0;
  if (!unwinding && depth == 0) return nullptr;
  constexpr std::size_t alignment = alignof(std::max_align_t);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const std::lock_guard lock(mutex);
  const std::size_t room = unwinding ? reserve_bytes : reserve_bytes - left_for_unwinding;
  if (rounded < bytes || used > room || rounded > room - used) return nullptr;
  void* const piece = reserve.data() + used;
  used += rounded;
  ++pieces;
  return piece;
}

[[maybe_unused]] void give_back() {
  const std::lock_guard lock(mutex);
  if (--pieces == 0) used = 0;
}

}  // namespace

FromReserve::FromReserve() {
  ++depth;
}

FromReserve::~FromReserve() {
  --depth;
}

}  // namespace blastoff::platform

// This library's own operators, which no other code sees. A sanitizer has its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  if (void* const memory = blastoff::platform::take_from_reserve(bytes)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  if (blastoff::platform::is_from_reserve(memory))
    blastoff::platform::give_back();
  else
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
#endif
