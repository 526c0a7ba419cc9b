// What the calls of cuSOLVERMp and of cuBLASMp have in common: their place in a team, and their work space.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "blas/types.h"
#include "device/gpu/context.h"
#include "device/gpu/cuda/team/api.h"
#include "device/gpu/memory.h"

namespace blastoff::device::gpu::cuda {

inline int data_type(blas::Scalar scalar) {
  switch (scalar) {
    case blas::Scalar::s: return api::type_real_32;
    case blas::Scalar::d: return api::type_real_64;
    case blas::Scalar::c: return api::type_complex_32;
    case blas::Scalar::z: break;
  }
  return api::type_complex_64;
}

inline void* pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// Device memory that grows. Its contents are lost then.
class GrowingMemory {
 public:
  explicit GrowingMemory(Memory& memory) : memory_(memory) {}
  ~GrowingMemory() { give_back(); }
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  Status take(std::size_t bytes) {
    if (bytes <= taken_) return {};
    give_back();
    const Result<Address> taken = memory_.allocate(MemoryClient::workspaces, bytes);
    if (!taken) return tl::unexpected(taken.error());
    address_ = *taken;
    taken_ = bytes;
    return {};
  }
  Address address() const { return address_; }

 private:
  void give_back() {
    if (taken_ > 0) memory_.free(address_);
    taken_ = 0;
  }

  Memory& memory_;
  Address address_ = 0;
  std::size_t taken_ = 0;
};

/// The work space of a call, and the info of each of its steps.
class Space {
 public:
  static constexpr std::size_t steps = 2;

  explicit Space(Memory& memory) : memory_(memory) {}

  std::size_t device_bytes = 0;
  std::size_t host_bytes = 0;

  Status take() {
    host_.resize(host_bytes);
    return memory_.take(info_bytes + device_bytes);
  }

  int* info(std::size_t step = 0) const { return static_cast<int*>(pointer(memory_.address())) + step; }
  /// The address of a word of 64 bits.
  Address word() const { return memory_.address() + info_bytes / 2; }
  void* device() const { return pointer(memory_.address() + info_bytes); }
  void* host() { return host_.data(); }

 private:
  static constexpr std::size_t info_bytes = 256;  // what follows is aligned

  GrowingMemory memory_;
  std::vector<std::byte> host_;
};

/// A GPU, and its place in the team. The members are a row of a grid, so that each has whole columns.
struct Place {
  std::shared_ptr<Context> context;
  std::shared_ptr<Memory> memory;
  int ordinal = 0;
  int member = 0;
  int members = 1;
  api::ncclComm communicator = nullptr;
  StreamHandle stream = nullptr;
};

inline Error refused(std::string_view name, int status) {
  return {ErrorKind::unsupported, fmt::format("{} returned status {}", name, status)};
}

}  // namespace blastoff::device::gpu::cuda
