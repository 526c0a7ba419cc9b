// The processes of one run on this host: taking turns, and choosing different devices. They meet in the directory of
// the run (`blastoff run` makes it); without one, a process has no peers.
//
// Locks are POSIX record locks: a forked child does not hold them, and they end with their process, however that ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace blastoff::platform {

class Peers {
 public:
  /// `directory`: of the run; "" for none.
  explicit Peers(std::string directory) : directory_(std::move(directory)) {}

  /// While it lives, at most `most_at_once` processes of the run have one.
  class Turn {
   public:
    /// Waits for it, but no longer than this: what hangs in one process must not hold up the others.
    explicit Turn(const Peers& peers, std::chrono::milliseconds longest = std::chrono::seconds(10));
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    int file_ = -1;
  };
  static constexpr int most_at_once = 4;

  /// The index of the device that the fewest other living processes use, and enters this process as one that does.
  /// Among equals, the first from `preferred` on. Devices have names that may be file names.
  std::size_t choose(std::span<const std::string> devices, std::size_t preferred) const;

  /// Enters this process as one that uses the device.
  void enter(const std::string& device) const;

  /// How many other living processes use the device.
  int users(const std::string& device) const;

 private:
  std::string directory_;
};

}  // namespace blastoff::platform
