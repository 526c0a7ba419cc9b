#include "residency/mirror/rewrites.h"

#include <algorithm>
#include <cstring>

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

namespace {

constexpr std::size_t most_remembered = 4096;

// FNV-1a over 64 real numbers spread over the operand. No race: other threads may not write the operand while a call
// uses it.
std::uint64_t fingerprint(const operation::Operand& operand) {
  std::uint64_t hash = 14695981039346656037ULL;
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
    hash = (hash ^ value) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace

bool Rewrites::worth_tracking(const operation::Operand& operand) {
  const auto found = matrices_.find(bounds(operand).begin);
  if (found == matrices_.end() || !found->second.copied) return true;
  Matrix& matrix = found->second;
  matrix.unchanged_uses = fingerprint(operand) == matrix.fingerprint ? matrix.unchanged_uses + 1 : 0;
  if (matrix.unchanged_uses < matrix.patience) return false;
  matrix.copied = false;
  matrix.unchanged_uses = 0;
  return true;
}

bool Rewrites::copied(const operation::Operand& operand) const {
  const auto found = matrices_.find(bounds(operand).begin);
  return found != matrices_.end() && found->second.copied;
}

void Rewrites::used(const operation::Operand& operand) {
  const auto found = matrices_.find(bounds(operand).begin);
  if (found != matrices_.end() && found->second.copied) found->second.fingerprint = fingerprint(operand);
}

bool Rewrites::rewritten(const operation::Operand& operand, std::size_t written, std::size_t pages) {
  // A few page faults cost too little to matter, and rewriting a small part is the case for which tracking pays.
  constexpr std::size_t few_pages = 16;
  if (written < few_pages || written * 2 < pages) return false;
  if (matrices_.size() > most_remembered) matrices_.clear();
  Matrix& matrix = matrices_[bounds(operand).begin];
  matrix.copied = true;
  matrix.unchanged_uses = 0;
  matrix.fingerprint = 0;
  matrix.patience = std::min(matrix.patience * 2, 1 << 20);
  return true;
}

void Rewrites::forget(platform::Span span) {
  for (auto matrix = matrices_.begin(); matrix != matrices_.end();)
    matrix = span.contains({matrix->first, matrix->first + 1}) ? matrices_.erase(matrix) : std::next(matrix);
}

}  // namespace blastoff::residency::mirror
