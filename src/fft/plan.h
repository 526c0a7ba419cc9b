// A plan of the program's: what it computes, and how its own library computes it.
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

/// Never changed once it is made.
struct Plan {
  void* handle = nullptr;                  ///< the library's plan
  std::optional<Inscription> inscription;  ///< what the library has written there
  Transform transform;
  void* in = nullptr;  ///< the arrays that were planned
  void* out = nullptr;
  NewArrayExecute execute;
  Footprint in_footprint;
  Footprint out_footprint;  ///< of a transform in place: the same, common_footprint()
  operation::Work work;
  std::uint64_t shape = 0;  ///< operation::Operation::shape

  bool in_place() const { return transform.request.in_place; }
  /// In place, both sides are an array of complex numbers.
  std::size_t in_element_bytes() const;
  std::size_t out_element_bytes() const;
};

/// Nothing if its arrays' elements are no matrices.
std::optional<Plan> make_plan(void* handle, const PlannerCall& call, const NewArrayExecute& execute);

/// A transform, for the decision between CPU and device.
operation::Work work_of(const Transform& transform);

}  // namespace blastoff::fft
