#include "launcher/routine_names.h"

#include "blas/routine.h"
#include "blas/vector_routine.h"
#include "fft/routine_names.h"
#include "lapack/routine.h"
#include "scalapack/routine.h"

namespace blastoff::launcher {

std::vector<std::string> routine_names() {
  std::vector<std::string> names;
  const auto append = [&](const auto& rows) {
    for (const auto& row : rows) names.emplace_back(row.name);
  };
  append(blas::routine_table);
  append(lapack::routine_table);
  append(scalapack::routine_table);
  append(blas::vector_routine_table);
  names.insert(names.end(), std::begin(fft::fftw_names), std::end(fft::fftw_names));
  names.insert(names.end(), std::begin(fft::dfti_names), std::end(fft::dfti_names));
  names.insert(names.end(), std::begin(fft::pocketfft_names), std::end(fft::pocketfft_names));
  return names;
}

}  // namespace blastoff::launcher
