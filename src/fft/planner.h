// The arguments of FFTW's planners.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fft/routine.h"
#include "fft/transform.h"

namespace blastoff::fft {

/// What a planner was asked for.
struct PlannerCall {
  Transform transform;
  void* in = nullptr;
  void* out = nullptr;
};

/// `words` are the arguments of a planner, as many as its row says. Integers behind the addresses of a Fortran call
/// have `integer_bytes` bytes, 4 or 8; those of C are always an int. Nothing for what a Transform does not hold.
std::optional<PlannerCall> parse(const RoutineRow& planner, std::span<void* const> words, std::size_t integer_bytes);

}  // namespace blastoff::fft
