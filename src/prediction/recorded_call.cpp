#include "prediction/recorded_call.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace blastoff::prediction {

using scalapack::Argument;
using Json = nlohmann::json;

RecordedCall::RecordedCall(scalapack::Routine routine)
    : cells_(scalapack::row(routine).words), words_(cells_.size()), call_(routine, words_.data()) {
  std::ranges::transform(cells_, words_.begin(), [](Cell& cell) { return cell.data(); });
}

template <class Value>
void RecordedCall::put(std::size_t word, std::size_t index, Value value) {
  std::memcpy(cells_.at(word).data() + index * sizeof value, &value, sizeof value);
}

/// null: nobody reads the argument.
void RecordedCall::set(Argument argument, const Json& value) {
  if (value.is_null()) return;
  const std::size_t word = call_.arguments().position(argument);
  if (is_letter(argument)) {
    put(word, 0, value.get<std::string>().at(0));
  } else if (is_integer(argument)) {
    put(word, 0, value.get<int>());
  } else if (is_number(argument)) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, value.size()); ++i) {
      const auto number = value.at(i).get<double>();
      if (call_.real_bytes() == sizeof(float))
        put(word, i, static_cast<float>(number));
      else
        put(word, i, number);
    }
  } else if (is_matrix(argument)) {
    words_.at(word) = reinterpret_cast<void*>(value.at(0).get<std::uintptr_t>());
    put(word + 1, 0, value.at(1).get<int>());
    put(word + 2, 0, value.at(2).get<int>());
    const std::size_t integers = std::min(value.size() - 3, sizeof(Cell) / sizeof(int));
    for (std::size_t i = 0; i < integers; ++i) put(word + 3, i, value.at(3 + i).get<int>());
  }
}

std::unique_ptr<RecordedCall> RecordedCall::read(const std::string& routine, const Json& distributed) {
  const auto* const row = std::ranges::find(scalapack::routine_table, routine, &scalapack::RoutineRow::name);
  if (row == std::end(scalapack::routine_table)) return nullptr;
  std::unique_ptr<RecordedCall> result(
      new RecordedCall(static_cast<scalapack::Routine>(row - std::begin(scalapack::routine_table))));
  std::size_t index = 0;
  for (const Argument argument : result->call_.arguments()) result->set(argument, distributed.at("words").at(index++));
  result->grid_ = {.context = result->call_.context(),
                   .rows = distributed.at("grid").at(0),
                   .columns = distributed.at("grid").at(1)};
  return result;
}

}  // namespace blastoff::prediction
