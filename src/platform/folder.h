// Lists the content of a folder.
#pragma once

#include <string>
#include <vector>

namespace blastoff::platform {

/// The names in a folder, in no order, without "." and ".."; none if it cannot be read. (If memory runs out, the
/// iterators of std::filesystem end the process: they may not throw.)
std::vector<std::string> names_in(const std::string& folder);

}  // namespace blastoff::platform
