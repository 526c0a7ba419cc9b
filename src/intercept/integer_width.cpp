#include "intercept/integer_width.h"

#include <string>

namespace blastoff::intercept {

bool names_wide_integers(const char* library) {
  std::string name = library;
  name.erase(0, name.find_last_of('/') + 1);
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  if (name.find("ilp64") != std::string::npos) return true;
  if (name.find("lp64") != std::string::npos) return false;
  for (const char* const family : {"blas", "blis", "lapack", "atlas"}) {
    const std::size_t found = name.find(family);
    if (found == std::string::npos) continue;
    const std::size_t digits = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", found);
    if (digits != std::string::npos && name.compare(digits, 2, "64") == 0) return true;
  }
  return false;
}

}  // namespace blastoff::intercept
