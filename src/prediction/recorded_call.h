// A distributed call as a trace tells of it on the first process of the grid: scalapack::Call again, with words in this
// process.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scalapack/call.h"

namespace blastoff::prediction {

class RecordedCall {
 public:
  /// `distributed` as scalapack::trace_text() writes it on the root. Throws Json::exception if it is not understood.
  /// nullptr: this version does not know the routine.
  static std::unique_ptr<RecordedCall> read(const std::string& routine, const nlohmann::json& distributed);

  const scalapack::Call& call() const { return call_; }
  /// As the root sees it.
  const scalapack::Grid& grid() const { return grid_; }

 private:
  explicit RecordedCall(scalapack::Routine routine);
  void set(scalapack::Argument argument, const nlohmann::json& value);
  template <class Value>
  void put(std::size_t word, std::size_t index, Value value);

  /// Room for the longest thing to which a word points, which is a descriptor.
  using Cell = std::array<std::byte, sizeof(scalapack::LongDescriptor)>;
  std::vector<Cell> cells_;
  std::vector<void*> words_;
  scalapack::Call call_;
  scalapack::Grid grid_;
};

}  // namespace blastoff::prediction
