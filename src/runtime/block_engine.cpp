#include "runtime/block_engine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>

#include "abi/original_routine.h"
#include "blas/front_end.h"
#include "blas/routine.h"
#include "blocks/product.h"
#include "intercept/blas/entry_points.h"
#include "intercept/copies.h"
#include "intercept/loaded_objects.h"
#include "intercept/original.h"
#include "platform/fork_guard.h"
#include "platform/process.h"
#include "runtime/device_choice.h"
#include "runtime/process.h"

namespace blastoff::runtime {

namespace {

// Computes contractions of blocks on the host and on simulated devices, with the program's own BLAS if it has one.

/// Looks for gemm among the loaded libraries. Looks again when a library has been unloaded, or, if gemm was not there,
/// when another one has been loaded. Thread-safe.
class BlockHost final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override { return own_.can_compute(operation); }
  bool compute(const operation::Operation& operation) const override;

 private:
  struct Found {
    intercept::LinkerCounts counts;
    intercept::Original original;
  };

  intercept::Original program_routine(blas::Scalar scalar) const;

  blocks::Product own_;
  mutable std::mutex mutex_;
  mutable std::array<std::optional<Found>, 4> found_;  // by blas::Scalar
};

/// Whether the routine's integers can hold the call's sizes.
bool fits(const blas::Call& call, abi::IntegerWidth integers) {
  if (integers == abi::IntegerWidth::ilp64) return true;
  std::int64_t largest = std::max({call.m, call.n, call.k});
  for (const operation::Operand& operand : call.operands()) largest = std::max(largest, operand.leading_dimension);
  return largest <= INT32_MAX;
}

intercept::Original BlockHost::program_routine(blas::Scalar scalar) const {
  const intercept::LinkerCounts counts = intercept::linker_counts();
  const std::lock_guard lock(mutex_);
  std::optional<Found>& found = found_[static_cast<std::size_t>(scalar)];
  if (!found || found->counts != counts) {
    const auto gemm = intercept::blas_routine(blas::routine_of(blas::Kind::gemm, scalar));
    found = Found{counts, intercept::original_of_program(gemm)};
  }
  return found->original;
}

bool BlockHost::compute(const operation::Operation& operation) const {
  const blas::Call call = blas::call_of(operation);
  intercept::Original original;
  try {
    original = program_routine(call.scalar());
  } catch (const std::bad_alloc&) {
    return own_.compute(operation);
  }
  if (original.function == nullptr || !fits(call, original.convention.integers)) return own_.compute(operation);
  abi::OriginalRoutine(call.routine, {original.function, original.convention.style}, {}).compute(call);
  return true;
}

std::mutex making;
std::atomic<blocks::Engine*> the_engine{nullptr};

/// That of the mirrors, since memory has one tracker; without mirrors one of their own. Never destroyed: it lives as
/// long as the engine.
ledger::Ledger* ledger_for_blocks(const DeviceSet& devices, const config::Settings& settings) {
  static std::shared_ptr<ledger::Ledger>& used = *new std::shared_ptr<ledger::Ledger>;
  used = devices.all().front()->ledger();
  if (!used && settings.tracker != config::TrackerName::none)
    used = open_ledger(settings, ledger::Ledger::Places::one, ledger::Ledger::Results::go_home).value_or(nullptr);
  return used.get();
}

/// Never destroyed: it lives as long as the engine.
const BlockHost& contracting_host() {
  static const auto* const host = new BlockHost;
  return *host;
}

/// Never destroyed, as the device is not.
blocks::Engine* make_engine(Process& process) {
  const platform::ForkGuard guard;
  const std::lock_guard lock(making);
  if (blocks::Engine* const engine = the_engine) return engine;
  residency::mirror::Pins* pins = nullptr;
  blocks::Setup setup;
  setup.host = &contracting_host();
  if (DeviceSet* const devices = process.devices_in_use()) {
    for (DeviceContext* const context : devices->all()) setup.devices.push_back(&context->device());
    setup.relieve = [devices] { devices->release_operands(); };
    setup.ledger = ledger_for_blocks(*devices, process.settings());
    pins = devices->all().front()->pins();
    if (pins) setup.unlock = [pins](platform::Span span) { pins->end_excepted(span); };
  }
  blocks::Engine* const engine = new blocks::Engine(std::move(setup));
  if (pins) pins->except([engine](platform::Span span) { return engine->is_under_block(span); });
  the_engine = engine;
  return engine;
}

}  // namespace

blastoff_blocks_counters counters_of(blocks::Engine& engine) {
  const blocks::Counters& counters = engine.counters();
  const blocks::MemoryCounts memory = engine.memory_counts();
  return {
      .acquisitions = counters.acquisitions,
      .found_current = counters.found_current,
      .copies_to_device = counters.copies_to_device,
      .bytes_to_device = counters.bytes_to_device,
      .copies_from_device = counters.copies_from_device,
      .bytes_from_device = counters.bytes_from_device,
      .copies_between_devices = counters.copies_between_devices,
      .bytes_between_devices = counters.bytes_between_devices,
      .evictions = counters.evictions,
      .evicted_bytes = counters.evicted_bytes,
      .contractions = counters.contractions,
      .flops = counters.flops,
      .waiting_seconds = counters.waiting_seconds,
      .host_hits = memory.host.hits,
      .host_misses = memory.host.misses,
      .host_bytes = memory.host.bytes,
      .host_seconds = memory.host.seconds,
      .host_plain = counters.host_plain,
      .device_hits = memory.device.hits,
      .device_misses = memory.device.misses,
      .device_bytes = memory.device.bytes,
      .device_seconds = memory.device.seconds,
  };
}

std::optional<blastoff_blocks_counters> describe_blocks() {
  blocks::Engine* const engine = the_engine.load(std::memory_order_acquire);
  if (engine == nullptr || engine->counters().acquisitions == 0) return std::nullopt;
  return counters_of(*engine);
}

BlockCall::BlockCall() {
  static const bool acts = !platform::has_elevated_rights() && intercept::this_copy_acts();
  if (!acts) {
    why_ = "no blocks here: the process has elevated rights, or another copy of Blastoff acts in it";
    return;
  }
  Process& process = Process::instance();
  report::Refusal why{};
  if (!process.enter_for_blocks(why)) {
    why_ = why == report::Refusal::forked ? "no blocks in a forked child: its parent has the devices"
                                          : "no blocks any more: the process ends";
    return;
  }
  try {
    engine_ = the_engine.load(std::memory_order_acquire);
    if (engine_ == nullptr) engine_ = make_engine(process);
  } catch (...) {
    process.leave();
    throw;
  }
}

BlockCall::~BlockCall() {
  if (engine_ != nullptr) Process::instance().leave();
}

}  // namespace blastoff::runtime
