// The places of a call's matrices, as the line of --log calls shows them.
#pragma once

#include <span>
#include <string>

#include "residency/policy.h"

namespace blastoff::runtime {

/// For example "host > both, both, host > device": each matrix, before and after the call.
std::string text_of(std::span<const residency::MatrixPlaces> places);

}  // namespace blastoff::runtime
