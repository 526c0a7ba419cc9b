// Families of routines with similar rates, in four precisions. A machine model has a rate for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace blastoff::decide {

/// A family carries the name of its typical routine. Files name a family as its enumerator.
enum class Family : std::uint8_t { gemm, syrk, trsm, gemv, getrf, potrf, geqrf, syevd, gesdd, fft };
inline constexpr std::size_t family_count = 10;

enum class Precision : std::uint8_t { s, d, c, z };
inline constexpr std::size_t precision_count = 4;

struct RateKey {
  Family family;
  Precision precision;
  bool operator==(const RateKey&) const = default;
};

/// Returns the family and precision of a BLAS or LAPACK routine or of a transform; nothing for a routine without a
/// family ("dgeev").
std::optional<RateKey> rate_key_of(std::string_view routine);

std::optional<Family> family_named(std::string_view name);
std::optional<Precision> precision_named(std::string_view name);

}  // namespace blastoff::decide
