// One call's acquisition of the pages of its operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/address.h"
#include "operation/operation.h"
#include "platform/span.h"
#include "residency/footprint.h"
#include "residency/mirror/mirror_memory.h"
#include "residency/mirror/pins.h"

namespace blastoff::residency::mirror {

/// Pages of one chunk on which a result lies.
struct ResultPages {
  std::size_t operand = 0;  ///< index of the result
  Chunk* chunk = nullptr;
  std::uintptr_t begin = 0;  ///< host address of the chunk
  PageBitmap filled = {};    ///< pages of which every byte belongs to the result
  PageBitmap shared = {};    ///< pages that also hold other data
};

/// Which operands may do without a mirror.
enum class Copied : std::uint8_t { none, small, any };

/// One call's acquisition of the pages of its operands.
struct PageAcquisition {
  template <class Value>
  using PerOperand = std::array<Value, operation::Operation::max_operands>;

  operation::Operation call;
  PerOperand<bool> tracked{};     ///< false: scratch, or not current at the next use, since the CPU keeps rewriting it
  PerOperand<bool> copied{};      ///< it has no mirror here, and the call brings it to device memory of its own
  PerOperand<bool> unwatched{};   ///< copied, being in memory that cannot be watched
  PerOperand<bool> registered{};  ///< the program itself shares its first or its last byte with the device
  PerOperand<bool> stays{};       ///< a result of which the whole pages stay on the device
  PerOperand<bool> unseen{};  ///< of these: nobody has looked whether its pages were written before they are given up
  PerOperand<bool> probes{};  ///< a result of which a piece is to stay there, the rest going home
  PerOperand<std::size_t> left{};  ///< bytes of the result that stay there
  bool updates_only_copy = false;  ///< the call reads and overwrites what only the device has
  std::string copied_because;      ///< why the latest of these cannot be watched
  Copied may_copy = Copied::any;
  bool past_mirrors = false;                ///< nothing is held: the call is to be made by copies
  std::vector<Backing*> backings;           ///< device memory that cannot be evicted meanwhile
  PerOperand<device::Address> addresses{};  ///< of the mirrored operands
  PerOperand<Pins::Pin*> pins{};            ///< copies to and from the operand may be direct
  struct Upload {
    platform::Span run;
    device::Address device = 0;
    bool fresh = false;    ///< nothing of these pages was current, nor does another call use it
    bool tracked = false;  ///< later writes are noticed, so that it stays current
  };
  std::vector<Upload> uploads;        ///< page runs that this call has to upload; none belongs to two operands
  PerOperand<std::uint64_t> found{};  ///< bytes of an operand that is read, as for bytes_reused
  std::uint64_t bytes_reused = 0;  ///< of operands that are read, current on the device without an upload by this call
  std::uint64_t bytes_rewritten = 0;  ///< of operands that are read, written by the CPU since an earlier use
  std::uint64_t page_faults = 0;      ///< of the CPU, writing pages of the operands since then, as far as scans tell
  std::optional<std::vector<ResultPages>> result_pages;  ///< of results that return directly, once they were looked for
  bool loading = false;                                  ///< uploads are under way
};

/// How a result returns to host memory.
enum class Return : std::uint8_t {
  direct,  ///< written by the device into pinned pages; the tracking does not see it
  staged,  ///< written by the CPU; the pages count as written
  none,    ///< it stays on the device; what lies on shared pages is written by the CPU
};
inline constexpr std::array ways = {Return::direct, Return::staged, Return::none};
inline Return return_of(const PageAcquisition& acquisition, std::size_t operand) {
  if (acquisition.stays[operand]) return Return::none;
  return acquisition.pins[operand] ? Return::direct : Return::staged;
}

/// The pages on which a vector of the program may lie.
inline platform::Span memory_of(const operation::HostVector& vector) {
  constexpr std::size_t longest = std::size_t{64} << 20;  // where its length is not known
  const auto begin = reinterpret_cast<std::uintptr_t>(vector.address);
  return platform::outward_to_pages({begin, begin + (vector.bytes > 0 ? vector.bytes : longest)});
}

/// Whether the device writes the operand, even if what it writes is not a result.
inline bool scribbles(operation::Intent intent) {
  return operation::writes(intent) || intent == operation::Intent::scratch;
}

/// Calls visit(index, first) for the operands that hold data; `first` is the index of the first one at that address.
template <class Visit>
void each_matrix(const operation::Operation& call, Visit&& visit) {
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!holds_data(operands[i])) continue;
    std::size_t first = 0;
    while (!holds_data(operands[first]) || operands[first].address != operands[i].address) ++first;
    visit(i, first);
  }
}

/// Calls visit(index, operand) for the operands that have a mirror.
template <class Visit>
void each_mirrored(const PageAcquisition& acquisition, Visit&& visit) {
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].empty() && !acquisition.copied[i]) visit(i, operands[i]);
}

}  // namespace blastoff::residency::mirror
