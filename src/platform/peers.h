// The processes of one run on this host: they take turns, and choose different devices. They meet in the directory of
// the run (`blastoff run` makes it). A process without one takes turns with all other processes of the user that have
// none; it has no other peers.
//
// Locks are POSIX record locks: a forked child does not hold them, and they end with their process, however that ends.
// Without a directory, names of sockets serve as locks; they end with their process, too.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace blastoff::platform {

class Peers {
 public:
  /// `directory`: that of the run; "" if there is none.
  explicit Peers(std::string directory) : directory_(std::move(directory)) {}

  /// A turn lasts as long as this object. At most `max_at_once` processes of the run have a turn at the same time.
  /// Until the first turn has ended, only one process has one: the others need not wait for what it leaves ready in the
  /// system. A process may have one turn at a time.
  class Turn {
   public:
    /// Waits for the turn, at most `longest`.
    explicit Turn(const Peers& peers, std::chrono::milliseconds longest = std::chrono::seconds(10));
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Whether the turn came in time. Also true if nobody can be waited for.
    bool came() const { return came_; }

   private:
    const std::string directory_;
    int file_ = -1;
    bool came_ = true;
  };
  static constexpr int max_at_once = 2;

  /// The index of the device that the fewest other living processes use; among equals, the first from `preferred` on.
  /// Also enters this process as one that uses this device. The names of devices must be valid in file names.
  std::size_t choose(std::span<const std::string> devices, std::size_t preferred) const;

  /// Enters this process as one that uses the device.
  void enter(const std::string& device) const;

  /// How many other living processes use the device.
  int users(const std::string& device) const;

 private:
  std::string directory_;
};

}  // namespace blastoff::platform
