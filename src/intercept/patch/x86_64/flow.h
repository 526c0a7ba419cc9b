// Checks whether the rest of a function allows its first instructions to be moved.
#pragma once

#include <cstddef>
#include <optional>

#include "intercept/patch/obstacle.h"
#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch::x86_64 {

/// Returns branch_back or jump_table if control may enter `function` at an offset within [begin, end). That range is
/// empty if only one instruction moves. Returns leaf if neither the function nor any code of its object that it calls
/// calls other objects, and unknown_instruction if it cannot be decoded.
std::optional<Obstacle> check_flow(const FunctionCode& function, std::size_t begin, std::size_t end);

}  // namespace blastoff::intercept::patch::x86_64
