// The BLAS libraries of this process that compute on the CPU, and their versions and kernels.
#pragma once

#include <string>
#include <vector>

namespace blastoff::intercept {

struct CpuLibrary {
  std::string name;          ///< as Inspection::implementation
  std::string path;          ///< "" for the main program
  std::string version;       ///< "0.3.21"; "" if the library does not tell
  std::string kernels;       ///< the kernels that it runs, by its own name: "Haswell"; "" if the library does not tell
  bool has_several = false;  ///< it holds kernels for several processors
};

/// Returns the libraries in which BLAS functions were found, or whose files are named like a BLAS. Leaves out a library
/// that only passes its calls to another one of the list. Calls functions of these libraries that only read what was
/// set at loading. The result is kept until the next library is loaded or unloaded. Calls the dynamic linker.
std::vector<CpuLibrary> cpu_libraries();

/// The same for libraries with any file name; takes longer.
std::vector<CpuLibrary> all_cpu_libraries();

}  // namespace blastoff::intercept
