// A plan of the program's: what it computes, and which function of its library executes it.
#pragma once

#include <cstdint>
#include <optional>

#include "fft/footprint.h"
#include "fft/inscription.h"
#include "fft/planner.h"
#include "fft/routine.h"
#include "operation/operation.h"

namespace blastoff::fft {

/// The library's function that executes a plan on other arrays.
struct NewArrayExecute {
  void* function = nullptr;  ///< nullptr: there is none
  Style style = Style::c;
};

/// Never changed after it has been made.
struct Plan {
  void* handle = nullptr;                  ///< the library's plan
  std::optional<Inscription> inscription;  ///< what the library has written into the plan
  Transform transform;
  void* in = nullptr;  ///< the input array for which the plan was made
  void* out = nullptr;
  NewArrayExecute execute;
  Footprint in_footprint;
  Footprint out_footprint;  ///< for a transform in place, both are common_footprint()
  operation::Work work;
  std::uint64_t shape = 0;  ///< see operation::Operation::shape

  bool in_place() const { return transform.request.in_place; }
  /// For a transform in place, input and output are the same array of complex numbers.
  std::size_t in_element_bytes() const;
  std::size_t out_element_bytes() const;
};

/// Nothing if the elements of its arrays do not form matrices.
std::optional<Plan> make_plan(void* handle, const PlannerCall& call, const NewArrayExecute& execute);

/// Returns the work of a transform, for the decision between CPU and device.
operation::Work work_of(const Transform& transform);

}  // namespace blastoff::fft
