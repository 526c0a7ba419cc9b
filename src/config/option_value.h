// The text of one option's value: what is accepted, parsing, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.h"
#include "config/settings.h"

namespace blastoff::config {

/// Device names, as an ECMAScript regular expression for the launcher; parse_device() is its equal.
inline constexpr const char* device_pattern = "^(cuda|cuda:[0-9]{1,4}|simulated|none)$";

/// Where memory is placed, as the launcher takes it; allocator/settings.cpp is its equal.
inline constexpr const char* placement_pattern = "^(auto|huge-pages|at-malloc(=0*[1-9][0-9]{0,14}[KMGTkmgt]?)?|none)$";

/// The words of a choice.
std::vector<std::string_view> split_choices(std::string_view words);

/// What is accepted, in words: "first-use or copy", "an integer from 0 to 256".
std::string describe_accepted(const Accepted& accepted);

/// Position of `text` among the choices.
std::optional<std::size_t> parse_choice(const Accepted& accepted, std::string_view text);

std::optional<std::int64_t> parse_integer(const Accepted& accepted, std::string_view text);

/// "4G", "512M", "65536"; "80%" where the option takes a share. Suffixes are powers of 1024.
std::optional<MemorySize> parse_memory(const Accepted& accepted, std::string_view text);

bool parse_device(std::string_view text);

/// The shortest text that parse_memory() turns into `size`.
std::string format_memory(const MemorySize& size);

}  // namespace blastoff::config
