// The copy policy: every call uploads its operands and copies its results back. The copies overlap with each other and
// with arithmetic.
#pragma once

#include <memory>

#include "device/memory_pool.h"
#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency {

/// `buffers`: device memory of MemoryClient::copies, which the policies of a device share; null: a pool of its own.
std::unique_ptr<Policy> create_copy_policy(device::Device& device, Staging& staging,
                                           std::shared_ptr<device::MemoryPool> buffers = nullptr);

/// A pool for create_copy_policy().
std::shared_ptr<device::MemoryPool> create_buffers(device::Device& device);

}  // namespace blastoff::residency
