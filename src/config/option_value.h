// The text of one option's value: what is accepted, in words, and memory sizes back to text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/accepted.h"
#include "config/settings.h"

namespace blastoff::config {

/// The choices of an option.
std::vector<std::string_view> split_choices(std::string_view words);

/// What is accepted, in words: "first-use or copy", "an integer from 0 to 256".
std::string describe_accepted(const Accepted& accepted);

/// The shortest text that is read as `size`.
std::string format_memory(const MemorySize& size);

}  // namespace blastoff::config
