#include "device/simulated/simulated_device.h"

#include <sys/mman.h>

#include <charconv>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "device/alignment.h"
#include "device/kinds.h"
#include "device/simulated/clock.h"
#include "device/simulated/copy.h"
#include "device/simulated/faults.h"
#include "device/simulated/memory.h"
#include "platform/descriptor.h"
#include "platform/numa.h"
#include "platform/racing_copy.h"

namespace blastoff::device::simulated {
namespace {

constexpr std::align_val_t staging_alignment{4096};

/// The parts of a device that its queues and events use, which may outlive it.
struct State {
  State(std::size_t total, bool slack, HostAccess host_access, const std::optional<Rates>& rates)
      : memory(total, slack), access(host_access) {
    if (rates) clock.emplace(*rates);
  }
  void count_copy(const Block& block) {
    if (clock) clock->count_copy(static_cast<double>(block.column_bytes * block.columns));
  }
  Faults faults;
  Memory memory;
  MemoryAccountant accountant;
  const HostAccess access;
  std::optional<Clock> clock;
};

void* pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

class SimulatedEvent final : public Event {
 public:
  explicit SimulatedEvent(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Status synchronize() override { return state_->faults.check(Operation::synchronize); }

 private:
  std::shared_ptr<State> state_;
};

class SimulatedQueue final : public Queue {
 public:
  explicit SimulatedQueue(std::shared_ptr<State> state) : state_(std::move(state)) {}

  Status copy_to_device(Address destination, const void* source, const Block& block) override {
    if (auto ok = state_->faults.check(Operation::to_device); !ok) return ok;
    if (auto ok = inside(destination, block); !ok) return ok;
    state_->count_copy(block);
    copy_columns(pointer(destination), block.device_pitch, source, block.host_pitch, block.column_bytes, block.columns);
    return {};
  }

  Status copy_to_host(void* destination, Address source, const Block& block) override {
    if (auto ok = inside(source, block); !ok) return ok;
    if (auto ok = state_->faults.check(Operation::to_host); !ok) {
      if (ok.error().kind == ErrorKind::lost) tear(destination, block);
      return ok;
    }
    state_->count_copy(block);
    copy_columns(destination, block.host_pitch, pointer(source), block.device_pitch, block.column_bytes, block.columns);
    return {};
  }

  /// The address in the other device's memory is checked by that memory's protection alone.
  Status copy_between(Address destination, Address source, std::size_t bytes) override {
    if (auto ok = state_->faults.check(Operation::between); !ok) return ok;
    const Block block{bytes, 1, bytes, bytes};
    if (auto ok = inside(destination, block); !ok) return ok;
    state_->count_copy(block);
    copy_columns(pointer(destination), bytes, pointer(source), bytes, bytes, 1);
    return {};
  }

  Status copy_triangle_to_host(void*, Address, const Triangle&) override {
    return tl::unexpected(Error{ErrorKind::unsupported, "the simulated device pins no memory"});
  }

  Status execute(const operation::Operation& operation, const operation::Host& host) override {
    if (auto ok = state_->faults.check(Operation::execute); !ok) return ok;
    if (!host.can_compute(operation)) {
      return tl::unexpected(
          Error{ErrorKind::unsupported,
                fmt::format("the simulated device found no {} in the program to compute with", operation.name())});
    }
    if (auto ok = check_alignment(operation); !ok) return ok;
    for (const auto& operand : operation.operands()) {
      if (state_->access == HostAccess::none && !holds(operand)) {
        return tl::unexpected(state_->faults.lose(
            fmt::format("an operand of {} at {} is outside device memory", operation.name(), operand.address)));
      }
    }
    if (!host.compute(operation))
      return tl::unexpected(Error{ErrorKind::failed, fmt::format("{} has no finite result", operation.name())});
    if (state_->faults.spoils_result()) spoil(operation);
    if (state_->clock) state_->clock->advance(state_->clock->rates().device_seconds(operation.work.flops));
    return {};
  }

  Status permute(Address destination, Address source, const Permutation& permutation) override {
    if (auto ok = state_->faults.check(Operation::execute); !ok) return ok;
    std::size_t to = 1;  // elements from the first one to behind the last one
    std::size_t from = 1;
    for (std::size_t i = 0; i < permutation.count; ++i) {
      const auto& dimension = permutation.dimensions[i];
      to += static_cast<std::size_t>((dimension.extent - 1) * dimension.destination_stride);
      from += static_cast<std::size_t>((dimension.extent - 1) * dimension.source_stride);
    }
    if (!state_->memory.holds(destination, to * permutation.element_size) ||
        !state_->memory.holds(source, from * permutation.element_size)) {
      return tl::unexpected(state_->faults.lose(
          fmt::format("a permutation from {:#x} to {:#x} is outside device memory", source, destination)));
    }
    device::permute(pointer(destination), pointer(source), permutation);
    if (state_->clock) {
      const auto bytes = static_cast<double>(permutation.elements() * permutation.element_size);
      state_->clock->advance(state_->clock->rates().device_seconds(bytes));
    }
    return {};
  }

  /// The memory has only one place, so the hint has no effect.
  Status prefetch(const void*, std::size_t) override {
    if (state_->access == HostAccess::pageable || state_->access == HostAccess::coherent) return {};
    return tl::unexpected(Error{ErrorKind::unsupported, "the simulated device does not migrate memory in this form"});
  }

  Status record(Event&) override { return state_->faults.check(Operation::record); }
  Status wait(Event&) override { return state_->faults.check(Operation::wait); }
  Status synchronize() override { return state_->faults.check(Operation::synchronize); }

 private:
  /// An operation accesses only the elements of a matrix; there may be no memory between its columns.
  bool holds(const operation::Operand& operand) const {
    const auto address = static_cast<Address>(reinterpret_cast<std::uintptr_t>(operand.address));
    if (state_->memory.holds(address, operand.span_bytes())) return true;
    for (std::int64_t column = 0; column < operand.columns; ++column) {
      const Address begin = address + static_cast<std::size_t>(column) * operand.stride_bytes();
      if (!state_->memory.holds(begin, operand.column_bytes())) return false;
    }
    return true;
  }

  /// A copy covers everything from its first byte to its last, so the gaps between columns must have memory too.
  Status inside(Address address, const Block& block) {
    if (block.column_bytes == 0 || block.columns == 0) return {};
    const std::size_t bytes = (block.columns - 1) * block.device_pitch + block.column_bytes;
    if (state_->memory.holds(address, bytes)) return {};
    return tl::unexpected(
        state_->faults.lose(fmt::format("a copy of {} bytes at {:#x} is outside device memory", bytes, address)));
  }

  /// Negates one number of the last result; in a triangle, a number far from the diagonal.
  static void spoil(const operation::Operation& operation) {
    unsigned char* sign = nullptr;
    operation.each_result([&](std::size_t, const operation::Operand& result) {
      if (result.rows == 0 || result.columns == 0) return;
      // Not in the middle: the spectrum of real data is real there.
      std::int64_t row = result.rows / 3;
      std::int64_t column = result.columns / 3;
      if (result.part != operation::Part::full) {
        row = result.part == operation::Part::upper ? 0 : result.rows - 1;
        column = result.part == operation::Part::upper ? result.columns - 1 : 0;
      }
      // The last byte of an element holds the sign of the number, or of its imaginary part. Numbers are little-endian
      // here.
      sign = static_cast<unsigned char*>(result.address) + static_cast<std::size_t>(column) * result.stride_bytes() +
             static_cast<std::size_t>(row + 1) * result.element_size - 1;
    });
    if (sign != nullptr) *sign ^= 0x80U;
  }

  /// If a copy loses the device, only a part of it has been done.
  static void tear(void* destination, const Block& block) {
    const std::uint64_t rubbish = (std::uint64_t{fresh_word} << 32) | fresh_word;
    auto* column = static_cast<unsigned char*>(destination);
    for (std::size_t i = 0; i < (block.columns + 1) / 2; ++i, column += block.host_pitch) {
      for (std::size_t byte = 0; byte + sizeof rubbish <= block.column_bytes; byte += sizeof rubbish) {
        platform::racing_copy(column + byte, &rubbish, sizeof rubbish);
      }
    }
  }

  std::shared_ptr<State> state_;
};

/// An empty file that is open as long as the device is, as a driver has such files.
constexpr const char* file_name = "blastoff-simulated-device";

platform::GuardedDescriptor open_file() {
  return platform::GuardedDescriptor(
      platform::out_of_the_way(platform::Descriptor(memfd_create(file_name, MFD_CLOEXEC))));
}

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(std::shared_ptr<State> state, int index, std::size_t total, int memory_node)
      : state_(std::move(state)) {
    properties_.index = index;
    properties_.kind = "simulated";
    properties_.name = "simulated device";
    properties_.host_access = state_->access;
    properties_.memory_node = memory_node;
    properties_.software = "computes with the program's own BLAS";
    properties_.total_memory = total;
    properties_.largest_reservation = state_->memory.largest_reservation();
    properties_.can_reserve = properties_.largest_reservation > 0;
    properties_.backing_granularity = granularity;
  }

  const Properties& properties() const override { return properties_; }

  Result<MemoryInfo> memory_info() override { return MemoryInfo{state_->memory.unused(), state_->memory.total()}; }
  MemoryAccountant& accountant() override { return state_->accountant; }
  std::optional<OwnTime> own_time() const override {
    if (!state_->clock) return std::nullopt;
    return OwnTime{state_->clock->seconds(), state_->clock->copying()};
  }

  Result<std::unique_ptr<Queue>> create_queue() override {
    if (auto ok = state_->faults.check(Operation::queue); !ok) return tl::unexpected(ok.error());
    return std::make_unique<SimulatedQueue>(state_);
  }

  Result<std::unique_ptr<Event>> create_event() override {
    if (auto ok = state_->faults.check(Operation::event); !ok) return tl::unexpected(ok.error());
    return std::make_unique<SimulatedEvent>(state_);
  }

  /// The program's own work also runs at once, so a new queue is in order with it.
  Result<std::unique_ptr<Queue>> adopt_queue(void*) override { return create_queue(); }

  bool copies_from(Device& other) override { return other.properties().kind == properties_.kind; }

  Result<Address> allocate(MemoryClient client, std::size_t bytes) override {
    return accountant().charge(client, bytes, [&]() -> Result<Address> {
      if (auto ok = state_->faults.check(Operation::allocate); !ok) return tl::unexpected(ok.error());
      return state_->memory.allocate(bytes);
    });
  }

  void free(Address address) override {
    accountant().discharge(address);
    if (address != 0 && !state_->memory.free(address)) misused("free", address);
  }

  Result<Address> reserve(std::size_t bytes) override {
    if (auto ok = state_->faults.check(Operation::reserve); !ok) return tl::unexpected(ok.error());
    return state_->memory.reserve(bytes);
  }

  void release(Address address, std::size_t bytes) override {
    if (!state_->memory.release(address, bytes)) misused("release", address);
  }

  Status back(MemoryClient client, Address address, std::size_t bytes) override {
    return accountant().charge(client, address, bytes, [&]() -> Status {
      if (auto ok = state_->faults.check(Operation::back); !ok) return ok;
      return state_->memory.back(address, bytes);
    });
  }

  void unback(Address address, std::size_t bytes) override {
    accountant().discharge(address);
    if (!state_->memory.unback(address, bytes)) misused("unback", address);
  }

  Result<void*> allocate_staging(std::size_t bytes) override {
    if (auto ok = state_->faults.check(Operation::staging); !ok) return tl::unexpected(ok.error());
    void* memory = ::operator new(bytes, staging_alignment, std::nothrow);
    if (memory != nullptr) {
      accountant().lock(PageLocked::staged, bytes);
      return memory;
    }
    return tl::unexpected(
        Error{ErrorKind::no_host_memory, fmt::format("no {} bytes of host memory for staging", bytes)});
  }

  void free_staging(void* address, std::size_t bytes) override {
    if (address == nullptr) return;
    ::operator delete(address, staging_alignment);
    accountant().unlock(PageLocked::staged, bytes);
  }

  // A copy by the CPU goes through the page table, so pinning has no effect here.
  Status pin(void*, std::size_t) override {
    return tl::unexpected(Error{ErrorKind::unsupported, "the simulated device pins no memory"});
  }
  void unpin(void*, std::size_t) override {}
  bool registered_by_program(const void*) override { return false; }

 private:
  /// Returning a range that the caller does not hold is an error of the caller and must be reported.
  void misused(const char* operation, Address address) {
    state_->faults.lose(fmt::format("{} at {:#x}, which is no such range", operation, address));
  }

  std::shared_ptr<State> state_;
  platform::GuardedDescriptor file_ = open_file();
  Properties properties_;
};

}  // namespace

namespace {

/// The N of "simulated:N", 0 if there is none; nullopt if it is no number.
std::optional<int> index_of(std::string_view name) {
  const auto named = find_kind(name);
  const std::string_view number = named ? named->number : std::string_view{};
  int index = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  const bool whole = error == std::errc{} && end == number.data() + number.size() && index >= 0;
  return number.empty() || whole ? std::optional(index) : std::nullopt;
}

/// The part of the text that concerns this device.
std::string fault_of(int index, const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return text;
  return text.substr(0, slash) == std::to_string(index) ? text.substr(slash + 1) : "";
}

}  // namespace

Result<int> count(const Choice& choice) {
  return choice.simulated_devices;
}

Expected expected() {
  return {};
}

std::string absence() {
  return "";
}

Result<std::unique_ptr<Device>> open(const Choice& choice) {
  const auto index = index_of(choice.name);
  if (!index) return tl::unexpected(Error{ErrorKind::unavailable, fmt::format("no device \"{}\"", choice.name)});
  int memory_node = choice.memory_node;
  if (choice.simulated_access == HostAccess::coherent && memory_node < 0) {
    const std::vector<int> nodes = platform::nodes_without_cpus();
    if (nodes.empty()) {
      return tl::unexpected(Error{ErrorKind::unavailable,
                                  "a coherent simulated device takes a NUMA node without CPUs, and there is none; "
                                  "--device-node can name another"});
    }
    memory_node = nodes.front();
  }
  const auto rates = parse_rates(choice.simulated_rates);
  if (!rates) return tl::unexpected(rates.error());
  auto state =
      std::make_shared<State>(choice.simulated_memory, choice.simulated_slack, choice.simulated_access, *rates);
  if (state->clock) state->clock->advance(state->clock->rates().start);
  if (auto planned = state->faults.plan(fault_of(*index, choice.simulated_fault)); !planned)
    return tl::unexpected(planned.error());
  return std::make_unique<SimulatedDevice>(std::move(state), *index, choice.simulated_memory, memory_node);
}

}  // namespace blastoff::device::simulated
