// First-use by mirrors. When the device first uses a matrix, its pages get a copy in device memory. The copy stays, and
// the kernel's write tracking shows when it is out of date. What the CPU rewrites before every use is copied with every
// call instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/direct_copies.h"
#include "device/memory_pool.h"
#include "ledger/ledger.h"
#include "platform/threads.h"
#include "residency/fingerprint.h"
#include "residency/policy.h"
#include "residency/results.h"
#include "residency/staging.h"

namespace blastoff::residency {

namespace mirror {
class Pins;
}  // namespace mirror

/// The page locks on the program's memory, for the devices of a process together: at most `limit` bytes.
std::shared_ptr<mirror::Pins> create_pins(std::size_t limit);

/// How much of a result a panel holds: bytes, and columns or rows of a solve, since cuBLAS computes narrow ones less
/// efficiently however long they are. A panel is copied back while the next ones are computed, but small panels compute
/// less efficiently. For a triangular result the triangle's bytes count.
struct PanelSizes {
  std::size_t general = std::size_t{32} << 20;
  std::size_t triangular = std::size_t{8} << 20;
  std::size_t solve_width = 2000;
};

struct FirstUseSettings {
  std::shared_ptr<mirror::Pins> pins;  ///< of create_pins(); null: none of the program's memory is page-locked
  std::shared_ptr<device::DirectCopies> direct_copies;  ///< null: all comes from host memory
  std::shared_ptr<device::MemoryPool> buffers;          ///< for operands without a mirror, as for create_copy_policy()
  /// Bytes that a call must lack for other devices to be asked. That costs about as much as bringing so many.
  std::size_t min_borrowed = std::size_t{1} << 20;
  /// Seconds that a part of a split call waits for what others bring, besides what bringing it itself would take.
  double patience = 1e-3;
  /// Bytes of the largest matrix that is copied with every call, because the CPU keeps rewriting it. Larger ones have a
  /// mirror all the same.
  std::size_t max_copied = std::size_t{64} << 20;
  Results results = Results::home;
  bool verify = false;  ///< compare every page reused with host memory
  PanelSizes panels = {};
  /// Tells whether a matrix that is copied at every use has changed. A replay, which has no memory, has another one.
  std::function<std::uint64_t(const operation::Operand&)> fingerprint = residency::fingerprint;
};

/// Device memory is that of MemoryClient::mirrors. Operands that cannot be tracked or do not fit make begin() fail with
/// unsupported or out_of_memory: take the copy policy.
std::unique_ptr<Policy> create_first_use_policy(device::Device& device, Staging& staging, ledger::Ledger& ledger,
                                                const FirstUseSettings& settings);

}  // namespace blastoff::residency
