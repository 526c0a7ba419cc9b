// How much device memory each client holds and may hold, and how much host memory is page-locked for the device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "device/address.h"
#include "device/error.h"
#include "platform/contained.h"
#include "platform/memory_gauge.h"

namespace blastoff::device {

/// Who holds device memory.
enum class MemoryClient : std::uint8_t {
  mirrors,     ///< copies of host memory that are kept between calls
  copies,      ///< copies of operands for one call
  workspaces,  ///< memory that operations and transfers need besides operands
  blocks,      ///< blocks of the program (include/blastoff_blocks.h)
};
/// All clients, in order.
inline constexpr std::array memory_clients{MemoryClient::mirrors, MemoryClient::copies, MemoryClient::workspaces,
                                           MemoryClient::blocks};
const char* to_string(MemoryClient client);

/// Host memory that is page-locked.
enum class PageLocked : std::uint8_t {
  pinned,  ///< memory of the program
  staged,  ///< buffers of Blastoff
};

/// Bytes, as clients asked for them.
struct MemoryHeld {
  std::size_t now = 0;
  std::size_t most = 0;  ///< the most so far
};

/// The account of a device's memory. It does not contain what the driver and the libraries take for themselves.
/// Thread-safe.
class MemoryAccountant {
 public:
  /// The client may hold at most `bytes` from now on. Without a limit it may hold all memory.
  void limit(MemoryClient client, std::size_t bytes);

  std::size_t limit_of(MemoryClient client) const;

  /// Whether the client may hold `bytes` more. Another thread may take them first.
  bool fits(MemoryClient client, std::size_t bytes) const;

  MemoryHeld held(MemoryClient client) const;

  /// For devices: `bytes` more, or fewer, are page-locked.
  void lock(PageLocked kind, std::size_t bytes);
  void unlock(PageLocked kind, std::size_t bytes);

  /// From now on the gauge, too, shows what is held. The gauge outlives this.
  void show_in(platform::MemoryGauge& gauge);

  /// For devices: runs `allocate`, which returns a Result<Address>, and charges the client. If the client's limit does
  /// not allow it, returns out_of_memory and does not run `allocate`.
  template <class Allocate>
  Result<Address> charge(MemoryClient client, std::size_t bytes, Allocate&& allocate) {
    Charges entry;  // made before the memory is allocated: afterwards there may be no memory for it
    entry.emplace(0, Charge{client, bytes});
    if (auto taken = take(client, bytes); !taken) return tl::unexpected(std::move(taken.error()));
    Result<Address> address = tl::unexpected(no_host_memory());
    platform::contained([&] { address = std::forward<Allocate>(allocate)(); });
    if (address)
      enter(*address, entry);
    else
      give_back({client, bytes});
    return address;
  }

  /// The same for an address that is known; `back` returns a Status.
  template <class Back>
  Status charge(MemoryClient client, Address address, std::size_t bytes, Back&& back) {
    const auto backed = charge(client, bytes, [&] { return std::forward<Back>(back)().map([&] { return address; }); });
    if (!backed) return tl::unexpected(backed.error());
    return {};
  }

  /// Ends the charge for memory at this address, if there is one. To be called before the memory is freed: afterwards
  /// the address may belong to somebody else.
  void discharge(Address address);

 private:
  struct Charge {
    MemoryClient client;
    std::size_t bytes;
  };
  using Charges = std::map<Address, Charge>;
  struct Account {
    MemoryHeld held;
    std::size_t limit = SIZE_MAX;
    bool fits(std::size_t bytes) const { return held.now <= limit && bytes <= limit - held.now; }
  };

  Account& account(MemoryClient client) { return accounts_[static_cast<std::size_t>(client)]; }
  const Account& account(MemoryClient client) const { return accounts_[static_cast<std::size_t>(client)]; }
  Status take(MemoryClient client, std::size_t bytes);
  void enter(Address address, Charges& entry);
  void give_back(Charge charge);
  void show(Charge charge);
  void show_no_longer(Charge charge);

  mutable std::mutex mutex_;
  std::array<Account, memory_clients.size()> accounts_;
  Charges charges_;
  platform::MemoryGauge own_gauge_{};
  platform::MemoryGauge* gauge_ = &own_gauge_;
};

}  // namespace blastoff::device
