// What a library has written into a plan. FFTW writes which transform the plan computes, and for which arrays.
//
// A plan may be destroyed without our noticing. Another plan may then get its address, perhaps also the addresses of
// its parts. So at each execution, the plan must contain the same data as when it was remembered. If it does, it
// computes the same, even if it is another plan. MKL's plans hold a descriptor, and MKL tells what is in it. Plans of
// other libraries are not known, and are not remembered.
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
  // Each function reads the plan that `call` made. Nothing if the plan does not contain what this library writes for
  // such a transform: it may be a plan of another library, or of another version.
  static std::optional<Inscription> of_fftw(const void* handle, const PlannerCall& call);
  static std::optional<Inscription> of_mkl(const void* handle, const PlannerCall& call, DftiGetValue* ask);

  /// Whether `handle`, a plan that has not been destroyed, contains the same data. Takes some nanoseconds; for MKL,
  /// some tenths of a microsecond.
  bool is_on(const void* handle) const;

 private:
  // FFTW's own structures (api/api.h, kernel/ifftw.h, dft/dft.h, rdft/rdft.h; unchanged from 3.3 to 3.3.10).
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
    Loop loops[Dimensions::max_count];  ///< `rank` of them are used
    double points() const;
    bool operator==(const Loops& other) const;
  };
  struct Problem {
    const void* functions;  ///< a table of the library for one type of problem: complex transforms, real ones, ...
    const Loops* dims;
    const Loops* batches;
    std::array<const void*, 4> arrays;  ///< addresses of the first real and the first imaginary part, for input and
                                        ///< output
    int real_kind;                      ///< direction; only in problems of real numbers
  };

  /// A plan of MKL's (fftw3_mkl.h, which comes with MKL).
  struct MklPlan {
    void* descriptor;
    std::array<const void*, 4> arrays;      ///< input, output (nullptr in place), and two that are nullptr
    std::array<const void*, 3> parameters;  ///< only for transforms of real numbers to real numbers; otherwise nullptr
    const void* execute;                    ///< a function that differs by direction
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
