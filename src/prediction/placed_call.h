// A distributed call as the first rank of the grid would make it for all: the problem in one memory, at the places
// where runtime/ and scalapack/ would put its matrices.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "operation/operation.h"
#include "platform/shared_memory.h"
#include "platform/span.h"
#include "prediction/trace.h"
#include "scalapack/place_book.h"
#include "scalapack/problem.h"

namespace blastoff::prediction {

/// Has references to the call of the trace and to itself.
struct PlacedCall {
  PlacedCall(const scalapack::Call& call, const scalapack::Places& its_places, std::byte* base)
      : places(its_places), problem(call, places, base) {}
  PlacedCall(const PlacedCall&) = delete;
  PlacedCall& operator=(const PlacedCall&) = delete;

  const scalapack::Places places;
  const scalapack::GatheredProblem problem;
  operation::Operation operation;       ///< the problem on one device
  operation::Operation solve;           ///< the same for the replay, without vectors
  std::vector<platform::Span> changed;  ///< what goes to the device again if it was there
};

/// The memory that the ranks of a node share, for each grid whose first rank this process is.
class SharedPlaces {
 public:
  /// `memory`: bytes of the machine. `one_node`: the ranks share memory; otherwise nothing stays between calls.
  SharedPlaces(std::size_t memory, bool one_node);

  bool one_node() const { return one_node_; }
  /// `call`: one that tells of the whole. nullptr: one rank cannot make it for all.
  std::unique_ptr<PlacedCall> place(const TracedCall& call);
  /// What the ranks share for the call; empty if they share nothing.
  platform::Span memory_of(const PlacedCall& call) const;

 private:
  struct Memory {
    platform::SharedMemory memory;  ///< never touched
    std::size_t taken = 0;
    platform::Span span() const {
      const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
      return {begin, begin + memory.size()};
    }
    scalapack::PlaceBook book;
  };

  const std::size_t capacity_;
  const bool one_node_;
  std::map<int, Memory> memories_;  ///< by BLACS's number of the grid
};

}  // namespace blastoff::prediction
