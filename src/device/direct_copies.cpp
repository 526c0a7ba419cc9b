#include "device/direct_copies.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "platform/log.h"

namespace blastoff::device {

namespace {

constexpr std::size_t trial_bytes = std::size_t{256} << 10;
constexpr int max_trials = 64;

/// Memory of one device for a trial copy.
class TrialMemory {
 public:
  explicit TrialMemory(Device& device)
      : device_(device), address_(device.allocate(MemoryClient::workspaces, trial_bytes)) {}
  ~TrialMemory() {
    if (address_) device_.free(*address_);
  }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  explicit operator bool() const { return address_.has_value(); }
  Address address() const { return *address_; }

 private:
  Device& device_;
  Result<Address> address_;
};

/// Whether copied words arrive unchanged; nullopt if that cannot be tried now.
std::optional<bool> try_copy(Device& to, Device& from) {
  std::vector<std::uint32_t> sent(trial_bytes / sizeof(std::uint32_t));
  std::uint32_t word = 1;
  for (std::uint32_t& each : sent) each = word = word * 1664525 + 1013904223;
  const std::vector<std::uint32_t> nothing(sent.size(), 0);
  std::vector<std::uint32_t> received(sent.size(), 0);
  const TrialMemory there(to);
  const TrialMemory here(from);
  auto receiving = to.create_queue();
  auto sending = from.create_queue();
  if (!there || !here || !receiving || !sending) return std::nullopt;
  const Block whole{trial_bytes, 1, trial_bytes, trial_bytes};
  // Overwrites the target first, since its memory may hold the words of an earlier trial.
  const auto put = [&](Queue& queue, Address address, const std::vector<std::uint32_t>& content) {
    return queue.copy_to_device(address, content.data(), whole) && queue.synchronize();
  };
  if (!put(**sending, here.address(), sent) || !put(**receiving, there.address(), nothing)) return std::nullopt;
  if (const auto copied = (*receiving)->copy_between(there.address(), here.address(), trial_bytes); !copied)
    return copied.error().kind == ErrorKind::unsupported ? std::optional(false) : std::nullopt;
  if (!(*receiving)->synchronize()) return std::nullopt;
  if (!(*receiving)->copy_to_host(received.data(), there.address(), whole) || !(*receiving)->synchronize())
    return std::nullopt;
  return received == sent;
}

}  // namespace

bool DirectCopies::possible(Device& to, Device& from) {
  const std::lock_guard lock(mutex_);
  Answer& known = known_[{&to, &from}];
  if (known.possible) return *known.possible;
  if (!to.copies_from(from)) {
    known.possible = false;
    return false;
  }
  const std::optional<bool> arrived = try_copy(to, from);
  if (!arrived && ++known.trials < max_trials) return false;
  known.possible = arrived.value_or(false);
  if (!*known.possible)
    platform::log_line("copies from %s %d to %s %d go through the host: %s", from.properties().kind.c_str(),
                       from.properties().index, to.properties().kind.c_str(), to.properties().index,
                       arrived ? "a direct copy was refused, or did not arrive"
                               : "the devices have had no memory to try a direct copy");
  return *known.possible;
}

void DirectCopies::join(std::size_t number, Device& device) {
  const std::lock_guard lock(mutex_);
  members_.emplace_back(number, &device);
}

std::vector<std::size_t> DirectCopies::reached_by(Device& to) {
  auto members = [&] {
    const std::lock_guard lock(mutex_);
    return members_;
  }();
  std::vector<std::size_t> reached;
  for (const auto& [number, from] : members)
    if (from != &to && possible(to, *from)) reached.push_back(number);
  return reached;
}

void DirectCopies::forget(Device& device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](const auto& member) { return member.second == &device; });
  std::erase_if(known_,
                [&](const auto& known) { return known.first.first == &device || known.first.second == &device; });
}

}  // namespace blastoff::device
