#include "platform/failure.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "platform/descriptor.h"
#include "platform/errno_guard.h"

namespace blastoff::platform {

std::string failure(const std::string& what, int error) {
  std::array<char, 128> text{};
  std::string said = what + " " + strerror_r(error, text.data(), text.size());
  if (error == EMFILE) said += " (this process may open no more files: ulimit -n)";
  if (error == ENFILE) said += " (this system may open no more files: fs.file-max)";
  return said;
}

bool is_lack_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

std::string lack_of_descriptors() {
  const ErrnoGuard errno_stays;
  const Descriptor root(open("/", O_PATH | O_CLOEXEC));
  return !root && is_lack_of_descriptors(errno) ? failure("open:", errno) : "";
}

std::string both_reasons(const std::string& first, const std::string& second) {
  return first == second ? first : first + "; " + second;
}

}  // namespace blastoff::platform
