#include <memory>

#include "fft/execution.h"
#include "fft/functional_check.h"
#include "fft/verification.h"
#include "operation/front_end.h"

namespace blastoff::fft {
namespace {

/// Indexed by front_end_routine(). An fftw_execute() counts as the function that executes the same plan on other
/// arrays.
constexpr const char* names[front_end_routines] = {"fftw_execute_dft",      "fftw_execute_dft_r2c",
                                                   "fftw_execute_dft_c2r",  "fftwf_execute_dft",
                                                   "fftwf_execute_dft_r2c", "fftwf_execute_dft_c2r"};

class FftwFrontEnd final : public operation::FrontEnd {
 public:
  constexpr FftwFrontEnd() = default;

  std::size_t routine_count() const override { return front_end_routines; }
  const char* routine_name(std::size_t routine) const override { return names[routine]; }
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
};

constinit FftwFrontEnd the_front_end;

}  // namespace

operation::FrontEnd& fftw() {
  return the_front_end;
}

}  // namespace blastoff::fft
