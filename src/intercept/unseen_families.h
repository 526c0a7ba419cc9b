// Arithmetic that Blastoff does not see: families of routines that the process can call and that no table takes.
#pragma once

#include <string>
#include <vector>

namespace blastoff::intercept {

/// An object of the process calls, or may call, routines of a family.
struct UnseenFamily {
  std::string family;    ///< as in unseen_families.def
  std::string function;  ///< one of the functions that the object imports
  std::string object;    ///< path; "" for the main program

  bool operator==(const UnseenFamily& other) const = default;
};

/// Returns each family once for each object that imports functions of it. Looks at the imports that the dynamic linker
/// has resolved: a function that is bound at its first call counts only after that call. The imports of the libraries
/// that offer such functions do not count. Reads memory only, some milliseconds' worth in a process with hundreds of
/// libraries.
std::vector<UnseenFamily> unseen_families();

}  // namespace blastoff::intercept
