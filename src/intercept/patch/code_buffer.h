// A buffer for machine code that will run at a known address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace blastoff::intercept::patch {

class CodeBuffer {
 public:
  explicit CodeBuffer(std::uint64_t address) : address_(address) {}

  /// The address of the next byte.
  std::uint64_t here() const { return address_ + bytes_.size(); }
  std::size_t size() const { return bytes_.size(); }

  void put(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  void put_bytes(std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
  }

  /// In little-endian order, as the instructions of both architectures, and as the machines on which this runs.
  template <class Integer>
  void put_value(Integer value) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + sizeof value);
    std::memcpy(&bytes_[end], &value, sizeof value);
  }

  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::uint64_t address_;
  std::vector<std::byte> bytes_;
};

}  // namespace blastoff::intercept::patch
