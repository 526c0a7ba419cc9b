// The BLAS libraries of this process that compute on the CPU, and what they say of themselves.
#pragma once

#include <string>
#include <vector>

namespace blastoff::intercept {

struct CpuLibrary {
  std::string library;       ///< as Inspection::implementation
  std::string path;          ///< "" for the main program
  std::string version;       ///< "0.3.21"; "" where it does not tell
  std::string kernels;       ///< those that it runs, in its own words: "Haswell"; "" where it does not tell
  bool has_several = false;  ///< it holds kernels for several processors
};

/// Those of which functions were found, or whose file is named like a BLAS. One that only passes calls on to another of
/// them is left out. They are asked by functions that only read what was found out when they were loaded, and asked
/// again where something was loaded since. Calls the dynamic linker.
std::vector<CpuLibrary> cpu_libraries();

/// Whatever they are called; takes longer.
std::vector<CpuLibrary> all_cpu_libraries();

}  // namespace blastoff::intercept
