// Which kernels the CPU's BLAS runs, and which the processor could run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platform/processor.h"

namespace blastoff::report {

/// A BLAS library of the process, as it describes itself.
struct CpuLibrary {
  std::string name;     ///< "OpenBLAS"
  std::string version;  ///< "0.3.21"; "" if the library does not tell
  std::string kernels;  ///< "Haswell", as the library names them; "" if it does not tell
  std::string path;
  bool has_several = false;     ///< it holds kernels for several processors, and chooses when it is loaded
  platform::Vectors vectors{};  ///< vector instructions of the kernels
  std::string coretype;         ///< value of OPENBLAS_CORETYPE that would choose better kernels; "" if none would
  std::string advice;           ///< a sentence about what to set or to install; "" if there is none
};

struct Cpu {
  platform::Processor processor;
  std::vector<CpuLibrary> libraries;
};

/// The vector instructions of a library's kernels.
platform::Vectors vectors_of(std::string_view library, std::string_view kernels);

/// Fills in vectors, coretype and advice. `chosen`: the present value of OPENBLAS_CORETYPE.
void judge(CpuLibrary& library, const platform::Processor& processor, std::string_view chosen);

/// "OpenBLAS 0.3.21, Prescott kernels (SSE)"
std::string describe(const CpuLibrary& library);

}  // namespace blastoff::report
