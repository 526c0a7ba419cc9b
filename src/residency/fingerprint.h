// Whether a matrix that is not tracked has been rewritten, as far as a look at some dozens of its elements tells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "platform/fnv_hash.h"
#include "residency/footprint.h"

namespace blastoff::residency {

/// The hash of 64 real numbers spread over the operand. No race: other threads may not write the operand while a call
/// uses it.
inline std::uint64_t fingerprint(const operation::Operand& operand) {
  platform::FnvHash hash;
  const std::int64_t samples = 64;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t column = operand.columns * i / samples;
    const platform::Span span = column_span(operand, column);
    if (span.bytes() < operand.element_size) continue;
    const std::size_t elements = span.bytes() / operand.element_size;
    const std::size_t row = static_cast<std::size_t>(i) * 0x9E3779B1U % elements;
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(span.begin) + row * operand.element_size,
                std::min(sizeof value, operand.element_size));
    hash.add(value);
  }
  return hash.value();
}

}  // namespace blastoff::residency
