// What a library wrote into a plan when it made it. FFTW writes which transform it is, of which arrays.
//
// A plan may end where nobody tells us, and another one gets its address, perhaps also those of its parts. So a plan is
// taken for the one that is remembered if it says the same of itself at each execution. Then it computes the same,
// whichever of the two it is. MKL's plans hold a descriptor, and MKL tells what it says. Plans of other libraries
// are not known, and none of them is remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fft/dfti.h"
#include "fft/planner.h"

namespace blastoff::fft {

class Inscription {
 public:
  // Each reads the plan that `call` made. Nothing if it is not what that library writes for such a transform: the plan
  // may be that of another one, or of another version.
  static std::optional<Inscription> of_fftw(const void* handle, const PlannerCall& call);
  static std::optional<Inscription> of_mkl(const void* handle, const PlannerCall& call, DftiGetValue* ask);

  /// Whether `handle`, a plan that has not been destroyed, is inscribed like this. Some nanoseconds; of MKL's, some
  /// tenths of a microsecond.
  bool is_on(const void* handle) const;

 private:
  // FFTW's own structures (api/api.h, kernel/ifftw.h, dft/dft.h, rdft/rdft.h; the same from 3.3 to 3.3.10).
  struct Problem;
  struct Plan {
    const void* steps;
    const Problem* problem;
    int sign;
  };
  struct Loop {
    std::ptrdiff_t length, in_stride, out_stride;
    bool operator==(const Loop&) const = default;
  };
  struct Loops {
    int rank;
    Loop loops[Dimensions::most];  ///< as many as the rank says
    double points() const;
    bool operator==(const Loops& other) const;
  };
  struct Problem {
    const void* functions;  ///< of complex transforms, of real ones, ...; those of a library
    const Loops* dims;
    const Loops* batches;
    std::array<const void*, 4> arrays;  ///< beginning of real and imaginary parts on either side
    int real_kind;                      ///< of transforms of real numbers alone: the direction
  };

  /// A plan of MKL's (fftw3_mkl.h, which MKL comes with).
  struct MklPlan {
    void* descriptor;
    std::array<const void*, 4> arrays;      ///< in, out (none in place), and none
    std::array<const void*, 3> parameters;  ///< of transforms of real numbers to real numbers: none
    const void* execute;                    ///< a function for each direction
    bool operator==(const MklPlan&) const = default;
  };

  static bool is_legible(const Plan* plan);
  static bool is_legible(const Loops* loops);
  bool fits(const PlannerCall& call) const;
  void copy(const Plan& plan);
  bool is_on(const Plan& plan) const;

  MklPlan mkl_plan_{};
  std::optional<DftiDescription> mkl_;
  bool real_ = false;
  Plan plan_{};
  Problem problem_{};
  Loops dims_{};
  Loops batches_{};
};

}  // namespace blastoff::fft
