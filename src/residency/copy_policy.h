// The copy policy: every call uploads its operands and copies its results back. The copies overlap with each other and
// with arithmetic.
#pragma once

#include <memory>

#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency {

/// Device memory is that of MemoryClient::copies, kept between calls.
std::unique_ptr<Policy> create_copy_policy(device::Device& device, Staging& staging);

}  // namespace blastoff::residency
