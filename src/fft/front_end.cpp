#include <memory>

#include "fft/execution.h"
#include "fft/functional_check.h"
#include "fft/routine_names.h"
#include "fft/verification.h"
#include "operation/front_end.h"

namespace blastoff::fft {
namespace {

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
constinit FftFrontEnd dfti_front_end{dfti_names};
constinit FftFrontEnd pocketfft_front_end{pocketfft_names};

}  // namespace

operation::FrontEnd& fftw() {
  return fftw_front_end;
}

operation::FrontEnd& dfti() {
  return dfti_front_end;
}

operation::FrontEnd& pocketfft() {
  return pocketfft_front_end;
}

}  // namespace blastoff::fft
