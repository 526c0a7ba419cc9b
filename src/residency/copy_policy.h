// The copy policy: every call uploads its operands and copies its results back. The copies overlap with each other and
// with arithmetic.
#pragma once

#include <memory>

#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency {

/// `device_memory`: bytes of device memory that the policy may hold for operands (buffers are kept between calls).
std::unique_ptr<Policy> create_copy_policy(device::Device& device, Staging& staging, std::size_t device_memory);

}  // namespace blastoff::residency
