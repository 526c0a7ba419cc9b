// Text of one option's value: a description of what is accepted, and memory sizes as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/accepted.h"
#include "config/settings.h"

namespace blastoff::config {

/// Returns the choices of an option.
std::vector<std::string_view> split_choices(std::string_view words);

/// Describes in words what is accepted: "first-use or copy", "an integer from 0 to 256".
std::string describe_accepted(const Accepted& accepted);

/// Returns the shortest text that parses as `size`.
std::string format_memory(const MemorySize& size);

}  // namespace blastoff::config
