// The lease of the first-use policy: brings the operands of one call to their mirrors, or to buffers, and its results
// home.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "residency/first_use_policy.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/operand_backup.h"
#include "residency/mirror/operand_upload.h"
#include "residency/mirror/return_path.h"
#include "residency/policy.h"
#include "residency/toolbox.h"

namespace blastoff::residency {

struct FirstUseTools : LeaseTools {
  std::unique_ptr<device::Event> uploaded;
  std::unique_ptr<device::Event> computed;
  std::unique_ptr<device::Event> diagonal_home;
  auto events() { return std::array{&uploaded, &computed, &diagonal_home}; }
};

/// What the leases of a policy share.
struct LeaseMeans {
  device::Device& device;
  Staging& staging;
  const FirstUseSettings& settings;
  mirror::Coherence& coherence;
  device::MemoryPool& buffers;
  Toolbox<FirstUseTools>& toolbox;
};

class FirstUseLease final : public Lease {
 public:
  /// Takes the tools, unless it throws.
  FirstUseLease(const LeaseMeans& means, device::CallQueues& queues, const operation::Operation& call,
                const Shared& shared, std::unique_ptr<FirstUseTools>& tools);
  ~FirstUseLease() override;

  /// Takes hold of the operands.
  device::Status acquire(mirror::Copied may_copy);
  /// If nothing is held, and the call is to be made by copies: bytes of its operands that the CPU has rewritten.
  std::optional<std::uint64_t> past_mirrors() const {
    return acquisition_.past_mirrors ? std::optional(acquisition_.bytes_rewritten) : std::nullopt;
  }
  device::Status prepare();

  const std::vector<operation::Operation>& panels() const override { return panels_; }
  device::Result<operation::Operation> acquire(std::size_t index) override;
  device::Status release(std::size_t index) override;
  device::Status finish() override;
  HostState host_state(std::size_t index) override;
  const Traffic& traffic() const override { return traffic_; }

 private:
  bool has_mirror(std::size_t index) const { return !call_.operands()[index].transient && !acquisition_.copied[index]; }
  std::int64_t buffer_leading_dimension(std::size_t index) const;
  device::Status take_buffers();
  std::vector<Transfer> copied() const;
  operation::Operand on_device(const operation::Operation& panel, std::size_t index) const;
  device::Status open_return_paths();
  device::Status open_return_path(mirror::Return way);
  mirror::ReturnPath* path(mirror::Return way) const { return paths_[static_cast<std::size_t>(way)].get(); }
  struct Parcel;
  Parcel parcel(std::size_t index, mirror::Return way) const;
  device::Status uploads_arrived();
  bool needs_no_panels() const;
  bool may_run_on() const;
  std::vector<mirror::RunningCalls::Use> device_memory() const;
  device::Status compute_or_run_on();
  void abandon();

  const LeaseMeans means_;
  device::CallQueues& queues_;
  const operation::Operation call_;
  const Shared shared_;
  mirror::PageAcquisition acquisition_;  ///< of mirrored(call_)
  bool held_ = false;
  Traffic traffic_;
  mirror::OperandUpload upload_;
  std::array<device::PooledMemory, operation::Operation::max_operands> buffers_;  ///< of operands without a mirror
  std::vector<operation::Operation> panels_;
  std::unique_ptr<FirstUseTools> tools_;
  std::vector<operation::Operation> device_panels_;
  std::array<mirror::Return, operation::Operation::max_operands> ways_{};       ///< how each result goes home
  std::array<std::unique_ptr<mirror::ReturnPath>, mirror::ways.size()> paths_;  ///< by way; nullptr: no result takes it
  mirror::OperandBackup backup_;
  bool only_copy_changed_ = false;
  bool finished_ = false;
  mirror::PageAcquisition::PerOperand<MatrixPlace> places_{};  ///< before the call, if they are to be told
};

}  // namespace blastoff::residency
