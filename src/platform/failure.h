// Why a system call failed, in words.
#pragma once

#include <string>

namespace blastoff::platform {

/// For example "what Permission denied"; `what` ends with a colon. If no descriptor was left, it names the limit.
std::string failure(const std::string& what, int error);

/// Whether the error means that no descriptor was left.
bool is_lack_of_descriptors(int error);

/// "" if a file can be opened now; else failure() of opening one.
std::string lack_of_descriptors();

/// Both reasons, or one if they are equal.
std::string both_reasons(const std::string& first, const std::string& second);

}  // namespace blastoff::platform
