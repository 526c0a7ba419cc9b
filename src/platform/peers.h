// The processes of one run on this host: taking turns, and choosing different devices. They meet in the directory of
// the run (`blastoff run` makes it). Without one, a process takes turns with all others of the user that have none, and
// has no peers else.
//
// Locks are POSIX record locks: a forked child does not hold them, and they end with their process, however that ends.
// Without a directory they are names of sockets, which end with their process, too.
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

  /// While it lives, at most `most_at_once` processes of the run have one, and until one of them has had it to its end,
  /// it is alone: what the first finds ready in the system, the others need not wait for. A process has one at a time.
  class Turn {
   public:
    /// Waits for it, but no longer than this.
    explicit Turn(const Peers& peers, std::chrono::milliseconds longest = std::chrono::seconds(10));
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Whether it came in time, or there is nobody to wait for.
    bool came() const { return came_; }

   private:
    const std::string directory_;
    int file_ = -1;
    bool came_ = true;
  };
  static constexpr int most_at_once = 2;

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
