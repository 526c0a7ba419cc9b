// Where the matrices of gathered calls lie in the memory that the processes of a grid share. A matrix that an earlier
// call has used gets its place again, so that what has not changed since is there already: each process compares its
// own elements with what is there. So a wrong guess costs time, but no result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scalapack/problem.h"
#include "scalapack/team.h"

namespace blastoff::scalapack {

/// What the root finds for a call, and tells the others.
struct FoundPlaces {
  Team team{};
  SeenDevices devices{};  ///< of the node, for a team
  Places::Begins begins{};
  std::uint32_t held = 0;  ///< bit i: an earlier call has used the matrix of rule i in this place

  bool holds(std::size_t index) const { return (held >> index & 1) != 0; }
};

/// Where the matrices of gathered calls lie. The root has one.
class PlaceBook {
 public:
  /// Bytes in which to find places. The memory that is in use is enough for what earlier calls have left there, unless
  /// this call needs more. Vectors are small: no matrix loses its place to them.
  static std::size_t room(const Places& sizes, std::size_t taken, std::size_t capacity) {
    return std::min(capacity, std::max(sizes.bytes(), taken + sizes.vector_bytes()));
  }
  /// Finds places within the first `most` bytes, which are enough for the call's matrices and vectors. If there is no
  /// room, the matrices that were used least recently lose their places.
  FoundPlaces find(const Call& call, const Places& sizes, std::size_t most);

 private:
  /// A matrix as this process has it. It is another one if the program frees its memory and allocates it anew.
  struct Name {
    const std::byte* address = nullptr;
    LongDescriptor layout{};
    int row = 0;
    int column = 0;
    int rows = 0;
    int columns = 0;
    std::size_t element_bytes = 0;

    bool operator==(const Name&) const = default;
  };
  struct Place {
    Name name{};
    std::size_t begin = 0;
    std::size_t bytes = 0;
    std::uint64_t call = 0;  ///< the last one that used it
  };

  static Name name_of(const DistributedMatrix& matrix);
  Place* find(const Name& name, std::size_t bytes);
  std::optional<std::size_t> gap(std::size_t bytes, std::size_t most) const;
  std::optional<std::size_t> make_room(std::size_t bytes, std::size_t most);
  void rename(std::size_t begin, const Name& name);
  bool find_all(const Call& call, const Places& sizes, std::size_t most, FoundPlaces& found);

  std::vector<Place> places_;  ///< ascending
  std::uint64_t call_ = 0;
};

}  // namespace blastoff::scalapack
