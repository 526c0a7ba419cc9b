// Words and numbers of all processes of a grid, by messages on the communicator of their meeting.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "scalapack/functions.h"

namespace blastoff::scalapack {

/// All processes call its functions alike.
class Messages {
 public:
  Messages(const Mpi& mpi, void* communicator, int ranks, bool is_root)
      : mpi_(mpi), communicator_(communicator), ranks_(ranks), is_root_(is_root) {}

  /// The smallest of each number over all processes.
  template <std::size_t count>
  void least(std::array<int, count>& numbers) const {
    for (const std::array<int, count>& each : collected(numbers))
      for (std::size_t i = 0; i < count; ++i) numbers[i] = std::min(numbers[i], each[i]);
    broadcast(numbers.data(), count);
  }

  /// What each process has, in the order of the ranks.
  template <class Own>
  std::vector<Own> of_all(const Own& own) const {
    std::vector<Own> all = collected(own);
    all.resize(static_cast<std::size_t>(ranks_));
    send_bytes(all.data(), all.size() * sizeof(Own));
    return all;
  }
  /// The same on the root; nothing on the others.
  template <class Own>
  std::vector<Own> collected(const Own& own) const {
    static_assert(std::is_trivially_copyable_v<Own>);
    std::vector<Own> all(is_root_ ? static_cast<std::size_t>(ranks_) : 0);
    mpi_.gather(&own, sizeof own, mpi_.byte, all.data(), sizeof own, mpi_.byte, 0, communicator_);
    return all;
  }
  /// On the root, the largest of each of its and the others' numbers.
  void greatest_to_root(int* numbers, std::size_t count) const {
    const auto bytes = static_cast<int>(count * sizeof(int));
    std::vector<int> all(is_root_ ? count * static_cast<std::size_t>(ranks_) : 0);
    mpi_.gather(numbers, bytes, mpi_.byte, all.data(), bytes, mpi_.byte, 0, communicator_);
    for (std::size_t i = 0; i < all.size(); ++i) numbers[i % count] = std::max(numbers[i % count], all[i]);
  }

  /// Sends numbers from the root to all processes.
  void broadcast(int* numbers, std::size_t count) const { send_bytes(numbers, count * sizeof(int)); }

 private:
  void send_bytes(void* bytes, std::size_t count) const {
    mpi_.broadcast(bytes, static_cast<int>(count), mpi_.byte, 0, communicator_);
  }

  const Mpi& mpi_;
  void* const communicator_;
  const int ranks_;
  const bool is_root_;
};

}  // namespace blastoff::scalapack
