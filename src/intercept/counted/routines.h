// The routines that are only counted, and how their names are spelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace blastoff::intercept::counted {

enum class Family : std::uint8_t { level1, level2, pblas };

std::uint16_t routine_count();
std::string_view name_of(std::uint16_t routine);  ///< "dcopy"
Family family_of(std::uint16_t routine);

/// Returns the routine of a function with this name: "dcopy_", "cblas_dcopy", "scipy_cblas_zdotc_sub64_"; nullopt if it
/// is none. A plain "dcopy" might be a program's own function, and is none.
std::optional<std::uint16_t> routine_of(std::string_view symbol);

}  // namespace blastoff::intercept::counted
