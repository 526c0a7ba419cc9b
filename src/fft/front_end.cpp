#include <memory>

#include "fft/execution.h"
#include "fft/functional_check.h"
#include "fft/verification.h"
#include "operation/front_end.h"

namespace blastoff::fft {
namespace {

/// Indexed by front_end_routine(). An fftw_execute() counts as the function that executes the same plan on other
/// arrays.
constexpr const char* fftw_names[front_end_routines] = {"fftw_execute_dft",      "fftw_execute_dft_r2c",
                                                        "fftw_execute_dft_c2r",  "fftwf_execute_dft",
                                                        "fftwf_execute_dft_r2c", "fftwf_execute_dft_c2r"};

/// By the kinds of numbers in and out, as in the names of cuFFT.
constexpr const char* pocketfft_names[front_end_routines] = {"pocketfft_z2z", "pocketfft_d2z", "pocketfft_z2d",
                                                             "pocketfft_c2c", "pocketfft_r2c", "pocketfft_c2r"};

class FftFrontEnd final : public operation::FrontEnd {
 public:
  constexpr explicit FftFrontEnd(const char* const (&names)[front_end_routines]) : names_(names) {}

  std::size_t routine_count() const override { return front_end_routines; }
  const char* routine_name(std::size_t routine) const override { return names_[routine]; }
  std::string arguments(const operation::Operation& operation) const override {
    return text(plan_of(operation).transform);
  }
  // A transform cannot be cut: Cutting::none.
  std::vector<operation::Operation> pieces(const operation::Operation& operation, std::size_t) const override {
    return {operation};
  }
  std::unique_ptr<operation::Verification> verification(const operation::Operation& operation,
                                                        const operation::Host& host,
                                                        operation::Effort effort) const override {
    return effort == operation::Effort::quick ? check_by_functional(operation) : verify(operation, host);
  }

 private:
  const char* const* names_;
};

constinit FftFrontEnd fftw_front_end{fftw_names};
constinit FftFrontEnd pocketfft_front_end{pocketfft_names};

}  // namespace

operation::FrontEnd& fftw() {
  return fftw_front_end;
}

operation::FrontEnd& pocketfft() {
  return pocketfft_front_end;
}

}  // namespace blastoff::fft
