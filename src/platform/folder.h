// What a folder holds.
#pragma once

#include <string>
#include <vector>

namespace blastoff::platform {

/// The names in a folder, in no order, without "." and ".."; none where it cannot be read. (The iterators of
/// std::filesystem end the process where memory runs out: they may not throw.)
std::vector<std::string> names_in(const std::string& folder);

}  // namespace blastoff::platform
