// Parses the arguments of FFTW's planners.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fft/routine.h"
#include "fft/transform.h"

namespace blastoff::fft {

/// The transform and the arrays for which a planner was called.
struct PlannerCall {
  Transform transform;
  void* in = nullptr;
  void* out = nullptr;
};

/// `words`: the arguments of a planner, as many as its row says. The integers of a Fortran call, which are passed by
/// address, have `integer_bytes` bytes, 4 or 8; those of C are always an int. Nothing if a Transform cannot represent
/// the call.
std::optional<PlannerCall> parse(const RoutineRow& planner, std::span<void* const> words, std::size_t integer_bytes);

}  // namespace blastoff::fft
