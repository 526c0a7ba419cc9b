#include "residency/mirror/operand_backup.h"

#include <utility>

#include "device/permutation.h"

namespace blastoff::residency::mirror {

namespace {

using device::Status;

/// Copies the operand's box; from one column to the next are so many elements.
device::Permutation columns_of(const operation::Operand& operand, std::int64_t from, std::int64_t to) {
  device::Permutation result;
  result.element_size = operand.element_size;
  result.add({.extent = operand.rows});
  result.add({.extent = operand.columns, .source_stride = from, .destination_stride = to});
  return result;
}

}  // namespace

Status OperandBackup::make(const PageAcquisition& acquisition, device::MemoryPool& pool, device::Queue& queue) {
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (operand.empty() || acquisition.copied[i] || !scribbles(operand.intent) || !operation::reads(operand.intent))
      continue;
    auto memory = pool.take(operand.payload_bytes());
    if (!memory) return tl::unexpected(std::move(memory.error()));
    if (auto free = memory->uses().precede(queue); !free) return free;
    copies_[i] = std::move(*memory);
    const auto columns = columns_of(operand, operand.leading_dimension, operand.rows);
    if (auto copied = queue.permute(copies_[i].address(), acquisition.addresses[i], columns); !copied) return copied;
  }
  acquisition_ = &acquisition;
  return {};
}

Status OperandBackup::restore(device::Queue& queue) {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (!copies_[i]) continue;
    const operation::Operand& operand = acquisition_->call.operands()[i];
    const auto columns = columns_of(operand, operand.rows, operand.leading_dimension);
    if (auto copied = queue.permute(acquisition_->addresses[i], copies_[i].address(), columns); !copied) return copied;
  }
  return queue.synchronize();
}

}  // namespace blastoff::residency::mirror
