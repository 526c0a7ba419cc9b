// Why a system call failed, in words.
#pragma once

#include <string>

namespace blastoff::platform {

/// "what Permission denied"; `what` ends with a colon. Where no descriptor was left, it says which limit that is.
std::string failure(const std::string& what, int error);

/// Whether that error says that no descriptor was left.
bool is_lack_of_descriptors(int error);

/// "" as long as a file can be opened; else failure() of that.
std::string lack_of_descriptors();

/// Two reasons; one where they are the same.
std::string both_reasons(const std::string& first, const std::string& second);

}  // namespace blastoff::platform
