// Device memory for operands, kept between calls.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "device/device.h"

namespace blastoff::residency::copy {

class DeviceBuffers;

/// A piece of device memory, used by one lease. It returns to the pool when the object is destroyed; no work may use it
/// then.
class Buffer {
 public:
  Buffer() = default;
  Buffer(DeviceBuffers& pool, device::Address address, std::size_t bytes)
      : pool_(&pool), address_(address), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  device::Address address() const { return address_; }

 private:
  void swap(Buffer& other) {
    std::swap(pool_, other.pool_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }

  DeviceBuffers* pool_ = nullptr;
  device::Address address_ = 0;
  std::size_t bytes_ = 0;
};

/// Thread-safe. Buffers in use and idle ones are within the budget of MemoryClient::copies.
class DeviceBuffers {
 public:
  explicit DeviceBuffers(device::Device& device) : device_(device) {}
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  /// A buffer of at least `bytes`. If the budget or the device is full, idle buffers are freed first; if that is not
  /// enough, out_of_memory.
  device::Result<Buffer> take(std::size_t bytes);

 private:
  friend class Buffer;
  void give_back(device::Address address, std::size_t bytes);
  void free_idle();

  device::Device& device_;
  std::mutex mutex_;
  std::multimap<std::size_t, device::Address> idle_;  ///< by size
};

}  // namespace blastoff::residency::copy
