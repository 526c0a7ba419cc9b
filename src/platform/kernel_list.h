// Sets of numbers as the kernel writes them: "0-3,8".
#pragma once

#include <charconv>
#include <string_view>
#include <vector>

namespace blastoff::platform {

/// The members in their order; the list ends at text that is no number.
inline std::vector<int> parse_kernel_list(std::string_view text) {
  std::vector<int> members;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto [rest, error] = std::from_chars(at, end, first);
    if (error != std::errc{}) break;
    int last = first;
    if (rest < end && *rest == '-') rest = std::from_chars(rest + 1, end, last).ptr;
    for (int member = first; member <= last; ++member) members.push_back(member);
    at = rest < end && *rest == ',' ? rest + 1 : end;
  }
  return members;
}

}  // namespace blastoff::platform
