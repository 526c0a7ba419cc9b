// Blocks in C++ (C++17): owners and guards over the functions of blastoff_blocks.h, which says what each of them does.
//
//   blastoff::Block block(bytes);
//   {
//     auto home = block.acquire(blastoff::host, blastoff::Access::write);
//     fill(home.as<double>());
//   }
//   auto there = block.acquire(0, blastoff::Access::update, stream);
//   kernel<<<..., stream>>>(there.as<double>());
//
// Errors are exceptions of type blastoff::Error, which holds the status: a program can catch one of status
// BLASTOFF_OUT_OF_MEMORY, for example, and go on. Destructors do not throw. Programs that want values call the C
// functions with Block::handle().
#pragma once

#include <complex>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../blastoff_blocks.h"

namespace blastoff {

inline constexpr int host = BLASTOFF_HOST;

enum class Access { read = BLASTOFF_READ, write = BLASTOFF_WRITE, update = BLASTOFF_UPDATE };

class Error : public std::runtime_error {
 public:
  Error(int status, const std::string& message)
      : std::runtime_error(message), status_(static_cast<blastoff_status>(status)) {}
  blastoff_status status() const { return status_; }

 private:
  blastoff_status status_;
};

/// Throws the latest error of this thread if `status` is one.
inline void check(int status) {
  if (status != BLASTOFF_OK) throw Error(status, blastoff_blocks_message());
}

/// How many devices there are; the first call opens them.
inline int devices() {
  return blastoff_blocks_devices();
}

using Options = blastoff_blocks_options;
inline Options options() {
  Options options{};
  check(blastoff_blocks_get_options(&options));
  return options;
}
inline void set_options(const Options& options) {
  check(blastoff_blocks_set_options(&options));
}

using Counters = blastoff_blocks_counters;
inline Counters counters() {
  Counters counters{};
  check(blastoff_blocks_get_counters(&counters));
  return counters;
}

/// Waits until all copies and contractions have run.
inline void synchronize() {
  check(blastoff_blocks_synchronize());
}

/// A block that is held at one place; released when this is destroyed, with the stream of the acquisition. Outlived by
/// the Block.
class Acquired {
 public:
  Acquired() = default;
  Acquired(blastoff_block* block, int place, Access access, void* stream) : place_(place), stream_(stream) {
    check(blastoff_block_acquire(block, place, static_cast<blastoff_access>(access), stream, &address_));
    block_ = block;
  }
  Acquired(Acquired&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        address_(std::exchange(other.address_, nullptr)),
        place_(other.place_),
        stream_(other.stream_) {}
  Acquired& operator=(Acquired&& other) noexcept {
    if (this != &other) {
      end();
      block_ = std::exchange(other.block_, nullptr);
      address_ = std::exchange(other.address_, nullptr);
      place_ = other.place_;
      stream_ = other.stream_;
    }
    return *this;
  }
  ~Acquired() { end(); }

  void* address() const { return address_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(address_);
  }
  int place() const { return place_; }
  bool held() const { return block_ != nullptr; }

  /// Ends it now, and reports errors.
  void release() {
    address_ = nullptr;
    if (block_ != nullptr) check(blastoff_block_release(std::exchange(block_, nullptr), place_, stream_));
  }

 private:
  void end() noexcept {
    if (block_ != nullptr) (void)blastoff_block_release(std::exchange(block_, nullptr), place_, stream_);
  }

  blastoff_block* block_ = nullptr;
  void* address_ = nullptr;
  int place_ = host;
  void* stream_ = nullptr;
};

namespace detail {
template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr blastoff_type value = BLASTOFF_FLOAT;
};
template <>
struct TypeOf<double> {
  static constexpr blastoff_type value = BLASTOFF_DOUBLE;
};
template <>
struct TypeOf<std::complex<float>> {
  static constexpr blastoff_type value = BLASTOFF_COMPLEX_FLOAT;
};
template <>
struct TypeOf<std::complex<double>> {
  static constexpr blastoff_type value = BLASTOFF_COMPLEX_DOUBLE;
};
}  // namespace detail

/// Owns a block. An empty one (default-made, or moved from) must not be used.
class Block {
 public:
  Block() = default;
  /// With memory of its own.
  explicit Block(std::size_t bytes) { check(blastoff_block_create(bytes, &block_)); }
  /// Over the program's memory.
  static Block over(void* memory, std::size_t bytes) {
    Block block;
    check(blastoff_block_create_over(memory, bytes, &block.block_));
    return block;
  }
  /// Makes a block of `count` elements.
  template <class T>
  static Block of(std::size_t count) {
    return Block(count * sizeof(T));
  }

  Block(Block&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Block() { (void)blastoff_block_destroy(block_); }

  Acquired acquire(int place, Access access, void* stream = nullptr) { return Acquired(block_, place, access, stream); }
  Acquired read(int place = host, void* stream = nullptr) { return acquire(place, Access::read, stream); }
  Acquired write(int place = host, void* stream = nullptr) { return acquire(place, Access::write, stream); }
  Acquired update(int place = host, void* stream = nullptr) { return acquire(place, Access::update, stream); }

  /// Sets all elements, which are float, double or their complex numbers.
  template <class T>
  void fill(T value, int place = host) {
    check(blastoff_block_fill(block_, detail::TypeOf<T>::value, &value, place));
  }

  void prefetch(int place) { check(blastoff_block_prefetch(block_, place)); }
  void evict(int place) { check(blastoff_block_evict(block_, place)); }
  /// To a file, until it is used.
  void store() { check(blastoff_block_store(block_)); }
  bool is_current(int place) const { return blastoff_block_is_current(block_, place) != 0; }
  int newest() const { return blastoff_block_newest(block_); }
  std::size_t bytes() const { return blastoff_block_bytes(block_); }

  /// Brings the newest version home and ends the block, and reports errors (the destructor does not).
  void destroy() { check(blastoff_block_destroy(std::exchange(block_, nullptr))); }

  blastoff_block* handle() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  blastoff_block* block_ = nullptr;
};

/// What an operation does with its blocks, declared once:
///   const blastoff::Operation ladder{Access::read, Access::read, Access::update};
///   auto held = ladder.acquire(0, stream, integrals, amplitudes, residual);
///   kernel<<<..., stream>>>(held[0].as<double>(), held[1].as<double>(), held[2].as<double>());
class Operation {
 public:
  Operation(std::initializer_list<Access> accesses) : accesses_(accesses) {}

  /// Acquires blocks, which are in the order of the declaration: all of them, or none if that is an error.
  template <class... Blocks>
  std::vector<Acquired> acquire(int place, void* stream, Blocks&... blocks) const {
    if (sizeof...(blocks) != accesses_.size())
      throw Error(BLASTOFF_BAD_ARGUMENT, "the operation has " + std::to_string(accesses_.size()) + " blocks, not " +
                                             std::to_string(sizeof...(blocks)));
    std::vector<Acquired> held;
    held.reserve(accesses_.size());
    for (blastoff_block* const block : {blocks.handle()...})
      held.emplace_back(block, place, accesses_[held.size()], stream);
    return held;
  }

 private:
  std::vector<Access> accesses_;
};

/// A block with the names and lengths of its indices, the first contiguous in memory.
class Tensor {
 public:
  Tensor(const Block& block, std::string labels, std::vector<long long> extents)
      : block_(block.handle()), labels_(std::move(labels)), extents_(std::move(extents)) {
    if (labels_.size() != extents_.size())
      throw Error(BLASTOFF_BAD_ARGUMENT, "a tensor needs a length for each index: \"" + labels_ + "\" has " +
                                             std::to_string(extents_.size()) + " of them");
  }
  blastoff_tensor view() const { return {block_, labels_.c_str(), extents_.data()}; }

 private:
  blastoff_block* block_;
  std::string labels_;
  std::vector<long long> extents_;
};

/// C = alpha A B + beta C at `place`, for float, double and their complex numbers.
template <class T>
void contract(T alpha, const Tensor& a, const Tensor& b, T beta, const Tensor& c, int place) {
  const blastoff_tensor views[] = {a.view(), b.view(), c.view()};
  check(blastoff_block_contract(detail::TypeOf<T>::value, &alpha, &views[0], &views[1], &beta, &views[2], place));
}

}  // namespace blastoff
